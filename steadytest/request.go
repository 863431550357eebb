package steadytest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

func requestDuties() []duty {
	return []duty{
		{"the base gets the body, the headers and the context values of the caller", requestArrives},
		{"a request without a body stays one", func(s *scene) { noBody(s, nil) }},
		{"a request with http.NoBody stays one without a body", func(s *scene) { noBody(s, http.NoBody) }},
		{"a body without GetBody arrives whole", bodyWithoutGetBody},
		{"a body of unknown length arrives whole", bodyOfUnknownLength},
		{"a GetBody that fails is no harm", failingGetBody},
		{"the request body is closed when the base fails", requestBodyAfterError},
		{"the request body is closed when the base answers without reading it", requestBodyUnread},
		{"a request may be used 50 times and gathers nothing", requestReused},
		{"a request without a header map is sent, and keeps none", nilHeader},
		{"requests that share one header map may be sent at once", sharedHeader},
	}
}

// arrived checks every attempt that the base has seen.
func (s *scene) arrived(content string, length int64) {
	s.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.attempts) == 0 {
		s.Fatal("the base was not called")
	}
	for _, a := range s.attempts {
		got := fmt.Sprintf("body %q, ContentLength %d, X-One %q, X-Two %q, value in the context %t",
			a.content, a.length, a.header["X-One"], a.header["X-Two"], a.marked)
		want := fmt.Sprintf("body %q, ContentLength %d, X-One %q, X-Two %q, value in the context %t",
			content, length, []string{"1"}, []string{"1", "2"}, true)
		if got != want {
			s.Errorf("attempt %d arrived as\n     %s\nwant %s", a.number, got, want)
			return
		}
	}
}

// failTwice answers 503 twice and then 200, which makes a layer that retries do so.
func (s *scene) failTwice(req *http.Request, a attempt) (*http.Response, error) {
	if a.number%3 != 0 {
		return s.reply(req, http.StatusServiceUnavailable, strings.NewReader(`{"error":"busy"}`)), nil
	}
	return s.replyOK(req, a)
}

func requestArrives(s *scene) {
	rt := s.stack(s.failTwice)
	s.read(s.mustCall(rt, s.request(s.Context(), `{"q":1}`)))
	s.arrived(`{"q":1}`, 7)
}

func noBody(s *scene, none io.ReadCloser) {
	rt := s.stack(s.failTwice)
	req := s.get(s.Context())
	req.Body = none
	s.read(s.mustCall(rt, req))
	s.arrived("", 0)
	for _, a := range s.attempts {
		if !a.noBody {
			s.Errorf("attempt %d has a Body with ContentLength 0, which goes out as an empty chunked one", a.number)
		}
	}
}

func bodyWithoutGetBody(s *scene) {
	rt := s.stack(s.failTwice)
	req := s.request(s.Context(), `{"q":1}`)
	req.GetBody = nil
	s.read(s.mustCall(rt, req))
	s.arrived(`{"q":1}`, 7)
}

func bodyOfUnknownLength(s *scene) {
	rt := s.stack(s.failTwice)
	req := s.request(s.Context(), `{"q":1}`)
	req.ContentLength, req.GetBody = -1, nil
	s.read(s.mustCall(rt, req))
	s.arrived(`{"q":1}`, -1)
}

func failingGetBody(s *scene) {
	rt := s.stack(s.failTwice)
	req := s.request(s.Context(), `{"q":1}`)
	req.GetBody = func() (io.ReadCloser, error) { return nil, errBoom }
	if resp, err := s.call(rt, req); err == nil {
		s.read(resp)
	}
	s.arrived(`{"q":1}`, 7)
}

func requestBodyAfterError(s *scene) {
	rt := s.stack(func(*http.Request, attempt) (*http.Response, error) { return nil, errBoom })
	if resp, err := s.call(rt, s.request(s.Context(), `{"q":1}`)); err == nil {
		s.read(resp)
	}
}

// requestBodyUnread has a base that answers while a goroutine of its own still
// has the request body, as http.Transport does when the server answers early.
func requestBodyUnread(s *scene) {
	rt := s.layer(roundTripper(func(req *http.Request) (*http.Response, error) {
		if req.Body == nil {
			return nil, errors.New("the base got no body")
		}
		go func() {
			time.Sleep(time.Second)
			req.Body.Close()
		}()
		return s.reply(req, http.StatusServiceUnavailable, strings.NewReader(`{"error":"busy"}`)), nil
	}))
	s.read(s.mustCall(rt, s.request(s.Context(), `{"q":1}`)))
}

// requestReused follows a request through 50 calls. A layer may refuse some of
// them, as a breaker would.
func requestReused(s *scene) {
	rt := s.stack(s.failTwice)
	req := s.request(s.Context(), `{"q":1}`)
	for range 50 {
		if resp, err := s.call(rt, req); err == nil {
			s.read(resp)
		}
		req.Body, _ = req.GetBody()
	}
	req.Body.Close()
	s.arrived(`{"q":1}`, 7)
	first := s.attempts[0].header
	for _, a := range s.attempts {
		for name, values := range a.header {
			if before := first[name]; before != nil && len(values) != len(before) {
				s.Fatalf("attempt %d has %d values of the header %s, the first attempt had %d", a.number, len(values), name, len(before))
			}
		}
	}
}

// nilHeader sends a request without a header map. http.Client puts one in, but not who
// calls RoundTrip itself. net/http's Transport answers with an error then; a layer that
// writes to the map would panic instead, and take the program down with it.
func nilHeader(s *scene) {
	defer func() {
		if s.Failed() {
			s.Log("a layer that sets a header must make the map where there is none: req = req.Clone(ctx); if req.Header == nil { req.Header = http.Header{} }")
		}
	}()
	rt := s.stack(s.failTwice)
	req := s.request(s.Context(), `{"q":1}`)
	req.Header = nil
	s.read(s.mustCall(rt, req))
}

// sharedHeader sends shallow copies of one request, as request templates are
// used. A layer that writes to their one header map is caught by -race.
func sharedHeader(s *scene) {
	rt := s.stack(s.failTwice)
	template := s.get(s.Context())
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			ctx := context.WithValue(template.Context(), markKey{}, i)
			if resp, err := s.call(rt, template.WithContext(ctx)); err == nil {
				s.read(resp)
			}
		})
	}
	wg.Wait()
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }
