package steadytest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
)

func stateDuties() []duty {
	return []duty{
		{"50 calls at once each get their own answer", concurrentCalls},
		{"a panic of the base reaches the caller", panicReaches},
		{"calls leave room for the next one, however they end", roomLeft},
		{"CloseIdleConnections reaches the base, if the layer has it", closeIdlePassedOn},
		{"CloseIdleConnections is harmless over a base that lacks it", closeIdleMissing},
	}
}

// concurrentCalls lets a layer refuse some of the calls, but not all.
func concurrentCalls(s *scene) {
	rt := s.stack(func(req *http.Request, a attempt) (*http.Response, error) {
		time.Sleep(10 * time.Millisecond)
		return s.reply(req, http.StatusOK, strings.NewReader(a.content)), nil
	})
	answered := make(chan struct{}, 50)
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			question := fmt.Sprintf(`{"q":%d}`, i)
			resp, err := s.call(rt, s.request(s.Context(), question))
			if err != nil {
				return
			}
			if got := s.read(resp); resp.StatusCode == http.StatusOK && got != question {
				s.Errorf("call %s got the answer to %s", question, got)
			}
			answered <- struct{}{}
		})
	}
	wg.Wait()
	if len(answered) == 0 {
		s.Error("none of the calls was answered")
	}
}

type panicValue struct{}

// panicking makes a call over a base that panics and returns what came up.
func (s *scene) panicking(rt http.RoundTripper, req *http.Request) (recovered any) {
	defer func() { recovered = recover() }()
	if resp, err := rt.RoundTrip(req); err == nil && resp != nil {
		s.read(resp)
	}
	return nil
}

func panicReaches(s *scene) {
	rt := s.stack(func(*http.Request, attempt) (*http.Response, error) { panic(panicValue{}) })
	if got := s.panicking(rt, s.request(s.Context(), `{"q":1}`)); got != (panicValue{}) {
		s.Errorf("recovered %v, want the value with which the base panicked", got)
	}
}

// roomLeft ends twenty calls in each of the ways there are. A limit on the calls
// in flight that forgets one of them has nothing left for the last call.
func roomLeft(s *scene) {
	var answer answerFunc
	rt := s.stack(func(req *http.Request, a attempt) (*http.Response, error) { return answer(req, a) })
	boom := func(*http.Request, attempt) (*http.Response, error) { return nil, errBoom }
	panics := func(*http.Request, attempt) (*http.Response, error) { panic(panicValue{}) }
	ways := []struct {
		answer answerFunc
		finish func(*http.Response)
	}{
		{s.replyOK, func(resp *http.Response) { s.read(resp) }},
		{s.replyOK, func(resp *http.Response) { resp.Body.Close() }},
		{s.replyOK, func(resp *http.Response) { resp.Body.Close(); resp.Body.Close() }},
		{s.busy, func(resp *http.Response) { s.read(resp) }},
		{boom, nil},
		{working, nil},
		{panics, nil},
	}
	for _, way := range ways {
		answer = way.answer
		for range 20 {
			ctx, cancel := context.WithTimeout(s.Context(), 10*time.Second)
			s.callAnyway(rt, s.request(ctx, `{"q":1}`), way.finish)
			cancel()
			time.Sleep(time.Minute)
		}
	}
	time.Sleep(time.Hour)
	answer = s.replyOK
	s.read(s.mustCall(rt, s.request(s.Context(), `{"q":1}`)))
}

// callAnyway makes a call and does not mind how it ends.
func (s *scene) callAnyway(rt http.RoundTripper, req *http.Request, finish func(*http.Response)) {
	defer func() {
		if p := recover(); p != nil && p != (panicValue{}) {
			panic(p)
		}
	}()
	if resp, err := rt.RoundTrip(req); err == nil && resp != nil {
		if finish == nil {
			finish = func(resp *http.Response) { s.read(resp) }
		}
		finish(resp)
	}
}

func closeIdlePassedOn(s *scene) {
	rt := s.stack(s.replyOK)
	c, ok := rt.(interface{ CloseIdleConnections() })
	if !ok {
		return
	}
	if c.CloseIdleConnections(); s.idle == 0 {
		s.Error("the layer's CloseIdleConnections does not call that of the base")
	}
	s.idle = 0
}

func closeIdleMissing(s *scene) {
	rt := s.layer(roundTripper(func(*http.Request) (*http.Response, error) { return nil, errors.ErrUnsupported }))
	if c, ok := rt.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}
