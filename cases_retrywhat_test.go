package steady_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/steadyhttp/steady"
)

// steadyWaits makes every backoff its ceiling, so that times are exact.
var steadyWaits = []steady.RetryOption{steady.PlusMinus(0), steady.Delays(time.Second, time.Minute)}

func TestRC1_StatusTable(t *testing.T) {
	const chat = "/v1/chat/completions"
	three := func(first time.Duration) time.Duration { return first + 2*first }
	for _, tc := range []struct {
		statuses  []int
		get, post int           // attempts
		first     time.Duration // the first wait
	}{
		{[]int{200, 204, 300, 301, 302, 303, 304, 307, 308}, 1, 1, 0},
		{[]int{400, 401, 402, 403, 404, 405, 406, 410, 411, 412, 413, 414, 415, 421, 422, 423, 424, 426, 428, 431, 451, 499}, 1, 1, 0},
		{[]int{501, 505, 506, 507, 508, 510, 511, 519, 599}, 1, 1, 0},
		{[]int{408, 409, 425, 429, 498, 500, 502, 520, 521, 522, 523, 525, 526, 527, 529, 530}, 3, 3, time.Second}, // 525 to 530: a gateway that did not reach the server
		{[]int{503}, 3, 3, 2 * time.Second},
		{[]int{504, 524}, 3, 2, time.Second}, // a POST may have been done: once more, by default
	} {
		for _, status := range tc.statuses {
			for method, want := range map[string]int{http.MethodGet: tc.get, http.MethodPost: tc.post} {
				t.Run(fmt.Sprintf("%d for %s", status, method), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						base, seen, start := statuses(status), &events{}, time.Now()
						rt := steady.Retry(append(steadyWaits, steady.MaxAttempts(3), steady.WithObserver(seen))...)(base)
						body := ""
						if method == http.MethodPost {
							body = "q"
						}
						resp, err := rt.RoundTrip(request(t, method, chat, body))
						if err != nil || resp.StatusCode != status {
							t.Fatalf("got %v, %v", resp, err)
						}
						if got := read(t, resp); got != http.StatusText(status) {
							t.Errorf("body %q", got)
						}
						if got := base.attempts(); got != want {
							t.Errorf("%d attempts, want %d", got, want)
						}
						if got := len(of[steady.RetryScheduled](seen)); got != want-1 {
							t.Errorf("%d waits, want %d", got, want-1)
						}
						wantTook := map[int]time.Duration{1: 0, 2: tc.first, 3: three(tc.first)}[want]
						if took := time.Since(start); took != wantTook {
							t.Errorf("took %v, want %v", took, wantTook)
						}
					})
				})
			}
		}
	}
}

func TestRC1_TheServersWordComesFirst(t *testing.T) {
	const words = `{"error":{"message":"Rate limit reached, tokens per minute. Please retry in 5s","type":"invalid_request_error"}}`
	for _, tc := range []struct {
		name   string
		status int
		header http.Header
		body   string
		want   int
	}{
		{"false on 503", 503, http.Header{"X-Should-Retry": {"false"}}, "", 1},
		{"false on 429", 429, http.Header{"X-Should-Retry": {"false"}, "Retry-After": {"1"}}, "", 1},
		{"true on 400", 400, http.Header{"X-Should-Retry": {"true"}}, "", 3},
		{"true on 501", 501, http.Header{"X-Should-Retry": {"true"}}, "", 3},
		{"true on 504, more often than UnknownResends says", 504, http.Header{"X-Should-Retry": {"true"}}, "", 3},
		{"maybe on 503", 503, http.Header{"X-Should-Retry": {"maybe"}}, "", 3},
		{"maybe on 400", 400, http.Header{"X-Should-Retry": {"maybe"}}, "", 1},
		{"empty on 503", 503, http.Header{"X-Should-Retry": {""}}, "", 3},
		{"true on 200", 200, http.Header{"X-Should-Retry": {"true"}}, "", 1},
		{"true on 307, which is the client's to follow", 307, http.Header{"X-Should-Retry": {"true"}}, "", 1},
		{"413 that talks like a 429", 413, after("5"), words, 1},
		{"400 that talks like a 429", 400, after("5"), words, 1},
		{"200 that talks like a 429", 200, after("5"), words, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var steps []step
				for range 4 { // a body is read once
					st := step{status: tc.status, header: tc.header}
					if tc.body != "" {
						st.body = io.NopCloser(strings.NewReader(tc.body))
					}
					steps = append(steps, st)
				}
				base, start := play(steps...), time.Now()
				rt := steady.Retry(append(steadyWaits, steady.MaxAttempts(3))...)(base)
				resp, err := rt.RoundTrip(post(t, t.Context(), "q"))
				if err != nil || resp.StatusCode != tc.status {
					t.Fatalf("got %v, %v", resp, err)
				}
				if got := read(t, resp); tc.body != "" && got != tc.body {
					t.Errorf("body %q", got)
				}
				if got := base.attempts(); got != tc.want {
					t.Errorf("%d attempts, want %d", got, tc.want)
				}
				if took := time.Since(start); tc.want == 1 && took != 0 {
					t.Errorf("waited %v, want no wait", took)
				}
			})
		})
	}
}

// The statuses of one call may differ; the limit is one for all of them.
func TestRC1_AMixedSeriesHasOneLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reset := &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
		base := play(step{status: 429}, step{err: reset}, step{status: 503}, step{err: reset}, step{status: 400}, step{status: 200})
		resp, err := steady.Retry(append(steadyWaits, steady.MaxAttempts(6))...)(base).RoundTrip(post(t, t.Context(), "q"))
		if err != nil || resp.StatusCode != 400 {
			t.Fatalf("got %v, %v, want the 400", resp, err)
		}
		read(t, resp)
		if got := base.attempts(); got != 5 {
			t.Errorf("%d attempts, want 5", got)
		}
	})
}

// plainPipe is a transport whose connections lead to a server that reads all
// and says nothing.
func plainPipe(t *testing.T) *http.Transport {
	tr := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go func() {
			io.Copy(io.Discard, server)
			server.Close()
		}()
		return client, nil
	}}
	t.Cleanup(tr.CloseIdleConnections)
	return tr
}

func TestRC3_TheRequestsOwnFaultIsNotRetriedAndIsNeutral(t *testing.T) {
	errDisk := errors.New("disk on fire")
	failing := func() io.ReadCloser {
		return io.NopCloser(io.MultiReader(strings.NewReader(strings.Repeat("x", 100)), iotest.ErrReader(errDisk)))
	}
	for _, tc := range []struct {
		name   string
		change func(*http.Request)
		is     error  // what the error must match
		text   string // or say
	}{
		{"scheme", func(r *http.Request) { r.URL.Scheme = "ftp" }, nil, "unsupported protocol scheme"},
		{"no scheme", func(r *http.Request) { r.URL.Scheme = "" }, nil, "unsupported protocol scheme"},
		{"no host", func(r *http.Request) { r.URL.Host = "" }, nil, "no Host"},
		{"header value", func(r *http.Request) { r.Header.Set("Authorization", "Bearer k\n") }, nil, "invalid header field value"},
		{"header name", func(r *http.Request) { r.Header["X Y"] = []string{"v"} }, nil, "invalid header field name"},
		{"method", func(r *http.Request) { r.Method = "PO ST" }, nil, "invalid method"},
		{"body reader, length known", func(r *http.Request) { r.Body, r.GetBody, r.ContentLength = failing(), nil, 1000 }, errDisk, ""},
		{"body reader, length unknown", func(r *http.Request) { r.Body, r.GetBody, r.ContentLength = failing(), nil, -1 }, errDisk, ""},
		{"body reader with GetBody", func(r *http.Request) {
			r.Body, r.ContentLength = failing(), 1000
			r.GetBody = func() (io.ReadCloser, error) { return failing(), nil }
		}, errDisk, ""},
		{"body shorter than its length", func(r *http.Request) { r.ContentLength = 1000 }, nil, "ContentLength=1000 with Body length"},
		{"body longer than its length", func(r *http.Request) { r.ContentLength = 1 }, nil, "ContentLength=1 with Body length"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				seen := &events{}
				rt := must(t)(steady.New(steady.WithBase(plainPipe(t)), steady.WithBreaker(steady.TripAfter(1)),
					steady.WithRetry(steady.UnknownResends(5)), steady.WithObserver(seen)))
				req := request(t, http.MethodPost, "/v1/chat/completions", "question")
				req.URL.Scheme = "http"
				tc.change(req)
				start := time.Now()
				resp, err := rt.RoundTrip(req)
				if err == nil {
					t.Fatalf("got %v", resp)
				}
				if tc.is != nil && !errors.Is(err, tc.is) || !strings.Contains(err.Error(), tc.text) {
					t.Errorf("error %q, want %v%s", err, tc.is, tc.text)
				}
				if got := len(of[steady.AttemptEnded](seen)); got != 1 {
					t.Errorf("%d attempts, want 1", got)
				}
				if took := time.Since(start); took != 0 {
					t.Errorf("took %v, want no wait", took)
				}
				if got := stateOf(rt, steady.KeyByHost(req)).Breaker; got != "closed" {
					t.Errorf("breaker %s, want closed: it is not the provider's fault", got)
				}
				if got := of[steady.AttemptEnded](seen)[0].Outcome; got != "declined" {
					t.Errorf("outcome %q, want declined", got)
				}
			})
		})
	}
}

func TestRC3_ErrorsOfTheNetworkAreRetriedIfTheyCanGetBetter(t *testing.T) {
	for _, tc := range []struct {
		name string
		err  error
		want int
	}{
		{"refused dial", &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}, 3},
		{"unreachable proxy", &net.OpError{Op: "proxyconnect", Net: "tcp", Err: syscall.EHOSTUNREACH}, 3},
		{"name that does not exist", &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: "llm.test", IsNotFound: true}}, 1},
		{"resolver that timed out", &net.OpError{Op: "dial", Err: &net.DNSError{Err: "i/o timeout", Name: "llm.test", IsTimeout: true}}, 3},
		{"no free port", &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.EADDRNOTAVAIL)}, 3},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := 0
				base := roundTripFunc(func(req *http.Request) (*http.Response, error) {
					n++
					req.Body.Close()
					return nil, tc.err
				})
				rt := steady.Retry(append(steadyWaits, steady.MaxAttempts(3), steady.UnknownResends(0))...)(base)
				_, err := rt.RoundTrip(post(t, t.Context(), "q"))
				if !errors.Is(err, tc.err) {
					t.Errorf("error %v, want one that wraps %v", err, tc.err)
				}
				var gaveUp *steady.RetryError
				if errors.As(err, &gaveUp) != (tc.want > 1) || gaveUp != nil && gaveUp.Attempts != tc.want {
					t.Errorf("error %#v, want a RetryError after more than one attempt only", err)
				}
				if n != tc.want {
					t.Errorf("%d attempts, want %d", n, tc.want)
				}
			})
		})
	}
}
