package steady_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/steadyhttp/steady"
)

// Where hardly anything but probes passes for minutes, the pace must not take that for all
// that will ever be allowed: when it ends calls are served as they come.
func TestCallsAreServedOnceALimitOfAFewAMinuteEnds(t *testing.T) {
	for _, tt := range []struct{ perMinute, before, after float64 }{
		{5, 20, 20},
		{10, 2.0 / 3, 2},
	} {
		t.Run(fmt.Sprintf("%v a minute, then %v/s", tt.perMinute, tt.after), func(t *testing.T) {
			for seed := range uint64(3) {
				synctest.Test(t, func(t *testing.T) {
					const ends = 5 * time.Minute
					few := bucketOf(tt.perMinute/60, 1, 0, good, rejected)
					p := newRuled(func(at time.Duration, busy int) step {
						if at < ends {
							return few(at, busy)
						}
						return good
					})
					rt, luck := must(t)(steady.New(steady.WithBase(p))), rand.New(rand.NewPCG(seed, 3))
					gap := func(perSecond float64) time.Duration { return time.Duration(1e9 / perSecond) }
					atRandom(t, rt, luck, gap(tt.before), p.start.Add(ends), func(time.Time, bool) {})
					calls, lost := 0, 0
					atRandom(t, rt, luck, gap(tt.after), time.Now().Add(time.Minute), func(_ time.Time, failed bool) {
						calls++
						if failed {
							lost++
						}
					})
					if 10*lost > calls { // some had waited for long by then
						t.Errorf("lost %d of %d calls in the minute after it, want at most a tenth", lost, calls)
					}
				})
			}
		})
	}
}
