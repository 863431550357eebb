package steady

import "time"

// RetryAfter is retryAfter, for tests of what it reads to the nanosecond; a call
// shows only a wait that has been stretched.
var RetryAfter = retryAfter

// Waits returns the backoff after each of the first n attempts of a call under
// opts, or why opts are refused.
func Waits(n int, opts ...RetryOption) ([]time.Duration, error) {
	c := defaultRetryConfig()
	c.apply(opts)
	if err := c.validate(); err != nil {
		return nil, err
	}
	b := backoff{first: c.first, longest: c.longest, jitter: c.jitter, percent: c.percent}
	waits := make([]time.Duration, n)
	for i := range waits {
		waits[i] = b.next(i+1, c.first)
	}
	return waits, nil
}
