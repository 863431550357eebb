package steady_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/steadyhttp/steady"
)

// Free tiers allow a few requests a minute, and some say no more than 429. When four times
// as many calls come, one probe after the other passes and nothing else does: that is what
// is allowed, and no outage that is over with each.
func TestALimitOfAFewAMinuteIsFound(t *testing.T) {
	for _, tt := range []struct{ perMinute, burst, used, refused float64 }{ // refused per answer: 8 to 11, and 4 where 5 may go at once, if it is not found
		{5, 1, 0.6, 3},
		{10, 1, 0.7, 1.5},
		{10, 5, 0.95, 1},
		{20, 1, 0.75, 1},
	} {
		t.Run(fmt.Sprintf("%v a minute, %v at once", tt.perMinute, tt.burst), func(t *testing.T) {
			answered, refused := 0.0, 0.0
			const lasts = 10 * time.Minute
			for seed := range uint64(4) {
				synctest.Test(t, func(t *testing.T) {
					bucket := bucketOf(tt.perMinute/60, tt.burst, 0, good, rejected)
					p := newRuled(func(at time.Duration, busy int) step {
						s := bucket(at, busy)
						if s.status == 200 {
							answered++
						} else {
							refused++
						}
						return s
					})
					rt := must(t)(steady.New(steady.WithBase(p)))
					gap := time.Duration(60e9 / (4 * tt.perMinute))
					atRandom(t, rt, rand.New(rand.NewPCG(seed, 1)), gap, p.start.Add(lasts), func(time.Time, bool) {})
				})
			}
			used, each := answered/(4*tt.perMinute*lasts.Minutes()), refused/answered
			t.Logf("%.2f of it is used, %.2f refused per answer", used, each)
			if used < tt.used || each > tt.refused {
				t.Errorf("%.2f of it is used, %.2f refused per answer; want %v and at most %v", used, each, tt.used, tt.refused)
			}
		})
	}
}
