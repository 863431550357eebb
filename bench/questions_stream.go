package main

import (
	"context"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/steadyhttp/steady/internal/fakeserver"
)

// slot: a stream is in flight until its end, and the limit that was set counts.
func slot(s *scene) finding {
	srv, url := s.server(fakeserver.Sequence(fakeserver.Stall(fakeserver.AfterEvents(2)), fakeserver.OK()))
	x := brisk
	x.inFlight = 1
	rt := s.stack(x)
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	first, err := rt.RoundTrip(request(ctx, url, streamBody))
	if err != nil {
		return found(false, "%v", err)
	}
	second := make(chan reply, 1)
	go func() { second <- s.send(rt, url, streamBody, 10*time.Second) }()
	time.Sleep(300 * time.Millisecond)
	waits := srv.Counts().Requests == 1
	first.Body.Close()
	switch r := <-second; {
	case !waits:
		return found(false, "is sent")
	case r.err != nil:
		return found(false, "waits, then %v", r.err)
	}
	return found(true, "waits for its end")
}

// healthyStream: the time for an attempt is not the time for its answer.
func healthyStream(s *scene) finding {
	_, url := s.server(fakeserver.Generation(fakeserver.Fixed(600 * time.Millisecond)))
	x := brisk
	x.attempts, x.attemptTimeout = 1, 250*time.Millisecond
	r := s.send(s.stack(x), url, streamBody, 5*time.Second)
	whole := r.err == nil && strings.Contains(r.body, "[DONE]")
	if whole {
		return found(true, "whole after %s", seconds(r.took))
	}
	if r.resp == nil {
		return found(false, "an error after %s", seconds(r.took))
	}
	return found(false, "cut after %s", seconds(r.took))
}

// resetAfterBody: what has been sent may have been done, and billed.
func resetAfterBody(s *scene) finding {
	srv, url := s.server(fakeserver.ResetAfterBody())
	x := brisk
	x.attempts = 6
	if s.quick && s.peer.sdk {
		x.attempts = 3
	}
	resp, err := s.stack(x).RoundTrip(request(s.ctx, url, chatBody))
	if err == nil {
		io.Copy(io.Discard, resp.Body) //nolint:errcheck // counted on the server
		resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			return found(false, "a success")
		}
	}
	n := srv.Counts().Billed
	return found(n <= 2, "billed %d times", n)
}
