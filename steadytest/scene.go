package steadytest

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
)

var errBoom = errors.New("boom")

// A scene is one check in its bubble: the fake base transport, and a record of
// all that passed through it.
type scene struct {
	*testing.T
	layer func(http.RoundTripper) http.RoundTripper
	stuck <-chan struct{} // closed after some real seconds

	mu       sync.Mutex // guards the fields below
	bodies   []*body
	attempts []attempt
	idle     int // calls of CloseIdleConnections that nobody asked for
}

// An attempt is a request as the base transport got it.
type attempt struct {
	number  int // from 1
	header  http.Header
	content string
	length  int64
	noBody  bool
	marked  bool // the context has the value that the caller put there
}

type markKey struct{}

type answerFunc func(req *http.Request, a attempt) (*http.Response, error)

// stack returns the layer over a base transport that answers as told.
func (s *scene) stack(answer answerFunc) http.RoundTripper {
	return s.layer(&base{s: s, answer: answer})
}

// base is as strict as [http.Transport] and has no patience of its own.
type base struct {
	s      *scene
	answer answerFunc
}

func (b *base) RoundTrip(req *http.Request) (*http.Response, error) {
	a := attempt{
		header: req.Header.Clone(),
		length: req.ContentLength,
		noBody: req.Body == nil || req.Body == http.NoBody,
		marked: req.Context().Value(markKey{}) != nil,
	}
	if req.Body != nil {
		content, err := io.ReadAll(req.Body)
		req.Body.Close()
		if err != nil {
			return nil, err
		}
		a.content = string(content)
	}
	b.s.mu.Lock()
	a.number = len(b.s.attempts) + 1
	b.s.attempts = append(b.s.attempts, a)
	b.s.mu.Unlock()
	if cause := context.Cause(req.Context()); cause != nil {
		return nil, cause
	}
	return b.answer(req, a)
}

func (b *base) CloseIdleConnections() {
	b.s.mu.Lock()
	defer b.s.mu.Unlock()
	b.s.idle++
}

// get returns a GET without a body. Its header values have room to be appended
// to, so that a layer which does so shows.
func (s *scene) get(ctx context.Context) *http.Request {
	s.Helper()
	ctx = context.WithValue(ctx, markKey{}, true)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://host.test/v1/things?q=1", nil)
	if err != nil {
		s.Fatal(err)
	}
	req.Header["X-One"] = append(make([]string, 0, 8), "1")
	req.Header["X-Two"] = append(make([]string, 0, 8), "1", "2")
	return req
}

// request returns a POST whose body, and every body that its GetBody makes, must
// be closed before the scene ends.
func (s *scene) request(ctx context.Context, content string) *http.Request {
	s.Helper()
	req := s.get(ctx)
	req.Method = http.MethodPost
	req.Body = s.newBody("request body", strings.NewReader(content))
	req.GetBody = func() (io.ReadCloser, error) {
		return s.newBody("request body from GetBody", strings.NewReader(content)), nil
	}
	req.ContentLength = int64(len(content))
	return req
}

// reply returns a response whose body must come to its end or be closed before
// the scene ends.
func (s *scene) reply(req *http.Request, status int, content io.Reader) *http.Response {
	b := s.newBody("response body", content)
	b.alive = func() error { return context.Cause(req.Context()) }
	return &http.Response{
		Status: http.StatusText(status), StatusCode: status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header:        http.Header{"Content-Type": {"application/json"}},
		ContentLength: -1, Body: b, Request: req,
	}
}

// replyEmpty returns a response without a body.
func (s *scene) replyEmpty(req *http.Request, status int) *http.Response {
	resp := s.reply(req, status, http.NoBody)
	resp.Body.Close()
	resp.Body, resp.ContentLength = http.NoBody, 0
	return resp
}

// replyOK is the answer of a base transport that has no part in the check.
func (s *scene) replyOK(req *http.Request, _ attempt) (*http.Response, error) {
	return s.reply(req, http.StatusOK, strings.NewReader(`{"answer":42}`)), nil
}

// read reads the body of resp to its end and closes it.
func (s *scene) read(resp *http.Response) string {
	s.Helper()
	content, err := io.ReadAll(resp.Body)
	if err != nil {
		s.Errorf("reading the response body: %v", err)
	}
	if err := resp.Body.Close(); err != nil {
		s.Errorf("closing the response body: %v", err)
	}
	return string(content)
}

// verifyEnd checks what must hold when all calls of the scene are over.
func (s *scene) verifyEnd() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.bodies {
		b.verifyEnd(s)
	}
	if s.idle > 0 {
		s.Errorf("the layer called CloseIdleConnections %d times unasked; the pool belongs to all who use it", s.idle)
	}
}
