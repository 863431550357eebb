package steady_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/steadyhttp/steady"
)

// failing is a provider that fails for a while, from the time at which it is made.
func failing(until time.Duration, fails step) *ruled {
	return newRuled(func(at time.Duration, _ int) step {
		if at < until {
			return fails
		}
		return good
	})
}

// A batch is submitted all at once and may take as long as it takes. What fails
// meanwhile is the provider's, and none of the calls is to pay for it.
func TestABatchSurvivesAnOutage(t *testing.T) {
	for _, tt := range []struct {
		name  string
		fails step
		lasts time.Duration
	}{
		{"503 for 40s", step{status: 503, takes: 50 * ms}, 40 * time.Second},
		{"429 for 40s", step{status: 429, takes: 50 * ms}, 40 * time.Second},
		{"429 for 40s, with a time to come back", step{status: 429, header: after("3"), takes: 50 * ms}, 40 * time.Second},
		{"no connection for 40s", step{err: errRefused()}, 40 * time.Second},
		{"503 for 20m", step{status: 503, takes: 50 * ms}, 20 * time.Minute},
		{"429 for 20m", step{status: 429, takes: 50 * ms}, 20 * time.Minute},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := failing(tt.lasts, tt.fails)
				rt := must(t)(steady.New(steady.WithBase(p), steady.MaxWait(time.Hour), steady.Patience(time.Hour)))
				var mu sync.Mutex
				bad := map[string]int{}
				var wg sync.WaitGroup
				for range 200 {
					wg.Go(func() {
						if status, err := call(t, rt, t.Context(), "q"); status != 200 {
							mu.Lock()
							defer mu.Unlock()
							bad[fmt.Sprint(status, err)]++
						}
					})
				}
				wg.Wait()
				if len(bad) > 0 {
					t.Errorf("calls ended in %v, want all of them good", bad)
				}
				if took := time.Since(p.start); took > tt.lasts+30*time.Second {
					t.Errorf("took %v, want it over soon after the outage", took)
				}
				if n, most := p.seen(time.Second, tt.lasts), int(tt.lasts/time.Second)+20; n > most {
					t.Errorf("%d attempts while the provider failed, want no more than %d", n, most)
				}
			})
		})
	}
}

// Who is the probe is a matter of chance, and must neither shorten nor lengthen a wait.
func TestACallThatIsTheProbeHasThePatienceOfTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newOutage()
		p.takes = 0
		p.down.Store(true)
		rt := must(t)(steady.New(steady.WithBase(p), steady.Patience(9*time.Second),
			steady.WithBreaker(steady.TripAfter(1)), steady.WithRetry(steady.Delays(ms, ms))))
		var wg sync.WaitGroup
		for range 3 { // the first one opens the breaker, and is the probe from then on
			wg.Go(func() {
				at := time.Now()
				status, err := call(t, rt, t.Context(), "q")
				if took := time.Since(at).Round(time.Second); took < 8*time.Second || took > 9*time.Second || status != 503 && !errors.Is(err, steady.ErrBreakerOpen) {
					t.Errorf("%d, %v after %v, want the 503, or what the breaker says, after 8s or 9s", status, err, took)
				}
			})
			time.Sleep(10 * ms)
		}
		wg.Wait()
		if n := len(p.at); n < 4 || n > 6 {
			t.Errorf("%d attempts, want one every 2s", n)
		}
	})
}

// A call that waits for nobody but itself has its attempts, and no more.
func TestACallThatIsAloneHasItsAttemptsAsAProbeToo(t *testing.T) {
	for _, status := range []int{429, 500, 503, 529} {
		synctest.Test(t, func(t *testing.T) {
			base := statuses(status)
			rt := must(t)(steady.New(steady.WithBase(base), steady.WithBreaker(steady.TripAfter(1))))
			if got, err := call(t, rt, t.Context(), "q"); got != status || err != nil || base.attempts() != 6 {
				t.Errorf("%d, %v after %d attempts, want %d after 6", got, err, base.attempts(), status)
			}
		})
	}
}

// MaxAttempts and Within count what a call does on its own behalf.
func TestAProbeIsNoneOfTheCallsAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := failing(20*time.Second, step{status: 503, takes: 600 * ms})
		heard := &events{}
		rt := must(t)(steady.New(steady.WithBase(p), steady.WithObserver(heard), steady.WithBreaker(steady.TripAfter(1)),
			steady.WithRetry(steady.MaxAttempts(2), steady.Within(time.Second), steady.RetryBudget(0, 0.01), steady.Delays(ms, ms))))
		var wg sync.WaitGroup
		wg.Go(func() { // for whom it is the probe
			time.Sleep(700 * ms)
			call(t, rt, t.Context(), "q")
		})
		if status, err := call(t, rt, t.Context(), "q"); status != 200 || err != nil {
			t.Errorf("%d, %v, want the answer of the first probe that succeeds", status, err)
		}
		wg.Wait()
		if budget := stateOf(rt, "llm.test").Budget; budget < 9 || budget > 9.5 {
			t.Errorf("%v re-sends left of 10, want that the probes cost none", budget)
		}
		for i, e := range of[steady.RetryScheduled](heard) {
			if e.Probe != (i > 0) {
				t.Errorf("re-send %d: %+v, want a probe from the second attempt on", i+1, e)
			}
		}
	})
}

func TestACallOfOneAttemptHasNoOtherEvenAsAProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newOutage()
		rt := p.held(t, 0) // MaxAttempts(1)
		if status, err := call(t, rt, t.Context(), "q"); status != 503 || err != nil || len(p.at) != 1 {
			t.Errorf("%d, %v after %d attempts, want the 503 of one", status, err, len(p.at))
		}
	})
}

// That a probe is free does not make it harmless: what may be billed stays bounded.
func TestAProbeThatMayHaveBeenDoneCountsForUnknownResends(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := failing(time.Hour, step{err: errors.New("connection reset by peer")})
		rt := must(t)(steady.New(steady.WithBase(p), steady.Patience(time.Minute),
			steady.WithBreaker(steady.TripAfter(1)), steady.WithRetry(steady.UnknownResends(2))))
		_, err := call(t, rt, t.Context(), "q")
		if gaveUp, ok := errors.AsType[*steady.RetryError](err); !ok || gaveUp.Attempts != 3 {
			t.Errorf("error %v, want a RetryError of 3 attempts", err)
		}
	})
}

// The call whose probe is told to wait longer than it is until the next probe still
// waits as the others do, though not in line. So a few calls survive as a batch does,
// whichever of them is sent, and whatever Within allows them on their own behalf.
func TestAFewCallsSurviveAnOutageThatTellsProbesToWait(t *testing.T) {
	for _, calls := range []int{2, 3, 5} {
		for _, within := range []time.Duration{10 * time.Second, 90 * time.Second} {
			synctest.Test(t, func(t *testing.T) {
				p := failing(10*time.Minute, step{status: 503, header: after("20"), takes: 50 * ms})
				rt := must(t)(steady.New(steady.WithBase(p), steady.Patience(time.Hour),
					steady.WithBreaker(steady.TripAfter(1)), steady.WithRetry(steady.Within(within))))
				call(t, rt, steady.ContextWithRetry(t.Context(), steady.MaxAttempts(1)), "q") // opens the breaker
				var wg sync.WaitGroup
				for range calls {
					wg.Go(func() {
						if status, err := call(t, rt, t.Context(), "q"); status != 200 {
							t.Errorf("%d calls within %v: %d, %v after %v", calls, within, status, err, time.Since(p.start))
						}
					})
				}
				wg.Wait()
			})
		}
	}
}

// A call that leaves while it is told to wait after a probe is waited for no more.
func TestACallThatLeavesAfterItsProbeLeavesTheOtherAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := failing(time.Hour, step{status: 503, header: after("20"), takes: 50 * ms})
		rt := must(t)(steady.New(steady.WithBase(p), steady.Patience(time.Hour),
			steady.WithBreaker(steady.TripAfter(1)), steady.WithRetry(steady.Within(time.Hour))))
		once := steady.ContextWithRetry(t.Context(), steady.MaxAttempts(1))
		call(t, rt, once, "q") // opens the breaker
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(5*time.Second, cancel)
		go call(t, rt, ctx, "q") // is the first probe
		time.Sleep(ms)
		call(t, rt, once, "q") // is the second, while the first is told to wait
		time.Sleep(10 * time.Second)
		before := len(p.at)
		if status, err := call(t, rt, t.Context(), "q"); status != 503 || err != nil || len(p.at)-before != 6 {
			t.Errorf("%d, %v after %d attempts, want the 503 of the 6 of a call that is alone", status, err, len(p.at)-before)
		}
	})
}
