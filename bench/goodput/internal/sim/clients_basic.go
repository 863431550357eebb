package sim

import (
	"io"
	"math"
	"net/http"
	"strconv"
	"time"
)

func retryable(resp *http.Response, err error) bool {
	return err != nil || resp.StatusCode == 429 || resp.StatusCode == 408 || resp.StatusCode >= 500
}

// retryAfter reads what a rejection says about when to come back.
func retryAfter(resp *http.Response) (time.Duration, bool) {
	if resp == nil {
		return 0, false
	}
	if v, err := strconv.ParseFloat(resp.Header.Get("Retry-After-Ms"), 64); err == nil && v >= 0 {
		return time.Duration(v * 1e6), true
	}
	v := resp.Header.Get("Retry-After")
	if v == "" {
		return 0, false
	}
	if s, err := strconv.ParseFloat(v, 64); err == nil && s >= 0 {
		return time.Duration(s * 1e9), true
	}
	if at, err := http.ParseTime(v); err == nil {
		return max(0, time.Until(at)), true
	}
	return 0, false
}

func drain(resp *http.Response) {
	if resp != nil && resp.Body != nil {
		io.Copy(io.Discard, io.LimitReader(resp.Body, 4096))
		resp.Body.Close()
	}
}

// simpleRetry is the loop everybody writes.
type simpleRetry struct {
	next    http.RoundTripper
	tries   int
	delay   func(n int, u float64) time.Duration // n = 1 after the first failure
	honorRA bool
	seed    uint64
}

func (s *simpleRetry) Do(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	ci := callFrom(ctx)
	for n := 1; ; n++ {
		resp, err := s.next.RoundTrip(req)
		if !retryable(resp, err) || n >= s.tries || ctx.Err() != nil {
			return resp, err
		}
		d := s.delay(n, u01(s.seed, 50, ci.id, uint64(n)))
		if ra, ok := retryAfter(resp); ok && s.honorRA {
			d = ra
		}
		drain(resp)
		if err := sleepCtx(ctx, d); err != nil {
			return nil, err
		}
	}
}

func expDelay(base, cap time.Duration, n int) time.Duration {
	return time.Duration(math.Min(float64(cap), float64(base)*math.Pow(2, float64(n-1))))
}

func basicContenders() []Contender {
	mk := func(name string, tries int, ra bool, delay func(int, float64) time.Duration) Contender {
		return Contender{Name: name, New: func(e *Env, i int) Doer {
			return &simpleRetry{next: e.Server, tries: tries, delay: delay, honorRA: ra, seed: e.Seed + uint64(i)}
		}}
	}
	return []Contender{
		mk("none", 1, false, nil),
		mk("fixed-1s-x5", 6, false, func(int, float64) time.Duration { return time.Second }),
		mk("expo-nojitter-x5", 6, false, func(n int, _ float64) time.Duration {
			return expDelay(time.Second, 30*time.Second, n)
		}),
		mk("expo-fulljitter-x5", 6, false, func(n int, u float64) time.Duration {
			return time.Duration(u * float64(expDelay(time.Second, 30*time.Second, n)))
		}),
		mk("expo-fulljitter-RA-x5", 6, true, func(n int, u float64) time.Duration {
			return time.Duration(u * float64(expDelay(time.Second, 30*time.Second, n)))
		}),
	}
}
