package steady_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/steadyhttp/steady"
	"github.com/steadyhttp/steady/internal/fakeserver"
)

// State may be asked for in an Observer, whatever the event: no lock is held.
func TestAnObserverMayAskForTheState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var rt *steady.Transport
		var changes []string
		rt = must(t)(steady.New(
			steady.WithBase(statuses(503, 200)),
			steady.WithBreaker(steady.TripAfter(1)),
			steady.WithObserver(steady.ObserverFunc(func(_ context.Context, e steady.Event) {
				if c, ok := e.(steady.BreakerChanged); ok {
					changes = append(changes, c.To+" "+rt.State()[0].Breaker)
				}
			})),
		))
		resp, err := rt.RoundTrip(post(t, t.Context(), "q"))
		if err != nil {
			t.Fatal(err)
		}
		read(t, resp)
		if got, want := strings.Join(changes, ", "), "open open, half-open half-open, closed closed"; got != want {
			t.Errorf("heard %q, want %q", got, want)
		}
	})
}

// A panic of an observer is the caller's to recover from, and must cost no slot.
func TestAPanicOfAnObserverCostsNoSlot(t *testing.T) {
	for _, tc := range []struct {
		name string
		on   func(steady.Event) bool
	}{
		{"when a call has waited", func(e steady.Event) bool { _, ok := e.(steady.LimitWaited); return ok }},
		{"when an attempt has ended", func(e steady.Event) bool { _, ok := e.(steady.AttemptEnded); return ok }},
		{"when a call is given up", func(e steady.Event) bool { _, ok := e.(steady.GaveUp); return ok }},
		{"when a retry is scheduled", func(e steady.Event) bool { _, ok := e.(steady.RetryScheduled); return ok }},
		{"when the breaker changes", func(e steady.Event) bool { _, ok := e.(steady.BreakerChanged); return ok }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				panics := 0
				rt := must(t)(steady.New(
					steady.WithBase(statuses(200, 503, 200, 400)),
					steady.WithRateLimit(1, 1),
					steady.WithConcurrency(1),
					steady.WithBreaker(steady.TripAfter(1)),
					steady.WithObserver(steady.ObserverFunc(func(_ context.Context, e steady.Event) {
						if tc.on(e) {
							panics++
							panic("observer")
						}
					})),
				))
				for range 5 {
					func() {
						defer func() { _ = recover() }()
						resp, err := rt.RoundTrip(post(t, t.Context(), "q"))
						if err == nil {
							defer resp.Body.Close()
							_, _ = io.ReadAll(resp.Body)
						}
					}()
				}
				if panics == 0 {
					t.Fatal("the observer was not called")
				}
				if s := rt.State()[0]; s.InFlight != 0 || s.Waiting != 0 {
					t.Errorf("%d in flight and %d waiting at the end", s.InFlight, s.Waiting)
				}
			})
		})
	}
}

// Nor must it keep the breaker half-open: the call that waited was to be the probe.
func TestAPanicOfAnObserverFreesTheProbeThatItsCallHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		waited := false
		rt := must(t)(steady.New(
			steady.WithBase(statuses(503, 200)),
			steady.WithBreaker(steady.TripAfter(1), steady.OpenFor(time.Second)),
			steady.WithRetry(steady.MaxAttempts(1)),
			steady.WithObserver(steady.ObserverFunc(func(_ context.Context, e steady.Event) {
				if _, ok := e.(steady.LimitWaited); ok && !waited {
					waited = true
					panic("observer")
				}
			})),
		))
		if status, err := call(t, rt, t.Context(), "trip"); status != 503 || err != nil {
			t.Fatal(status, err)
		}
		func() {
			defer func() { _ = recover() }()
			_, err := rt.RoundTrip(post(t, t.Context(), "probe"))
			t.Errorf("got %v, want the observer's panic", err)
		}()
		if status, err := call(t, rt, t.Context(), "next"); status != 200 || err != nil || time.Since(start) != time.Second {
			t.Errorf("the next call: %d, %v at %v, want 200 at 1s", status, err, time.Since(start))
		}
	})
}

// A cost beyond all reason puts the key into debt for ever, but stops nothing else.
func TestAHugeCostIsPaidAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt := must(t)(steady.New(steady.WithBase(statuses(200)), steady.WithRateLimit(1, 1)))
		resp, err := rt.RoundTrip(post(t, steady.ContextWithCost(t.Context(), math.MaxInt), "q"))
		if err != nil {
			t.Fatal(err)
		}
		read(t, resp)
		if _, err := rt.RoundTrip(post(t, t.Context(), "q")); !errors.Is(err, steady.ErrRateLimited) {
			t.Errorf("after it: %v, want ErrRateLimited", err)
		}
		if _, err := rt.RoundTrip(post(t, steady.ContextWithCost(t.Context(), math.MaxInt), "q")); !errors.Is(err, steady.ErrRateLimited) {
			t.Errorf("another one: %v, want ErrRateLimited", err)
		}
	})
}

type uncomparableContext struct {
	context.Context
	tags []string
}

func TestAContextNeedNotBeComparable(t *testing.T) {
	rt := must(t)(steady.New(steady.WithBase(statuses(200))))
	req := post(t, uncomparableContext{t.Context(), []string{"a"}}, "q")
	resp, err := rt.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	read(t, resp)
	if resp.Request != req {
		t.Error("the response does not name the caller's request")
	}
}

func TestHugeDurationsInOptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const huge = time.Duration(math.MaxInt64)
		base := statuses(503, 429, 200)
		rt := must(t)(steady.New(
			steady.WithBase(base),
			steady.WithRateLimit(1, 1, steady.MaxWait(huge), steady.Patience(huge)),
			steady.WithBreaker(steady.TripRatio(0.5, huge, math.MaxInt), steady.OpenFor(huge)),
			steady.WithRetry(steady.Delays(huge, huge), steady.Within(huge), steady.MaxRetryAfter(huge), steady.MaxAttempts(math.MaxInt)),
			steady.WithTimeouts(steady.HeaderTimeout(huge), steady.FirstContent(huge), steady.Idle(huge), steady.FirstEvent(huge)),
		))
		ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
		defer cancel()
		resp, err := rt.RoundTrip(post(t, ctx, "q"))
		if err != nil {
			t.Fatal(err)
		}
		read(t, resp)
	})
}

func TestNegativeTimeoutsAreRefused(t *testing.T) {
	for name, opt := range map[string]steady.TimeoutOption{
		"FirstContent": steady.FirstContent(-1), "Idle": steady.Idle(-1), "FirstEvent": steady.FirstEvent(-1),
	} {
		if _, err := steady.New(steady.WithTimeouts(opt)); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s(-1): %v", name, err)
		}
	}
}

// afterFuncContext has something happen between package context's look at Done
// and its registration, which it makes with a lock of the child held.
type afterFuncContext struct {
	context.Context
	before func()
}

func (c afterFuncContext) AfterFunc(f func()) func() bool {
	c.before()
	return c.Context.(interface{ AfterFunc(func()) func() bool }).AfterFunc(f)
}

func TestAnAttemptMayEndWhileAChildContextIsMade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		rt := steady.Attempt()(roundTripFunc(func(req *http.Request) (*http.Response, error) {
			child, stop := context.WithCancel(afterFuncContext{req.Context(), func() {
				cancel()
				<-req.Context().Done()
			}})
			defer stop()
			<-child.Done()
			return nil, child.Err()
		}))
		if _, err := rt.RoundTrip(post(t, ctx, "q")); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

func TestBasesThatBreakTheContract(t *testing.T) {
	for _, tc := range []struct {
		name string
		base func(*http.Request) (*http.Response, error)
	}{
		{"neither response nor error", func(*http.Request) (*http.Response, error) { return nil, nil }},
		{"both", func(req *http.Request) (*http.Response, error) { return respond(req, 200, nil, nil), errors.New("x") }},
		{"no body", func(*http.Request) (*http.Response, error) { return &http.Response{StatusCode: 200}, nil }},
		{"no body but a failure", func(*http.Request) (*http.Response, error) { return &http.Response{StatusCode: 503}, nil }},
	} {
		for _, layer := range []string{"New", "Retry", "Breaker", "RateLimit", "Attempt", "SDK"} {
			t.Run(tc.name+" under "+layer, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					base := roundTripFunc(tc.base)
					var rt http.RoundTripper
					switch layer {
					case "New":
						rt = must(t)(steady.New(steady.WithBase(base)))
					case "Retry":
						rt = steady.Retry()(base)
					case "Breaker":
						rt = steady.Breaker()(base)
					case "RateLimit":
						rt = steady.RateLimit(1, 1)(base)
					case "Attempt":
						rt = steady.Attempt()(base)
					case "SDK":
						rt = steady.SDK()(base)
					}
					defer func() {
						if p := recover(); p != nil {
							t.Errorf("panic: %v", p)
						}
					}()
					req := post(t, t.Context(), "q")
					req.Header.Set("X-Stainless-Retry-Count", "0")
					resp, err := rt.RoundTrip(req)
					if (resp == nil) == (err == nil) {
						t.Errorf("resp %v, err %v", resp, err)
					}
					if resp != nil && resp.Body != nil {
						resp.Body.Close()
					}
				})
			})
		}
	}
}

// The terminal event ends an attempt, but not yet what is read of it: an SDK with
// a deadline of its own reads on to the end, and gets it, and the connection is
// used again.
func TestAnSDKReadsOnAfterTheTerminalEvent(t *testing.T) {
	const events = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\ndata: [DONE]\n\n"
	for _, h2 := range []bool{false, true} {
		srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, events)
			w.(http.Flusher).Flush()
			time.Sleep(20 * time.Millisecond)
			_, _ = io.WriteString(w, ": bye\n\n")
		}))
		var conns atomic.Int64
		srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
			if s == http.StateNew {
				conns.Add(1)
			}
		}
		srv.EnableHTTP2 = h2
		srv.StartTLS()
		rt := must(t)(steady.New(steady.WithBase(srv.Client().Transport)))
		for range 3 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, srv.URL+"/v1/chat/completions", strings.NewReader("{}"))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("X-Stainless-Retry-Count", "0")
			resp, err := rt.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			if got := read(t, resp); got != events+": bye\n\n" {
				t.Errorf("%s: read %q", resp.Proto, got)
			}
			cancel()
		}
		if got := conns.Load(); got != 1 {
			t.Errorf("HTTP/2 %v: %d connections, want 1", h2, got)
		}
		srv.Close()
	}
}

// A request body that has stopped coming cannot be sent again: the answer that
// came early is the caller's now, and not when the rest of the body comes.
func TestAnEarlyAnswerDoesNotWaitForABodyThatStopped(t *testing.T) {
	for _, h2 := range []bool{false, true} {
		srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "0")
			w.Header().Set("Connection", "close")
			w.WriteHeader(http.StatusTooManyRequests)
		}))
		srv.EnableHTTP2 = h2
		srv.StartTLS()
		rt := must(t)(steady.New(steady.WithBase(srv.Client().Transport), steady.WithConcurrency(1)))
		r, w := io.Pipe()
		go func() { _, _ = io.WriteString(w, "{") }()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL+"/v1/chat/completions", r)
		if err != nil {
			t.Fatal(err)
		}
		answered := make(chan int, 1)
		go func() {
			resp, err := rt.RoundTrip(req)
			if err != nil {
				answered <- 0
				return
			}
			resp.Body.Close()
			answered <- resp.StatusCode
		}()
		select {
		case got := <-answered:
			if got != http.StatusTooManyRequests {
				t.Errorf("HTTP/2 %v: status %d, want 429", h2, got)
			}
		case <-time.After(5 * time.Second):
			t.Errorf("HTTP/2 %v: no answer; %+v", h2, rt.State())
		}
		w.Close()
		srv.Close()
	}
}

func TestAShortAnswerThatStallsIsGivenUpWithoutAHeaderTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := roundTripFunc(func(req *http.Request) (*http.Response, error) {
			r, w := io.Pipe()
			context.AfterFunc(req.Context(), func() { w.CloseWithError(req.Context().Err()) })
			go func() { _, _ = io.WriteString(w, `{"choices":`) }()
			resp := respond(req, 200, http.Header{"Content-Type": {"application/json"}}, r)
			resp.ContentLength = 100
			return resp, nil
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		start := time.Now()
		rt := steady.Attempt(steady.HeaderTimeout(0), steady.FirstContent(time.Second))(base)
		resp, err := rt.RoundTrip(post(t, ctx, "q"))
		if err == nil {
			_, err = io.ReadAll(resp.Body)
			resp.Body.Close()
		}
		if took := time.Since(start); !errors.Is(err, steady.ErrStreamStalled) || took != time.Second {
			t.Errorf("%v after %v, want ErrStreamStalled after 1s", err, took)
		}
	})
}

// Whatever the calls and the provider do, in the end nothing is in flight, nobody
// waits, and the next call goes through.
func TestNothingIsLostInTheLongRun(t *testing.T) {
	t.Run("with the limits of the user", func(t *testing.T) { nothingIsLost(t, false) })
	t.Run("with the pace", func(t *testing.T) { nothingIsLost(t, true) })
}

func nothingIsLost(t *testing.T, paced bool) {
	// With a pace nobody can tell from outside why somebody waits; it may be two
	// turns in a row at its slowest, one attempt in twenty seconds.
	mostIdle := 16 // looks
	if paced {
		mostIdle = 600
	}
	for seed := range uint64(60) {
		synctest.Test(t, func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 1))
			var mu sync.Mutex
			chance := func(p float64) bool {
				mu.Lock()
				defer mu.Unlock()
				return rnd.Float64() < p
			}
			upTo := func(d time.Duration) time.Duration {
				mu.Lock()
				defer mu.Unlock()
				return time.Duration(rnd.Int64N(int64(d)))
			}
			const most = 3
			var under, peak atomic.Int64
			var sentAt []time.Time
			ended := &events{}
			limits := steady.Option(steady.WithConcurrency(most))
			const perSecond = 3
			limited := seed%2 == 0
			if limited {
				limits = steady.WithRateLimit(perSecond, 3, steady.MaxInFlight(most))
			}
			down := atomic.Bool{}
			base := roundTripFunc(func(req *http.Request) (*http.Response, error) {
				defer under.Add(-1)
				if n := under.Add(1); n > peak.Load() {
					peak.Store(n)
				}
				mu.Lock()
				sentAt = append(sentAt, time.Now())
				mu.Unlock()
				_, _ = io.Copy(io.Discard, req.Body)
				req.Body.Close()
				if chance(0.03) {
					panic("base")
				}
				takes := upTo(3 * time.Second)
				if chance(0.03) {
					takes = 15 * time.Second // longer than a probe may
				}
				select {
				case <-time.After(takes):
				case <-req.Context().Done():
					return nil, req.Context().Err()
				}
				switch {
				case down.Load() && chance(0.5), chance(0.05):
					return respond(req, 503, nil, nil), nil
				case down.Load(), chance(0.05):
					return nil, io.ErrUnexpectedEOF
				case chance(0.05):
					return respond(req, 429, after("1"), nil), nil
				case paced && chance(0.1):
					return respond(req, 529, nil, nil), nil
				case paced && chance(0.1):
					return respond(req, 429, http.Header{"Ratelimit": {`"default";r=0;t=3`}}, nil), nil
				case chance(0.5):
					return respond(req, 200, http.Header{"Content-Type": {"application/json"}, "Ratelimit": {`"default";r=2;t=4`}}, io.NopCloser(strings.NewReader(`{"choices":[{"finish_reason":"stop","message":{"content":"x"}}]}`))), nil
				}
				return respond(req, 200, http.Header{"Content-Type": {"text/event-stream"}}, io.NopCloser(strings.NewReader(
					"data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\ndata: {\"choices\":[{\"finish_reason\":\"stop\",\"delta\":{}}]}\n\ndata: [DONE]\n\n"))), nil
			})
			options := []steady.Option{steady.WithBase(base), limits, steady.MaxWait(time.Minute), steady.WithObserver(ended)}
			switch {
			case !paced:
				options = append(options, steady.WithPace(steady.NoPace()))
			case seed%3 == 0:
				options = append(options, steady.WithRateLimit(1000, 1000, steady.TokensPerMinute(200_000)))
				limited = false
			}
			rt := must(t)(steady.New(options...))
			var wg sync.WaitGroup
			for range 150 {
				wg.Go(func() {
					time.Sleep(upTo(90 * time.Second))
					defer func() { _ = recover() }()
					ctx, cancel := context.WithTimeout(t.Context(), upTo(40*time.Second))
					defer cancel()
					if chance(0.3) {
						time.AfterFunc(upTo(10*time.Second), cancel)
					}
					req := post(t, ctx, "q")
					if chance(0.3) {
						req.Header.Set("X-Stainless-Retry-Count", "0")
					}
					if chance(0.1) {
						req.GetBody = func() (io.ReadCloser, error) { return nil, errors.New("no body") }
					}
					resp, err := rt.RoundTrip(req)
					if err != nil {
						return
					}
					if chance(0.8) {
						_, _ = io.ReadAll(resp.Body)
					}
					time.Sleep(upTo(time.Second))
					resp.Body.Close()
				})
			}
			go func() {
				for range 6 {
					time.Sleep(upTo(15 * time.Second))
					down.Store(!down.Load())
				}
				down.Store(false)
			}()
			idle := 0
			for range 1500 { // is anybody left waiting for nothing?
				time.Sleep(100 * time.Millisecond)
				synctest.Wait()
				for _, s := range rt.State() {
					standing := s.InFlight == 0 && s.Breaker != "open"
					if !paced {
						standing = s.InFlight < most && s.Breaker == "closed" && !limited || s.InFlight == 0 && s.Breaker == "half-open"
					}
					if s.Waiting > 0 && standing {
						idle++
					} else {
						idle = 0
					}
					if s.InFlight < 0 || idle > mostIdle {
						t.Fatalf("seed %d: %+v, for %d looks", seed, s, idle)
					}
				}
			}
			wg.Wait()
			if peak.Load() > most {
				t.Errorf("seed %d: %d under way at once", seed, peak.Load())
			}
			if got := len(of[steady.AttemptEnded](ended)); got != len(sentAt) {
				t.Errorf("seed %d: %d attempts ended %d times", seed, len(sentAt), got)
			}
			for i, first := range sentAt {
				for j, last := range sentAt[i:] {
					if got, want := float64(j+1), 3+perSecond*last.Sub(first).Seconds(); limited && got > want+1e-3 {
						t.Fatalf("seed %d: %v attempts in %v", seed, got, last.Sub(first))
					}
				}
			}
			time.Sleep(time.Minute)
			if s := rt.State()[0]; s.InFlight != 0 || s.Waiting != 0 || s.Breaker == "open" {
				t.Errorf("seed %d: %+v at the end", seed, s)
			}
		})
	}
}

// Over real connections, with faults and callers who leave at any moment, nothing
// stays in flight, no answer is another call's, and what is not whole never looks so.
func TestFaultsAndCancelsOverRealConnections(t *testing.T) {
	for _, h2 := range []bool{false, true} {
		srv := fakeserver.New(fakeserver.Seed(7))
		srv.Script(
			fakeserver.Latency(fakeserver.Uniform(0, 5*time.Millisecond)),
			fakeserver.FirstToken(fakeserver.Uniform(0, 5*time.Millisecond)),
			fakeserver.Generation(fakeserver.Uniform(0, 10*time.Millisecond)),
			faultsBy(0.4),
		)
		ts := srv.Start
		if h2 {
			ts = srv.StartTLS
		}
		web := ts()
		base := web.Client().Transport.(*http.Transport)
		rt := must(t)(steady.New(
			steady.WithBase(base),
			steady.WithConcurrency(40),
			steady.WithBreaker(steady.TripAfter(6), steady.TripRatio(1, time.Second, 1000), steady.OpenFor(5*time.Millisecond)),
			steady.WithRetry(steady.Delays(time.Millisecond, 4*time.Millisecond), steady.RetryBudget(100, 1000)),
			steady.WithTimeouts(steady.HeaderTimeout(50*time.Millisecond), steady.FirstContent(50*time.Millisecond), steady.Idle(50*time.Millisecond)),
		))
		var good atomic.Int64
		var wg sync.WaitGroup
		for n := range 400 {
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rand.IntN(1500))*time.Millisecond)
				defer cancel()
				body := fmt.Sprintf(`{"model":"m","stream":%v,"messages":[{"role":"user","content":"%d"}]}`, n%2 == 0, n)
				req, err := http.NewRequestWithContext(ctx, http.MethodPost, web.URL+"/v1/chat/completions", strings.NewReader(body))
				if err != nil {
					t.Error(err)
					return
				}
				if n%3 == 0 {
					req.Header.Set("X-Stainless-Retry-Count", "0")
				}
				if n%5 == 0 {
					req.GetBody = nil
				}
				resp, err := rt.RoundTrip(req)
				if err != nil {
					return
				}
				defer resp.Body.Close()
				if n%7 == 0 { // two close it while one reads
					go resp.Body.Close()
				}
				text, err := io.ReadAll(resp.Body)
				if err != nil || resp.StatusCode != 200 {
					return
				}
				good.Add(1)
				if n%2 == 1 && !strings.Contains(string(text), srv.Answer([]byte(body)).Text) {
					t.Errorf("call %d: got %q", n, text)
				}
				if n%2 == 0 && !strings.Contains(string(text), `"finish_reason":"stop"`) && n%7 != 0 {
					t.Errorf("call %d: half a stream looks whole: %q", n, text)
				}
			})
		}
		wg.Wait()
		if good.Load() == 0 {
			t.Error("not one call went through")
		}
		settled(t, "calls in flight or waiting", func() int {
			s := rt.State()
			return s[0].InFlight + s[0].Waiting
		})
		t.Logf("HTTP/2 %v: %d whole answers; %+v", h2, good.Load(), rt.State())
		rt.CloseIdleConnections()
		srv.Close()
	}
}

// faultsBy makes a share of the answers go wrong in all the ways there are.
func faultsBy(share float64) fakeserver.Effect {
	kinds := []fakeserver.Effect{
		fakeserver.Status(503), fakeserver.Status(429, fakeserver.RetryAfter("0")), fakeserver.Status(500, fakeserver.EarlyThenClose()),
		fakeserver.ResetBeforeBody(), fakeserver.ResetAfterBody(), fakeserver.CloseAfterBody(), fakeserver.Hang(),
		fakeserver.Cut(fakeserver.AfterEvents(1), fakeserver.Reset), fakeserver.Cut(fakeserver.AfterEvents(1), fakeserver.Clean),
		fakeserver.Stall(fakeserver.AfterEvents(1)), fakeserver.StreamError(0, "overloaded_error", ""), fakeserver.StreamError(1, "overloaded_error", ""),
		fakeserver.Body("text/html", "<html>502</html>"), fakeserver.ConnectionClose(),
	}
	return func(x *fakeserver.Exchange) {
		if rand.Float64() < share {
			kinds[rand.IntN(len(kinds))](x)
		}
	}
}

// halfStream is a good answer of which only the beginning comes.
func halfStream(body string) step {
	return step{status: 200, header: http.Header{"Content-Type": {"text/event-stream"}}, body: io.NopCloser(strings.NewReader(body))}
}

func TestABrokenAnswerStaysBrokenHoweverOftenItIsRead(t *testing.T) {
	for name, body := range map[string]string{
		"cut":   "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n",
		"error": "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\ndata: {\"error\":{\"message\":\"x\",\"type\":\"server_error\"}}\n\n",
	} {
		resp, err := steady.Attempt()(play(halfStream(body))).RoundTrip(post(t, t.Context(), "q"))
		if err != nil {
			t.Fatal(err)
		}
		_, first := io.ReadAll(resp.Body)
		n, second := resp.Body.Read(make([]byte, 10))
		if first == nil || n != 0 || second == nil || second.Error() != first.Error() {
			t.Errorf("%s: read ended in %v, and then in %v", name, first, second)
		}
		resp.Body.Close()
	}
}

// An answer that broke off before any content is to be sent for again. When that
// cannot be, what the caller gets does not end in io.EOF.
func TestABrokenAnswerThatCannotBeAskedForAgainDoesNotLookWhole(t *testing.T) {
	const opening = "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n"
	reset := io.MultiReader(strings.NewReader(opening), iotest.ErrReader(errors.New("reset")))
	for name, tc := range map[string]struct {
		broken step
		layer  steady.Middleware
	}{
		"ended, no body to send":  {halfStream(opening), nil},
		"ended, breaker open":     {halfStream(opening), steady.Breaker(steady.TripAfter(1), steady.OpenFor(time.Hour))},
		"broken, no body to send": {step{status: 200, header: halfStream("").header, body: io.NopCloser(reset)}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			layers := []steady.Middleware{steady.Retry(steady.Delays(ms, ms)), steady.Attempt()}
			if tc.layer != nil {
				layers = slices.Insert(layers, 1, tc.layer)
			}
			base := play(tc.broken, step{status: 200})
			req := post(t, t.Context(), "q")
			if tc.layer == nil {
				req.GetBody = func() (io.ReadCloser, error) { return nil, errors.New("gone") }
			}
			resp, err := steady.Chain(base, layers...).RoundTrip(req)
			if err != nil {
				return // as good
			}
			defer resp.Body.Close()
			if text, err := io.ReadAll(resp.Body); resp.StatusCode == 200 && !errors.Is(err, steady.ErrStreamTruncated) {
				t.Errorf("after %d attempts %d, %q and %v", base.attempts(), resp.StatusCode, text, err)
			}
		})
	}
}

// Calls that ask at the same moment, and are delayed on their way to the bucket,
// do not fill it twice over the same time.
func TestTheRateHoldsUnderContention(t *testing.T) {
	const rate, burst, within = 50_000, 5000, 300 * time.Millisecond
	rt := steady.RateLimit(rate, burst, steady.MaxWait(0))(roundTripFunc(func(req *http.Request) (*http.Response, error) {
		return respond(req, 204, nil, http.NoBody), nil
	}))
	var sent atomic.Int64
	var wg sync.WaitGroup
	start := time.Now()
	for range 256 {
		wg.Go(func() {
			for time.Since(start) < within {
				if _, err := rt.RoundTrip(post(t, t.Context(), "")); err == nil {
					sent.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if most := burst + rate*time.Since(start).Seconds(); float64(sent.Load()) > most+1 {
		t.Errorf("%d attempts, want at most %.0f", sent.Load(), most)
	}
}

// The reader has had all that was read ahead before the read that is still under
// way brings more.
func TestAnAnswerThatDripsIsPassedOnWhileItIsReadAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		parts := []string{": one\n\n", ": two\n\n", "data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n\n", "data: [DONE]\n\n"}
		go func() {
			for _, part := range parts {
				_, _ = io.WriteString(w, part)
				time.Sleep(3 * time.Second)
			}
			w.Close()
		}()
		base := play(step{status: 200, header: http.Header{"Content-Type": {"text/event-stream"}}, body: r})
		resp, err := steady.Attempt()(base).RoundTrip(post(t, t.Context(), "q"))
		if err != nil {
			t.Fatal(err)
		}
		if got, want := read(t, resp), strings.Join(parts, ""); got != want {
			t.Errorf("read %q, want %q", got, want)
		}
	})
}
