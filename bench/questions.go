package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"sync/atomic"
	"time"

	"github.com/steadyhttp/steady/internal/fakeserver"
)

func questions() []question {
	return []question{
		{name: "Connections for 100 × (503, 503, 200)", ask: connections},
		{name: "Another host's idle connections after a give-up", ask: otherHost},
		{name: "503 whose body stalls, then 200", ask: stalledBody, sdk: true},
		{name: "Retry-After: 3600, deadline in 0.4 s", ask: longRetryAfter("3600"), sdk: true},
		{name: "Retry-After: 9223372037, deadline in 0.4 s", ask: longRetryAfter("9223372037"), sdk: true},
		{name: "Retry-After: 1.5", ask: retryAfter(429, "Retry-After", "1.5", 1500*time.Millisecond), sdk: true},
		{name: "Retry-After-Ms: 700", ask: retryAfter(429, "Retry-After-Ms", "700", 700*time.Millisecond), sdk: true},
		{name: "Retry-After: 1 on a 529", ask: retryAfter(529, "Retry-After", "1", time.Second), sdk: true},
		{name: "Left of the last 503 after giving up", ask: lastResponse, sdk: true},
		{name: "The caller's request", ask: untouched},
		{name: "The request's body", ask: bodyClosed},
		{name: "Allocated for a body of 20 MiB with GetBody", ask: bigBody, alone: true},
		{name: "Persistent 503 under openai-go as it comes", ask: underSDK},
		{name: "A second stream while one is open, at most 1 in flight", ask: slot},
		{name: "Stream of 0.6 s, attempt timeout 0.25 s", ask: healthyStream, sdk: true},
		{name: "POST read and then reset, every time, 6 attempts", ask: resetAfterBody, sdk: true},
	}
}

// connections: a failed answer should give its connection back.
func connections(s *scene) finding {
	_, url := s.server(fakeserver.Effect(func(x *fakeserver.Exchange) {
		if x.N%3 != 0 {
			fakeserver.Status(503)(x)
		}
	}))
	rt := s.stack(brisk)
	calls := 100
	if s.quick {
		calls = 5
	}
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	for range calls {
		resp, err := rt.RoundTrip(request(ctx, url, chatBody))
		if err != nil {
			return found(false, "%v", err)
		}
		io.Copy(io.Discard, resp.Body) //nolint:errcheck // only the connection matters
		resp.Body.Close()
	}
	dialled := s.dialled.Load()
	s.base.CloseIdleConnections()
	for range 100 { // closing takes a moment
		if s.open.Load() == 0 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	left := s.open.Load()
	if left == 0 {
		return found(dialled <= 2, "%d", dialled)
	}
	return found(false, "%d, %d never closed", dialled, left)
}

// otherHost: giving up on one host is no reason to close connections to another.
func otherHost(s *scene) finding {
	const idle = 5
	_, good := s.server(fakeserver.Latency(fakeserver.Fixed(50 * time.Millisecond)))
	_, bad := s.server(fakeserver.Status(503))
	atOnce := func() {
		done := make(chan reply)
		for range idle {
			go func() { done <- s.send(s.base, good, chatBody, 10*time.Second) }()
		}
		for range idle {
			<-done
		}
	}
	atOnce()
	s.send(s.stack(brisk), bad, chatBody, 10*time.Second)
	before := s.dialled.Load()
	atOnce()
	lost := s.dialled.Load() - before
	return found(lost == 0, "%d of %d lost", lost, idle)
}

// stalledBody: an error whose body never ends must not keep the next attempt.
func stalledBody(s *scene) finding {
	_, url := s.server(fakeserver.Sequence(fakeserver.Status(503, fakeserver.Stall(fakeserver.AfterBytes(10))), fakeserver.OK()))
	r := s.send(s.stack(brisk), url, chatBody, 3*time.Second)
	if r.took >= 3*time.Second {
		return found(false, "hangs to the deadline")
	}
	return found(r.err == nil && r.resp.StatusCode == 200, "%s", r.status())
}

// longRetryAfter: a wait that cannot end in time should not be begun, and nothing
// be sent before it has ended.
func longRetryAfter(value string) func(*scene) finding {
	return func(s *scene) finding {
		srv, url := s.server(fakeserver.Status(429, fakeserver.RetryAfter(value)))
		r := s.send(s.stack(brisk), url, chatBody, 400*time.Millisecond)
		n := srv.Counts().Requests
		good := r.err == nil && r.resp.StatusCode == 429 && r.took < 300*time.Millisecond && n == 1
		return found(good, "%s, %s", r.status(), requests(n))
	}
}

// retryAfter: what the server names is when the next attempt may come.
func retryAfter(status int, header, value string, want time.Duration) func(*scene) finding {
	return func(s *scene) finding {
		srv, url := s.server(fakeserver.Sequence(fakeserver.Status(status, fakeserver.Header(header, value)), fakeserver.OK()))
		r := s.send(s.stack(brisk), url, chatBody, 10*time.Second)
		log := srv.Log()
		if len(log) < 2 {
			return found(false, "not retried, %s", r.status())
		}
		gap := log[1].At.Sub(log[0].At)
		return found(r.err == nil && gap >= want && gap < 2*want, "next after %s", waited(gap, want))
	}
}

// waited names a wait; one that keeps what the server asked for is named by that.
func waited(gap, want time.Duration) string {
	if gap >= want && gap < want*3/2 {
		return seconds(want) + " or a little more"
	}
	return seconds(gap)
}

// lastResponse: the caller should get the provider's own words.
func lastResponse(s *scene) finding {
	_, url := s.server(fakeserver.Status(503, fakeserver.Header("X-Request-Id", "r1"), fakeserver.ErrorKind("overloaded", "c1")))
	x := brisk
	if s.peer.sdk {
		x.attempts = 2
	}
	r := s.send(s.stack(x), url, chatBody, 10*time.Second)
	if r.resp == nil {
		return found(false, "an error alone")
	}
	var left []string
	if r.resp.StatusCode == 503 {
		left = append(left, "status")
	}
	if r.resp.Header.Get("X-Request-Id") == "r1" {
		left = append(left, "headers")
	}
	if r.err == nil && strings.Contains(r.body, `"c1"`) {
		left = append(left, "body")
	}
	return found(len(left) == 3, "%s", strings.Join(left, ", "))
}

// untouched: RoundTrip must not change the request, but for its body's position.
func untouched(s *scene) finding {
	_, url := s.server(fakeserver.Statuses(503, 200))
	req := request(s.ctx, url, chatBody)
	before, header := *req, req.Header.Clone() //nolint:govet // a copy to compare with
	resp, err := s.stack(brisk).RoundTrip(req)
	if err != nil {
		return found(false, "%v", err)
	}
	resp.Body.Close()
	var changed []string
	if req.Body != before.Body {
		changed = append(changed, "Body")
	}
	if !reflect.DeepEqual(req.Header, header) {
		changed = append(changed, "Header")
	}
	if req.ContentLength != before.ContentLength || req.Host != before.Host || req.Method != before.Method || (req.GetBody == nil) != (before.GetBody == nil) {
		changed = append(changed, "other fields")
	}
	if changed == nil {
		return found(true, "left as it was")
	}
	return found(false, "%s changed", strings.Join(changed, " and "))
}

type spiedBody struct {
	io.Reader
	closed atomic.Bool
}

func (b *spiedBody) Close() error { b.closed.Store(true); return nil }

// bodyClosed: RoundTrip must close the request's body.
func bodyClosed(s *scene) finding {
	_, url := s.server()
	req := request(s.ctx, url, chatBody)
	body := &spiedBody{Reader: strings.NewReader(chatBody)}
	req.Body = body
	resp, err := s.stack(brisk).RoundTrip(req)
	if err != nil {
		return found(false, "%v", err)
	}
	io.Copy(io.Discard, resp.Body) //nolint:errcheck // the request's body is what matters
	resp.Body.Close()
	for range 100 { // the transport may close it after RoundTrip has returned
		if body.closed.Load() {
			return found(true, "closed")
		}
		time.Sleep(5 * time.Millisecond)
	}
	return found(false, "never closed")
}

// bigBody: a body that can be opened again need not be kept.
func bigBody(s *scene) finding {
	size := 20 << 20
	if s.quick {
		size = 2 << 20
	}
	costs, err := exact([]runner{{name: s.peer.name, make: s.peer.make}}, canned, make([]byte, size))
	if err != nil {
		return found(false, "%v", err)
	}
	return found(costs[0].bytes < 1<<20, "%.0f MiB", float64(costs[0].bytes)/(1<<20))
}

// underSDK: retries must not multiply with those of the SDK above.
func underSDK(s *scene) finding {
	srv, url := s.server(fakeserver.Status(503))
	client := openaiClient(s.stack(brisk), url+"/v1/")
	var resp *http.Response
	if err := client.Post(s.ctx, "chat/completions", map[string]string{}, &resp); err == nil {
		return found(false, "no error")
	}
	n := srv.Counts().Requests
	return found(n <= brisk.attempts, "%s", fmt.Sprintf("%d attempts", n))
}
