package steadytest

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

func responseDuties() []duty {
	duties := []duty{
		{"an error of the base is reachable with errors.Is", baseErrorReachable},
		{"the fields of the response are kept", fieldsKept},
		{"announced trailers are there at the end of the body", func(s *scene) { trailersKept(s, true) }},
		{"trailers that were not announced are there at the end of the body", func(s *scene) { trailersKept(s, false) }},
		{"the response to a HEAD request is passed on", headPassed},
		{"the body of a 101 response can be written to, at any later time", upgradeKept},
	}
	for _, status := range []int{200, 204, 301, 307, 400, 404, 429, 500, 503} {
		name := fmt.Sprintf("status %d is a response and not an error", status)
		duties = append(duties, duty{name, func(s *scene) { statusIsResponse(s, status) }})
	}
	return duties
}

func statusIsResponse(s *scene, status int) {
	rt := s.stack(func(req *http.Request, a attempt) (*http.Response, error) {
		var resp *http.Response
		if status == http.StatusNoContent {
			resp = s.replyEmpty(req, status)
		} else {
			resp = s.reply(req, status, strings.NewReader(fmt.Sprintf(`{"attempt":%d}`, a.number)))
		}
		resp.Header.Set("Location", "https://elsewhere.test/")
		resp.Header.Set("X-Attempt", fmt.Sprint(a.number))
		return resp, nil
	})
	resp := s.mustCall(rt, s.request(s.Context(), `{"q":1}`))
	if resp.StatusCode != status {
		s.Errorf("status %d, want %d", resp.StatusCode, status)
	}
	if got := resp.Header.Get("Location"); got != "https://elsewhere.test/" {
		s.Errorf("Location %q, want the one of the base", got)
	}
	want := fmt.Sprintf(`{"attempt":%s}`, resp.Header.Get("X-Attempt"))
	if status == http.StatusNoContent {
		want = ""
	}
	if got := s.read(resp); got != want {
		s.Errorf("body %q, want %q, the one that came with this header", got, want)
	}
}

func baseErrorReachable(s *scene) {
	rt := s.stack(func(*http.Request, attempt) (*http.Response, error) {
		return nil, &net.OpError{Op: "read", Net: "tcp", Err: errBoom}
	})
	resp, err := s.call(rt, s.request(s.Context(), `{"q":1}`))
	if resp != nil {
		s.Fatalf("got a response of status %d, want the error of the base", resp.StatusCode)
	}
	if !errors.Is(err, errBoom) {
		s.Errorf("error %q does not wrap the error of the base", err)
	}
	if _, ok := errors.AsType[*net.OpError](err); !ok {
		s.Errorf("error %q does not wrap the *net.OpError of the base", err)
	}
}

func fieldsKept(s *scene) {
	state := &tls.ConnectionState{}
	rt := s.stack(func(req *http.Request, _ attempt) (*http.Response, error) {
		resp := s.reply(req, http.StatusOK, strings.NewReader(`{"answer":42}`))
		resp.Status, resp.Proto, resp.ProtoMajor, resp.ProtoMinor = "200 Fine", "HTTP/2.0", 2, 0
		resp.ContentLength, resp.TLS = 13, state
		resp.Header["X-Several"] = []string{"a", "b"}
		resp.Uncompressed = true
		return resp, nil
	})
	resp := s.mustCall(rt, s.request(s.Context(), `{"q":1}`))
	defer s.read(resp)
	got := fmt.Sprint(resp.Status, resp.Proto, resp.ProtoMajor, resp.ProtoMinor, resp.ContentLength, resp.Uncompressed, resp.Header["X-Several"])
	want := fmt.Sprint("200 Fine", "HTTP/2.0", 2, 0, 13, true, []string{"a", "b"})
	if got != want {
		s.Errorf("Status, Proto, ProtoMajor, ProtoMinor, ContentLength, Uncompressed, Header[X-Several]:\n got %s\nwant %s", got, want)
	}
	if resp.TLS != state {
		s.Error("TLS is not the state of the base's connection")
	}
	if resp.Request == nil {
		s.Error("Request is nil")
	}
}

// trailersKept fails for a layer that returns a copy of the base's response:
// net/http stores trailers in the response that it made itself.
func trailersKept(s *scene, announced bool) {
	rt := s.stack(func(req *http.Request, _ attempt) (*http.Response, error) {
		resp := s.reply(req, http.StatusOK, strings.NewReader(`{"answer":42}`))
		if announced {
			resp.Trailer = http.Header{"X-Sum": nil}
		}
		resp.Body.(*body).onEOF = func() {
			if resp.Trailer == nil {
				resp.Trailer = http.Header{}
			}
			resp.Trailer.Set("X-Sum", "42")
		}
		return resp, nil
	})
	resp := s.mustCall(rt, s.request(s.Context(), `{"q":1}`))
	if _, ok := resp.Trailer["X-Sum"]; ok != announced {
		s.Errorf("before the end of the body, the trailer is announced: %t, want %t", ok, announced)
	}
	s.read(resp)
	if got := resp.Trailer.Get("X-Sum"); got != "42" {
		s.Errorf("after the end of the body, the trailer is %q, want %q", got, "42")
	}
}

func headPassed(s *scene) {
	rt := s.stack(func(req *http.Request, _ attempt) (*http.Response, error) {
		resp := s.replyEmpty(req, http.StatusOK)
		resp.ContentLength = 4096
		return resp, nil
	})
	req := s.get(s.Context())
	req.Method = http.MethodHead
	resp := s.mustCall(rt, req)
	if resp.ContentLength != 4096 {
		s.Errorf("ContentLength %d, want 4096", resp.ContentLength)
	}
	if got := s.read(resp); got != "" {
		s.Errorf("body %q, want none", got)
	}
}

// echo returns a connection to a peer that sends back what it gets.
func echo() net.Conn {
	near, far := net.Pipe()
	go func() {
		_, _ = io.Copy(far, far)
		far.Close()
	}()
	return near
}

func upgradeKept(s *scene) {
	rt := s.stack(func(req *http.Request, _ attempt) (*http.Response, error) {
		near := echo()
		resp := s.reply(req, http.StatusSwitchingProtocols, near)
		b := resp.Body.(*body)
		b.writer = near
		go func() {
			<-b.closing
			near.Close()
		}()
		resp.Header.Set("Upgrade", "echo")
		resp.Body = upgraded{b}
		return resp, nil
	})
	req := s.get(s.Context())
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", "echo")
	resp := s.mustCall(rt, req)
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusSwitchingProtocols {
		s.Fatalf("status %d, want 101", resp.StatusCode)
	}
	conn, ok := resp.Body.(io.ReadWriteCloser)
	if !ok {
		s.Fatalf("the body is a %T, which is no io.ReadWriteCloser", resp.Body)
	}
	for _, word := range []string{"an hour later", "two hours later"} {
		time.Sleep(time.Hour)
		if _, err := io.WriteString(conn, word); err != nil {
			s.Fatalf("writing %q: %v", word, err)
		}
		got := make([]byte, len(word))
		if _, err := io.ReadFull(conn, got); err != nil || !bytes.Equal(got, []byte(word)) {
			s.Fatalf("read %q, %v; want the echo of %q", got, err, word)
		}
	}
}
