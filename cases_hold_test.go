package steady_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/steadyhttp/steady"
)

// outage is a base that is up or down, notes what comes, and takes its time.
type outage struct {
	*clock
	down  atomic.Bool
	takes time.Duration
}

func newOutage() *outage { return &outage{clock: newClock(), takes: 100 * ms} }

func (p *outage) RoundTrip(req *http.Request) (*http.Response, error) {
	b, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	req.Body.Close()
	p.note(string(b))
	status := 200
	if p.down.Load() {
		status = 503
	}
	select {
	case <-time.After(p.takes):
	case <-req.Context().Done():
		return nil, req.Context().Err()
	}
	return respond(req, status, nil, nil), nil
}

// held returns a stack of one attempt per call whose breaker has just opened,
// after n good calls in the same second.
func (p *outage) held(t *testing.T, n int, opts ...steady.Option) *steady.Transport {
	t.Helper()
	takes := p.takes
	p.takes = 0
	rt := must(t)(steady.New(append([]steady.Option{
		steady.WithBase(p), steady.WithBreaker(steady.TripAfter(1)), steady.WithRetry(steady.MaxAttempts(1)),
	}, opts...)...))
	for range n {
		if _, err := call(t, rt, t.Context(), "before"); err != nil {
			t.Fatal(err)
		}
	}
	p.down.Store(true)
	if status, err := call(t, rt, t.Context(), "trip"); status != 503 || err != nil {
		t.Fatal(status, err)
	}
	if got := llmBreaker(rt); got != "open" {
		t.Fatalf("the breaker is %s", got)
	}
	p.names, p.at, p.takes = nil, nil, takes
	return rt
}

// due is the ramp's formula: when the n-th call after the first goes, from the
// end of the hold, if the former pace was p a second.
func due(n int, p float64) time.Duration {
	const tau = 0.5
	d := time.Duration(tau * math.Log2(1+float64(n)*math.Ln2/(p/4*tau)) * float64(time.Second))
	return min(d, 1500*ms)
}

func TestAHoldEndsWithOneProbeAndAPacedResumption(t *testing.T) {
	tests := []struct {
		name   string
		before int
		pace   float64 // that counts as the former one
		calls  int
	}{
		{"40 a second before", 39, 40, 60}, // and the one that failed
		{"hardly any before", 0, 4, 12},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newOutage()
				rt := p.held(t, tt.before)
				var wg sync.WaitGroup
				var names []string
				for i := range tt.calls {
					name := fmt.Sprint(i)
					names = append(names, name)
					wg.Go(func() {
						if status, err := call(t, rt, t.Context(), name); status != 200 || err != nil {
							t.Errorf("%s: %d, %v", name, status, err)
						}
					})
					synctest.Wait()
				}
				if s := stateOf(rt, "llm.test"); s.Waiting != tt.calls || s.InFlight != 0 {
					t.Errorf("state %+v, want %d waiting", s, tt.calls)
				}
				p.down.Store(false)
				wg.Wait()
				at := []time.Duration{2 * time.Second} // the probe, which takes 100ms
				for n := range tt.calls - 1 {
					at = append(at, 2100*ms+due(n, tt.pace))
				}
				if !slices.Equal(p.at, at) {
					t.Errorf("calls went at %v, want %v", p.at, at)
				}
				for i := range names { // those that go at once when the ramp is over may reach the base in any order
					if at[i] < 3600*ms && p.names[i] != names[i] {
						t.Errorf("call %s went in the place of %s", p.names[i], names[i])
					}
				}
			})
		})
	}
}

// The pace's own hold ends in the same ramp, from the probe's answer on, and in no
// second one besides.
func TestAHoldOfThePaceEndsInTheSameRamp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newRuled(alike(step{status: 200, takes: 100 * ms}))
		rt := must(t)(steady.New(steady.WithBase(p), steady.Patience(time.Minute), steady.WithRetry(steady.MaxAttempts(1))))
		perSecond(t, rt, 40, 10*time.Second)
		p.become(alike(step{status: 429, takes: 100 * ms}))
		perSecond(t, rt, 40, time.Second)
		if s := stateOf(rt, "llm.test"); s.Waiting != 0 || s.InFlight != 0 {
			t.Fatalf("state %+v, want nobody left", s)
		}
		sent := p.seen(0, time.Hour)
		p.become(alike(step{status: 200, takes: 100 * ms}))
		var wg sync.WaitGroup
		for range 60 {
			wg.Go(func() { call(t, rt, t.Context(), "q") })
		}
		wg.Wait()
		if got := len(p.at) - sent; got != 60 {
			t.Errorf("%d attempts, want 60", got)
		}
		probe := p.at[sent]
		for n, at := range p.at[sent+1:] {
			got, want := at-probe-100*ms, due(n, 40)
			if want < time.Second && got != want || got < want { // from then on the learned pace is slower
				t.Errorf("call %d went %v after the hold, want %v", n, got, want)
			}
		}
	})
}

// Each failed probe holds the queue for another OpenFor. The caller whose call
// was the probe gets what the provider said.
func TestAHoldLastsUntilAProbeSucceeds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newOutage()
		rt := p.held(t, 0)
		time.AfterFunc(5*time.Second, func() { p.down.Store(false) })
		var wg sync.WaitGroup
		for _, tt := range []struct {
			name   string
			status int
		}{{"a", 503}, {"b", 503}, {"c", 200}, {"d", 200}} {
			wg.Go(func() {
				if status, err := call(t, rt, t.Context(), tt.name); status != tt.status || err != nil {
					t.Errorf("%s: %d, %v, want %d", tt.name, status, err, tt.status)
				}
			})
			synctest.Wait()
		}
		wg.Wait()
		p.want(t, []string{"a", "b", "c", "d"}, []time.Duration{2 * time.Second, 4100 * ms, 6200 * ms, 6300 * ms})
	})
}

// A re-send waits in the hold like any other attempt, and before younger calls.
func TestARetryWaitsInTheHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newOutage()
		p.down.Store(true)
		rt := must(t)(steady.New(steady.WithBase(p), steady.WithBreaker(steady.TripAfter(1))))
		time.AfterFunc(time.Second, func() { p.down.Store(false) })
		var wg sync.WaitGroup
		for _, name := range []string{"old", "young"} {
			wg.Go(func() {
				if status, err := call(t, rt, t.Context(), name); status != 200 || err != nil {
					t.Errorf("%s: %d, %v", name, status, err)
				}
			})
			time.Sleep(200 * ms)
		}
		wg.Wait() // the breaker opened at 100ms
		p.want(t, []string{"old", "old", "young"}, []time.Duration{0, 2100 * ms, 2200 * ms})
	})
}

func TestACallThatCannotWaitInAHoldIsRefusedAtOnceAndCostsNothing(t *testing.T) {
	tests := []struct {
		name     string
		opts     []steady.Option
		deadline time.Duration
		refused  bool
	}{
		{"no patience", []steady.Option{steady.Patience(0)}, 0, true},
		{"too little patience", []steady.Option{steady.Patience(2*time.Second - 1)}, 0, true},
		{"just enough patience", []steady.Option{steady.Patience(2 * time.Second)}, 0, false},
		{"no patience but MaxWait", []steady.Option{steady.Patience(0), steady.MaxWait(time.Hour)}, 0, true},
		{"patience but no MaxWait", []steady.Option{steady.MaxWait(0)}, 0, false},
		{"a near deadline", nil, 2 * time.Second, true},
		{"a deadline behind the probe", nil, 3 * time.Second, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newOutage()
				rt := p.held(t, 0, append(tt.opts, steady.WithRateLimit(1.0/3600, 2))...) // one token is left
				p.down.Store(false)
				ctx := t.Context()
				if tt.deadline > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, tt.deadline)
					defer cancel()
				}
				status, err := call(t, rt, ctx, "q")
				if !tt.refused {
					if status != 200 || err != nil {
						t.Errorf("got %d, %v", status, err)
					}
					p.want(t, []string{"q"}, []time.Duration{2 * time.Second})
					return
				}
				open, ok := errors.AsType[*steady.BreakerError](err)
				if !ok || !errors.Is(err, steady.ErrBreakerOpen) || open.Until.Sub(p.start) != 2*time.Second {
					t.Errorf("error %v, want a refusal until 2s", err)
				}
				if errors.Is(err, context.DeadlineExceeded) != (tt.deadline > 0) {
					t.Errorf("error %v: DeadlineExceeded %v", err, !(tt.deadline > 0))
				}
				if took := time.Since(p.start); took != 0 {
					t.Errorf("refused after %v, want at once", took)
				}
				time.Sleep(2 * time.Second)
				if status, err := call(t, rt, t.Context(), "next"); status != 200 || err != nil {
					t.Errorf("the token is gone: %d, %v", status, err)
				}
				p.want(t, []string{"next"}, []time.Duration{2 * time.Second})
			})
		})
	}
}

// When a probe has failed and the next would come too late, nobody waits for it.
func TestPatienceEndsAsSoonAsItIsKnownToBeInVain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newOutage()
		rt := p.held(t, 0, steady.Patience(3*time.Second))
		var wg sync.WaitGroup
		for i := range 5 {
			wg.Go(func() {
				status, err := call(t, rt, t.Context(), "q")
				took := time.Since(p.start)
				if i == 0 {
					if status != 503 || err != nil {
						t.Errorf("the probe: %d, %v", status, err)
					}
					return
				}
				open, ok := errors.AsType[*steady.BreakerError](err)
				if !ok || open.Until.Sub(p.start) != 4100*ms || took != 2100*ms {
					t.Errorf("%v after %v, want a refusal until 4.1s at 2.1s", err, took)
				}
			})
			synctest.Wait()
		}
		wg.Wait()
	})
}

// A probe that takes too long leaves the others waiting without a time to go
// by; their patience and their deadlines end all the same.
func TestPatienceAndDeadlinesEndWhileAProbeIsOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newOutage()
		p.takes = 8 * time.Second
		rt := p.held(t, 0, steady.Patience(5*time.Second))
		var wg sync.WaitGroup
		wg.Go(func() { call(t, rt, t.Context(), "probe") })
		synctest.Wait()
		wg.Go(func() {
			_, err := call(t, rt, t.Context(), "patient")
			if took := time.Since(p.start); took != 5*time.Second || !errors.Is(err, steady.ErrBreakerOpen) || errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v after %v, want ErrBreakerOpen after 5s", err, took)
			}
		})
		synctest.Wait()
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
			defer cancel()
			_, err := call(t, rt, ctx, "late")
			if took := time.Since(p.start); took != 4*time.Second-1 || !errors.Is(err, steady.ErrBreakerOpen) || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v after %v, want ErrBreakerOpen before the deadline at 4s", err, took)
			}
		})
		wg.Wait()
		p.want(t, []string{"probe"}, []time.Duration{2 * time.Second})
	})
}

func TestCancelledWaitersLeaveTheHoldAtOnce(t *testing.T) {
	for _, gone := range [][]string{{"a"}, {"b"}, {"a", "b"}, {"c"}} {
		t.Run(fmt.Sprint(gone), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newOutage()
				rt := p.held(t, 0)
				p.down.Store(false)
				var names []string
				var wg sync.WaitGroup
				for _, name := range []string{"a", "b", "c"} {
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					leaves := slices.Contains(gone, name)
					if leaves {
						time.AfterFunc(time.Second, cancel)
					} else {
						names = append(names, name)
					}
					wg.Go(func() {
						_, err := call(t, rt, ctx, name)
						if leaves && (!errors.Is(err, context.Canceled) || time.Since(p.start) != time.Second) || !leaves && err != nil {
							t.Errorf("%s: %v after %v", name, err, time.Since(p.start))
						}
					})
					synctest.Wait()
				}
				wg.Wait()
				p.want(t, names, []time.Duration{2 * time.Second, 2100 * ms}[:len(names)])
				if s := stateOf(rt, "llm.test"); s.Waiting != 0 || s.InFlight != 0 {
					t.Errorf("state %+v, want nobody", s)
				}
			})
		})
	}
}

func TestAProbeThatIsCancelledHandsOverToTheNextWaiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newOutage()
		rt := p.held(t, 0)
		p.down.Store(false)
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Hour, nil)
		time.AfterFunc(2050*ms, cancel) // in the middle of the probe
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := call(t, rt, ctx, "a"); !errors.Is(err, context.Canceled) {
				t.Errorf("a: %v", err)
			}
		})
		synctest.Wait()
		for _, name := range []string{"b", "c"} {
			wg.Go(func() {
				if _, err := call(t, rt, t.Context(), name); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			})
			synctest.Wait()
		}
		wg.Wait()
		p.want(t, []string{"a", "b", "c"}, []time.Duration{2000 * ms, 2050 * ms, 2150 * ms})
	})
}

// MaxWait is about the limits that the user has set, Patience about the provider.
func TestTheTimeInAHoldDoesNotCountAgainstMaxWait(t *testing.T) {
	for _, maxWait := range []time.Duration{0, time.Second} {
		synctest.Test(t, func(t *testing.T) {
			p := newOutage()
			rt := p.held(t, 0, steady.MaxWait(maxWait), steady.WithRateLimit(100, 100))
			p.down.Store(false)
			var wg sync.WaitGroup
			for range 5 {
				wg.Go(func() {
					if status, err := call(t, rt, t.Context(), "q"); status != 200 || err != nil {
						t.Errorf("MaxWait %v: %d, %v", maxWait, status, err)
					}
				})
			}
			wg.Wait()
		})
	}
}

// After the ramp, MaxWait is again what bounds the wait for a token.
func TestAfterARampMaxWaitBoundsTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newOutage()
		rt := p.held(t, 0, steady.MaxWait(time.Second), steady.WithRateLimit(1.0/60, 2)) // one token is left
		p.down.Store(false)
		var wg sync.WaitGroup
		wg.Go(func() { call(t, rt, t.Context(), "probe") })
		synctest.Wait()
		wg.Go(func() {
			_, err := call(t, rt, t.Context(), "q") // whose token comes at 60s, as is found out when the hold ends
			if took := time.Since(p.start); !errors.Is(err, steady.ErrRateLimited) || took > 4600*ms {
				t.Errorf("%v after %v, want ErrRateLimited by 4.6s: hold, ramp and MaxWait", err, took)
			}
		})
		wg.Wait()
		p.want(t, []string{"probe"}, []time.Duration{2 * time.Second})
	})
}

// Without a MaxWait the Patience bounds all of the wait: a hold does not start
// it afresh.
func TestPatienceBoundsTheWholeWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newOutage()
		p.down.Store(true)
		p.takes = 5 * time.Second
		rt := must(t)(steady.New(steady.WithBase(p), steady.WithRateLimit(0.1, 1), steady.Patience(15*time.Second),
			steady.WithBreaker(steady.TripAfter(1), steady.OpenFor(12*time.Second)), steady.WithRetry(steady.MaxAttempts(1))))
		var wg sync.WaitGroup
		wg.Go(func() { call(t, rt, t.Context(), "first") }) // fails at 5s; the next probe may go at 17s
		synctest.Wait()
		_, err := call(t, rt, t.Context(), "q")
		if took := time.Since(p.start); !errors.Is(err, steady.ErrBreakerOpen) || took != 5*time.Second {
			t.Errorf("%v after %v, want ErrBreakerOpen at 5s", err, took)
		}
		wg.Wait()
	})
}

// The breaker may open between a call's turn in the queue and its passing the
// breaker. Such a call goes, as if it had been a moment faster; it is not
// refused, for it was ready to wait.
func TestACallWhoseTurnHasComeIsNotRefusedByABreakerThatOpensThatMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newOutage()
		rt := must(t)(steady.New(steady.WithBase(p), steady.WithRateLimit(1, 1), steady.WithBreaker(steady.TripAfter(1)),
			steady.WithRetry(steady.MaxAttempts(1)),
			steady.WithObserver(steady.ObserverFunc(func(_ context.Context, e steady.Event) {
				if w, ok := e.(steady.LimitWaited); ok && w.Err == nil {
					time.Sleep(100 * ms) // here the first call fails
				}
			}))))
		p.takes = 1050 * ms
		p.down.Store(true)
		var wg sync.WaitGroup
		wg.Go(func() { call(t, rt, t.Context(), "first") })
		synctest.Wait()
		p.takes = 2500 * ms
		time.AfterFunc(1060*ms, func() { p.down.Store(false) })
		if status, err := call(t, rt, t.Context(), "second"); status != 200 || err != nil {
			t.Errorf("got %d, %v", status, err)
		}
		wg.Wait()
		p.want(t, []string{"first", "second"}, []time.Duration{0, 1100 * ms})
		if got := llmBreaker(rt); got != "half-open" { // since 3.05s: the second's success, at 3.6s, is of an earlier period
			t.Errorf("the breaker is %s, want half-open", got)
		}
	})
}

// A ramp follows a hold. What comes long after it has nothing to do with it.
func TestCallsLongAfterAHoldAreNotPaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newOutage()
		p.takes = 0
		rt := p.held(t, 0)
		p.down.Store(false)
		if status, err := call(t, rt, t.Context(), "probe"); status != 200 || err != nil {
			t.Fatal(status, err)
		}
		time.Sleep(time.Minute)
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() { call(t, rt, t.Context(), "q") })
		}
		wg.Wait()
		for i, at := range p.at[1:] {
			if at != 62*time.Second {
				t.Fatalf("call %d went at %v, want 62s", i+1, at)
			}
		}
	})
}

// The pace that a hold is to come back to is that of the calls before it, even
// if nobody comes before it is nearly over.
func TestTheFormerPaceIsThatOfWhenTheBreakerOpened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newOutage()
		rt := p.held(t, 39, steady.WithBreaker(steady.TripAfter(1), steady.OpenFor(10*time.Second)))
		p.down.Store(false)
		time.Sleep(9 * time.Second)
		var wg sync.WaitGroup
		at := []time.Duration{10 * time.Second}
		for n := range 20 {
			at = append(at, 10100*ms+due(n, 40))
		}
		for range at {
			wg.Go(func() { call(t, rt, t.Context(), "q") })
		}
		wg.Wait()
		if !slices.Equal(p.at, at) {
			t.Errorf("calls went at %v, want %v", p.at, at)
		}
	})
}

// streaming has the answers of p go on until the test ends them.
func streaming(p *outage) (rt http.RoundTripper, end func()) {
	done := make(chan struct{})
	return roundTripFunc(func(req *http.Request) (*http.Response, error) {
		resp, err := p.RoundTrip(req)
		if err == nil && resp.StatusCode == 200 {
			r, w := io.Pipe()
			go func() { <-done; w.Close() }()
			resp.Body, resp.ContentLength = r, -1
		}
		return resp, err
	}), func() { close(done) }
}

// A probe has done its work when its headers are there; its stream may go on.
func TestAHoldEndsAtTheProbesHeaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newOutage()
		base, end := streaming(p)
		rt := p.held(t, 0, steady.WithBase(base))
		p.down.Store(false)
		var wg sync.WaitGroup
		for _, name := range []string{"probe", "next"} {
			wg.Go(func() {
				if _, err := call(t, rt, t.Context(), name); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		time.Sleep(20 * time.Second)
		end()
		wg.Wait()
		p.want(t, []string{"probe", "next"}, []time.Duration{2 * time.Second, 2100 * ms})
	})
}

// A call that waits for a slot after a hold: what the provider took is not the
// limit's, and yet the Patience bounds both when there is no MaxWait.
func TestTheWaitForASlotAfterAHoldIsBounded(t *testing.T) {
	tests := []struct {
		name string
		opt  steady.Option
		want time.Duration
	}{
		{"MaxWait begins when the ramp is over", steady.MaxWait(3 * time.Second), 6600 * ms},
		{"Patience bounds the whole", steady.Patience(15 * time.Second), 15 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newOutage()
				base, end := streaming(p)
				rt := p.held(t, 0, steady.WithBase(base), steady.WithConcurrency(1), tt.opt)
				p.down.Store(false)
				var wg sync.WaitGroup
				wg.Go(func() { call(t, rt, t.Context(), "probe") }) // keeps the slot
				synctest.Wait()
				_, err := call(t, rt, t.Context(), "q")
				if took := time.Since(p.start); !errors.Is(err, steady.ErrRateLimited) || took != tt.want {
					t.Errorf("%v after %v, want ErrRateLimited after %v", err, took, tt.want)
				}
				end()
				wg.Wait()
			})
		})
	}
}

// Nor does the wait for a token count against the Patience when there is a
// MaxWait.
func TestTheWaitForATokenDoesNotCountAgainstPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newOutage()
		p.down.Store(true)
		p.takes = 50 * time.Second
		rt := must(t)(steady.New(steady.WithBase(p), steady.WithRateLimit(1.0/60, 1), steady.MaxWait(time.Hour),
			steady.WithBreaker(steady.TripAfter(1)), steady.WithRetry(steady.MaxAttempts(1))))
		var wg sync.WaitGroup
		wg.Go(func() { call(t, rt, t.Context(), "first") })
		synctest.Wait()
		time.AfterFunc(51*time.Second, func() { p.down.Store(false) })
		if status, err := call(t, rt, t.Context(), "second"); status != 200 || err != nil {
			t.Errorf("got %d, %v", status, err)
		}
		wg.Wait()
		p.want(t, []string{"first", "second"}, []time.Duration{0, time.Minute})
	})
}
