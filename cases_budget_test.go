package steady_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/steadyhttp/steady"
)

// budgetStack is a stack whose budget holds 10 re-sends, earns one in 8 calls
// and perSecond, and whose waits take almost no time.
func budgetStack(t *testing.T, base http.RoundTripper, perSecond float64, opts ...steady.Option) *steady.Transport {
	t.Helper()
	return must(t)(steady.New(append([]steady.Option{
		steady.WithBase(base), neverTrips(),
		steady.WithRetry(steady.RetryBudget(0.125, perSecond), steady.MaxAttempts(2), steady.Delays(ms, ms)),
	}, opts...)...))
}

// statusOf makes a call that gets an answer, and returns its status.
func statusOf(t *testing.T, rt http.RoundTripper) int {
	t.Helper()
	status, body, err := ask(t, rt, t.Context(), "q")
	if err != nil || body != http.StatusText(status) {
		t.Errorf("got %d %q, %v", status, body, err)
	}
	return status
}

func budgetOf(t *testing.T, rt *steady.Transport) float64 {
	t.Helper()
	return rt.State()[0].Budget
}

func TestBU1_TheBudgetFillsUpAgainAndOnlyRetriesPay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := statuses(503)
		rt := budgetStack(t, base, 0)
		for range 50 {
			if got := statusOf(t, rt); got != 503 {
				t.Fatalf("status %d, want the server's 503", got)
			}
		}
		// The first call earns nothing, for the budget is full; the 49 others
		// earn 6.125 together.
		if got, want := base.attempts(), 50+16; got != want {
			t.Errorf("%d attempts, want %d", got, want)
		}
		if got := budgetOf(t, rt); got != 0.125 {
			t.Errorf("budget %v, want 0.125", got)
		}

		base.seen, base.steps = nil, []step{{status: 200}}
		for range 100 {
			statusOf(t, rt)
		}
		if got := base.attempts(); got != 100 {
			t.Errorf("%d attempts of calls that succeed, want 100", got)
		}
		if got := budgetOf(t, rt); got != 10 {
			t.Errorf("budget %v after the successes, want 10 and no more", got)
		}

		base.steps = []step{{status: 503}, {status: 200}}
		if got := statusOf(t, rt); got != 200 {
			t.Errorf("status %d, want the retry's 200", got)
		}
		if got := budgetOf(t, rt); got != 10 {
			t.Errorf("budget %v after a retry that has helped, want 10", got)
		}
	})
}

func TestBU1_WhatIsAnsweredIsRefunded(t *testing.T) {
	for status, want := range map[int]float64{404: 10, 400: 10, 401: 10, 200: 10, 503: 9, 429: 9} {
		synctest.Test(t, func(t *testing.T) {
			rt := budgetStack(t, play(step{status: 503}, step{status: status}), 0)
			if got := statusOf(t, rt); got != status {
				t.Errorf("status %d, want %d", got, status)
			}
			if got := budgetOf(t, rt); got != want {
				t.Errorf("budget %v after 503 and %d, want %v", got, status, want)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		base := statuses()
		rt := budgetStack(t, base, 0)
		for range 20 {
			base.steps = []step{{status: 503}, {status: 404}}
			if got := statusOf(t, rt); got != 404 {
				t.Fatalf("status %d, want 404", got)
			}
		}
	})
}

func TestBU1_TimeFillsItAndNotOverTheBrim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := statuses(503)
		// A quarter in a second; calls earn nothing. All of it is spent first.
		rt := must(t)(steady.New(steady.WithBase(base), neverTrips(),
			steady.WithRetry(steady.RetryBudget(0, 0.25), steady.MaxAttempts(11), steady.Delays(ms, ms), steady.PlusMinus(0))))
		statusOf(t, rt)
		if got := base.attempts(); got != 11 {
			t.Fatalf("%d attempts, want 11", got)
		}
		for _, tc := range []struct { // the waits between the attempts have taken 10ms
			idle  time.Duration
			least float64
		}{{4*time.Second - 10*ms + time.Microsecond, 1}, {8 * time.Second, 3}, {28 * time.Second, 10}, {time.Hour, 10}} {
			time.Sleep(tc.idle)
			if got := budgetOf(t, rt); got < tc.least || got > tc.least+1e-6 {
				t.Errorf("budget %v after %v more, want %v", got, tc.idle, tc.least)
			}
		}
		base.seen = nil
		for range 3 {
			statusOf(t, rt)
		}
		if got := base.attempts(); got != 3+10 {
			t.Errorf("%d attempts of three calls after an hour, want 13", got)
		}
	})
}

func TestBU1_TheDefaultSavesUpTenSecondsOfTenPerSecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt := must(t)(steady.New(steady.WithBase(statuses(200))))
		statusOf(t, rt)
		if got := budgetOf(t, rt); got != 100 {
			t.Errorf("budget %v, want 100", got)
		}
	})
}

func TestBU1_ManyAtOnceNeverOverdraw(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := statuses(503)
		rt := budgetStack(t, base, 0)
		var wg sync.WaitGroup
		for range 400 {
			wg.Go(func() {
				statusOf(t, rt)
				if got := budgetOf(t, rt); got < 0 || got > 10 {
					t.Errorf("budget %v", got)
				}
			})
		}
		wg.Wait()
		// At most 10 were there and 400 earned an eighth each.
		if got := base.attempts() - 400; got < 10 || got > 60 {
			t.Errorf("%d re-sends, want from 10 to 60", got)
		}
		if sum := float64(base.attempts()-400) + budgetOf(t, rt); sum > 60 {
			t.Errorf("%v spent and left, want at most 60", sum)
		}
	})
}

func TestBU1_EachKeyHasItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt := budgetStack(t, statuses(503), 0)
		for range 30 {
			statusOf(t, rt)
		}
		req := post(t, t.Context(), "q")
		req.URL.Host = "other.test"
		resp, err := rt.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		read(t, resp)
		budgets := map[string]float64{}
		for _, s := range rt.State() {
			budgets[s.Key] = s.Budget
		}
		if budgets["llm.test"] >= 1 || budgets["other.test"] != 9 {
			t.Errorf("budgets %v, want none for llm.test and 9 for other.test", budgets)
		}
	})
}

// What was paid for and not sent is given back.
func TestBU1_AResendThatIsNotMadeIsNotPaidFor(t *testing.T) {
	refuse := errors.New("no")
	for _, tc := range []struct {
		name string
		call func(t *testing.T) *steady.Transport
	}{
		{"the caller leaves during the wait", func(t *testing.T) *steady.Transport {
			rt := budgetStack(t, statuses(503), 0, steady.WithRetry(steady.Delays(time.Minute, time.Minute), steady.PlusMinus(0)))
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, cancel)
			if _, err := rt.RoundTrip(post(t, ctx, "q")); !errors.Is(err, context.Canceled) {
				t.Errorf("error %v, want context.Canceled", err)
			}
			return rt
		}},
		{"the queue has no turn for it", func(t *testing.T) *steady.Transport {
			rt := budgetStack(t, statuses(503), 0, steady.WithRateLimit(0.01, 1))
			if got := statusOf(t, rt); got != 503 {
				t.Errorf("status %d, want 503", got)
			}
			return rt
		}},
		{"the body cannot be had again", func(t *testing.T) *steady.Transport {
			rt := budgetStack(t, statuses(503), 0)
			req := post(t, t.Context(), "q")
			req.GetBody = func() (io.ReadCloser, error) { return nil, refuse }
			resp, err := rt.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			read(t, resp)
			return rt
		}},
		{"the wait does not fit", func(t *testing.T) *steady.Transport {
			rt := budgetStack(t, play(step{status: 503, header: after("3600")}), 0)
			statusOf(t, rt)
			return rt
		}},
		{"a layer inside refuses it", func(t *testing.T) *steady.Transport {
			base := statuses(503)
			rt := budgetStack(t, steady.RateLimit(0.001, 1, steady.MaxWait(0))(base), 0)
			if got := statusOf(t, rt); got != 503 || base.attempts() != 1 {
				t.Errorf("status %d and %d attempts, want 503 and 1", got, base.attempts())
			}
			return rt
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rt := tc.call(t)
				if got := budgetOf(t, rt); got != 10 {
					t.Errorf("budget %v, want 10", got)
				}
			})
		})
	}
}

// The word of a layer inside Retry must not hide what happened on the wire.
func TestALayerInsideThatRefusesTheResendLeavesTheFirstError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		errReset := errors.New("connection reset by peer")
		rt := steady.Retry()(steady.Breaker(steady.TripAfter(1), steady.OpenFor(time.Hour))(play(step{err: errReset})))
		_, err := rt.RoundTrip(post(t, t.Context(), "q"))
		var gaveUp *steady.RetryError
		if !errors.Is(err, errReset) || !errors.Is(err, steady.ErrBreakerOpen) || !errors.As(err, &gaveUp) || gaveUp.Attempts != 1 {
			t.Errorf("error %v, want a RetryError of 1 attempt with the reset and ErrBreakerOpen", err)
		}
		_, err = rt.RoundTrip(post(t, t.Context(), "q"))
		if gaveUp = nil; !errors.Is(err, steady.ErrBreakerOpen) || errors.As(err, &gaveUp) {
			t.Errorf("error %v, want ErrBreakerOpen as it is: there was no attempt", err)
		}
	})
}

func TestContextWithRetry(t *testing.T) {
	for _, tc := range []struct {
		name string
		ctx  func(context.Context) context.Context
		want int    // attempts
		err  string // that the error has
	}{
		{"overrides the layer", func(ctx context.Context) context.Context {
			return steady.ContextWithRetry(ctx, steady.MaxAttempts(2))
		}, 2, ""},
		{"leaves the rest as it was", func(ctx context.Context) context.Context {
			return steady.ContextWithRetry(ctx, steady.Within(time.Hour))
		}, 3, ""},
		{"adds to what is outside", func(ctx context.Context) context.Context {
			return steady.ContextWithRetry(steady.ContextWithRetry(ctx, steady.MaxAttempts(2)), steady.Within(time.Hour))
		}, 2, ""},
		{"and overrides it", func(ctx context.Context) context.Context {
			return steady.ContextWithRetry(steady.ContextWithRetry(ctx, steady.MaxAttempts(2)), steady.MaxAttempts(4))
		}, 4, ""},
		{"no options", func(ctx context.Context) context.Context { return steady.ContextWithRetry(ctx) }, 3, ""},
		{"invalid", func(ctx context.Context) context.Context {
			return steady.ContextWithRetry(ctx, steady.MaxAttempts(0), steady.Within(-1))
		}, 0, "MaxAttempts(0)"},
		{"invalid together with the layer's", func(ctx context.Context) context.Context {
			return steady.ContextWithRetry(ctx, steady.Delays(time.Hour, time.Second))
		}, 0, "Delays(1h0m0s, 1s)"},
		{"a budget", func(ctx context.Context) context.Context {
			return steady.ContextWithRetry(ctx, steady.RetryBudget(1, 1))
		}, 0, "RetryBudget"},
		{"a budget that is none", func(ctx context.Context) context.Context {
			return steady.ContextWithRetry(ctx, steady.RetryBudget(-1, 1))
		}, 0, "RetryBudget"},
		{"a key", func(ctx context.Context) context.Context {
			return steady.ContextWithRetry(ctx, steady.WithKey(func(*http.Request) string { return "k" }))
		}, 0, "WithKey"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				base := statuses(429)
				rt := must(t)(steady.New(steady.WithBase(base), steady.WithRetry(append(steadyWaits, steady.MaxAttempts(3))...)))
				body := spyOf("q")
				req := post(t, tc.ctx(t.Context()), "")
				req.Body, req.GetBody, req.ContentLength = body, nil, 1
				resp, err := rt.RoundTrip(req)
				if tc.err != "" && (err == nil || !strings.Contains(err.Error(), "steady: "+tc.err)) || tc.err == "" && err != nil {
					t.Errorf("error %v, want %q", err, tc.err)
				}
				if resp != nil {
					read(t, resp)
				}
				if got := base.attempts(); got != tc.want {
					t.Errorf("%d attempts, want %d", got, tc.want)
				}
				if body.closes() == 0 {
					t.Error("the body was not closed")
				}
				if s := rt.State(); len(s) > 0 && (s[0].InFlight != 0 || s[0].Breaker != "closed") {
					t.Errorf("state %+v, want nothing in flight", s)
				}
				if got := statusOf(t, rt); got != 429 || base.attempts() != tc.want+3 {
					t.Errorf("a call without it has %d attempts, want 3", base.attempts()-tc.want)
				}
			})
		})
	}
}

// An invalid option is the caller's fault: it must not look like an outage.
func TestContextWithRetry_InvalidIsNeutral(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt := must(t)(steady.New(steady.WithBase(statuses(200)), steady.WithBreaker(steady.TripAfter(1))))
		if _, err := rt.RoundTrip(post(t, steady.ContextWithRetry(t.Context(), steady.MaxAttempts(0)), "q")); err == nil {
			t.Error("no error")
		}
		if got := llmBreaker(rt); got != "closed" {
			t.Errorf("breaker %s, want closed", got)
		}
	})
}
