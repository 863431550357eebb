package sim

import (
	"context"
	"errors"
	"math"
	"net/http"
	"sync"
	"time"

	"github.com/sony/gobreaker/v2"
	"golang.org/x/time/rate"
)

// articleA: client token bucket (20/s, burst 60), breaker (5 failures in a row,
// 30 s), exponential backoff +-50 % jitter. Every attempt takes a token; an open
// breaker counts as a failed attempt and is retried like one.
type articleA struct {
	next http.RoundTripper
	lim  *rate.Limiter
	cb   *gobreaker.CircuitBreaker[*http.Response]
	seed uint64
}

var errBad = errors.New("bad status")

func (a *articleA) Do(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	ci := callFrom(ctx)
	for n := 1; ; n++ {
		if err := a.lim.Wait(ctx); err != nil {
			return nil, err
		}
		var resp *http.Response
		_, err := a.cb.Execute(func() (*http.Response, error) {
			var err error
			resp, err = a.next.RoundTrip(req)
			if err == nil && retryable(resp, nil) {
				return resp, errBad
			}
			return resp, err
		})
		if err == nil || n >= 5 || ctx.Err() != nil {
			if resp != nil {
				err = nil
			}
			return resp, err
		}
		drain(resp)
		d := float64(expDelay(500*time.Millisecond, 30*time.Second, n)) * (0.5 + u01(a.seed, 60, ci.id, uint64(n)))
		if err := sleepCtx(ctx, time.Duration(d)); err != nil {
			return nil, err
		}
	}
}

// articleB: an "adaptive pool" of 4..64 concurrent attempts steered by an EMA of
// failures (0.7 old, 0.3 new), additive increase, multiplicative decrease; full
// jitter up to 30 s, 8 tries.
type articleB struct {
	next    http.RoundTripper
	seed    uint64
	mu      sync.Mutex
	ema     float64
	size    float64
	max     float64
	used    int
	waiters []chan struct{}
	lastCut time.Time
}

func (a *articleB) acquire(ctx context.Context) error {
	a.mu.Lock()
	if a.used < int(a.size) {
		a.used++
		a.mu.Unlock()
		return nil
	}
	ch := make(chan struct{}, 1)
	a.waiters = append(a.waiters, ch)
	a.mu.Unlock()
	select {
	case <-ch:
		return nil
	case <-ctx.Done():
		a.mu.Lock()
		defer a.mu.Unlock()
		select {
		case <-ch: // granted at the last moment: hand it on
			a.used--
			a.grant()
		default:
			for i, w := range a.waiters {
				if w == ch {
					a.waiters = append(a.waiters[:i], a.waiters[i+1:]...)
					break
				}
			}
		}
		return ctx.Err()
	}
}

func (a *articleB) grant() {
	for a.used < int(a.size) && len(a.waiters) > 0 {
		ch := a.waiters[0]
		a.waiters = a.waiters[1:]
		a.used++
		ch <- struct{}{}
	}
}

func (a *articleB) release(failed bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	x := 0.0
	if failed {
		x = 1
	}
	a.ema = 0.7*a.ema + 0.3*x
	switch {
	case a.ema > 0.3 && time.Since(a.lastCut) > time.Second:
		a.size = math.Max(4, a.size/2)
		a.lastCut = time.Now()
	case !failed:
		a.size = math.Min(a.max, a.size+1/a.size)
	}
	a.used--
	a.grant()
}

func (a *articleB) Do(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	ci := callFrom(ctx)
	for n := 1; ; n++ {
		if err := a.acquire(ctx); err != nil {
			return nil, err
		}
		resp, err := a.next.RoundTrip(req)
		if !retryable(resp, err) {
			resp.Body = &onClose{ReadCloser: resp.Body, f: func() { a.release(false) }}
			return resp, nil
		}
		a.release(true)
		if n >= 8 || ctx.Err() != nil {
			return resp, err
		}
		d := time.Duration(u01(a.seed, 61, ci.id, uint64(n)) * float64(expDelay(time.Second, 30*time.Second, n)))
		if ra, ok := retryAfter(resp); ok {
			d = max(d, ra)
		}
		drain(resp)
		if err := sleepCtx(ctx, d); err != nil {
			return nil, err
		}
	}
}

func articleContenders() []Contender {
	return []Contender{
		{Name: "articleA-bucket+breaker", New: func(e *Env, i int) Doer {
			return &articleA{next: e.Server, seed: e.Seed + uint64(i), lim: rate.NewLimiter(20, 60),
				cb: gobreaker.NewCircuitBreaker[*http.Response](gobreaker.Settings{
					Timeout:     30 * time.Second,
					ReadyToTrip: func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= 5 },
				})}
		}},
		{Name: "articleB-pool+jitter", New: func(e *Env, i int) Doer {
			return &articleB{next: e.Server, seed: e.Seed + uint64(i), size: 16, max: 64}
		}},
		{Name: "articleB-pool-4096", New: func(e *Env, i int) Doer { // the same without its cap of 64
			return &articleB{next: e.Server, seed: e.Seed + uint64(i), size: 16, max: 4096}
		}},
		// What a careful user builds who knows the limit (per instance: limit / N):
		// x/time/rate at 95 % of it, full jitter, Retry-After, 6 tries.
		{Name: "static-known-limit", New: func(e *Env, i int) Doer {
			c := e.Server.cfg
			r := c.RPS
			switch {
			case c.WindowLimit > 0:
				r = float64(c.WindowLimit) / c.Window.Seconds()
			case c.Knee > 0:
				r = float64(c.Knee) / (c.TTFBMedian + c.GenMean).Seconds()
			case c.Slots > 0:
				r = float64(c.Slots) / (c.TTFBMedian + c.GenMean).Seconds()
			}
			r *= 0.95 / float64(e.N)
			lim := rate.NewLimiter(rate.Limit(r), max(1, int(r/10)))
			return &simpleRetry{next: limited{e.Server, lim}, tries: 6, honorRA: true, seed: e.Seed + uint64(i),
				delay: func(n int, u float64) time.Duration {
					return time.Duration(u * float64(expDelay(time.Second, 30*time.Second, n)))
				}}
		}},
	}
}

// limited takes a token of an x/time/rate limiter before every attempt.
type limited struct {
	next http.RoundTripper
	lim  *rate.Limiter
}

func (l limited) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := l.lim.Wait(req.Context()); err != nil {
		return nil, err
	}
	return l.next.RoundTrip(req)
}
