package steady_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/steadyhttp/steady"
)

// quickThen answers the first n requests in 300 ms and the others in slow.
func quickThen(n int64, slow time.Duration) http.RoundTripper {
	var seen atomic.Int64
	return roundTripFunc(func(req *http.Request) (*http.Response, error) {
		_, _ = io.Copy(io.Discard, req.Body)
		req.Body.Close()
		takes := slow
		if seen.Add(1) <= n {
			takes = 300 * time.Millisecond
		}
		select {
		case <-time.After(takes):
			return respond(req, 200, nil, nil), nil
		case <-req.Context().Done():
			return nil, req.Context().Err()
		}
	})
}

// Many long answers that are asked for at once look like a provider that is dead,
// until the first of them comes. That holds the queue, but it costs nobody the call.
func TestASlowProviderIsNotTakenForADeadOne(t *testing.T) {
	const quick, calls = 20, 1000
	for _, tc := range []struct {
		name    string
		slow    time.Duration
		opts    []steady.Option
		refused bool
	}{
		{name: "answers in 29 s", slow: 29 * time.Second},
		{name: "answers in 30 s", slow: 30 * time.Second},
		{name: "answers in 45 s", slow: 45 * time.Second},
		{name: "answers in 59 s", slow: 59 * time.Second},
		{name: "answers in 45 s, 60 at a time", slow: 45 * time.Second,
			opts: []steady.Option{steady.WithConcurrency(60), steady.MaxWait(time.Hour)}},
		{name: "no answer", slow: time.Hour, opts: []steady.Option{steady.Patience(time.Minute)}, refused: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rt := slowing(t, quick, tc.slow, tc.opts...)
				var refused atomic.Int64
				var wg sync.WaitGroup
				for range calls {
					wg.Go(func() {
						_, err := call(t, rt, t.Context(), "q")
						if errors.Is(err, steady.ErrRateLimited) {
							refused.Add(1)
						} else if err != nil {
							t.Error(err)
						}
					})
				}
				wg.Wait()
				if got := refused.Load() > 0; got != tc.refused {
					t.Errorf("%d of %d refused, want some: %v", refused.Load(), calls, tc.refused)
				}
			})
		})
	}
}

// slowing is a stack whose provider has been quick so far, and now answers in slow.
func slowing(t *testing.T, quick int64, slow time.Duration, opts ...steady.Option) http.RoundTripper {
	t.Helper()
	opts = append(opts, steady.WithBase(quickThen(quick, slow)), steady.WithTimeouts(steady.HeaderTimeout(2*time.Hour)))
	rt := must(t)(steady.New(opts...))
	for range quick {
		if _, err := call(t, rt, t.Context(), "q"); err != nil {
			t.Fatal(err)
		}
	}
	return rt
}

// While the provider says nothing a call goes when its patience ends, but not when
// that is too late for its deadline, and not when it is to have none.
func TestWhoGoesIntoSilenceAtTheEndOfItsPatience(t *testing.T) {
	for _, tc := range []struct {
		name     string
		patience time.Duration
		deadline time.Duration
		want     time.Duration
		err      error
	}{
		{"some patience", 3 * time.Second, time.Hour, 48 * time.Second, nil},
		{"less patience than until the next probe", 300 * time.Millisecond, time.Hour, 45300 * time.Millisecond, nil},
		{"no patience", 0, time.Hour, 0, steady.ErrRateLimited},
		{"a deadline that is sooner", 3 * time.Second, 2 * time.Second, 0, steady.ErrRateLimited},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rt := slowing(t, 20, 45*time.Second, steady.Patience(tc.patience), steady.MaxWait(time.Minute))
				var wg sync.WaitGroup
				for range 1000 { // more than go before the silence is noticed
					wg.Go(func() { _, _ = call(t, rt, t.Context(), "q") })
				}
				time.Sleep(10 * time.Second) // the queue is held
				// A probe goes now and then, and so would a call that is alone: the
				// others have to wait longer than their patience.
				errs, took := make([]error, 10), make([]time.Duration, 10)
				var calls sync.WaitGroup
				for i := range errs {
					calls.Go(func() {
						ctx, cancel := context.WithTimeout(t.Context(), tc.deadline)
						defer cancel()
						start := time.Now()
						_, errs[i] = call(t, rt, ctx, "q")
						took[i] = time.Since(start)
					})
				}
				calls.Wait()
				wg.Wait()
				n := 0
				for i := range errs {
					if errors.Is(errs[i], tc.err) && took[i] == tc.want {
						n++
					}
				}
				if n < 7 {
					t.Errorf("%d of 10 ended in %v after %v, want all but the probes; got %v after %v", n, tc.err, tc.want, errs, took)
				}
			})
		})
	}
}
