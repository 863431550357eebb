package steady_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/steadyhttp/steady"
)

// A provider is down for 8 s, up for 4 s, down again, six times over, and then well. The
// calls that have waited come fast whenever it is up; that is no reason to take the next
// outage for their doing and to slow down until hardly any call is served.
func TestAProviderThatComesAndGoesIsServedSoonAgain(t *testing.T) {
	const (
		begins = 60 * time.Second
		ends   = begins + 6*12*time.Second
		well   = ends + 40*time.Second // by then all is as before
	)
	for _, status := range []int{500, 503, 529} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			calls, lost, late := 0, 0, 0
			for seed := range uint64(4) {
				synctest.Test(t, func(t *testing.T) {
					p := newRuled(func(at time.Duration, _ int) step {
						if at >= begins && at < ends && (at-begins)%(12*time.Second) < 8*time.Second {
							return step{status: status, takes: 20 * ms}
						}
						return step{status: 200, takes: 500 * ms}
					})
					rt := must(t)(steady.New(steady.WithBase(p)))
					luck := rand.New(rand.NewPCG(seed, 2))
					atRandom(t, rt, luck, 100*ms, p.start.Add(well+30*time.Second), func(began time.Time, failed bool) {
						calls++
						if failed {
							lost++
						}
						if began.Sub(p.start) > well && time.Since(began) > 2*time.Second {
							late++
						}
					})
				})
			}
			t.Logf("lost %d of %d calls", lost, calls)
			if 5*lost > calls || late > 0 {
				t.Errorf("lost %d of %d calls, and %d that began 40 s after the trouble had to wait; want at most a fifth, and none", lost, calls, late)
			}
		})
	}
}
