package fakeserver

import (
	"context"
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
)

// Start begins an HTTP/1.1 server on loopback. Close stops it; its own Close may be called before that.
func (s *Server) Start() *httptest.Server {
	ts := s.newServer()
	ts.Start()
	return ts
}

// StartTLS begins an HTTP/2 server on loopback. The client of the result trusts its certificate.
func (s *Server) StartTLS() *httptest.Server {
	ts := s.newServer()
	ts.EnableHTTP2 = true
	ts.StartTLS()
	return ts
}

type connKey struct{}

func (s *Server) newServer() *httptest.Server {
	ts := httptest.NewUnstartedServer(s)
	ts.Config.ErrorLog = log.New(io.Discard, "", 0)
	ts.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			s.noteConn()
		}
	}
	ts.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		switch t := c.(type) {
		case *tls.Conn:
			c = t.NetConn()
		case *net.TCPConn:
			if s.readBuffer > 0 {
				t.SetReadBuffer(s.readBuffer)
			}
		}
		return context.WithValue(ctx, connKey{}, c)
	}
	s.mu.Lock()
	s.servers = append(s.servers, ts)
	s.mu.Unlock()
	return ts
}

// ServeHTTP is the socket door. On a server of somebody else's, resets work over HTTP/2 and become a FIN over HTTP/1.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := s.arrive(arrival{
		method: r.Method, path: r.URL.Path, query: r.URL.RawQuery, header: r.Header,
		contentLength: r.ContentLength, transferEncoding: r.TransferEncoding,
		read: func() ([]byte, error) { return io.ReadAll(r.Body) },
	})
	end := FIN
	defer func() { x.finish(end) }()
	p, err := x.decide()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	end = p.end
	if !s.wait(r.Context(), p.wait) {
		panic(http.ErrAbortHandler)
	}
	if p.noAnswer {
		if p.end == Stalled {
			s.hang(r.Context())
		}
		x.finish(end)
		abort(r, p.end)
	}
	out := &socket{w: w, rc: http.NewResponseController(w)}
	if p.unread {
		// Without this HTTP/1 would read the request to its end before the first byte of the answer. Over HTTP/2 it
		// changes nothing.
		out.rc.EnableFullDuplex()
	}
	s.respond(x, p, out, r)
}

// respond sends headers and body and ends the exchange as the plan says.
func (s *Server) respond(x *Exchange, p plan, out *socket, r *http.Request) {
	h := out.w.Header()
	for name, values := range p.header {
		h[name] = values
	}
	if p.length >= 0 {
		h.Set("Content-Length", strconv.FormatInt(p.length, 10))
	}
	s.noteStatus(x, p.status)
	if p.length == 0 && p.end == Clean && !p.unread {
		x.finish(Clean)
	}
	out.w.WriteHeader(p.status)
	if !p.instant() || p.length != 0 {
		out.rc.Flush()
	}
	end, left := s.play(r.Context(), x, p, out)
	if left {
		panic(http.ErrAbortHandler)
	}
	if p.unread && r.ProtoMajor == 1 && !s.drain(r, p.drain) {
		end = Reset
	}
	x.finish(end)
	if end != Clean {
		abort(r, end)
	}
}

// drain reads the request body slowly and reports whether it came to its end.
func (s *Server) drain(r *http.Request, d drain) bool {
	if d.chunk <= 0 {
		return false
	}
	buf := make([]byte, d.chunk)
	for {
		if _, err := io.ReadFull(r.Body, buf); err != nil {
			return err == io.EOF || err == io.ErrUnexpectedEOF
		}
		if !s.wait(r.Context(), d.pause) {
			return false
		}
	}
}

// abort ends the exchange without the end of a message. What was written before has been flushed. It does not return.
func abort(r *http.Request, end Ending) {
	conn, ok := r.Context().Value(connKey{}).(net.Conn)
	if tcp, isTCP := conn.(*net.TCPConn); ok && isTCP && end == Reset && r.ProtoMajor == 1 {
		tcp.SetLinger(0) // so that Close sends RST
		tcp.Close()
	}
	panic(http.ErrAbortHandler)
}

// A socket is the sink of the socket door.
type socket struct {
	w  http.ResponseWriter
	rc *http.ResponseController
}

func (o *socket) send(b []byte) error {
	if _, err := o.w.Write(b); err != nil {
		return err
	}
	return o.rc.Flush()
}
