package steady_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
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

// CN1: failed attempts give their connection back.

func TestCN1_FailedAttemptsGiveTheirConnectionBack(t *testing.T) {
	for _, size := range []int{0, 10, 2 << 10, 60 << 10} { // 5 KiB and more is what go-retryablehttp's own drain leaves
		t.Run(fmt.Sprintf("a body of %d bytes", size), func(t *testing.T) {
			var n, conns atomic.Int64
			srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if n.Add(1)%5 == 0 {
					_, _ = io.WriteString(w, "ok")
					return
				}
				w.Header().Set("Retry-After-Ms", "0")
				w.WriteHeader(http.StatusServiceUnavailable)
				_, _ = w.Write(bytes.Repeat([]byte("x"), size))
			}))
			srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
				if s == http.StateNew {
					conns.Add(1)
				}
			}
			srv.Start()
			t.Cleanup(srv.Close)
			base := defaultBase(t)
			base.MaxConnsPerHost = 1
			rt := must(t)(steady.New(steady.WithBase(base), steady.WithBreaker(steady.TripAfter(1000), steady.TripRatio(1, time.Second, 1000)), steady.WithRetry(steady.RetryBudget(100, 1000))))
			for i := range 10 {
				resp, err := rt.RoundTrip(request(t, http.MethodPost, srv.URL+"/v1/messages", "q"))
				if err != nil {
					t.Fatal(err)
				}
				if got := read(t, resp); got != "ok" {
					t.Fatalf("call %d: %d %.20q", i+1, resp.StatusCode, got)
				}
			}
			if conns.Load() != 1 || n.Load() != 50 {
				t.Errorf("%d connections for %d attempts, want 1 for 50", conns.Load(), n.Load())
			}
		})
	}
}

// In virtual time, to the instant: each body that is given up is read to its
// end and closed once, before the wait and not after it.
func TestCN1_AFailedBodyIsReadAndClosedOnceBeforeTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := statuses(503, 503, 503, 503, 200)
		base := &counting{next: roundTripFunc(func(req *http.Request) (*http.Response, error) {
			resp, err := inner.RoundTrip(req)
			if err == nil && resp.StatusCode == 503 {
				resp.Body, resp.ContentLength = io.NopCloser(strings.NewReader(strings.Repeat("x", 2<<10))), 2<<10
			}
			return resp, err
		})}
		rt := must(t)(steady.New(steady.WithBase(base), steady.WithRetry(steady.Delays(10*time.Second, 10*time.Second), steady.PlusMinus(0))))
		start := time.Now()
		resp, err := rt.RoundTrip(post(t, t.Context(), "q"))
		if err != nil || resp.StatusCode != 200 {
			t.Fatalf("got %v, %v", resp, err)
		}
		read(t, resp)
		for i, b := range base.spy[:4] {
			if want := time.Duration(i) * 10 * time.Second; b.closes() != 1 || b.at.Sub(start) != want || !b.eof || b.late != 0 {
				t.Errorf("body %d: closed %d times, first at %v, read to EOF %v, read after Close %d times; want once at %v after EOF",
					i+1, b.closes(), b.at.Sub(start), b.eof, b.late, want)
			}
		}
	})
}

// A failed body that does not end is closed too, within the time for it.
func TestCN1_AFailedBodyThatHangsIsClosedInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		defer w.Close()
		base := play(step{status: 503, body: r}, step{status: 200})
		rt := must(t)(steady.New(steady.WithBase(base), steady.WithRetry(steady.Delays(10*time.Second, 10*time.Second), steady.PlusMinus(0))))
		start := time.Now()
		resp, err := rt.RoundTrip(post(t, t.Context(), "q"))
		if err != nil {
			t.Fatal(err)
		}
		read(t, resp)
		if took, want := time.Since(start), 10*time.Second; took != want {
			t.Errorf("took %v, want %v", took, want)
		}
		if _, err := w.Write([]byte("x")); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("writing to the failed body: %v, want that it is closed", err)
		}
	})
}

// WS1: redirects belong to the client.

// hop is one request as a host saw it.
type hop struct {
	host string
	req  *http.Request
	body string
}

// hosts is a base that answers by host, and remembers the hops.
type hosts struct {
	answer map[string]func(n int) (status int, location string)
	mu     sync.Mutex
	hops   []hop
}

func (h *hosts) RoundTrip(req *http.Request) (*http.Response, error) {
	body := ""
	if req.Body != nil {
		b, _ := io.ReadAll(req.Body)
		req.Body.Close()
		body = string(b)
	}
	h.mu.Lock()
	n := 1
	for _, hop := range h.hops {
		if hop.host == req.URL.Host {
			n++
		}
	}
	h.hops = append(h.hops, hop{req.URL.Host, req, body})
	h.mu.Unlock()
	status, location := h.answer[req.URL.Host](n)
	header := http.Header{}
	if location != "" {
		header.Set("Location", location)
	}
	return respond(req, status, header, nil), nil
}

func (h *hosts) path() string {
	var names []string
	for _, hop := range h.hops {
		names = append(names, hop.host)
	}
	return strings.Join(names, " ")
}

func always(status int, location string) func(int) (int, string) {
	return func(int) (int, string) { return status, location }
}

const pathChat = "/v1/chat/completions"

func redirected(t *testing.T, rt http.RoundTripper) (*http.Response, error) {
	t.Helper()
	req := request(t, http.MethodPost, "https://a.test"+pathChat, "question")
	req.Header.Set("Authorization", "Bearer "+marker)
	req.Header.Set("Content-Type", "application/json")
	resp, err := (&http.Client{Transport: rt}).Do(req)
	if err == nil {
		read(t, resp)
	}
	return resp, err
}

func TestWS1_AHopIsACallOfItsOwnAndKeepsItsSecretsHome(t *testing.T) {
	for _, test := range []struct {
		status int
		method string // at B
		body   string
	}{{307, http.MethodPost, "question"}, {308, http.MethodPost, "question"}, {302, http.MethodGet, ""}, {303, http.MethodGet, ""}} {
		synctest.Test(t, func(t *testing.T) {
			var heard events
			base := &hosts{answer: map[string]func(int) (int, string){
				"a.test": always(test.status, "https://b.test"+pathChat), "b.test": always(200, ""),
			}}
			rt := must(t)(steady.New(steady.WithBase(base), steady.WithObserver(&heard)))
			resp, err := redirected(t, rt)
			if err != nil || resp.StatusCode != 200 || base.path() != "a.test b.test" {
				t.Fatalf("%d: got %v, %v by way of %s", test.status, resp, err, base.path())
			}
			a, b := base.hops[0], base.hops[1]
			if a.req.Header.Get("Authorization") == "" || b.req.Header.Get("Authorization") != "" {
				t.Errorf("%d: Authorization %q at A and %q at B", test.status, a.req.Header.Get("Authorization"), b.req.Header.Get("Authorization"))
			}
			if b.req.Method != test.method || b.body != test.body {
				t.Errorf("%d: %s %q at B, want %s %q", test.status, b.req.Method, b.body, test.method, test.body)
			}
			for name := range b.req.Header {
				if name != "Content-Type" && name != "Referer" {
					t.Errorf("%d: the stack added %s", test.status, name)
				}
			}
			ended := of[steady.AttemptEnded](&heard)
			if len(ended) != 2 || ended[0].Attempt != 1 || ended[1].Attempt != 1 || ended[0].Key != "a.test" || ended[0].Outcome != "ok" || ended[1].Key != "b.test" {
				t.Errorf("%d: attempts %+v, want the first of a call at each host", test.status, ended)
			}
			if resp.Request.URL.Host != "b.test" {
				t.Errorf("the response names %s", resp.Request.URL)
			}
		})
	}
}

func TestWS1_TheStackItselfFollowsAndRetriesNoRedirect(t *testing.T) {
	for _, status := range []int{300, 301, 302, 303, 307, 308} {
		base := play(step{status: status, header: http.Header{"Location": {"https://b.test/"}, "X-Should-Retry": {"true"}}})
		rt := must(t)(steady.New(steady.WithBase(base)))
		req := post(t, t.Context(), "q")
		resp, err := rt.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		read(t, resp)
		if resp.StatusCode != status || base.attempts() != 1 || resp.Request != req {
			t.Errorf("%d: got %d after %d attempts, the caller's request beside it %v", status, resp.StatusCode, base.attempts(), resp.Request == req)
		}
	}
}

func TestWS1_ALoopEndsByTheClientsRule(t *testing.T) {
	base := &hosts{answer: map[string]func(int) (int, string){"a.test": always(307, "https://a.test"+pathChat)}}
	rt := must(t)(steady.New(steady.WithBase(base)))
	_, err := redirected(t, rt) //nolint:bodyclose // it is read
	if err == nil || !strings.Contains(err.Error(), "stopped after 10 redirects") || len(base.hops) != 10 {
		t.Errorf("error %v after %d hops, want net/http's own after 10", err, len(base.hops))
	}
	if s := rt.State(); len(s) != 1 || s[0].InFlight != 0 || s[0].Breaker != "closed" {
		t.Errorf("state %+v", s)
	}
}

// B is retried at B, and what B does wrong is not A's.
func TestWS1_ARetryAfterARedirectStaysAtItsHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := &hosts{answer: map[string]func(int) (int, string){
			"a.test": always(307, "https://b.test"+pathChat),
			"b.test": func(n int) (int, string) {
				if n == 1 {
					return 503, ""
				}
				return 200, ""
			},
		}}
		rt := must(t)(steady.New(steady.WithBase(base)))
		resp, err := redirected(t, rt)
		if err != nil || resp.StatusCode != 200 || base.path() != "a.test b.test b.test" {
			t.Fatalf("got %v, %v by way of %s", resp, err, base.path())
		}
		if base.hops[2].body != "question" || base.hops[2].req.Header.Get("Authorization") != "" {
			t.Errorf("re-send of %q with Authorization %q", base.hops[2].body, base.hops[2].req.Header.Get("Authorization"))
		}
	})
}

func TestWS1_BreakersAndLimitsOfTwoHostsStayApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := &hosts{answer: map[string]func(int) (int, string){
			"a.test": always(307, "https://b.test"+pathChat), "b.test": always(503, ""),
		}}
		rt := must(t)(steady.New(steady.WithBase(base), steady.WithRateLimit(1e-6, 5), steady.Patience(0),
			steady.WithBreaker(steady.TripAfter(2), steady.OpenFor(time.Hour)), steady.WithRetry(steady.MaxAttempts(1))))
		for range 2 {
			if resp, err := redirected(t, rt); err != nil || resp.StatusCode != 503 {
				t.Fatalf("got %v, %v", resp, err)
			}
		}
		if _, err := redirected(t, rt); !errors.Is(err, steady.ErrBreakerOpen) { //nolint:bodyclose // it is read
			t.Errorf("error %v, want B's open breaker", err)
		}
		if got := base.path(); got != "a.test b.test a.test b.test a.test" {
			t.Errorf("hops %s", got)
		}
		var state []string
		for _, s := range rt.State() {
			state = append(state, s.Key+" "+s.Breaker)
		}
		if got := fmt.Sprint(state); got != "[a.test closed b.test open]" {
			t.Errorf("state %v", got)
		}
		// Two tokens of A are left, whatever B has cost.
		base.answer["a.test"] = always(200, "")
		for i := range 3 {
			_, err := redirected(t, rt) //nolint:bodyclose // it is read
			if refused := errors.Is(err, steady.ErrRateLimited); refused != (i == 2) {
				t.Errorf("call %d to A: %v", i+1, err)
			}
		}
	})
}
