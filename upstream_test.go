package steady_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-retryablehttp"
	"github.com/sony/gobreaker/v2"
	"golang.org/x/time/rate"
)

// Each test here pins a quirk of a library that the code works around. It fails
// when the library mends the quirk, and says what may then become simpler.

const (
	upstreamRetry   = "go-retryablehttp v0.7.8"
	upstreamBreaker = "gobreaker v2.4.0"
	upstreamRate    = "golang.org/x/time v0.16.0"
)

// mended fails t: library no longer has the quirk, so that instead holds.
func mended(t *testing.T, library, quirk, instead string) {
	t.Helper()
	t.Errorf("later than %s: it no longer %s; %s", library, quirk, instead)
}

// x/time/rate

func TestUpstreamCredit(t *testing.T) {
	now := time.Now()
	l := rate.NewLimiter(1, 5)
	l.AllowN(now, 5)
	l.ReserveN(now, -2)
	if got := l.TokensAt(now); got != 2 {
		t.Errorf("%s: ReserveN(-2) on an empty bucket left %v tokens, want 2: bucket.credit must give tokens back in another way", upstreamRate, got)
	}
	l.ReserveN(now, 5)
	l.AllowN(now, -1)
	if got := l.TokensAt(now); got != -3 {
		mended(t, upstreamRate, "takes no credit by AllowN that leaves a debt", "bucket.credit may use it")
	}
	l.ReserveN(now, -2)
	if got := l.TokensAt(now); got != -1 {
		t.Errorf("%s: ReserveN(-2) at a debt of 3 left %v tokens, want -1: bucket.credit must give tokens back in another way", upstreamRate, got)
	}
	l.ReserveN(now, -100)
	if got := l.TokensAt(now.Add(time.Nanosecond)); got != 5 {
		t.Errorf("%s: a credit left %v tokens in a bucket of 5: queue.leave must cap it itself", upstreamRate, got)
	}
}

func TestUpstreamRateFillsTwiceWhenTimeGoesBack(t *testing.T) {
	now := time.Now()
	l := rate.NewLimiter(1, 10)
	l.AllowN(now, 10)
	l.AllowN(now.Add(5*time.Second), 1)
	l.AllowN(now, 1) // by one who read the clock earlier
	if got := l.TokensAt(now.Add(5 * time.Second)); got == 3 {
		mended(t, upstreamRate, "fills twice over a time that it goes back by", "queue.clock may return what it is given")
	}
}

func TestUpstreamRateTakesADebtAtALargerBurst(t *testing.T) {
	now := time.Now()
	l := rate.NewLimiter(1, 5)
	l.SetBurstAt(now, 100)
	l.ReserveN(now, 100)
	l.SetBurstAt(now, 5)
	if got := l.TokensAt(now.Add(time.Hour)); l.TokensAt(now) != -95 || got != 5 {
		t.Errorf("%s: a debt of 95 became %v tokens, and %v an hour later: queue.pay must keep it itself", upstreamRate, l.TokensAt(now), got)
	}
}

func TestUpstreamRateWaitersBehindACancelledOneDoNotMoveUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := rate.NewLimiter(1, 1)
		l.Allow()
		start := time.Now()
		gone, cancel := context.WithCancel(t.Context())
		go func() { _ = l.WaitN(gone, 1) }()
		synctest.Wait()
		second := make(chan time.Duration)
		go func() {
			_ = l.WaitN(t.Context(), 1)
			second <- time.Since(start)
		}()
		synctest.Wait()
		cancel()
		if got := <-second; got != 2*time.Second {
			mended(t, upstreamRate, "lets a waiter sleep on for a turn that a cancelled one gave up", "queue may wait in WaitN")
		}
	})
}

func TestUpstreamRateSetLimitDoesNotWakeSleepers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := rate.NewLimiter(0.1, 1)
		l.Allow()
		start := time.Now()
		woke := make(chan time.Duration)
		go func() {
			_ = l.WaitN(t.Context(), 1)
			woke <- time.Since(start)
		}()
		synctest.Wait()
		l.SetLimit(1000)
		if got := <-woke; got != 10*time.Second {
			mended(t, upstreamRate, "leaves sleepers at their old pace after SetLimit", "queue may wait in WaitN")
		}
	})
}

func TestUpstreamRateDeadlineErrorHasNoType(t *testing.T) {
	l := rate.NewLimiter(0.1, 1)
	l.Allow()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := l.WaitN(ctx, 1); err == nil || errors.Is(err, context.DeadlineExceeded) {
		mended(t, upstreamRate, "hides the deadline in an untyped error", "LimitError may wrap it")
	}
}

func TestUpstreamRateRefusesWhatIsHeavierThanTheBucket(t *testing.T) {
	l := rate.NewLimiter(1, 5)
	if err := l.WaitN(t.Context(), 6); err == nil {
		mended(t, upstreamRate, "fails in WaitN on more than the burst", "queue.lacking may ask for the whole cost")
	}
	if l.ReserveN(time.Now(), 6).OK() {
		mended(t, upstreamRate, "refuses ReserveN of more than the burst", "queue.pay may take it in one piece")
	}
}

// gobreaker

func failed() error { return errors.New("failed") }

func TestUpstreamBreakerProbesAfterItsTimeoutAndNotAtIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cb := gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
			Timeout: time.Second, ReadyToTrip: func(gobreaker.Counts) bool { return true },
		})
		trip(t, cb)
		time.Sleep(time.Second)
		if _, err := cb.Allow(); !errors.Is(err, gobreaker.ErrOpenState) {
			mended(t, upstreamBreaker, "waits for longer than Timeout", "settings may pass OpenFor without the -1")
		}
		time.Sleep(time.Nanosecond)
		if _, err := cb.Allow(); err != nil {
			t.Errorf("%s: %v a nanosecond after its timeout: OpenFor is no longer exact", upstreamBreaker, err)
		}
	})
}

func trip(t *testing.T, cb *gobreaker.TwoStepCircuitBreaker[struct{}]) {
	t.Helper()
	done, err := cb.Allow()
	if err != nil {
		t.Fatal(err)
	}
	done(failed())
	if cb.State() != gobreaker.StateOpen {
		t.Fatalf("state %v after a failure, want open", cb.State())
	}
}

func TestUpstreamBreakerForgetsResultsOlderThanItsWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cb := gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
			Interval: 30 * time.Second, BucketPeriod: 3 * time.Second,
			ReadyToTrip: func(n gobreaker.Counts) bool { return n.TotalFailures > 0 },
		})
		done, err := cb.Allow()
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(31 * time.Second)
		_ = cb.State()
		done(failed()) // an attempt that hung for longer than the window
		if cb.State() != gobreaker.StateClosed || cb.Counts().TotalFailures != 0 {
			mended(t, upstreamBreaker, "loses the result of what took longer than the window", "breaker may take its slot at the start of an attempt")
		}
	})
}

func TestUpstreamBreakerWaitsForEverForALostProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cb := gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
			Timeout: time.Second, ReadyToTrip: func(gobreaker.Counts) bool { return true },
		})
		trip(t, cb)
		time.Sleep(2 * time.Second)
		if _, err := cb.Allow(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(1000 * time.Hour)
		if _, err := cb.Allow(); !errors.Is(err, gobreaker.ErrTooManyRequests) {
			mended(t, upstreamBreaker, "refuses for ever while a probe is unsettled", "breaker needs no timer for a lost probe")
		}
	})
}

func TestUpstreamBreakerCallsOnStateChangeUnderItsLock(t *testing.T) {
	var cb *gobreaker.TwoStepCircuitBreaker[struct{}]
	asked := make(chan gobreaker.State, 1)
	cb = gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		ReadyToTrip: func(gobreaker.Counts) bool { return true },
		OnStateChange: func(string, gobreaker.State, gobreaker.State) {
			go func() { asked <- cb.State() }()
			for range 10_000 { // time enough for a goroutine that no lock holds up
				runtime.Gosched()
			}
			if len(asked) > 0 {
				mended(t, upstreamBreaker, "calls OnStateChange under its lock", "breaker.changed may tell the observer itself")
			}
		},
	})
	done, err := cb.Allow()
	if err != nil {
		t.Fatal(err)
	}
	done(failed())
	if got := <-asked; got != gobreaker.StateOpen {
		t.Errorf("state %v after a failure, want open", got)
	}
}

// go-retryablehttp

// once is a retryablehttp client as a careful user would make it: two attempts,
// no wait, and no line in the log.
func once(base http.RoundTripper) *retryablehttp.Client {
	c := retryablehttp.NewClient()
	c.Logger = nil
	c.HTTPClient = &http.Client{Transport: base}
	c.RetryMax = 1
	c.Backoff = func(_, _ time.Duration, _ int, _ *http.Response) time.Duration { return 0 }
	return c
}

func get(t *testing.T, url string) *retryablehttp.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	return &retryablehttp.Request{Request: req}
}

// idle counts how often it is asked to close its idle connections.
type idle struct {
	http.RoundTripper
	closed int
}

func (i *idle) CloseIdleConnections() { i.closed++ }

func TestUpstreamRetryClosesEverybodysIdleConnectionsOnGivingUp(t *testing.T) {
	base := &idle{RoundTripper: statuses(503)}
	if resp, err := once(base).Do(get(t, "https://llm.test/")); err == nil {
		resp.Body.Close()
		t.Fatalf("got %v, want an error", resp)
	}
	if base.closed == 0 {
		mended(t, upstreamRetry, "closes idle connections when it gives up", "the loop's client may have the base as its transport")
	}
}

func TestUpstreamRetryClosesEverybodysIdleConnectionsWhenTheCallerLeaves(t *testing.T) {
	base := &idle{RoundTripper: statuses(503)}
	ctx, cancel := context.WithCancel(t.Context())
	c := once(base)
	c.Backoff = func(_, _ time.Duration, _ int, _ *http.Response) time.Duration { cancel(); return time.Hour }
	req := get(t, "https://llm.test/")
	if resp, err := c.Do(req.WithContext(ctx)); !errors.Is(err, context.Canceled) {
		resp.Body.Close()
		t.Fatalf("error %v, want context.Canceled", err)
	}
	if base.closed == 0 {
		mended(t, upstreamRetry, "closes idle connections when a wait is cancelled", "the loop's client may have the base as its transport")
	}
}

func TestUpstreamRetryFollowsRedirects(t *testing.T) {
	base := play(step{status: 307, header: http.Header{"Location": {"https://elsewhere.test/"}}}, step{status: 200})
	resp, err := once(base).Do(get(t, "https://llm.test/"))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode == 307 {
		mended(t, upstreamRetry, "follows redirects inside an attempt", "the loop may be shown responses, and errEnded may go")
	}
}

func TestUpstreamRetryReturnsAResponseBesideAnError(t *testing.T) {
	c := once(statuses(503))
	c.CheckRetry = retryablehttp.ErrorPropagatedRetryPolicy
	c.ErrorHandler = retryablehttp.PassthroughErrorHandler
	resp, err := c.Do(get(t, "https://llm.test/"))
	if resp == nil || err == nil {
		mended(t, upstreamRetry, "returns a response beside an error", "the loop's CheckRetry may return an error")
	}
	if resp != nil {
		resp.Body.Close()
	}
}

func TestUpstreamRetryLosesTheLastResponseAndShowsTheURL(t *testing.T) {
	resp, err := once(statuses(503)).Do(get(t, "https://llm.test/?key=marker"))
	if resp != nil || err == nil {
		t.Fatalf("got %v, %v", resp, err)
	}
	if !strings.Contains(err.Error(), "marker") {
		mended(t, upstreamRetry, "writes the query into its error", "the loop may be shown the real URL")
	}
}

func TestUpstreamRetryDoesNotCompareAWaitWithTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		c := once(statuses(503))
		c.Backoff = func(_, _ time.Duration, _ int, _ *http.Response) time.Duration { return time.Hour }
		start := time.Now()
		if resp, err := c.Do(get(t, "https://llm.test/").WithContext(ctx)); err == nil {
			resp.Body.Close()
			t.Fatal("no error")
		}
		if time.Since(start) < 3*time.Second {
			mended(t, upstreamRetry, "sleeps up to the deadline for a wait that is longer", "retryCall.delay may leave that to the loop")
		}
	})
}

func TestUpstreamRetryDrainsWithoutATimeLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		time.AfterFunc(time.Hour, func() { w.Close() })
		base := play(step{status: 503, body: r}, step{status: 200})
		start := time.Now()
		resp, err := once(base).Do(get(t, "https://llm.test/"))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if time.Since(start) < time.Hour {
			mended(t, upstreamRetry, "waits for a failed body that hangs", "readAhead may leave the draining to the loop")
		}
	})
}

func TestUpstreamRetryBuffersTheWholeRequestBody(t *testing.T) {
	var n counter
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://llm.test/", io.TeeReader(io.LimitReader(zeros{}, 1<<20), &n))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := retryablehttp.FromRequest(req); err != nil {
		t.Fatal(err)
	}
	if n != 1<<20 {
		mended(t, upstreamRetry, "reads a request body before it sends anything", "the loop may be given the real request")
	}
}

type counter int

func (c *counter) Write(p []byte) (int, error) { *c += counter(len(p)); return len(p), nil }

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestUpstreamRetrySharesTheCallersHeaderMap(t *testing.T) {
	c := once(statuses(503, 200))
	c.PrepareRetry = func(req *http.Request) error { req.Header.Set("X-Attempt", "2"); return nil }
	req := get(t, "https://llm.test/")
	callers := req.Request
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if callers.Header.Get("X-Attempt") == "" {
		mended(t, upstreamRetry, "lets PrepareRetry write into the caller's header", "the loop may be given the real request")
	}
}

func TestUpstreamRetryLogsUnlessToldOtherwise(t *testing.T) {
	if retryablehttp.NewClient().Logger == nil {
		mended(t, upstreamRetry, "logs to stderr by default", "the loop may use NewClient")
	}
}

func TestUpstreamRetryKnowsOnlyErrorsInAURLError(t *testing.T) {
	bad := &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}
	wrapped, _ := retryablehttp.DefaultRetryPolicy(t.Context(), nil, &url.Error{Op: "Post", Err: bad})
	if wrapped {
		t.Errorf("%s retries a certificate that is not trusted: worthRetrying must know it itself", upstreamRetry)
	}
	if bare, _ := retryablehttp.DefaultRetryPolicy(t.Context(), nil, bad); !bare {
		mended(t, upstreamRetry, "overlooks an error that is in no url.Error", "worthRetrying need not wrap it")
	}
}
