package steady

import (
	"net/http"
	"time"

	"github.com/steadyhttp/steady/internal/wire"
)

// RetryAfter is what the headers of a 429 name as a wait, before it is stretched.
func RetryAfter(h http.Header, now time.Time) (time.Duration, bool) {
	wait, _, ok := wire.HeaderWait(http.StatusTooManyRequests, h, now)
	return wait, ok
}

// Waits returns the backoff after each of the first n attempts of a call under
// opts, or why opts are refused.
func Waits(n int, opts ...RetryOption) ([]time.Duration, error) {
	c := defaultRetryConfig()
	c.apply(opts)
	if err := c.validate(); err != nil {
		return nil, err
	}
	waits := make([]time.Duration, n)
	for i := range waits {
		waits[i] = c.backoff.next(i+1, c.backoff.first, waits[max(i-1, 0)])
	}
	return waits, nil
}
