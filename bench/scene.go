package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/steadyhttp/steady/internal/fakeserver"
)

// scene is one question to one peer: servers on loopback, and a transport whose
// connections are counted.
type scene struct {
	peer  peer
	quick bool
	ctx   context.Context //nolint:containedctx // a scene is one call
	base  *http.Transport

	dialled, open atomic.Int64
	closers       []func()
}

func newScene(p peer, quick bool) *scene {
	s := &scene{peer: p, quick: quick}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	s.ctx = ctx
	s.base = &http.Transport{MaxIdleConnsPerHost: 64, DialContext: s.dial}
	s.closers = append(s.closers, cancel, s.base.CloseIdleConnections)
	return s
}

// end closes everything: connections that a peer has leaked end with the context.
func (s *scene) end() {
	for _, c := range s.closers {
		c()
	}
}

func (s *scene) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	c, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	s.dialled.Add(1)
	s.open.Add(1)
	return &countedConn{Conn: c, open: &s.open}, nil
}

type countedConn struct {
	net.Conn
	open   *atomic.Int64
	closed atomic.Bool
}

func (c *countedConn) Close() error {
	if !c.closed.Swap(true) {
		c.open.Add(-1)
	}
	return c.Conn.Close()
}

// server starts a server.
func (s *scene) server(opts ...fakeserver.Option) (*fakeserver.Server, string) {
	srv := fakeserver.New(opts...)
	ts := srv.Start()
	s.closers = append(s.closers, srv.Close)
	return srv, ts.URL
}

// stack is the peer's stack over the scene's transport.
func (s *scene) stack(x settings) http.RoundTripper { return s.peer.make(s.base, x) }

// brisk is enough to see what a peer does, and soon over.
var brisk = settings{attempts: 3, delay: time.Millisecond}

// reply is what a caller got.
type reply struct {
	resp *http.Response
	body string
	err  error // of the call or of the body
	took time.Duration
}

// send makes one call within the given time and reads the answer.
func (s *scene) send(rt http.RoundTripper, url, body string, within time.Duration) reply {
	ctx, cancel := context.WithTimeout(s.ctx, within)
	defer cancel()
	began := time.Now()
	resp, err := rt.RoundTrip(request(ctx, url, body))
	r := reply{resp: resp, err: err}
	if resp != nil && resp.Body != nil {
		text, readErr := io.ReadAll(resp.Body)
		resp.Body.Close()
		r.body = string(text)
		if err == nil {
			r.err = readErr
		}
	}
	r.took = time.Since(began)
	return r
}

// status says what the caller got and when.
func (r reply) status() string {
	switch {
	case r.resp != nil && r.err != nil:
		return fmt.Sprintf("%d and an error after %s", r.resp.StatusCode, seconds(r.took))
	case r.err != nil:
		return fmt.Sprintf("an error after %s", seconds(r.took))
	}
	return fmt.Sprintf("%d after %s", r.resp.StatusCode, seconds(r.took))
}

// seconds is d to a tenth, which does not depend on how busy the machine is.
func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

// requests is n in words.
func requests(n int) string {
	if n == 1 {
		return "1 request"
	}
	return fmt.Sprintf("%d requests", n)
}
