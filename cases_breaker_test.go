package steady_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/steadyhttp/steady"
)

// alone returns a stack that refuses at once, tries once, and trips after n
// failures in a row.
func alone(t *testing.T, base http.RoundTripper, n int, opts ...steady.Option) *steady.Transport {
	t.Helper()
	return must(t)(steady.New(append([]steady.Option{
		steady.WithBase(base), steady.Patience(0), steady.WithBreaker(steady.TripAfter(n)), steady.WithRetry(steady.MaxAttempts(1)),
	}, opts...)...))
}

func TestCB1_TheCallerLeavingIsNeutral(t *testing.T) {
	hang := func(req *http.Request) (*http.Response, error) {
		<-req.Context().Done()
		return nil, errors.New("aborted") // says nothing of the context
	}
	trickle := func(req *http.Request) (*http.Response, error) {
		r, w := io.Pipe()
		go func() {
			w.Write([]byte("data: one\n\n"))
			<-req.Context().Done()
			w.CloseWithError(errors.New("aborted"))
		}()
		return respond(req, 200, http.Header{"Content-Type": {"text/event-stream"}}, r), nil
	}
	cancelled := func(t *testing.T) (context.Context, func()) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		return ctx, cancel
	}
	caused := func(t *testing.T) (context.Context, func()) {
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(context.DeadlineExceeded) }) // a cause that lies
		return ctx, func() { cancel(nil) }
	}
	late := func(t *testing.T) (context.Context, func()) { return context.WithTimeout(t.Context(), time.Second) }
	live := func(t *testing.T) (context.Context, func()) { return t.Context(), func() {} }
	tests := []struct {
		name string
		base roundTripFunc
		ctx  func(*testing.T) (context.Context, func())
		n    int
		want string
	}{
		{"cancelled before the headers", hang, cancelled, 100, "closed"},
		{"cancelled with a cause", hang, caused, 100, "closed"},
		{"cancelled in the stream", trickle, cancelled, 100, "closed"},
		{"the caller's deadline before the headers", hang, late, 5, "open"},
		{"the caller's deadline in the stream", trickle, late, 5, "open"},
		{"the header timeout", hang, live, 5, "open"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var base atomic.Pointer[roundTripFunc]
				base.Store(&tt.base)
				rt := alone(t, roundTripFunc(func(req *http.Request) (*http.Response, error) { return (*base.Load())(req) }), 5,
					steady.WithTimeouts(steady.HeaderTimeout(5*time.Second)))
				fail := func(n int) {
					f := roundTripFunc(statuses(503).RoundTrip)
					old := base.Swap(&f)
					defer base.Store(old)
					for range n {
						call(t, rt, t.Context(), "q")
					}
				}
				neutral := tt.want == "closed"
				if neutral {
					fail(4)
				}
				for i := range tt.n {
					if !neutral && llmBreaker(rt) == "open" {
						t.Fatalf("open after %d", i)
					}
					ctx, cancel := tt.ctx(t)
					resp, err := rt.RoundTrip(post(t, ctx, "q"))
					if err == nil {
						_, err = io.ReadAll(resp.Body)
						resp.Body.Close()
					}
					cancel()
					if err == nil || errors.Is(err, steady.ErrBreakerOpen) {
						t.Fatalf("call %d: %v", i+1, err)
					}
				}
				if got := llmBreaker(rt); got != tt.want {
					t.Errorf("%s, want %s", got, tt.want)
				}
				if neutral { // nor do they wipe out what was counted
					fail(1)
					if got := llmBreaker(rt); got != "open" {
						t.Errorf("%s after the fifth failure, want open", got)
					}
				}
			})
		})
	}
}

func TestCB3_HalfOpenLetsOneProbeThrough(t *testing.T) {
	retry := steady.Retry(steady.MaxAttempts(3))
	breaker := func() steady.Middleware { return steady.Breaker(steady.TripAfter(1)) }
	stacks := []struct {
		name  string
		stack func(http.RoundTripper) http.RoundTripper
	}{
		{"the breaker alone", func(base http.RoundTripper) http.RoundTripper { return steady.Chain(base, breaker()) }},
		{"retry outside", func(base http.RoundTripper) http.RoundTripper { return steady.Chain(base, retry, breaker()) }},
		{"retry inside", func(base http.RoundTripper) http.RoundTripper { return steady.Chain(base, breaker(), retry) }},
		{"New without patience", func(base http.RoundTripper) http.RoundTripper {
			return alone(t, base, 1, steady.WithRetry(steady.MaxAttempts(3)), steady.WithRateLimit(0.001, 1000))
		}},
	}
	for _, tt := range stacks {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				base := play(step{status: 503}, step{status: 503, takes: time.Second})
				rt := tt.stack(base)
				if status, err := call(t, rt, t.Context(), "q"); err != nil && !errors.Is(err, steady.ErrBreakerOpen) || err == nil && status != 503 {
					t.Fatal(status, err)
				}
				time.Sleep(time.Until(start.Add(time.Second)))
				opened := start.Add(time.Second) // at the latest, for a stack with a backoff
				_, err := call(t, rt, t.Context(), "q")
				open, ok := errors.AsType[*steady.BreakerError](err)
				if !ok || open.Key != "llm.test" || open.Until.Before(opened) || open.Until.After(opened.Add(2*time.Second)) ||
					!strings.Contains(err.Error(), "llm.test") || !strings.Contains(err.Error(), open.Until.UTC().Format(time.RFC3339)) {
					t.Fatalf("error %v, want a refusal that names the host and the time of the next try", err)
				}
				if ne, ok := errors.AsType[net.Error](err); ok && ne.Timeout() {
					t.Errorf("error %v is a timeout", err)
				}
				if _, ok := errors.AsType[*steady.RetryError](err); ok {
					t.Errorf("error %v, want the breaker's own: nothing was tried", err)
				}
				time.Sleep(time.Until(open.Until))

				before, probing := base.attempts(), time.Now()
				var refused atomic.Int32
				var wg sync.WaitGroup
				for range 200 {
					wg.Go(func() {
						status, err := call(t, rt, t.Context(), "q")
						switch {
						case errors.Is(err, steady.ErrBreakerOpen):
							refused.Add(1)
							if took := time.Since(probing); took != 0 {
								t.Errorf("refused after %v, want at once", took)
							}
						case err != nil || status != 503:
							t.Errorf("the probe: %d, %v", status, err)
						}
					})
				}
				wg.Wait()
				if probes := base.attempts() - before; probes != 1 || refused.Load() != 199 {
					t.Errorf("%d went and %d were refused, want 1 and 199", probes, refused.Load())
				}
			})
		})
	}
}

// A re-send within the second that follows the first failure is refused by its
// gate, and yet the caller of that very call has a real answer.
func TestCB3_ARefusalIsNotRetriedWhereverRetryStands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		heard := &events{}
		base := statuses(503)
		rt := steady.Chain(base, steady.Retry(steady.MaxAttempts(5), steady.WithObserver(heard)), steady.Breaker(steady.TripAfter(1)))
		if status, err := call(t, rt, t.Context(), "q"); status != 503 || err != nil {
			t.Errorf("got %d, %v, want the 503", status, err)
		}
		if got := len(of[steady.RetryScheduled](heard)); got != 1 || base.attempts() != 1 {
			t.Errorf("%d waits and %d attempts, want 1 and 1", got, base.attempts())
		}
		if _, err := call(t, rt, t.Context(), "q"); !errors.Is(err, steady.ErrBreakerOpen) {
			t.Errorf("error %v, want ErrBreakerOpen", err)
		}
		if got := len(of[steady.RetryScheduled](heard)); got != 1 {
			t.Errorf("a refusal was retried")
		}
	})
}

func TestCB4_4xxAnd429NeitherTripNorWipeOut(t *testing.T) {
	repeat := func(n, status int) (s []int) {
		for range n {
			s = append(s, status)
		}
		return s
	}
	tests := []struct {
		name     string
		statuses []int
		want     string
		at       int // after how many, if it opens
	}{
		{"401", repeat(100, 401), "closed", 0},
		{"400", repeat(100, 400), "closed", 0},
		{"403", repeat(100, 403), "closed", 0},
		{"404", repeat(100, 404), "closed", 0},
		{"422", repeat(100, 422), "closed", 0},
		{"429", repeat(100, 429), "closed", 0},
		{"neutral ones among failures", []int{503, 503, 429, 503, 400, 503, 503}, "open", 7},
		{"a success resets", []int{503, 503, 503, 503, 200, 503, 503, 503, 503}, "closed", 0},
		{"a success resets, and then five", []int{503, 503, 503, 503, 200, 503, 503, 503, 503, 401, 503}, "open", 11},
		{"529", repeat(5, 529), "open", 5},
		{"498", repeat(5, 498), "open", 5},
		{"408", repeat(5, 408), "open", 5},
		{"500, 502 to 504 and 520", []int{500, 502, 503, 504, 520}, "open", 5},
		{"520", repeat(5, 520), "open", 5},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rt := alone(t, statuses(tt.statuses...), 5)
				for i, want := range tt.statuses {
					if got := llmBreaker(rt); got == "open" {
						t.Fatalf("open before attempt %d", i+1)
					}
					if status, err := call(t, rt, t.Context(), "q"); status != want || err != nil {
						t.Fatalf("attempt %d: %d, %v", i+1, status, err)
					}
				}
				if got := llmBreaker(rt); got != tt.want {
					t.Errorf("%s, want %s", got, tt.want)
				}
				req := post(t, t.Context(), "q")
				req.URL.Host = "other.test"
				if resp, err := rt.RoundTrip(req); err != nil {
					t.Errorf("another host: %v", err)
				} else {
					read(t, resp)
				}
			})
		})
	}
}

func TestTheRatioTripsInARollingWindow(t *testing.T) {
	type lot struct {
		at   time.Duration
		ok   int
		bad  int
		want string
	}
	tests := []struct {
		name string
		lots []lot
	}{
		{"not below the minimum", []lot{{0, 9, 10, "closed"}}},
		{"at the minimum", []lot{{0, 10, 9, "closed"}, {1 * time.Second, 0, 1, "open"}}},
		{"not below the ratio", []lot{{0, 51, 49, "closed"}}},
		{"what is older than the window has left", []lot{{0, 10, 9, "closed"}, {31 * time.Second, 0, 1, "closed"}}},
		{"across the bounds of fixed windows", []lot{{0, 1, 0, "closed"}, {29 * time.Second, 5, 5, "closed"}, {31 * time.Second, 5, 4, "closed"}, {32 * time.Second, 0, 1, "open"}}},
		{"old successes do not hide new failures", []lot{{0, 100, 0, "closed"}, {31 * time.Second, 10, 10, "open"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				var status atomic.Int64
				rt := must(t)(steady.New(steady.Patience(0), steady.WithRetry(steady.MaxAttempts(1)),
					steady.WithBreaker(steady.TripAfter(1000), steady.TripRatio(0.5, 30*time.Second, 20)),
					steady.WithBase(roundTripFunc(func(req *http.Request) (*http.Response, error) {
						return respond(req, int(status.Load()), nil, nil), nil
					}))))
				for _, l := range tt.lots {
					time.Sleep(time.Until(start.Add(l.at)))
					for i := range l.ok + l.bad {
						status.Store(200)
						if i >= l.ok {
							status.Store(503)
						}
						if _, err := call(t, rt, t.Context(), "q"); err != nil {
							t.Fatalf("at %v, call %d: %v", l.at, i+1, err)
						}
					}
					if got := llmBreaker(rt); got != l.want {
						t.Errorf("at %v: %s, want %s", l.at, got, l.want)
					}
				}
			})
		})
	}
}

func TestARunOfFailuresOpensIfChanceDoesNotExplainIt(t *testing.T) {
	quarter := strings.Repeat("x...", 40)
	for _, tt := range []struct {
		name   string
		before string // . is an answer, x a failure, and _ are 3 s
		run    int
		opts   []steady.BreakerOption
		want   string
	}{
		{"the first calls of all", "", 5, nil, "open"},
		{"one less", "", 4, nil, "closed"},
		{"after a hundred answers", strings.Repeat(".", 100), 5, nil, "open"},
		{"where a quarter fails", quarter, 8, nil, "closed"},
		{"a longer one where a quarter fails", quarter, 11, nil, "open"},
		{"where a quarter failed 9 seconds ago", quarter + "___", 5, nil, "open"},
		{"where the user has set how long it may be", quarter, 5, []steady.BreakerOption{steady.TripAfter(5)}, "open"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				status := 0
				rt := must(t)(steady.New(steady.Patience(0), steady.WithRetry(steady.MaxAttempts(1)), steady.WithBreaker(tt.opts...),
					steady.WithBase(roundTripFunc(func(req *http.Request) (*http.Response, error) {
						return respond(req, status, nil, nil), nil
					}))))
				for _, c := range tt.before + strings.Repeat("x", tt.run) {
					if c == '_' {
						time.Sleep(3 * time.Second)
						continue
					}
					status = map[rune]int{'.': 200, 'x': 500}[c]
					if _, err := call(t, rt, t.Context(), "q"); err != nil {
						t.Fatal(err)
					}
				}
				if got := llmBreaker(rt); got != tt.want {
					t.Errorf("%s, want %s", got, tt.want)
				}
			})
		})
	}
}

// tripped returns a stack whose breaker has just opened, and the base that
// answers from then on.
func tripped(t *testing.T, base roundTripFunc, opts ...steady.Option) *steady.Transport {
	t.Helper()
	var up atomic.Bool
	rt := alone(t, roundTripFunc(func(req *http.Request) (*http.Response, error) {
		if !up.Load() {
			return respond(req, 503, nil, nil), nil
		}
		return base(req)
	}), 1, opts...)
	if status, err := call(t, rt, t.Context(), "trip"); status != 503 || err != nil {
		t.Fatal(status, err)
	}
	up.Store(true)
	return rt
}

func TestAProbeThatNeverAnswersIsGivenUpForLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n atomic.Int32
		release := make(chan struct{})
		rt := tripped(t, func(req *http.Request) (*http.Response, error) {
			if n.Add(1) == 1 {
				<-release // heeds no context
			}
			return respond(req, 200, nil, nil), nil
		})
		time.Sleep(2 * time.Second)
		var wg sync.WaitGroup
		wg.Go(func() { call(t, rt, t.Context(), "lost") })
		synctest.Wait()
		time.Sleep(10*time.Second - 1)
		_, err := call(t, rt, t.Context(), "q")
		if open, ok := errors.AsType[*steady.BreakerError](err); !ok || !open.Until.IsZero() {
			t.Errorf("error %v, want one that says that a probe is out", err)
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if status, err := call(t, rt, t.Context(), "q"); status != 200 || err != nil || llmBreaker(rt) != "closed" {
			t.Errorf("the second probe: %d, %v, %s", status, err, llmBreaker(rt))
		}
		close(release)
		wg.Wait()
		if got := llmBreaker(rt); got != "closed" {
			t.Errorf("%s after the lost probe's end, want closed", got)
		}
	})
}

func TestAProbeIsJudgedByItsHeadersAlthoughNobodyReadsItsStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt := tripped(t, func(req *http.Request) (*http.Response, error) {
			r, _ := io.Pipe()
			return respond(req, 200, http.Header{"Content-Type": {"text/event-stream"}}, r), nil
		})
		time.Sleep(2 * time.Second)
		resp, err := rt.RoundTrip(post(t, t.Context(), "q"))
		if err != nil {
			t.Fatal(err)
		}
		if got := llmBreaker(rt); got != "closed" {
			t.Errorf("%s, want closed", got)
		}
		other, err := rt.RoundTrip(post(t, t.Context(), "q"))
		if err != nil {
			t.Fatal(err)
		}
		other.Body.Close()
		resp.Body.Close()
	})
}

func TestAProbeThatTheCallerCancelsMakesRoomForAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n atomic.Int32
		rt := tripped(t, func(req *http.Request) (*http.Response, error) {
			if n.Add(1) == 1 {
				<-req.Context().Done()
				return nil, req.Context().Err()
			}
			return respond(req, 200, nil, nil), nil
		})
		time.Sleep(2 * time.Second)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if _, err := call(t, rt, ctx, "q"); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v, want the cancel", err)
		}
		if got := llmBreaker(rt); got != "half-open" {
			t.Errorf("%s, want half-open", got)
		}
		if status, err := call(t, rt, t.Context(), "q"); status != 200 || err != nil {
			t.Errorf("the next probe: %d, %v", status, err)
		}
	})
}

func TestAPanicInTheBaseIsAFailure(t *testing.T) {
	panicking := func(t *testing.T, rt http.RoundTripper) {
		t.Helper()
		defer func() {
			if got := recover(); got != "base" {
				t.Errorf("recovered %v, want the base's panic", got)
			}
		}()
		rt.RoundTrip(post(t, t.Context(), "q"))
	}
	synctest.Test(t, func(t *testing.T) { // closed
		rt := alone(t, roundTripFunc(func(*http.Request) (*http.Response, error) { panic("base") }), 5)
		for i := range 5 {
			if got := llmBreaker(rt); i > 0 && got != "closed" {
				t.Errorf("%s after %d panics", got, i)
			}
			panicking(t, rt)
		}
		if got := llmBreaker(rt); got != "open" {
			t.Errorf("%s after 5 panics, want open", got)
		}
	})
	synctest.Test(t, func(t *testing.T) { // half-open
		var n atomic.Int32
		rt := tripped(t, func(req *http.Request) (*http.Response, error) {
			if n.Add(1) == 1 {
				panic("base")
			}
			return respond(req, 200, nil, nil), nil
		})
		time.Sleep(2 * time.Second)
		panicking(t, rt)
		_, err := call(t, rt, t.Context(), "q")
		if open, ok := errors.AsType[*steady.BreakerError](err); !ok || time.Until(open.Until) != 2*time.Second {
			t.Errorf("error %v, want one that says 2s", err)
		}
		time.Sleep(2 * time.Second)
		if status, err := call(t, rt, t.Context(), "q"); status != 200 || err != nil {
			t.Errorf("the next probe: %d, %v", status, err)
		}
	})
}

func TestALateResultOfAnEarlierPeriodIsVoid(t *testing.T) {
	for _, late := range []int{503, 200} {
		t.Run(fmt.Sprint(late), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				base := roundTripFunc(func(req *http.Request) (*http.Response, error) {
					b, _ := io.ReadAll(req.Body)
					req.Body.Close()
					switch string(b) {
					case "slow":
						time.Sleep(5 * time.Second)
						return respond(req, late, nil, nil), nil
					case "bad":
						return respond(req, 503, nil, nil), nil
					}
					return respond(req, 200, nil, nil), nil
				})
				rt := alone(t, base, 2)
				var wg sync.WaitGroup
				for range 10 {
					wg.Go(func() { call(t, rt, t.Context(), "slow") })
				}
				synctest.Wait()
				call(t, rt, t.Context(), "bad")
				call(t, rt, t.Context(), "bad") // open at 0s
				if late == 200 {                // when it is open again, from 4s to 6s
					time.Sleep(4 * time.Second)
					call(t, rt, t.Context(), "bad")
				} else { // when it is closed, and has one failure of its own
					time.Sleep(2 * time.Second)
					call(t, rt, t.Context(), "good")
					call(t, rt, t.Context(), "bad")
				}
				want := llmBreaker(rt)
				wg.Wait()
				if got := llmBreaker(rt); got != want {
					t.Errorf("%s after the late results, want %s as before", got, want)
				}
				if late == 503 {
					call(t, rt, t.Context(), "good")
					call(t, rt, t.Context(), "bad")
					if got := llmBreaker(rt); got != "closed" {
						t.Errorf("%s, want closed", got)
					}
				}
			})
		})
	}
}

func TestARefusalCarriesTheTimeOfTheNextTry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		heard := &events{}
		rt := must(t)(steady.New(steady.WithBase(statuses(503)), steady.Patience(0), steady.WithObserver(heard),
			steady.WithBreaker(steady.TripAfter(1), steady.OpenFor(7*time.Second)), steady.WithRetry(steady.MaxAttempts(1))))
		call(t, rt, t.Context(), "q")
		for _, at := range []time.Duration{0, time.Second, 7*time.Second - 1} {
			time.Sleep(time.Until(start.Add(at)))
			_, err := call(t, rt, t.Context(), "q")
			open, ok := errors.AsType[*steady.BreakerError](err)
			if !ok || open.Key != "llm.test" || open.Until.Sub(start) != 7*time.Second || errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("at %v: %v, want a refusal until 7s", at, err)
			}
			if got := llmBreaker(rt); got != "open" {
				t.Errorf("at %v: %s, want open", at, got)
			}
		}
		time.Sleep(time.Nanosecond)
		if got := llmBreaker(rt); got != "half-open" {
			t.Errorf("at 7s: %s, want half-open", got)
		}
		if status, err := call(t, rt, t.Context(), "q"); status != 503 || err != nil { // the probe, at 7s
			t.Errorf("the probe: %d, %v", status, err)
		}
		_, err := call(t, rt, t.Context(), "q")
		if open, ok := errors.AsType[*steady.BreakerError](err); !ok || open.Until.Sub(start) != 14*time.Second {
			t.Errorf("after the probe: %v, want a refusal until 14s", err)
		}
		var changes []string
		for _, e := range of[steady.BreakerChanged](heard) {
			changes = append(changes, e.Key+": "+e.From+" to "+e.To)
		}
		want := []string{"llm.test: closed to open", "llm.test: open to half-open", "llm.test: half-open to open"}
		if !reflect.DeepEqual(changes, want) {
			t.Errorf("changes %q, want %q", changes, want)
		}
	})
}
