package steady_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/steadyhttp/steady"
)

// One or two of three back ends are bad, so that a third or two thirds of all attempts are
// refused, however slowly they are sent. Going slower does not help then, and few calls a
// second are few to find that out by; nor does it help to send none.
func TestFailuresAtRandomDoNotStarveCalls(t *testing.T) {
	for _, tt := range []struct {
		perSecond float64
		share     float64
		statuses  []int
		seeds     uint64
		most      float64 // of the calls that are lost
	}{
		{5, 1.0 / 3, []int{429, 503, 529}, 2, 0.15}, // 0.3 and more where the pace does not find out
		{20, 2.0 / 3, []int{529}, 1, 0.25},
		{20, 0.5, []int{500}, 1, 0.25},      // 0.7 where the breaker opens for it
		{100, 1.0 / 3, []int{502}, 1, 0.05}, // 0.7 where the budget is spent for re-sends that help
	} {
		t.Run(fmt.Sprintf("%.2f of %v/s, %v", tt.share, tt.perSecond, tt.statuses), func(t *testing.T) {
			calls, lost := 0, 0
			for _, status := range tt.statuses {
				for seed := range tt.seeds {
					c, l := lostAtRandom(t, status, tt.perSecond, tt.share, seed)
					calls, lost = calls+c, lost+l
				}
			}
			t.Logf("lost %d of %d calls", lost, calls)
			if float64(lost) > tt.most*float64(calls) {
				t.Errorf("lost %d of %d calls, want at most %v of them", lost, calls, tt.most)
			}
		})
	}
}

// lostAtRandom returns how many calls were made in two minutes in which a share of all attempts
// was refused, and how many of all calls were lost.
func lostAtRandom(t *testing.T, status int, perSecond, share float64, seed uint64) (calls, lost int) {
	const begins, ends = time.Minute, 3 * time.Minute
	synctest.Test(t, func(t *testing.T) {
		arrivals, luck := rand.New(rand.NewPCG(seed, 1)), rand.New(rand.NewPCG(seed, 2))
		p := newRuled(func(at time.Duration, _ int) step {
			if at >= begins && at < ends && luck.Float64() < share {
				return step{status: status, takes: 30 * ms}
			}
			return step{status: 200, takes: 800 * ms}
		})
		rt := must(t)(steady.New(steady.WithBase(p)))
		gap := time.Duration(1e9 / perSecond)
		atRandom(t, rt, arrivals, gap, p.start.Add(ends+30*time.Second), func(began time.Time, failed bool) {
			if in := began.Sub(p.start); in >= begins && in < ends {
				calls++
			}
			if failed {
				lost++
			}
		})
	})
	return calls, lost
}

// A brown-out that goes on hides no outage that follows: what passed during it counts.
func TestAnOutageAfterALongBrownOutOpensTheBreakerSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sent, failed := 0, 0
		base := newRuled(func(at time.Duration, _ int) step {
			sent++
			if at > 5900*ms && sent%5 == 0 || at > 36*time.Second {
				failed++
				return step{status: 500}
			}
			return step{status: 200}
		})
		rt := steady.Chain(base, steady.Breaker())
		for time.Since(base.start) < 36*time.Second {
			if _, err := call(t, rt, t.Context(), question); err != nil {
				t.Fatal("open during the brown-out")
			}
			time.Sleep(10 * ms)
		}
		failed = 0
		for range 20 {
			time.Sleep(10 * ms)
			call(t, rt, t.Context(), question) //nolint:errcheck // how many were sent is asked
		}
		if failed > 10 {
			t.Errorf("%d failures in a row until the breaker opened, want 9 where a fifth of the others fail", failed)
		}
	})
}

// When a provider goes down, answers to what was sent before still come, for seconds. They
// do not say that it is up: the breaker opens soon all the same.
func TestAnOutageOpensTheBreakerThoughOldAnswersStillCome(t *testing.T) {
	for seed := range uint64(3) {
		failed := failedInOutage(t, seed, 10*ms, 10*time.Second, func(luck *rand.Rand, up bool) step {
			if up {
				return step{status: 200, takes: time.Duration(luck.ExpFloat64() * float64(4*time.Second))}
			}
			return step{err: errors.New("connection refused"), takes: 20 * ms}
		})
		if failed > 300 { // a hundred calls a second
			t.Errorf("%d attempts failed, want few until the breaker opens, and then probes", failed)
		}
	}
}

// When a provider is down and says so now soon and now late, attempts that are still out do
// not pass for good ones longer than answers take.
func TestAnOutageToldAtOddTimesOpensTheBreaker(t *testing.T) {
	for seed := range uint64(3) {
		failed := failedInOutage(t, seed, 50*ms, 20*time.Second, func(luck *rand.Rand, up bool) step {
			if up {
				return step{status: 200, takes: 800 * ms}
			}
			return step{status: 503, takes: time.Duration(luck.ExpFloat64() * float64(300*ms))}
		})
		if failed > 300 { // 20 calls a second
			t.Errorf("%d attempts failed, want few until the breaker opens, and then probes", failed)
		}
	}
}

// failedInOutage returns how many attempts are sent in an outage that comes after 30 s and
// lasts on, of calls that come at random, one in each gap on average.
func failedInOutage(t *testing.T, seed uint64, gap, lasts time.Duration, answer func(luck *rand.Rand, up bool) step) (failed int) {
	const begins = 30 * time.Second
	synctest.Test(t, func(t *testing.T) {
		arrivals, luck := rand.New(rand.NewPCG(seed, 1)), rand.New(rand.NewPCG(seed, 2))
		p := newRuled(func(at time.Duration, _ int) step {
			up := at < begins
			if !up {
				failed++
			}
			return answer(luck, up)
		})
		rt := must(t)(steady.New(steady.WithBase(p)))
		atRandom(t, rt, arrivals, gap, p.start.Add(begins+lasts), func(time.Time, bool) {})
	})
	return failed
}

// Failures are told before answers. So attempts that are still out when later ones have
// failed pass, presumably, and three failures beside six of them and an answer are no half.
func TestWhatIsStillOutCountsForTheRatioOfTheBreaker(t *testing.T) {
	for _, out := range []int{0, 6} {
		synctest.Test(t, func(t *testing.T) {
			answer := make(chan struct{})
			base := roundTripFunc(func(req *http.Request) (*http.Response, error) {
				req.Body.Close()
				switch req.Header.Get("Test") {
				case "fails":
					return respond(req, http.StatusInternalServerError, nil, nil), nil
				case "waits":
					<-answer
				}
				return respond(req, http.StatusOK, nil, nil), nil
			})
			rt := steady.Chain(base, steady.Breaker())
			send := func(what string) error {
				req := post(t, t.Context(), question)
				req.Header.Set("Test", what)
				resp, err := rt.RoundTrip(req)
				if err == nil {
					read(t, resp)
				}
				return err
			}
			var wg sync.WaitGroup
			for range 20 {
				for range out {
					wg.Go(func() { send("waits") }) //nolint:errcheck // what becomes of it is not asked
				}
				synctest.Wait()
				for range 3 {
					send("fails") //nolint:errcheck // it fails
				}
				send("passes") //nolint:errcheck // what is asked is the last
			}
			if got, want := errors.Is(send("passes"), steady.ErrBreakerOpen), out == 0; got != want {
				t.Errorf("%d out: open %v, want %v", out, got, want)
			}
			close(answer)
			wg.Wait()
		})
	}
}
