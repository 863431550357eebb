package steady_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/steadyhttp/steady"
)

const ms = time.Millisecond

// clock is when things happened, counted from the start of the test.
type clock struct {
	start time.Time
	mu    sync.Mutex
	names []string
	at    []time.Duration
}

func newClock() *clock { return &clock{start: time.Now()} }

func (c *clock) note(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.names, c.at = append(c.names, name), append(c.at, time.Since(c.start))
}

func (c *clock) want(t *testing.T, names []string, at []time.Duration) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slices.Equal(c.names, names) || !slices.Equal(c.at, at) {
		t.Errorf("got  %v at %v\nwant %v at %v", c.names, c.at, names, at)
	}
}

// named is a base that answers 200 and notes what the body said.
func (c *clock) named() http.RoundTripper {
	return roundTripFunc(func(req *http.Request) (*http.Response, error) {
		b, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		req.Body.Close()
		c.note(string(b))
		return respond(req, 200, nil, nil), nil
	})
}

func TestRL1_AWaitThatCannotFitTheDeadlineFailsAtOnceAndCostsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClock()
		rt := must(t)(steady.New(steady.WithBase(c.named()), steady.WithRateLimit(1.0/60, 1), steady.MaxWait(time.Hour)))
		if _, err := call(t, rt, t.Context(), "1"); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		_, err := call(t, rt, ctx, "2")
		limited, ok := errors.AsType[*steady.LimitError](err)
		if !ok || !errors.Is(err, steady.ErrRateLimited) || !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("error %v", err)
		}
		if limited.Key != "llm.test" || limited.Wait != time.Minute || !limited.Deadline || !limited.Timeout() {
			t.Errorf("error %+v, want one that says that llm.test is a minute off", limited)
		}
		if took := time.Since(c.start); took != 0 {
			t.Errorf("the refusal took %v", took)
		}
		time.Sleep(61 * time.Second)
		if _, err := call(t, rt, t.Context(), "3"); err != nil {
			t.Fatal(err)
		}
		c.want(t, []string{"1", "3"}, []time.Duration{0, 61 * time.Second})
	})
}

// A turn in the very moment of the deadline would be a call that ends at once.
func TestRL1_ATurnAtTheDeadlineIsTooLateAndOneBeforeItIsNot(t *testing.T) {
	for _, tt := range []struct {
		deadline time.Duration
		refused  bool
	}{{time.Second, true}, {time.Second + 2, false}} {
		synctest.Test(t, func(t *testing.T) {
			c := newClock()
			rt := must(t)(steady.New(steady.WithBase(c.named()), steady.WithRateLimit(1, 1)))
			call(t, rt, t.Context(), "1")
			ctx, cancel := context.WithTimeout(t.Context(), tt.deadline)
			defer cancel()
			_, err := call(t, rt, ctx, "2")
			if errors.Is(err, steady.ErrRateLimited) != tt.refused || (err == nil) == tt.refused {
				t.Errorf("deadline %v: error %v", tt.deadline, err)
			}
		})
	}
}

// The caller behind the one that is refused must not pay for it, and neither
// must the one that comes while others wait.
func TestRL1_TheDeadlineIsHeldAgainstTheWholeLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClock()
		rt := must(t)(steady.New(steady.WithBase(c.named()), steady.WithRateLimit(1, 1)))
		var wg sync.WaitGroup
		for _, name := range []string{"1", "2", "3"} {
			wg.Go(func() { call(t, rt, t.Context(), name) })
			synctest.Wait()
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2500*ms) // its turn would be at 3s
		defer cancel()
		_, err := call(t, rt, ctx, "late")
		if limited, ok := errors.AsType[*steady.LimitError](err); !ok || limited.Wait != 3*time.Second || time.Since(c.start) != 0 {
			t.Errorf("error %v after %v, want a refusal at once that says 3s", err, time.Since(c.start))
		}
		if _, err = call(t, rt, t.Context(), "4"); err != nil {
			t.Error(err)
		}
		wg.Wait()
		c.want(t, []string{"1", "2", "3", "4"}, []time.Duration{0, 1 * time.Second, 2 * time.Second, 3 * time.Second})
	})
}

func TestRL3_ARequestHeavierThanTheBucketIsAdmittedWithDebt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClock()
		rt := must(t)(steady.New(steady.WithBase(c.named()), steady.WithRateLimit(1000.0/60, 1000), steady.MaxWait(10*time.Minute)))
		var wg sync.WaitGroup
		cost := func(n int, name string) {
			wg.Go(func() {
				if _, err := call(t, rt, steady.ContextWithCost(t.Context(), n), name); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		cost(500, "half")   // at once
		cost(2000, "heavy") // when the bucket is full: at 30s, which leaves a debt of 1,000
		names, at := []string{"half", "heavy"}, []time.Duration{0, 30 * time.Second}
		for i := range 10 {
			name := fmt.Sprint("small", i)
			cost(100, name) // behind it, though the bucket could pay for it at once
			names = append(names, name)
			at = append(at, 30*time.Second+66*time.Second+time.Duration(i)*6*time.Second)
		}
		wg.Wait()
		c.want(t, names, at)
	})
}

// A heavy request that cannot be paid for in time is refused like any other.
func TestRL3_AHeavyRequestKeepsItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClock()
		rt := must(t)(steady.New(steady.WithBase(c.named()), steady.WithRateLimit(1000.0/60, 1000), steady.MaxWait(time.Minute)))
		call(t, rt, steady.ContextWithCost(t.Context(), 2000), "heavy")
		_, err := call(t, rt, steady.ContextWithCost(t.Context(), 1<<40), "heavier")
		if limited, ok := errors.AsType[*steady.LimitError](err); !ok || limited.Wait != 2*time.Minute || limited.Deadline {
			t.Errorf("error %v, want a refusal that says 2m", err)
		}
		time.Sleep(2 * time.Minute)
		if _, err := call(t, rt, steady.ContextWithCost(t.Context(), 1000), "full"); err != nil {
			t.Error(err)
		}
		c.want(t, []string{"heavy", "full"}, []time.Duration{0, 2 * time.Minute})
	})
}

func TestRL4_TheLimitHoldsOnTheWireRetriesIncluded(t *testing.T) {
	retry := []steady.RetryOption{steady.MaxAttempts(3), steady.RetryBudget(10, 10)}
	stacks := map[string]func(http.RoundTripper) http.RoundTripper{
		"New": func(base http.RoundTripper) http.RoundTripper {
			return must(t)(steady.New(steady.WithBase(base), neverTrips(), steady.WithRateLimit(10, 10), steady.WithRetry(retry...)))
		},
		"limit outside retry": func(base http.RoundTripper) http.RoundTripper {
			return steady.Chain(base, steady.RateLimit(10, 10), steady.Retry(retry...))
		},
		"limit inside retry": func(base http.RoundTripper) http.RoundTripper {
			return steady.Chain(base, steady.Retry(retry...), steady.RateLimit(10, 10))
		},
	}
	for name, stack := range stacks {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				base := statuses(503)
				rt := stack(base)
				var wg sync.WaitGroup
				for range 50 {
					wg.Go(func() {
						if status, err := call(t, rt, t.Context(), "q"); status != 503 || err != nil {
							t.Errorf("got %d, %v, want 503", status, err)
						}
					})
				}
				wg.Wait()
				at := base.times(start)
				if len(at) != 150 {
					t.Errorf("%d attempts, want 150", len(at))
				}
				for i := range at {
					n := 0
					for n < len(at)-i && at[i+n] < at[i]+time.Second {
						n++
					}
					if n > 20 {
						t.Fatalf("%d attempts in the second from %v, want at most 20", n, at[i])
					}
				}
				if last := at[len(at)-1]; last < 14*time.Second {
					t.Errorf("the last of 150 went at %v, before its token at 14s", last)
				}
			})
		})
	}
}

func TestCallsGoInTheOrderInWhichTheyCame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClock()
		rt := must(t)(steady.New(steady.WithBase(c.named()), steady.WithRateLimit(10, 1)))
		var names []string
		var at []time.Duration
		var wg sync.WaitGroup
		for i := range 100 {
			name := fmt.Sprint(i)
			names, at = append(names, name), append(at, time.Duration(i)*100*ms)
			wg.Go(func() {
				if _, err := call(t, rt, t.Context(), name); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		wg.Wait()
		c.want(t, names, at)
	})
}

// x/time/rate's WaitN would leave those behind at the times that they had been
// given.
func TestAWaiterThatLeavesFreesItsPlaceAtOnce(t *testing.T) {
	tests := []struct {
		name string
		left []string // those that leave at 500ms
		want []string
	}{
		{"the head", []string{"b"}, []string{"a", "c", "d", "e"}},
		{"one in the middle", []string{"c"}, []string{"a", "b", "d", "e"}},
		{"the last", []string{"e"}, []string{"a", "b", "c", "d"}},
		{"all but one", []string{"b", "c", "d"}, []string{"a", "e"}},
	}
	for _, how := range []string{"cancel", "deadline"} {
		for _, tt := range tests {
			t.Run(tt.name+" by "+how, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c := newClock()
					rt := must(t)(steady.New(steady.WithBase(c.named()), steady.WithRateLimit(1, 1)))
					var wg sync.WaitGroup
					var refused atomic.Int32
					for _, name := range []string{"a", "b", "c", "d", "e"} {
						ctx, cancel := context.WithCancel(t.Context())
						defer cancel()
						leaves := slices.Contains(tt.left, name)
						switch {
						case leaves && how == "cancel":
							time.AfterFunc(500*ms, cancel)
						case leaves:
							ctx = surprise{ctx, make(chan struct{}), new(atomic.Bool)}
							time.AfterFunc(500*ms, ctx.(surprise).end)
						}
						wg.Go(func() {
							if _, err := call(t, rt, ctx, name); (err != nil) != leaves {
								t.Errorf("%s: %v", name, err)
							} else if err != nil {
								refused.Add(1)
								if got := time.Since(c.start); got != 500*ms {
									t.Errorf("%s left at %v, want 500ms", name, got)
								}
							}
						})
						synctest.Wait()
					}
					wg.Wait()
					at := make([]time.Duration, len(tt.want))
					for i := range at {
						at[i] = time.Duration(i) * time.Second
					}
					c.want(t, tt.want, at)
					if s := stateOf(rt, "llm.test"); s.Waiting != 0 || s.InFlight != 0 {
						t.Errorf("state %+v, want nobody", s)
					}
				})
			})
		}
	}
}

// The line is as long as those who are still in it.
func TestThoseWhoHaveLeftDoNotLengthenTheLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClock()
		rt := must(t)(steady.New(steady.WithBase(c.named()), steady.WithRateLimit(1, 1), steady.Patience(3*time.Second)))
		call(t, rt, t.Context(), "a")
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() { call(t, rt, ctx, "left") })
		}
		synctest.Wait()
		if _, err := call(t, rt, t.Context(), "one too many"); !errors.Is(err, steady.ErrRateLimited) {
			t.Errorf("error %v, want ErrRateLimited", err)
		}
		cancel()
		wg.Wait()
		for _, name := range []string{"b", "c", "d", "e"} {
			if _, err := call(t, rt, t.Context(), name); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		c.want(t, []string{"a", "b", "c", "d", "e"}, []time.Duration{0, time.Second, 2 * time.Second, 3 * time.Second, 4 * time.Second})
	})
}

// surprise is a context whose deadline nobody is told of before it passes.
type surprise struct {
	context.Context
	done chan struct{}
	over *atomic.Bool
}

func (s surprise) end()                        { s.over.Store(true); close(s.done) }
func (s surprise) Done() <-chan struct{}       { return s.done }
func (s surprise) Deadline() (time.Time, bool) { return time.Time{}, false }
func (s surprise) Err() error {
	if s.over.Load() {
		return context.DeadlineExceeded
	}
	return nil
}

// A deadline that passes in the queue is no fault of the provider, whichever
// layer hears of it.
func TestADeadlineThatPassesInTheQueueIsNeutral(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt := steady.Chain(statuses(200), steady.Breaker(steady.TripAfter(1)), steady.RateLimit(1, 1))
		call(t, rt, t.Context(), "1")
		ctx := surprise{t.Context(), make(chan struct{}), new(atomic.Bool)}
		time.AfterFunc(500*ms, ctx.end)
		if _, err := call(t, rt, ctx, "2"); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, steady.ErrRateLimited) {
			t.Errorf("error %v, want ErrRateLimited by the deadline", err)
		}
		if _, err := call(t, rt, t.Context(), "3"); err != nil {
			t.Errorf("the next call: %v", err)
		}
	})
}

func TestAResendGoesBeforeYoungerCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClock()
		old := play(step{status: 503, header: after("1")}, step{status: 200})
		base := roundTripFunc(func(req *http.Request) (*http.Response, error) {
			if req.Header.Get("Old") != "" {
				c.note("old")
				return old.RoundTrip(req)
			}
			return c.named().RoundTrip(req)
		})
		rt := must(t)(steady.New(steady.WithBase(base), steady.WithRateLimit(0.5, 1)))
		var wg sync.WaitGroup
		wg.Go(func() {
			req := post(t, t.Context(), "q")
			req.Header.Set("Old", "yes")
			resp, err := rt.RoundTrip(req)
			if err != nil || resp.StatusCode != 200 {
				t.Errorf("got %v, %v", resp, err)
				return
			}
			read(t, resp)
		})
		synctest.Wait()
		for _, name := range []string{"young", "younger"} {
			time.Sleep(ms)
			wg.Go(func() { call(t, rt, t.Context(), name) })
			synctest.Wait()
		}
		wg.Wait() // the re-send comes back between 1s and 1.25s, when both are in line
		c.want(t, []string{"old", "old", "young", "younger"}, []time.Duration{0, 2 * time.Second, 4 * time.Second, 6 * time.Second})
	})
}

func TestMaxWaitAndPatienceBoundTheWaitForATurn(t *testing.T) {
	tests := []struct {
		name  string
		opts  []steady.Option
		turns int // of 40 calls at once, one of which can go each second
		first time.Duration
	}{
		{"by default 30s", nil, 31, 31 * time.Second},
		{"MaxWait", []steady.Option{steady.MaxWait(4 * time.Second)}, 5, 5 * time.Second},
		{"MaxWait of a moment less", []steady.Option{steady.MaxWait(4*time.Second - 1)}, 4, 4 * time.Second},
		{"no MaxWait", []steady.Option{steady.MaxWait(0)}, 1, time.Second},
		{"Patience is MaxWait's default", []steady.Option{steady.Patience(3 * time.Second)}, 4, 4 * time.Second},
		{"MaxWait goes before Patience", []steady.Option{steady.Patience(0), steady.MaxWait(2 * time.Second)}, 3, 3 * time.Second},
		{"in either order", []steady.Option{steady.MaxWait(2 * time.Second), steady.Patience(0)}, 3, 3 * time.Second},
		{"no Patience", []steady.Option{steady.Patience(0)}, 1, time.Second},
		{"hours", []steady.Option{steady.MaxWait(time.Hour)}, 40, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				base := statuses(200)
				rt := must(t)(steady.New(append([]steady.Option{steady.WithBase(base), steady.WithRateLimit(1, 1)}, tt.opts...)...))
				var wg sync.WaitGroup
				for range 40 {
					wg.Go(func() {
						_, err := call(t, rt, t.Context(), "q")
						if err == nil {
							return
						}
						limited, ok := errors.AsType[*steady.LimitError](err)
						if !ok || limited.Deadline || errors.Is(err, context.DeadlineExceeded) || limited.Wait != tt.first {
							t.Errorf("error %v, want one that says %v", err, tt.first)
						}
						if took := time.Since(start); took != 0 {
							t.Errorf("refused after %v, want at once", took)
						}
					})
					synctest.Wait()
				}
				wg.Wait()
				if got := base.attempts(); got != tt.turns {
					t.Errorf("%d calls went, want %d", got, tt.turns)
				}
			})
		})
	}
}

// Nobody knows when a slot will be free, so a call waits for one as long as it
// may, and no longer.
func TestMaxWaitBoundsTheWaitForASlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		rt := must(t)(steady.New(steady.WithBase(statuses(200)), steady.WithConcurrency(1), steady.MaxWait(3*time.Second)))
		resp, err := rt.RoundTrip(post(t, t.Context(), "q"))
		if err != nil {
			t.Fatal(err)
		}
		_, err = call(t, rt, t.Context(), "q")
		if limited, ok := errors.AsType[*steady.LimitError](err); !ok || limited.Wait != 3*time.Second || time.Since(start) != 3*time.Second {
			t.Errorf("error %v after %v, want a refusal after 3s", err, time.Since(start))
		}
		read(t, resp)
		if _, err := call(t, rt, t.Context(), "q"); err != nil {
			t.Error(err)
		}
	})
}

func TestTheBucketStartsAsFullAsItIsTold(t *testing.T) {
	tests := []struct {
		name  string
		opts  []steady.LimitOption
		third time.Duration // when the third call goes, at 1 a second in bursts of 4
	}{
		{"full by default", nil, 0},
		{"full", []steady.LimitOption{steady.InitialTokens(4)}, 0},
		{"with one", []steady.LimitOption{steady.InitialTokens(1)}, 2 * time.Second},
		{"empty", []steady.LimitOption{steady.InitialTokens(0)}, 3 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				rt := must(t)(steady.New(steady.WithBase(statuses(200)), steady.WithRateLimit(1, 4, tt.opts...)))
				for range 3 {
					call(t, rt, t.Context(), "q")
				}
				if got := time.Since(start); got != tt.third {
					t.Errorf("the third call went at %v, want %v", got, tt.third)
				}
			})
		})
	}
}

func TestWhatIsRememberedOfManyKeysIsBounded(t *testing.T) {
	const keys, most = 10_000, 2048
	tests := []struct {
		name   string
		status int
		opts   []steady.Option
		idle   time.Duration // after which nothing needs to be remembered
	}{
		{"idle", 200, nil, time.Second},
		{"empty buckets", 200, []steady.Option{steady.WithRateLimit(1, 1)}, 2 * time.Second},
		{"open breakers", 503, []steady.Option{steady.WithBreaker(steady.TripAfter(1)), steady.WithRetry(steady.MaxAttempts(1))}, time.Minute},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rt := must(t)(steady.New(append([]steady.Option{steady.WithBase(statuses(tt.status))}, tt.opts...)...))
				try := func(host string) {
					req := post(t, t.Context(), "q")
					req.URL.Host = host
					resp, err := rt.RoundTrip(req)
					if err != nil || resp.StatusCode != tt.status {
						t.Fatalf("%s: %v, %v", host, resp, err)
					}
					read(t, resp)
				}
				for i := range keys {
					try(fmt.Sprintf("host%d.test", i))
				}
				time.Sleep(tt.idle)
				for i := range 100 { // what has come to rest is swept when others come
					try(fmt.Sprintf("another%d.test", i))
					time.Sleep(tt.idle / 10)
				}
				if got := len(rt.State()); got > most {
					t.Errorf("%d keys are remembered, want at most %d", got, most)
				}
			})
		})
	}
}

// A key that is in use, or whose limit still counts, must not be forgotten for
// the sake of the many.
func TestAKeyInUseIsNotForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := statuses(200)
		rt := must(t)(steady.New(steady.WithBase(base), steady.WithRateLimit(1.0/3600, 2), steady.WithConcurrency(1), steady.MaxWait(0)))
		resp, err := rt.RoundTrip(post(t, t.Context(), "q")) // holds the slot of llm.test
		if err != nil {
			t.Fatal(err)
		}
		many := func() {
			for i := range 3000 {
				req := post(t, t.Context(), "q")
				req.URL.Host = fmt.Sprintf("host%d.test", i)
				other, err := rt.RoundTrip(req)
				if err != nil {
					t.Fatal(err)
				}
				read(t, other)
			}
		}
		many()
		if _, err := call(t, rt, t.Context(), "q"); !errors.Is(err, steady.ErrRateLimited) {
			t.Errorf("error %v, want ErrRateLimited: the slot is taken", err)
		}
		read(t, resp)
		if _, err := call(t, rt, t.Context(), "q"); err != nil {
			t.Errorf("the second token: %v", err)
		}
		many()
		if _, err := call(t, rt, t.Context(), "q"); !errors.Is(err, steady.ErrRateLimited) {
			t.Errorf("error %v, want ErrRateLimited: both tokens are spent", err)
		}
	})
}

func TestAKeyWithACallUnderWayIsNotForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt := must(t)(steady.New(steady.WithBase(statuses(200)), steady.WithConcurrency(1), steady.MaxWait(0)))
		resp, err := rt.RoundTrip(post(t, t.Context(), "q"))
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		for i := range 3000 {
			keyed(t, rt, fmt.Sprintf("host%d.test", i), "")
		}
		if _, err := call(t, rt, t.Context(), "q"); !errors.Is(err, steady.ErrRateLimited) {
			t.Errorf("error %v, want ErrRateLimited: the slot is taken", err)
		}
		read(t, resp)
	})
}

func TestAC1_ASlotIsTakenOnceAndGivenBackOnce(t *testing.T) {
	errBroken := errors.New("connection reset")
	stream := func(req *http.Request) (*http.Response, error) {
		return respond(req, 200, nil, spyOf("data: one\n\ndata: two\n\n")), nil
	}
	endings := []struct {
		name string
		base roundTripFunc
		end  func(t *testing.T, resp *http.Response, cancel func())
	}{
		{"EOF without Close", stream, func(t *testing.T, resp *http.Response, _ func()) { io.ReadAll(resp.Body) }},
		{"Close without reading", stream, func(t *testing.T, resp *http.Response, _ func()) { resp.Body.Close() }},
		{"EOF and Close", stream, func(t *testing.T, resp *http.Response, _ func()) { read(t, resp) }},
		{"Close twice", stream, func(t *testing.T, resp *http.Response, _ func()) { resp.Body.Close(); resp.Body.Close() }},
		{"Close from two goroutines and a Read", stream, func(t *testing.T, resp *http.Response, _ func()) {
			var wg sync.WaitGroup
			wg.Go(func() { resp.Body.Close() })
			wg.Go(func() { resp.Body.Close() })
			wg.Go(func() { io.ReadAll(resp.Body) })
			wg.Wait()
		}},
		{"a read error", func(req *http.Request) (*http.Response, error) {
			return respond(req, 200, nil, &spy{from: iotest.ErrReader(errBroken)}), nil
		}, func(t *testing.T, resp *http.Response, _ func()) {
			if _, err := io.ReadAll(resp.Body); !errors.Is(err, errBroken) {
				t.Errorf("read error %v", err)
			}
		}},
		{"a cancel in mid-body", stream, func(t *testing.T, resp *http.Response, cancel func()) {
			resp.Body.Read(make([]byte, 4))
			cancel()
			synctest.Wait()
		}},
		{"a cancel and Close", stream, func(t *testing.T, resp *http.Response, cancel func()) { cancel(); resp.Body.Close(); synctest.Wait() }},
		{"an error before the headers", func(*http.Request) (*http.Response, error) { return nil, errBroken }, nil},
		{"an empty body", func(req *http.Request) (*http.Response, error) { return respond(req, 204, nil, http.NoBody), nil }, func(*testing.T, *http.Response, func()) {}},
		{"discarded attempts", statusAfter(3, 503, 200), func(t *testing.T, resp *http.Response, _ func()) { read(t, resp) }},
		{"used up attempts", statusAfter(1e6, 503, 200), func(t *testing.T, resp *http.Response, _ func()) { read(t, resp) }},
		{"a panic", func(*http.Request) (*http.Response, error) { panic("base") }, nil},
		{"a panic in a re-send", func() roundTripFunc {
			next := statusAfter(1, 503, 200)
			return func(req *http.Request) (*http.Response, error) {
				resp, err := next(req)
				if resp.StatusCode == 200 {
					panic("base")
				}
				return resp, err
			}
		}(), nil},
	}
	synctest.Test(t, func(t *testing.T) {
		var base atomic.Pointer[roundTripFunc]
		var began atomic.Int64
		heard := &events{}
		rt := must(t)(steady.New(steady.WithObserver(heard), steady.WithConcurrency(5), steady.MaxWait(0), neverTrips(),
			steady.WithRetry(steady.Delays(ms, ms), steady.RetryBudget(100, 100)),
			steady.WithBase(roundTripFunc(func(req *http.Request) (*http.Response, error) {
				began.Add(1)
				return (*base.Load())(req)
			}))))
		round := func(i int) {
			e := endings[i]
			base.Store(&e.base)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			defer func() { recover() }()
			resp, err := rt.RoundTrip(post(t, ctx, "q"))
			if (err != nil) != (e.end == nil) {
				t.Errorf("%s: %v, %v", e.name, resp, err)
				return
			}
			if err == nil {
				e.end(t, resp, cancel)
			}
		}
		for i, e := range endings {
			for range 3 {
				round(i)
				if s := stateOf(rt, "llm.test"); s.InFlight != 0 || s.Waiting != 0 {
					t.Fatalf("after %q: %+v, want nothing in flight", e.name, s)
				}
			}
		}
		for i := range 1000 {
			round((i * 7) % len(endings))
		}
		wantFiveSlots(t, rt, func() { f := roundTripFunc(stream); base.Store(&f) })
		if got, want := len(of[steady.AttemptEnded](heard)), int(began.Load()); got != want {
			t.Errorf("%d attempts ended, want each of %d once", got, want)
		}
	})
}

// statusAfter answers n times with first, then once with then, and so on.
func statusAfter(n, first, then int) roundTripFunc {
	var made atomic.Int64
	return func(req *http.Request) (*http.Response, error) {
		status := first
		if made.Add(1)%int64(n+1) == 0 {
			status = then
		}
		return respond(req, status, nil, spyOf("body")), nil
	}
}

// wantFiveSlots checks that five calls can be under way and a sixth cannot.
func wantFiveSlots(t *testing.T, rt *steady.Transport, prepare func()) {
	t.Helper()
	prepare()
	var open []*http.Response
	for i := range 6 {
		resp, err := rt.RoundTrip(post(t, t.Context(), "q"))
		if i < 5 && err != nil || i == 5 && !errors.Is(err, steady.ErrRateLimited) {
			t.Errorf("call %d: %v", i+1, err)
		}
		if err == nil {
			open = append(open, resp)
		}
	}
	if s := stateOf(rt, "llm.test"); s.InFlight != 5 {
		t.Errorf("%d in flight, want 5", s.InFlight)
	}
	for _, resp := range open {
		read(t, resp)
	}
	if s := stateOf(rt, "llm.test"); s.InFlight != 0 {
		t.Errorf("%d in flight at the end", s.InFlight)
	}
}

// The breaker may refuse when the queue has already given a slot and a token.
func TestAC1_ARefusalFurtherInGivesSlotAndTokenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		base := statuses(503, 200)
		rt := steady.Chain(base,
			steady.RateLimit(1.0/3600, 2, steady.MaxInFlight(1), steady.MaxWait(0)),
			steady.Breaker(steady.TripAfter(1)))
		if status, err := call(t, rt, t.Context(), "q"); status != 503 || err != nil {
			t.Fatal(status, err)
		}
		for range 100 {
			if _, err := call(t, rt, t.Context(), "q"); !errors.Is(err, steady.ErrBreakerOpen) {
				t.Fatalf("error %v, want ErrBreakerOpen", err)
			}
		}
		time.Sleep(2 * time.Second)
		if status, err := call(t, rt, t.Context(), "q"); status != 200 || err != nil {
			t.Errorf("the second token: %d, %v", status, err)
		}
		if got := base.times(start); !reflect.DeepEqual(got, []time.Duration{0, 2 * time.Second}) {
			t.Errorf("attempts at %v", got)
		}
	})
}

func TestASlotIsHeldUntilTheBodyEndsAndNoMoreThanThatAreOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var open, most atomic.Int32
		rt := must(t)(steady.New(steady.WithConcurrency(5), steady.WithBase(roundTripFunc(func(req *http.Request) (*http.Response, error) {
			most.Store(max(most.Load(), open.Add(1)))
			r, w := io.Pipe()
			go func() {
				time.Sleep(time.Second)
				open.Add(-1)
				w.Close()
			}()
			return respond(req, 200, nil, r), nil
		}))))
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				if _, err := call(t, rt, t.Context(), "q"); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if took := time.Since(start); most.Load() != 5 || took != 10*time.Second {
			t.Errorf("%d streams at a time for %v, want 5 for 10s", most.Load(), took)
		}
	})
}

func TestASlotIsNotHeldWhileACallBacksOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClock()
		slow := play(step{status: 429, header: after("30")}, step{status: 429, header: after("30")}, step{status: 200})
		base := roundTripFunc(func(req *http.Request) (*http.Response, error) {
			if req.Header.Get("Slow") != "" {
				return slow.RoundTrip(req)
			}
			return c.named().RoundTrip(req)
		})
		rt := must(t)(steady.New(steady.WithBase(base), steady.WithConcurrency(2), steady.MaxWait(0)))
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				req := post(t, t.Context(), "q")
				req.Header.Set("Slow", "yes")
				resp, err := rt.RoundTrip(req)
				if err != nil || resp.StatusCode != 200 {
					t.Errorf("got %v, %v", resp, err)
					return
				}
				read(t, resp)
				if took := time.Since(c.start); took < 30*time.Second {
					t.Errorf("back after %v, before Retry-After", took)
				}
			})
		}
		time.Sleep(time.Second)
		if s := stateOf(rt, "llm.test"); s.InFlight != 0 {
			t.Errorf("%d in flight while both back off", s.InFlight)
		}
		if _, err := call(t, rt, t.Context(), "third"); err != nil {
			t.Errorf("the third call: %v", err)
		}
		wg.Wait()
		c.want(t, []string{"third"}, []time.Duration{time.Second})
	})
}
