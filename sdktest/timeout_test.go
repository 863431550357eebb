package sdktest

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/steadyhttp/steady"
	"github.com/steadyhttp/steady/internal/fakeserver"
)

// These rows are about time alone, and so they run in virtual time over the fake
// server's in-process door: what takes two seconds takes exactly two seconds.

// inBubble runs a row over paths, with a rig whose stack has opts.
func inBubble(t *testing.T, over []path, opts []steady.Option, row func(t *testing.T, r *rig, p path)) {
	t.Helper()
	each(t, over, func(t *testing.T, p path) {
		synctest.Test(t, func(t *testing.T) {
			r := &rig{srv: fakeserver.New(), url: "http://provider.test"}
			defer r.srv.Close()
			r.stack(t, r.srv.Transport(), opts)
			row(t, r, p)
			// go-openai does not close the body of a failed stream, so that the
			// timer of http.Client.Timeout goes on until it fires.
			time.Sleep(2 * time.Second)
		})
	})
}

// A limit is a way to bound a call, here to two seconds.
type limit struct {
	name string
	over []path
	ask  func(t *testing.T, r *rig, p path) error
}

var (
	requestTimeout = limit{"option.WithRequestTimeout", stainless(), askWithTimeout}
	genaiTimeout   = limit{"genai.HTTPOptions.Timeout", []path{{genaiGo(), false}, {genaiGo(), true}}, askWithTimeout}
	clientTimeout  = limit{"http.Client.Timeout", paths(), func(t *testing.T, r *rig, p path) error {
		t.Helper()
		r.client.Timeout = 2 * time.Second
		_, err := r.ask(t, p, settings{})
		return err
	}}
	callersContext = limit{"the caller's context", paths(), func(t *testing.T, r *rig, p path) error {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		_, err := r.askIn(ctx, t, p, settings{})
		return err
	}}
	limits = []limit{requestTimeout, genaiTimeout, clientTimeout, callersContext}
)

func askWithTimeout(t *testing.T, r *rig, p path) error {
	t.Helper()
	_, err := r.ask(t, p, settings{timeout: 2 * time.Second})
	return err
}

// An answer that comes after its deadline is dropped, and anthropic-sdk-go then
// asks again. So Steady answers the Stainless SDKs 50 ms before it.
func TestAProviderThatHangsCostsOneRoundTripUntilTheDeadline(t *testing.T) {
	for _, limit := range limits {
		t.Run(limit.name, func(t *testing.T) {
			inBubble(t, limit.over, nil, func(t *testing.T, r *rig, p path) {
				r.play(fakeserver.Hang())
				start, want := time.Now(), 2*time.Second
				err := limit.ask(t, r, p)
				if p.stainless {
					want -= 50 * time.Millisecond
				}
				if took := time.Since(start); took != want {
					t.Errorf("took %v, want %v", took, want)
				}
				wantCount(t, "round trips", r.roundTrips.Load(), 1)
				wantCount(t, "requests", r.requests(), 1)
				wantDeadline(t, p, err)
			})
		})
	}
}

func wantDeadline(t *testing.T, p path, err error) {
	t.Helper()
	if !p.wraps { // what langchaingo's openai makes of it
		if err == nil || !strings.Contains(err.Error(), "request timeout") {
			t.Errorf("error %v, want a request timeout", err)
		}
		return
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want context.DeadlineExceeded", err)
	}
}

// A wait that cannot end in time is not begun: the caller has the provider's
// answer at once, instead of a deadline later.
func TestARetryAfterBeyondTheDeadlineIsHandedOverAtOnce(t *testing.T) {
	for _, limit := range limits {
		t.Run(limit.name, func(t *testing.T) {
			inBubble(t, limit.over, nil, func(t *testing.T, r *rig, p path) {
				r.play(status(429, fakeserver.RetryAfter("10")))
				start := time.Now()
				err := limit.ask(t, r, p)
				if took := time.Since(start); took != 0 {
					t.Errorf("took %v, want 0s", took)
				}
				wantCount(t, "round trips", r.roundTrips.Load(), 1)
				wantCount(t, "requests", r.requests(), 1)
				if got, ok := p.told(answer{}, err); !ok || got.status != 429 {
					t.Errorf("error %v, want the SDK's own for status 429", err)
				}
			})
		})
	}
}

func TestATurnThatCannotComeBeforeTheDeadlineIsRefusedAtOnce(t *testing.T) {
	opts := []steady.Option{steady.WithRateLimit(1.0/10, 1)} // the next turn is 10 seconds off
	for _, limit := range limits {
		t.Run(limit.name, func(t *testing.T) {
			inBubble(t, limit.over, opts, func(t *testing.T, r *rig, p path) {
				r.play(r.good)
				r.spend(t)
				start := time.Now()
				err := limit.ask(t, r, p)
				if took := time.Since(start); took != 0 {
					t.Errorf("took %v, want 0s", took)
				}
				wantCount(t, "round trips", r.roundTrips.Load(), 1)
				wantCount(t, "requests", r.requests(), 1)
				if !p.wraps {
					wantDeadline(t, p, err)
					return
				}
				wantError(t, p, err, steady.ErrRateLimited)
				wantError(t, p, err, context.DeadlineExceeded)
			})
		})
	}
}

// Whoever cancels has left: nobody asks again, and no carrier is made for him.
func TestACancelledCallEndsAtOnce(t *testing.T) {
	inBubble(t, paths(), nil, func(t *testing.T, r *rig, p path) {
		r.play(fakeserver.Hang())
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		start := time.Now()
		_, err := r.askIn(ctx, t, p, settings{})
		if took := time.Since(start); took != time.Second {
			t.Errorf("took %v, want 1s", took)
		}
		wantCount(t, "round trips", r.roundTrips.Load(), 1)
		wantCount(t, "requests", r.requests(), 1)
		wantError(t, p, err, context.Canceled)
	})
}

// Without the layer the SDKs do what they do above any transport that waits:
// this is what it is for.
func TestWithoutTheSDKLayerADeadlineIsWaitedForThreeTimes(t *testing.T) {
	off := []steady.Option{steady.WithSDK(false)}
	once := func(path) int64 { return 1 }
	thrice := func(path) int64 { return 3 }
	onlyAnthropic := func(p path) int64 { // openai-go takes a timeout of its own for final
		if p.name == "openai-go" {
			return 1
		}
		return 3
	}
	for _, row := range []struct {
		limit
		roundTrips func(path) int64
	}{
		{requestTimeout, onlyAnthropic},
		{clientTimeout, thrice},
		{callersContext, once},
	} {
		t.Run(row.name, func(t *testing.T) {
			inBubble(t, stainless(), off, func(t *testing.T, r *rig, p path) {
				r.play(fakeserver.Hang())
				if err := row.ask(t, r, p); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("error %v, want context.DeadlineExceeded", err)
				}
				wantCount(t, "round trips", r.roundTrips.Load(), row.roundTrips(p))
			})
		})
	}
}

// A long wait is nobody's to sleep on, neither Steady's nor the SDK's:
// anthropic-sdk-go would sleep for the hour.
func TestALongRetryAfterIsHandedToTheCallerAtOnce(t *testing.T) {
	for _, hint := range []string{"3600", "75"} { // MaxRetryAfter is 60
		for _, code := range []int{429, 503} {
			t.Run(hint+" on "+strconv.Itoa(code), func(t *testing.T) {
				inBubble(t, paths(), nil, func(t *testing.T, r *rig, p path) {
					r.play(status(code, fakeserver.RetryAfter(hint)))
					start := time.Now()
					a, err := r.ask(t, p, settings{})
					if took := time.Since(start); took != 0 {
						t.Errorf("took %v, want 0s", took)
					}
					wantCount(t, "requests", r.requests(), 1)
					wantCount(t, "round trips", r.roundTrips.Load(), 1)
					wantTold(t, p, a, err, told{code, "(request 1)", hint})
				})
			})
		}
	}
}

// It is SDK sleep, not only SDK attempts, that the layer saves.
func TestAnOpenBreakerCostsNoTimeAtAll(t *testing.T) {
	opts := []steady.Option{steady.WithBreaker(steady.TripAfter(1), steady.OpenFor(time.Hour))}
	inBubble(t, paths(), opts, func(t *testing.T, r *rig, p path) {
		r.play(fakeserver.Sequence(status(500), r.good))
		r.spend(t)
		start := time.Now()
		_, err := r.ask(t, p, settings{})
		if took := time.Since(start); took != 0 {
			t.Errorf("took %v, want 0s", took)
		}
		wantCount(t, "round trips", r.roundTrips.Load(), 1)
		wantError(t, p, err, steady.ErrBreakerOpen)
	})
}
