package steadytest

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"
)

func contextDuties() []duty {
	return []duty{
		{"a call whose context is already cancelled ends at once with context.Canceled", alreadyCancelled},
		{"a cancel ends a call while the base is working", cancelledAtWork},
		{"the cause of a cancel, or context.Canceled, is reachable", causeReachable},
		{"a deadline ends a call while the base is working", deadlineAtWork},
		{"a cancel ends every wait of the layer's own", cancelledInBackoff},
		{"a deadline ends every wait of the layer's own", deadlineInBackoff},
		{"a response that comes together with the cancel is handed over or closed", cancelledWithResponse},
		{"the context of the attempt lives until the body has been read", contextOutlivesHeaders},
		{"a cancel ends the reading of the body", cancelledInBody},
	}
}

// working is a base that never answers and ends with the context.
func working(req *http.Request, _ attempt) (*http.Response, error) {
	<-req.Context().Done()
	return nil, context.Cause(req.Context())
}

// ended checks that a call over working ended because its context did, and then.
// A layer with a shorter limit of its own may have ended it before.
func (s *scene) ended(start time.Time, limit time.Duration, err error, reasons ...error) {
	s.Helper()
	took := time.Since(start)
	if took > limit {
		s.Errorf("the call took %v, the context ended after %v", took, limit)
	}
	if took < limit {
		return
	}
	for _, reason := range reasons {
		if errors.Is(err, reason) {
			return
		}
	}
	s.Errorf("the error is %v, want one that wraps %v", err, reasons[0])
}

func alreadyCancelled(s *scene) {
	rt := s.stack(s.replyOK)
	ctx, cancel := context.WithCancel(s.Context())
	cancel()
	start := time.Now()
	resp, err := s.call(rt, s.request(ctx, `{"q":1}`))
	if resp != nil {
		s.read(resp)
		s.Fatalf("got a response of status %d", resp.StatusCode)
	}
	s.ended(start, 0, err, context.Canceled)
}

func cancelledAtWork(s *scene) {
	rt := s.stack(working)
	ctx, cancel := context.WithCancel(s.Context())
	start := time.Now()
	time.AfterFunc(time.Second, cancel)
	_, err := s.call(rt, s.request(ctx, `{"q":1}`))
	s.ended(start, time.Second, err, context.Canceled)
}

func causeReachable(s *scene) {
	rt := s.stack(working)
	ctx, cancel := context.WithCancelCause(s.Context())
	start := time.Now()
	time.AfterFunc(time.Second, func() { cancel(errBoom) })
	_, err := s.call(rt, s.request(ctx, `{"q":1}`))
	s.ended(start, time.Second, err, context.Canceled, errBoom)
}

func deadlineAtWork(s *scene) {
	rt := s.stack(working)
	ctx, cancel := context.WithTimeout(s.Context(), time.Second)
	defer cancel()
	start := time.Now()
	_, err := s.call(rt, s.request(ctx, `{"q":1}`))
	s.ended(start, time.Second, err, context.DeadlineExceeded)
}

// busy is a base that asks for a wait longer than the context allows.
func (s *scene) busy(req *http.Request, _ attempt) (*http.Response, error) {
	resp := s.reply(req, http.StatusServiceUnavailable, strings.NewReader(`{"error":"busy"}`))
	resp.Header.Set("Retry-After", "30")
	return resp, nil
}

func cancelledInBackoff(s *scene) {
	ctx, cancel := context.WithCancel(s.Context())
	time.AfterFunc(time.Second, cancel)
	s.busyCall(ctx, context.Canceled)
}

func deadlineInBackoff(s *scene) {
	ctx, cancel := context.WithTimeout(s.Context(), time.Second)
	defer cancel()
	s.busyCall(ctx, context.DeadlineExceeded)
}

// busyCall makes a call over busy. The response that the layer has in hand when
// the context ends is as good an end as the context's error.
func (s *scene) busyCall(ctx context.Context, reason error) {
	s.Helper()
	rt := s.stack(s.busy)
	start := time.Now()
	resp, err := s.call(rt, s.request(ctx, `{"q":1}`))
	if err == nil {
		resp.Body.Close()
		err = reason
	}
	s.ended(start, time.Second, err, reason)
}

// cancelledWithResponse leaves it to the end of the scene to see that the body
// of the base is closed.
func cancelledWithResponse(s *scene) {
	ctx, cancel := context.WithCancel(s.Context())
	rt := s.stack(func(req *http.Request, a attempt) (*http.Response, error) {
		cancel()
		return s.replyOK(req, a)
	})
	resp, err := s.call(rt, s.request(ctx, `{"q":1}`))
	if err == nil {
		resp.Body.Close()
	} else if !errors.Is(err, context.Canceled) {
		s.Errorf("the error is %v, want one that wraps context.Canceled", err)
	}
}

func contextOutlivesHeaders(s *scene) {
	rt := s.stack(s.replyOK)
	resp := s.mustCall(rt, s.request(s.Context(), `{"q":1}`))
	time.Sleep(time.Second)
	if got := s.read(resp); got != `{"answer":42}` {
		s.Errorf("body %q, want %q", got, `{"answer":42}`)
	}
}

func cancelledInBody(s *scene) {
	ctx, cancel := context.WithCancel(s.Context())
	rt := s.stack(func(req *http.Request, _ attempt) (*http.Response, error) {
		resp := s.reply(req, http.StatusOK, &timedReader{start: time.Now(), chunks: 100})
		resp.Header.Set("Content-Type", "application/octet-stream")
		return resp, nil
	})
	resp := s.mustCall(rt, s.request(ctx, `{"q":1}`))
	defer resp.Body.Close()
	if _, err := io.ReadFull(resp.Body, make([]byte, len(chunk))); err != nil {
		s.Fatalf("reading the first chunk: %v", err)
	}
	cancel()
	if rest, err := io.ReadAll(resp.Body); !errors.Is(err, context.Canceled) {
		s.Errorf("after the cancel, reading gave %d more bytes and %v; want an error that wraps context.Canceled", len(rest), err)
	}
}
