package steady_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/steadyhttp/steady"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type roundTripFunc func(*http.Request) (*http.Response, error)

func (f roundTripFunc) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// script is a base that plays its steps in turn, the last one for ever, and
// remembers what it was sent and when.
type script struct {
	mu    sync.Mutex
	steps []step
	seen  []sent
}

type step struct {
	status int
	header http.Header
	body   io.ReadCloser // nil for one that names the status
	err    error         // instead of a response
	takes  time.Duration // before the headers
}

// sent is one attempt as the base saw it.
type sent struct {
	at     time.Time
	req    *http.Request
	body   string
	header http.Header
}

func play(steps ...step) *script { return &script{steps: steps} }

// statuses plays these statuses, the last one for ever.
func statuses(codes ...int) *script {
	s := &script{}
	for _, c := range codes {
		s.steps = append(s.steps, step{status: c})
	}
	return s
}

func (s *script) RoundTrip(req *http.Request) (*http.Response, error) {
	body := ""
	if req.Body != nil {
		b, err := io.ReadAll(req.Body)
		req.Body.Close()
		if err != nil {
			return nil, err
		}
		body = string(b)
	}
	s.mu.Lock()
	s.seen = append(s.seen, sent{time.Now(), req, body, req.Header.Clone()})
	st := s.steps[0]
	if len(s.steps) > 1 {
		s.steps = s.steps[1:]
	}
	s.mu.Unlock()
	if st.takes > 0 {
		select {
		case <-time.After(st.takes):
		case <-req.Context().Done():
		}
	}
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	if st.err != nil {
		return nil, st.err
	}
	return respond(req, st.status, st.header, st.body), nil
}

// respond makes a response as net/http would; a nil body names the status.
func respond(req *http.Request, status int, header http.Header, body io.ReadCloser) *http.Response {
	if header == nil {
		header = http.Header{}
	}
	length := int64(-1)
	if body == nil {
		text := http.StatusText(status)
		body, length = io.NopCloser(strings.NewReader(text)), int64(len(text))
	}
	return &http.Response{
		Status: http.StatusText(status), StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header.Clone(), Body: body, ContentLength: length, Request: req,
	}
}

func (s *script) attempts() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.seen)
}

// times returns when the attempts came, counted from start.
func (s *script) times(start time.Time) []time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ds []time.Duration
	for _, a := range s.seen {
		ds = append(ds, a.at.Sub(start))
	}
	return ds
}

func after(v string) http.Header { return http.Header{"Retry-After": {v}} }

// post makes a request for a chat completion.
func post(tb testing.TB, ctx context.Context, body string) *http.Request {
	tb.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://llm.test/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		tb.Fatal(err)
	}
	return req
}

// request makes a request for url, of which "https://llm.test" may be left out,
// without a body if that is empty.
func request(tb testing.TB, method, url, body string) *http.Request {
	tb.Helper()
	if strings.HasPrefix(url, "/") {
		url = "https://llm.test" + url
	}
	var r io.Reader
	if body != "" {
		r = strings.NewReader(body)
	}
	req, err := http.NewRequestWithContext(tb.Context(), method, url, r)
	if err != nil {
		tb.Fatal(err)
	}
	return req
}

// read returns the body of resp, which it closes.
func read(tb testing.TB, resp *http.Response) string {
	tb.Helper()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		tb.Fatal(err)
	}
	resp.Body.Close()
	return string(b)
}

// ask makes a call, reads the answer to its end, and returns what it was.
func ask(t *testing.T, rt http.RoundTripper, ctx context.Context, question string) (status int, body string, err error) {
	t.Helper()
	resp, err := rt.RoundTrip(post(t, ctx, question))
	if (resp == nil) == (err == nil) {
		t.Errorf("got %v and %v, want either", resp, err)
	}
	if err != nil {
		return 0, "", err
	}
	return resp.StatusCode, read(t, resp), nil
}

// call is ask for those to whom the text of the answer does not matter.
func call(t *testing.T, rt http.RoundTripper, ctx context.Context, question string) (status int, err error) {
	t.Helper()
	status, _, err = ask(t, rt, ctx, question)
	return status, err
}

// neverTrips is a breaker that a test about something else can forget.
func neverTrips() steady.Option {
	return steady.WithBreaker(steady.TripAfter(1e6), steady.TripRatio(1, time.Minute, 1e6))
}

// stateOf returns what rt knows of key.
func stateOf(rt *steady.Transport, key string) steady.KeyState {
	for _, s := range rt.State() {
		if s.Key == key {
			return s
		}
	}
	return steady.KeyState{}
}

// llmBreaker returns how the breaker of llm.test stands.
func llmBreaker(rt *steady.Transport) string { return stateOf(rt, "llm.test").Breaker }

// settled waits until n is 0, which it must be soon after RoundTrip has returned,
// and fails the test otherwise.
func settled(t *testing.T, what string, n func() int) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); n() != 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Errorf("%d %s are left", n(), what)
			return
		}
	}
}

// must returns rt, which New returned with a nil error.
func must(tb testing.TB) func(rt *steady.Transport, err error) *steady.Transport {
	return func(rt *steady.Transport, err error) *steady.Transport {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
		return rt
	}
}

// events is an Observer that keeps what it hears.
type events struct {
	mu  sync.Mutex
	all []steady.Event
}

func (e *events) Observe(_ context.Context, ev steady.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, ev)
}

// of returns the events of type E, in order.
func of[E steady.Event](e *events) (found []E) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, ev := range e.all {
		if x, ok := ev.(E); ok {
			found = append(found, x)
		}
	}
	return found
}
