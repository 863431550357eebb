package steady_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/steadyhttp/steady"
)

// What the context of an attempt owes to the layers and the transport below.
func TestTheContextOfAnAttemptEndsWithIt(t *testing.T) {
	type valueKey struct{}
	tests := []struct {
		name   string
		end    func(cancel context.CancelCauseFunc, resp *http.Response)
		header time.Duration // that the base takes
		want   error
		cause  error
		after  time.Duration
	}{
		{"when the body is closed", func(_ context.CancelCauseFunc, resp *http.Response) { resp.Body.Close() }, 0, context.Canceled, context.Canceled, 0},
		{"when the caller leaves the body", func(cancel context.CancelCauseFunc, _ *http.Response) { cancel(errGone) }, 0, context.Canceled, errGone, 0},
		{"when the headers are late", nil, time.Hour, context.DeadlineExceeded, context.DeadlineExceeded, time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var own context.Context
				var child, grandchild context.Context
				var stopped func() bool
				called := false
				base := roundTripFunc(func(req *http.Request) (*http.Response, error) {
					own = req.Context()
					var cancel context.CancelFunc
					child, cancel = context.WithCancel(own)
					t.Cleanup(cancel)
					grandchild, cancel = context.WithTimeout(child, time.Minute)
					t.Cleanup(cancel)
					stopped = context.AfterFunc(own, func() { called = true })
					select {
					case <-grandchild.Done():
						return nil, context.Cause(own)
					case <-time.After(tt.header):
					}
					for _, ctx := range []context.Context{own, child, grandchild} {
						if ctx.Err() != nil {
							t.Errorf("%v has ended before its attempt: %v", ctx, ctx.Err())
						}
					}
					return respond(req, 200, nil, &neverEnding{}), nil
				})
				ctx, cancel := context.WithCancelCause(context.WithValue(t.Context(), valueKey{}, "v"))
				defer cancel(nil)
				start := time.Now()
				resp, err := steady.Chain(base, steady.Attempt(steady.HeaderTimeout(time.Second))).RoundTrip(post(t, ctx, "q"))
				if tt.end != nil {
					if err != nil {
						t.Fatal(err)
					}
					tt.end(cancel, resp)
				}
				if got := time.Since(start); got != tt.after {
					t.Errorf("took %v, want %v", got, tt.after)
				}
				if got := own.Err(); !errors.Is(got, tt.want) { // at once, without a goroutine's turn
					t.Errorf("its Err is %v, want %v", got, tt.want)
				}
				if got := context.Cause(own); !errors.Is(got, tt.cause) {
					t.Errorf("its cause is %v, want %v", got, tt.cause)
				}
				synctest.Wait() // the caller's end may still be on its way to the children
				for _, ctx := range []context.Context{own, child, grandchild} {
					select {
					case <-ctx.Done():
					default:
						t.Errorf("Done of %v is not closed", ctx)
					}
				}
				if !called || stopped() {
					t.Errorf("AfterFunc called %v, and could be stopped afterwards", called)
				}
				if got := own.Value(valueKey{}); got != "v" {
					t.Errorf("value %v, want v", got)
				}
				late, cancelLate := context.WithCancel(own)
				defer cancelLate()
				if late.Err() == nil {
					t.Error("a child made after the end is alive")
				}
			})
		})
	}
}

// Whoever leaves hears of that, also when the headers were late already.
func TestACallerWhoLeavesALateAttemptHearsOfThat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, leave := context.WithCancelCause(t.Context())
		base := roundTripFunc(func(req *http.Request) (*http.Response, error) {
			<-req.Context().Done()
			late := req.Context().Err()
			leave(errGone)
			return nil, late
		})
		_, err := steady.Attempt(steady.HeaderTimeout(time.Second))(base).RoundTrip(post(t, ctx, "q")) //nolint:bodyclose // there is none
		if !errors.Is(err, context.Canceled) || !errors.Is(err, errGone) {
			t.Errorf("error %v, want the caller's own", err)
		}
	})
}

var errGone = errors.New("gone")

// neverEnding is a body of which nothing comes.
type neverEnding struct{ strings.Reader }

func (*neverEnding) Read([]byte) (int, error) { select {} }
func (*neverEnding) Close() error             { return nil }
