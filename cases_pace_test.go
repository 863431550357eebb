package steady_test

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/steadyhttp/steady"
)

// RL4(b): while a provider rejects everybody, a few find that out and the others
// wait until the time that it has named. Without the hold each of fifty callers
// would send several attempts of its own.
func TestRL4_APauseOfTheProviderHoldsTheOthers(t *testing.T) {
	const pause, most = 2 * time.Second, 60
	for _, test := range []struct {
		name string
		from time.Duration // when the provider begins to reject
	}{
		{"after a good start", 5 * time.Second},
		{"from the first answer on", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newRuled(func(at time.Duration, _ int) step {
					if at >= test.from && at < test.from+pause {
						return step{status: 429, header: after("2"), takes: 40 * ms}
					}
					return good
				})
				rt := must(t)(steady.New(steady.WithBase(p)))
				c := workers(t, rt, 50, test.from+20*time.Second)
				seen := test.from + 40*ms + 1 // by then the first 429 has been
				n := p.seen(seen, seen+pause)
				t.Logf("%d attempts under way when the first 429 is seen, %d in the 2s after it", p.seen(test.from, seen), n)
				if n > most {
					t.Errorf("%d attempts in the 2s after the first 429, want at most %d", n, most)
				}
				if n := p.seen(seen+pause/2, test.from+pause); n > 1 {
					t.Errorf("%d attempts in the second before the named time, want none but a probe", n)
				}
				if n := p.seen(test.from+pause, test.from+2*pause); n < 10 {
					t.Errorf("%d attempts in the 2s after the pause, want the calls resumed", n)
				}
				if len(c.bad) > 0 || c.good < 500 {
					t.Errorf("%d calls succeeded, the others ended in %v, want all to succeed", c.good, c.bad)
				}
			})
		})
	}
}

// slotsOf is the rule of a provider that rejects what comes while it is answering
// so many.
func slotsOf(slots int, good step) func(time.Duration, int) step {
	return func(_ time.Duration, busy int) step {
		if busy >= slots {
			return rejected
		}
		return good
	}
}

func TestAC3_TheLimitThatWasFoundIsAboutThatOfTheProvider(t *testing.T) {
	for _, slots := range []int{1, 2, 8, 40} {
		t.Run(strconv.Itoa(slots), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newRuled(slotsOf(slots, step{status: 200, takes: time.Second}))
				rt := must(t)(steady.New(steady.WithBase(p), steady.Patience(time.Hour)))
				workers(t, rt, 4*slots, time.Minute)
				good, bad := p.answers(200), p.answers(429)
				workers(t, rt, 4*slots, time.Minute)
				good, bad = p.answers(200)-good, p.answers(429)-bad
				t.Logf("%d slots: %d answered and %d rejected in a minute", slots, good, bad)
				if full := 60 * slots; good < full*8/10 {
					t.Errorf("%d calls answered in a minute, want nearly the %d that it could", good, full)
				}
				if bad > good/10+6 {
					t.Errorf("%d rejected beside %d that were answered", bad, good)
				}
			})
		})
	}
}

// AC3(a): a thousand rejections do not bring it to a stop, and then it grows back.
func TestAC3_ItNeverFallsBelowOneAndGrowsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ended time.Duration // when the last of the thousand was rejected
		n := 0
		p := newRuled(func(at time.Duration, _ int) step {
			if n++; n <= 1000 {
				ended = at
				return rejected
			}
			return good
		})
		rt := must(t)(steady.New(steady.WithBase(p), steady.Patience(time.Hour), steady.WithRetry(steady.MaxAttempts(1))))
		var wg sync.WaitGroup
		var stop atomic.Bool
		for range 50 {
			wg.Go(func() {
				for !stop.Load() {
					call(t, rt, t.Context(), "q")
				}
			})
		}
		last := 0
		for p.answers(429) < 1000 && time.Since(p.start) < 2*time.Hour { // some go however many were rejected
			time.Sleep(10 * time.Second)
			if got := p.answers(429); got == last {
				t.Fatalf("no attempt in the 10s before %v, after %d rejections", time.Since(p.start), last)
			} else {
				last = got
			}
		}
		time.Sleep(ended + time.Minute - time.Since(p.start))
		stop.Store(true)
		wg.Wait()
		n1, n2 := p.seen(ended+5*time.Second, ended+10*time.Second), p.seen(ended+50*time.Second, ended+time.Minute)
		t.Logf("the thousandth rejection after %v; then %d in the second five seconds, %d in the last ten of the minute, at most %d at once", ended, n1, n2, p.peak)
		if p.peak < 40 {
			t.Errorf("at most %d of 50 at once in the minute after the rejections, want it grown back", p.peak)
		}
	})
}

// AC3(b): where nobody is rejected it stays where the caller's own limit is.
func TestAC3_ItStaysAtTheMaximumWhileAllIsWell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newRuled(alike(step{status: 200, takes: time.Second}))
		rt := must(t)(steady.New(steady.WithBase(p), steady.WithConcurrency(20), steady.Patience(time.Hour)))
		go workers(t, rt, 60, 2*time.Minute)
		time.Sleep(5 * time.Second)
		for range 100 {
			time.Sleep(time.Second + 7*ms)
			synctest.Wait()
			if s := stateOf(rt, "llm.test"); s.InFlight != 20 {
				t.Fatalf("%d in flight after %v, want 20", s.InFlight, time.Since(p.start))
			}
		}
		time.Sleep(time.Minute)
	})
}

// AC3(c): what was not used is not learned. After hundreds of calls one at a time a
// burst goes no faster than one at the beginning.
func TestAC3_ItDoesNotGrowWhileItIsNotInUse(t *testing.T) {
	burst := func(t *testing.T, before int) (at []time.Duration) {
		synctest.Test(t, func(t *testing.T) {
			p := newRuled(alike(step{status: 200, takes: time.Second}))
			rt := must(t)(steady.New(steady.WithBase(p)))
			for range before {
				call(t, rt, t.Context(), "q")
			}
			from := time.Since(p.start)
			var wg sync.WaitGroup
			for range 60 {
				wg.Go(func() { call(t, rt, t.Context(), "q") })
			}
			wg.Wait()
			for _, d := range p.at[before:] {
				at = append(at, d-from)
			}
		})
		return at
	}
	fresh, used := burst(t, 0), burst(t, 500)
	for i := range fresh {
		if used[i] < fresh[i]-ms {
			t.Fatalf("call %d of a burst went at %v after 500 calls one at a time, and at %v before any", i+1, used[i], fresh[i])
		}
	}
}

// AC3(d): callers who leave and requests that are wrong say nothing about speed.
func TestAC3_CancelsAndDeclinedRequestsChangeNothing(t *testing.T) {
	rate := func(t *testing.T, disturb bool) (n int) {
		synctest.Test(t, func(t *testing.T) {
			p := newRuled(slotsOf(10, good))
			rt := must(t)(steady.New(steady.WithBase(p), steady.Patience(time.Hour)))
			workers(t, rt, 30, time.Minute)
			if disturb {
				var wg sync.WaitGroup
				for range 200 {
					ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
					time.AfterFunc(20*ms, cancel)
					wg.Go(func() { call(t, rt, ctx, "q") })
					time.Sleep(15 * ms)
				}
				wg.Wait()
				p.become(alike(step{status: 400, takes: 50 * ms}))
				workers(t, rt, 10, 2*time.Second)
				p.become(slotsOf(10, good))
			} else {
				time.Sleep(5 * time.Second)
			}
			before := p.answers(200)
			workers(t, rt, 30, 20*time.Second)
			n = p.answers(200) - before
		})
		return n
	}
	calm, disturbed := rate(t, false), rate(t, true)
	t.Logf("%d calls answered in 20s, %d after 200 cancels and many 400", calm, disturbed)
	if disturbed < calm*9/10 {
		t.Errorf("%d calls answered in 20s after cancels and 400s, want as many as without, %d", disturbed, calm)
	}
}

// AC3(e): who sleeps holds no slot.
func TestAC3_ACallThatBacksOffHoldsNoSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		p := newRuled(func(time.Duration, int) step {
			if n++; n <= 2 {
				return step{status: 429, header: after("30")}
			}
			return good
		})
		rt := must(t)(steady.New(steady.WithBase(p), steady.WithConcurrency(2)))
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				if status, err := call(t, rt, t.Context(), "sleeps"); status != 200 || err != nil {
					t.Errorf("a call that slept ended in %d, %v", status, err)
				}
				if took := time.Since(p.start); took < 30*time.Second {
					t.Errorf("a call that was to wait 30s took %v", took)
				}
			})
		}
		synctest.Wait()
		if s := stateOf(rt, "llm.test"); s.InFlight != 0 {
			t.Errorf("%d in flight while two calls sleep", s.InFlight)
		}
		if status, err := call(t, rt, t.Context(), "third"); status != 200 || err != nil {
			t.Errorf("the third call ended in %d, %v", status, err)
		}
		if took := time.Since(p.start); took > time.Second { // the pace has been lowered
			t.Errorf("the third call took %v, want it admitted soon", took)
		}
		wg.Wait()
	})
}

// AC3(f): an answer that takes long is not one that is slow to begin.
func TestAC3_LongGenerationsDoNotShrinkIt(t *testing.T) {
	served := func(t *testing.T, long bool) (n int) {
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			var count int
			base := roundTripFunc(func(req *http.Request) (*http.Response, error) {
				time.Sleep(100 * ms)
				takes := time.Second
				if req.Header.Get("Long") != "" {
					takes = time.Minute
				} else {
					mu.Lock()
					count++
					mu.Unlock()
				}
				pieces := []piece{{data: roleEvent}}
				for at := time.Second; at < takes; at += time.Second {
					pieces = append(pieces, piece{at: at, data: wordEvent})
				}
				pieces = append(pieces, piece{at: takes, data: stopEvent + doneEvent, err: io.EOF})
				return respond(req, 200, eventStream, newFeed(req.Context(), pieces...)), nil
			})
			rt := must(t)(steady.New(steady.WithBase(base), steady.Patience(time.Hour)))
			if long {
				for range 40 {
					go func() {
						for range 4 {
							req := post(t, t.Context(), "q")
							req.Header.Set("Long", "yes")
							if resp, err := rt.RoundTrip(req); err != nil {
								t.Error(err)
							} else {
								read(t, resp)
							}
						}
					}()
				}
			}
			c := workers(t, rt, 40, 3*time.Minute)
			if len(c.bad) > 0 {
				t.Errorf("calls ended in %v", c.bad)
			}
			mu.Lock()
			n = count
			mu.Unlock()
			time.Sleep(2 * time.Minute) // the long ones end
		})
		return n
	}
	alone, beside := served(t, false), served(t, true)
	t.Logf("%d short calls alone, %d beside long ones", alone, beside)
	if beside < alone*95/100 {
		t.Errorf("%d short calls were answered beside long ones, want as many as without, %d", beside, alone)
	}
}

// An answer that failed leaves its place when its headers have come, whatever
// becomes of its body.
func TestAFailureWhoseBodyIsNotReadFreesItsPlaceAmongTheLearned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newRuled(slotsOf(2, good))
		rt := must(t)(steady.New(steady.WithBase(p), neverTrips(), steady.Patience(time.Hour), steady.WithRetry(steady.MaxAttempts(1))))
		workers(t, rt, 10, time.Minute)
		p.become(alike(step{status: 200, takes: 10 * time.Second}))
		start := time.Now()
		var wg sync.WaitGroup
		wg.Go(func() { call(t, rt, t.Context(), "long") })
		synctest.Wait()
		p.become(alike(step{status: 500, takes: 200 * ms}))
		wg.Go(func() {
			resp, err := rt.RoundTrip(post(t, t.Context(), "fails"))
			if err != nil || resp.StatusCode != 500 {
				t.Error(resp, err)
				return
			}
			time.Sleep(5 * time.Second) // before its body is closed
			resp.Body.Close()
		})
		time.Sleep(100 * ms)
		p.become(alike(good))
		call(t, rt, t.Context(), "third")
		if took := time.Since(start); took < 500*ms || took > time.Second { // it takes 300ms by itself
			t.Errorf("the third call took until %v, want it to go when the second has failed, at 200ms", took)
		}
		wg.Wait()
	})
}
