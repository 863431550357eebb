package steady_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/steadyhttp/steady"
)

// What is read of a body that is not there is read by net/http, on a goroutine whose
// panic nobody can recover from.
func TestAGetBodyWithoutABody(t *testing.T) {
	var seen atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if seen.Add(1) == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer srv.Close()
	rt := must(t)(steady.New(
		steady.WithKey(steady.KeyByModel), steady.WithRateLimit(1000, 1000, steady.TokensPerMinute(1e6)),
		steady.WithRetry(steady.Delays(ms, ms)),
	))
	defer rt.CloseIdleConnections()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL+"/v1/chat/completions", strings.NewReader(`{"model":"m"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.GetBody = func() (io.ReadCloser, error) { return nil, nil } //nolint:nilnil // that is the point
	resp, err := rt.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	read(t, resp)
	if resp.StatusCode != http.StatusServiceUnavailable || seen.Load() != 1 {
		t.Errorf("status %d after %d attempts, want the 503 of the first", resp.StatusCode, seen.Load())
	}
}

// A layer inside Retry that sends a request more than once may come too late with
// another copy: the body is the next attempt's then, or nobody's.
func TestAnAttemptThatIsOverDoesNotTakeTheBody(t *testing.T) {
	var late []func() (io.ReadCloser, error)
	var bodies []string
	refused := 0
	base := roundTripFunc(func(req *http.Request) (*http.Response, error) {
		for _, getBody := range late {
			if _, err := getBody(); err != nil {
				refused++
			}
		}
		late = append(late, req.GetBody)
		text, err := io.ReadAll(req.Body)
		if err != nil {
			t.Error(err)
		}
		bodies = append(bodies, string(text))
		return nil, io.ErrUnexpectedEOF
	})
	rt := steady.Retry(steady.MaxAttempts(3), steady.UnknownResends(9), steady.Delays(ms, ms))(base)
	if _, err := rt.RoundTrip(post(t, t.Context(), "q")); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error(err)
	}
	if got, want := strings.Join(bodies, " "), "q q q"; got != want || refused != 3 {
		t.Errorf("sent %q and refused %d copies, want %q and 3", got, refused, want)
	}
	if _, err := late[2](); err == nil {
		t.Error("got a copy after the call")
	}
}

func TestACopyOfTheBodyThatIsAskedForAsTheCallEnds(t *testing.T) {
	for range 20 {
		var wg sync.WaitGroup
		base := roundTripFunc(func(req *http.Request) (*http.Response, error) {
			wg.Go(func() {
				if b, err := req.GetBody(); err == nil {
					b.Close()
				}
			})
			return nil, io.ErrUnexpectedEOF
		})
		rt := steady.Retry(steady.MaxAttempts(2), steady.Delays(ms, ms))(base)
		_, _ = rt.RoundTrip(post(t, t.Context(), "q"))
		wg.Wait()
	}
}

// A base may not know of contexts: it gets its body closed.
func TestAShortAnswerOfABaseThatHeedsNoContext(t *testing.T) {
	for _, tc := range []struct {
		name  string
		opts  []steady.AttemptOption
		leave time.Duration
		took  time.Duration
		want  error
	}{
		{"stalls", []steady.AttemptOption{steady.FirstContent(time.Second)}, time.Minute, time.Second, steady.ErrStreamStalled},
		{"the caller leaves", nil, 2 * time.Second, 2 * time.Second, context.Canceled},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				base := roundTripFunc(func(req *http.Request) (*http.Response, error) {
					r, w := io.Pipe()
					time.AfterFunc(time.Hour, func() { w.Close() })
					resp := respond(req, 200, http.Header{"Content-Type": {"application/json"}}, r)
					resp.ContentLength = 100
					return resp, nil
				})
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				time.AfterFunc(tc.leave, cancel)
				start := time.Now()
				resp, err := steady.Attempt(tc.opts...)(base).RoundTrip(post(t, ctx, "q"))
				if err == nil {
					_, err = io.ReadAll(resp.Body)
					resp.Body.Close()
				}
				if took := time.Since(start); took != tc.took || !errors.Is(err, tc.want) {
					t.Errorf("%v after %v, want %v after %v", err, took, tc.want, tc.took)
				}
			})
		})
	}
}
