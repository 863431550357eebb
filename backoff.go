package steady

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"net/http"
	"net/url"
	"time"

	"github.com/hashicorp/go-retryablehttp"
)

// jitter spreads one backoff ceiling, so that clients that failed together do
// not come back together.
type jitter uint8

const (
	jitterFull jitter = iota
	jitterEqual
	jitterPlusMinus
	jitterDecorrelated
)

// backoff is the rule by which the waits of a call are computed.
type backoff struct {
	first, longest time.Duration
	jitter         jitter
	share          float64 // for jitterPlusMinus
}

// next returns the wait after the n-th attempt, n from 1, with at least least as
// the ceiling of the first. last is the wait before, 0 at first.
func (b *backoff) next(n int, least, last time.Duration) time.Duration {
	first := min(max(b.first, least), b.longest)
	ceiling := b.longest
	if shift := n - 1; shift < 63 && first <= b.longest>>shift { // so that the shift cannot overflow
		ceiling = first << shift
	}
	switch b.jitter {
	case jitterEqual:
		return ceiling/2 + upTo(ceiling-ceiling/2)
	case jitterPlusMinus:
		more := b.share * (2*rand.Float64() - 1) * float64(ceiling)
		if room := b.longest - ceiling; more >= float64(room) { // also where the sum would overflow
			return b.longest
		}
		return max(0, ceiling+time.Duration(more))
	case jitterDecorrelated:
		last = max(last, first)
		top := b.longest
		if last <= b.longest/3 {
			top = 3 * last
		}
		return first + upTo(max(0, top-first))
	}
	return upTo(ceiling)
}

// upTo returns a random duration in [0, d].
func upTo(d time.Duration) time.Duration {
	if d == math.MaxInt64 {
		d--
	}
	return rand.N(d + 1)
}

// The loop is go-retryablehttp's, kept in quarantine: it sees neither the
// caller's request nor any response. Its client sends a stand-in, so that
// nothing of the real request can be buffered, changed, redirected or closed by
// it; what each attempt ended in is kept by the retryCall. What the loop gives is
// its order of things and its timers.

// errEnded stands for the end of an attempt in the loop's client, which would
// follow a redirect if it were shown one.
var errEnded = errors.New("attempt ended")

// attempts is all that the loop's client can do. It has no CloseIdleConnections,
// which the loop calls whenever it gives up (go-retryablehttp v0.7.8,
// client.go:811) and which would cost everybody's connections.
type attempts struct{ send func() }

func (a attempts) RoundTrip(*http.Request) (*http.Response, error) {
	a.send()
	return nil, errEnded
}

// loop runs send until another, which does the counting, reports false. Before each
// time but the first it waits for what wait returns and asks prepare. It returns the
// error of prepare, or of ctx if that ended a wait.
func loop(ctx context.Context, send func(), another func() bool, wait func() time.Duration, prepare func() error) error {
	client := &retryablehttp.Client{
		HTTPClient:   &http.Client{Transport: attempts{send}},
		RetryMax:     math.MaxInt32,
		CheckRetry:   func(context.Context, *http.Response, error) (bool, error) { return another(), nil },
		Backoff:      func(_, _ time.Duration, _ int, _ *http.Response) time.Duration { return wait() },
		PrepareRetry: func(*http.Request) error { return prepare() },
		ErrorHandler: func(_ *http.Response, err error, _ int) (*http.Response, error) { return nil, err },
	}
	standIn := (&http.Request{Method: http.MethodGet, URL: &url.URL{Scheme: "steady", Host: "attempt"}}).WithContext(ctx)
	_, err := client.Do(&retryablehttp.Request{Request: standIn}) //nolint:bodyclose // there is never a response
	if _, ended := errors.AsType[*url.Error](err); ended && errors.Is(err, errEnded) {
		return nil
	}
	return err
}

// worthRetrying reports whether another attempt might fare better than one that
// ended in err. The texts and types of errors that cannot get better, those of
// TLS, schemes and headers, are go-retryablehttp's to know.
func worthRetrying(err error) bool {
	ok, _ := retryablehttp.DefaultRetryPolicy(context.Background(), nil, &url.Error{Op: "Attempt", Err: err})
	return ok
}

// ownWait is the next wait of c, if the server has named none.
func (c *retryCall) ownWait() time.Duration {
	b := &c.cfg.backoff
	least := b.first
	if c.verdict.status == http.StatusServiceUnavailable && least <= b.longest/2 {
		least *= 2
	}
	c.lastWait = b.next(max(1, c.attempts-c.probes), least, c.lastWait)
	return c.lastWait
}
