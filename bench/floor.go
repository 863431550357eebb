package main

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/sony/gobreaker/v2"
	"golang.org/x/time/rate"
)

// floor is what a team writes by hand that wants the least: a turn at x/time/rate,
// an attempt under gobreaker, and a loop. It is the price below which a stack of
// these three libraries cannot go, and it lacks what costs nothing to lack: keys,
// classes of errors, Retry-After, a budget, an end of an attempt at its body's end.
type floor struct {
	limiter  *rate.Limiter
	breaker  *gobreaker.CircuitBreaker[*http.Response]
	next     http.RoundTripper
	settings settings
}

func newFloor(next http.RoundTripper, s settings) http.RoundTripper {
	return &floor{
		limiter:  rate.NewLimiter(plenty, plenty),
		breaker:  gobreaker.NewCircuitBreaker[*http.Response](gobreaker.Settings{Interval: 30 * time.Second, BucketPeriod: 3 * time.Second}),
		next:     next,
		settings: s,
	}
}

func floorNoTimeout(next http.RoundTripper, s settings) http.RoundTripper {
	s.attemptTimeout = 0
	return newFloor(next, s)
}

func (f *floor) RoundTrip(req *http.Request) (resp *http.Response, err error) {
	for n := 0; n < f.settings.attempts; n++ {
		if n > 0 {
			time.Sleep(f.settings.delay << n)
			if req.GetBody != nil {
				if req.Body, err = req.GetBody(); err != nil {
					return nil, err
				}
			}
		}
		if err = f.limiter.Wait(req.Context()); err != nil {
			return nil, err
		}
		resp, err = f.breaker.Execute(func() (*http.Response, error) { return f.attempt(req) })
		if err == nil && resp.StatusCode < 500 {
			return resp, nil
		}
		if resp != nil && n < f.settings.attempts-1 {
			resp.Body.Close()
		}
	}
	return resp, err
}

func (f *floor) attempt(req *http.Request) (*http.Response, error) {
	if f.settings.attemptTimeout == 0 {
		return f.next.RoundTrip(req)
	}
	ctx, cancel := context.WithTimeout(req.Context(), f.settings.attemptTimeout)
	resp, err := f.next.RoundTrip(req.WithContext(ctx))
	if err != nil {
		cancel()
		return nil, err
	}
	resp.Body = &cancelAtEnd{resp.Body, cancel}
	return resp, nil
}

type cancelAtEnd struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (b *cancelAtEnd) Close() error {
	defer b.cancel()
	return b.ReadCloser.Close()
}
