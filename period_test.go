package steady_test

import (
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/steadyhttp/steady"
)

// Successes and failures leave the window together, a tenth of it at a time.
func TestSuccessesCountForTheBreakerAsLongAsItsWindow(t *testing.T) {
	tests := []struct {
		name      string
		successes []time.Duration // when, since the beginning
		failures  time.Duration   // when the four of them come
		opens     bool
	}{
		{"none", nil, 0, true},
		{"just now", []time.Duration{0}, 0, false},
		{"in the window still", []time.Duration{0}, 9999 * time.Millisecond, false},
		{"out of the window", []time.Duration{0}, 10 * time.Second, true},
		{"long out of the window", []time.Duration{0}, 95 * time.Second, true},
		{"in two parts of it, one of them out", []time.Duration{0, time.Second}, 10 * time.Second, false},
		{"in two parts of it, both out", []time.Duration{0, time.Second}, 11 * time.Second, true},
		{"where others were a window ago", []time.Duration{0, 10 * time.Second}, 11 * time.Second, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began, status := time.Now(), http.StatusOK
				base := roundTripFunc(func(req *http.Request) (*http.Response, error) {
					req.Body.Close()
					return respond(req, status, nil, nil), nil
				})
				rt := steady.Chain(base, steady.Breaker(steady.TripAfter(1000), steady.TripRatio(0.5, 10*time.Second, 4)))
				send := func(at time.Duration, n int) (err error) {
					time.Sleep(at - time.Since(began))
					for range n {
						var resp *http.Response
						if resp, err = rt.RoundTrip(post(t, t.Context(), question)); err == nil {
							read(t, resp)
						}
					}
					return err
				}
				for _, at := range tt.successes {
					send(at, 5) //nolint:errcheck // they succeed
				}
				status = http.StatusInternalServerError
				send(tt.failures, 4) //nolint:errcheck // what they end in is not asked
				if got := errors.Is(send(tt.failures, 1), steady.ErrBreakerOpen); got != tt.opens {
					t.Errorf("open: %v, want %v", got, tt.opens)
				}
			})
		})
	}
}
