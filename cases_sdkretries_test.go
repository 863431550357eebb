package steady_test

import (
	"io"
	"net/http"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/steadyhttp/steady"
)

// BU3: the retries of an SDK times those of the stack.

// sdkLoop asks as openai-go and anthropic-sdk-go do: three times, each numbered,
// with a backoff between them, and not again after X-Should-Retry: false. It
// returns the last status, or 0 for an error.
func sdkLoop(t *testing.T, rt http.RoundTripper) (status, tries int) {
	t.Helper()
	for tries = 1; ; tries++ {
		req := post(t, t.Context(), "q")
		req.Header.Set("X-Stainless-Retry-Count", strconv.Itoa(tries-1))
		resp, err := rt.RoundTrip(req)
		status = 0
		if err == nil {
			status = resp.StatusCode
			_, _ = io.Copy(io.Discard, resp.Body) // a carrier ends in an error
			resp.Body.Close()
			if status < 400 || resp.Header.Get("X-Should-Retry") == "false" {
				return status, tries
			}
		}
		if tries == 3 {
			return status, tries
		}
		time.Sleep(500 * time.Millisecond << (tries - 1))
	}
}

// tolerant is a stack of three attempts whose breaker is out of the way.
func tolerant(t *testing.T, base http.RoundTripper, retry []steady.RetryOption, opts ...steady.Option) *steady.Transport {
	t.Helper()
	return must(t)(steady.New(append([]steady.Option{
		steady.WithBase(base), steady.WithBreaker(steady.TripAfter(1e6), steady.TripRatio(1, time.Minute, 1e6)),
		steady.WithRetry(append([]steady.RetryOption{steady.MaxAttempts(3)}, retry...)...),
	}, opts...)...))
}

func TestBU3_TheRetriesOfAnSDKDoNotMultiplyOurs(t *testing.T) {
	for _, test := range []struct {
		name     string
		opts     []steady.Option
		retry    []steady.RetryOption
		tries    int
		attempts int
	}{
		{name: "told by the SDK layer", tries: 1, attempts: 3},
		{name: "without it, they do", opts: []steady.Option{steady.WithSDK(false)}, tries: 3, attempts: 9},
		{name: "without it, but when the budget is spent", opts: []steady.Option{steady.WithSDK(false)},
			retry: []steady.RetryOption{steady.RetryBudget(0, 0)}, tries: 3, attempts: 3},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				base := statuses(503)
				rt := tolerant(t, base, test.retry, test.opts...)
				if test.retry != nil { // five calls have two re-sends each
					for range 5 {
						if status, err := call(t, rt, t.Context(), "q"); status != 503 || err != nil {
							t.Fatalf("got %d, %v", status, err)
						}
					}
					base.seen = nil
				}
				status, tries := sdkLoop(t, rt)
				if status != 503 || tries != test.tries || base.attempts() != test.attempts {
					t.Errorf("status %d after %d tries and %d attempts, want 503 after %d and %d", status, tries, base.attempts(), test.tries, test.attempts)
				}
				// The number by which the SDK tells its tries shows the multiplication.
				var numbers []string
				for _, s := range base.seen {
					numbers = append(numbers, s.header.Get("X-Stainless-Retry-Count"))
				}
				if want := test.tries; len(slices.Compact(numbers)) != want {
					t.Errorf("attempts of the SDK's tries %v, want %d of them", numbers, want)
				}
			})
		})
	}
}

// One limit for the call, and not one for each kind of failure.
func TestBU3_TheLimitIsOneWhateverTheFailure(t *testing.T) {
	reset := step{err: syscall.ECONNRESET}
	overloaded := step{status: 503}
	for _, steps := range [][]step{
		{reset, reset, overloaded, reset, overloaded},
		{overloaded, reset, overloaded, reset},
		{reset, {status: 429}, overloaded, reset},
		{overloaded, {status: 529}, {status: 429}, {status: 500}},
	} {
		synctest.Test(t, func(t *testing.T) {
			base := play(steps...)
			heard := &events{}
			rt := tolerant(t, base, []steady.RetryOption{steady.UnknownResends(10)}, steady.WithObserver(heard))
			status, tries := sdkLoop(t, rt)
			if base.attempts() != 3 || tries != 1 || status != 503 && status != steps[2].status {
				t.Errorf("status %d after %d tries and %d attempts, want %d after 1 and 3", status, tries, base.attempts(), steps[2].status)
			}
			for i, e := range of[steady.AttemptEnded](heard) {
				if e.Attempt != i+1 {
					t.Errorf("attempt %d is numbered %d", i+1, e.Attempt)
				}
			}
		})
	}
}
