package fakeserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
)

// A Transport is the in-process door. It behaves as an [http.Transport] over HTTP/1.1 would: it closes every request
// body, ends waits with the cause of the request's context, calls the hooks GetConn, GotConn, WroteHeaders,
// WroteRequest and GotFirstResponseByte, and returns the errors of a socket. It has no connections: Counts has none,
// and ConnectionClose closes nothing. As with a socket, a body that is neither read to its end nor closed may keep a
// goroutine.
type Transport struct {
	s      *Server
	conn   net.Conn // what the hook GotConn is shown
	used   atomic.Bool
	refuse atomic.Bool
	closes atomic.Int64
}

// Transport returns a new in-process door.
func (s *Server) Transport() *Transport {
	conn, peer := net.Pipe()
	peer.Close()
	return &Transport{s: s, conn: conn}
}

// RefuseDials makes every request fail as a refused dial does, or ends that. Refused requests are not counted.
func (t *Transport) RefuseDials(on bool) { t.refuse.Store(on) }

// CloseIdleConnections only counts.
func (t *Transport) CloseIdleConnections() { t.closes.Add(1) }

// IdleCloses returns how many times CloseIdleConnections was called.
func (t *Transport) IdleCloses() int { return int(t.closes.Load()) }

// RoundTrip sends the request to the server.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	out := &upload{req: req, trace: httptrace.ContextClientTrace(req.Context())}
	if out.trace == nil {
		out.trace = &httptrace.ClientTrace{}
	}
	resp, err := t.roundTrip(req, out)
	if err != nil {
		out.close()
		return nil, err
	}
	return resp, nil
}

func (t *Transport) roundTrip(req *http.Request, out *upload) (*http.Response, error) {
	ctx := req.Context()
	if err := sendable(req); err != nil {
		return nil, err
	}
	if err := t.connect(req, out.trace); err != nil {
		return nil, err
	}
	header := req.Header.Clone()
	if header == nil {
		header = http.Header{}
	}
	length := req.ContentLength
	var encoding []string
	if out.body() != nil && length == 0 {
		length, encoding = -1, []string{"chunked"}
	}
	x := t.s.arrive(arrival{
		method: method(req), path: req.URL.Path, query: req.URL.RawQuery, header: header,
		contentLength: length, transferEncoding: encoding, read: out.read,
	})
	p, err := x.decide()
	if err != nil {
		x.finish(FIN)
		return nil, err
	}
	if p.unread && p.noAnswer {
		out.wrote(errReset("write"))
	}
	if !t.s.wait(ctx, p.wait) {
		x.finish(p.end)
		return nil, gone(ctx)
	}
	if p.noAnswer {
		return nil, t.fail(ctx, x, p)
	}
	return t.respond(req, out, x, p), nil
}

// sendable returns the error of net/http for a request that is over or does not say where to go.
func sendable(req *http.Request) error {
	switch ctx := req.Context(); {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case req.URL == nil:
		return errors.New("http: nil Request.URL")
	case req.URL.Scheme != "http" && req.URL.Scheme != "https":
		return fmt.Errorf("unsupported protocol scheme %q", req.URL.Scheme)
	case req.URL.Host == "":
		return errors.New("http: no Host in request URL")
	}
	return nil
}

func (t *Transport) connect(req *http.Request, trace *httptrace.ClientTrace) error {
	if trace.GetConn != nil {
		trace.GetConn(req.URL.Host)
	}
	if t.refuse.Load() || t.s.closed() {
		return &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	}
	if trace.GotConn != nil {
		trace.GotConn(httptrace.GotConnInfo{Conn: t.conn, Reused: t.used.Swap(true)})
	}
	return nil
}

// fail acts out a plan without an answer.
func (t *Transport) fail(ctx context.Context, x *Exchange, p plan) error {
	if p.end == Stalled {
		t.s.hang(ctx)
		x.finish(Stalled)
		return gone(ctx)
	}
	x.finish(p.end)
	if p.end == Reset {
		return errReset("read")
	}
	return io.EOF
}

// respond acts out the rest of a plan, in a goroutine if that takes time.
func (t *Transport) respond(req *http.Request, out *upload, x *Exchange, p plan) *http.Response {
	t.s.noteStatus(x, p.status)
	if f := out.trace.GotFirstResponseByte; f != nil {
		f()
	}
	body := newDownload(req.Context())
	resp := &http.Response{
		Status: fmt.Sprintf("%d %s", p.status, http.StatusText(p.status)), StatusCode: p.status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: p.header, Body: body, ContentLength: p.length, Request: req,
		Close: p.header.Get("Connection") == "close",
	}
	if p.length < 0 {
		resp.TransferEncoding = []string{"chunked"}
	} else {
		resp.Header.Set("Content-Length", fmt.Sprint(p.length))
	}
	act := func() {
		end, left := t.s.play(body.ctx, x, p, body)
		x.finish(end)
		body.end(end, left)
		if !p.unread {
			body.cancel()
		}
	}
	if p.instant() {
		act()
	} else {
		go act()
	}
	if p.unread {
		go out.drain(t.s, body, p.drain)
	}
	return resp
}

func method(req *http.Request) string {
	if req.Method == "" {
		return http.MethodGet
	}
	return req.Method
}

// gone is the error of a wait that ended because the client left, or else because the server closed.
func gone(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return io.EOF
}

func errReset(op string) error {
	return &net.OpError{Op: op, Net: "tcp", Err: os.NewSyscallError(op, syscall.ECONNRESET)}
}

// An upload is the request body on its way to the server.
type upload struct {
	req     *http.Request
	trace   *httptrace.ClientTrace
	closing sync.Once
	writing sync.Once
}

func (u *upload) body() io.ReadCloser {
	if u.req.Body == http.NoBody {
		return nil
	}
	return u.req.Body
}

func (u *upload) close() {
	u.closing.Do(func() {
		if u.req.Body != nil {
			u.req.Body.Close()
		}
	})
}

// wrote calls the hooks that say the request has been written, once.
func (u *upload) wrote(err error) {
	u.writing.Do(func() {
		if u.trace.WroteHeaders != nil {
			u.trace.WroteHeaders()
		}
		if u.trace.WroteRequest != nil {
			u.trace.WroteRequest(httptrace.WroteRequestInfo{Err: err})
		}
	})
}

// read reads the body to its end. It returns early when the context is done, even if a Read of the body blocks.
func (u *upload) read() ([]byte, error) {
	ctx := u.req.Context()
	if u.body() == nil {
		u.wrote(nil)
		return nil, nil
	}
	type result struct {
		b   []byte
		err error
	}
	done := make(chan result, 1)
	go func() {
		b, err := u.readAll()
		u.close()
		done <- result{b, err}
	}()
	select {
	case r := <-done:
		u.wrote(r.err)
		return r.b, r.err
	case <-ctx.Done():
		u.wrote(context.Cause(ctx))
		return nil, context.Cause(ctx)
	}
}

func (u *upload) readAll() ([]byte, error) {
	want := u.req.ContentLength
	if want <= 0 {
		return io.ReadAll(u.body())
	}
	b, err := io.ReadAll(io.LimitReader(u.body(), want+1))
	if err == nil && int64(len(b)) != want {
		err = fmt.Errorf("http: ContentLength=%d with Body length %d", want, len(b))
	}
	return b, err
}

// drain goes on reading the body after an early answer, as slowly as the plan says, until its end or until the client
// is through with the answer.
func (u *upload) drain(s *Server, body *download, d drain) {
	defer body.cancel()
	defer u.close()
	from := u.body()
	if from == nil {
		u.wrote(nil)
		return
	}
	buf := make([]byte, max(d.chunk, 1))
	for d.chunk > 0 {
		if _, err := io.ReadFull(from, buf); err != nil {
			u.wrote(uploadErr(err))
			return
		}
		if !s.wait(body.ctx, d.pause) {
			break
		}
	}
	u.wrote(errReset("write"))
}

// uploadErr takes the end of the body for the success that it is.
func uploadErr(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return nil
	}
	return err
}
