package steady_test

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/steadyhttp/steady"
)

// rawServer runs serve on each connection to a listener of its own, the n-th
// from 1, and returns the address. It ends with the test.
func rawServer(t *testing.T, serve func(conn net.Conn, n int)) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	var conns []net.Conn
	wg.Go(func() {
		for n := 1; ; n++ {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns = append(conns, conn)
			mu.Unlock()
			wg.Go(func() {
				defer conn.Close()
				serve(conn, n)
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		for _, c := range conns {
			c.Close()
		}
		mu.Unlock()
		wg.Wait()
	})
	return l.Addr().String()
}

// readRequest reads a request and its whole body.
func readRequest(r *bufio.Reader) (*http.Request, string, error) {
	req, err := http.ReadRequest(r)
	if err != nil {
		return nil, "", err
	}
	body, err := io.ReadAll(req.Body)
	return req, string(body), err
}

// wireStack returns a stack over tr that retries almost at once and waits for
// headers for at most timeout. It closes tr's connections after the test.
func wireStack(t *testing.T, tr *http.Transport, timeout time.Duration, seen *events, retry ...steady.RetryOption) *steady.Transport {
	t.Helper()
	t.Cleanup(tr.CloseIdleConnections)
	return must(t)(steady.New(
		steady.WithBase(tr), steady.WithObserver(seen),
		steady.WithRetry(append([]steady.RetryOption{steady.MaxAttempts(4), steady.Delays(time.Millisecond, time.Millisecond)}, retry...)...),
		steady.WithBreaker(steady.TripAfter(100)),
		steady.WithTimeouts(steady.HeaderTimeout(timeout)),
	))
}

func wireRequest(t *testing.T, method, url string, header http.Header) *http.Request {
	t.Helper()
	var body io.Reader
	if method == http.MethodPost {
		body = strings.NewReader(`{"model":"m"}`)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, url+"/v1/chat/completions", body)
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range header {
		req.Header[k] = v
	}
	return req
}

// The servers below have read the whole POST when they fail, so that it may have
// been done and billed.
func TestRC4_APostThatMayHaveArrivedIsSentAgainOnlyAsAllowed(t *testing.T) {
	type server struct {
		name  string
		start func(t *testing.T, requests *atomic.Int32) (url string, tr *http.Transport)
	}
	raw := func(misbehave func(conn net.Conn, r *bufio.Reader)) func(*testing.T, *atomic.Int32) (string, *http.Transport) {
		return func(t *testing.T, requests *atomic.Int32) (string, *http.Transport) {
			addr := rawServer(t, func(conn net.Conn, _ int) {
				r := bufio.NewReader(conn)
				if _, _, err := readRequest(r); err == nil {
					requests.Add(1)
					misbehave(conn, r)
				}
			})
			return "http://" + addr, &http.Transport{}
		}
	}
	servers := []server{
		{"(a) closes without an answer", raw(func(net.Conn, *bufio.Reader) {})},
		{"(a) resets without an answer", raw(func(c net.Conn, _ *bufio.Reader) { c.(*net.TCPConn).SetLinger(0) })},
		{"(a) closes within the status line", raw(func(c net.Conn, _ *bufio.Reader) { io.WriteString(c, "HTTP/1.1 2") })},
		{"(a) answers what is no HTTP", raw(func(c net.Conn, _ *bufio.Reader) { io.WriteString(c, "SSH-2.0-OpenSSH_9.9\r\n\r\n") })},
		{"(b) hangs past the attempt's timeout", raw(func(_ net.Conn, r *bufio.Reader) { r.ReadByte() })},
		{"(c) resets the HTTP/2 stream", abortingServer},
		{"breaks the TLS connection", brokenTLSServer},
		{"says HTTP/2 GOAWAY with this stream among the done ones", func(t *testing.T, requests *atomic.Int32) (string, *http.Transport) {
			return h2Server(t, requests, func(c net.Conn, stream uint32, _ int32) bool {
				h2Write(c, 7, 0, 0, binary.BigEndian.AppendUint32(nil, stream), 0, 0, 0, 0)
				return false
			})
		}},
	}
	for _, s := range servers {
		for _, tc := range []struct {
			name   string
			method string
			header http.Header
			retry  []steady.RetryOption
			want   int32
		}{
			{"once more by default", http.MethodPost, nil, nil, 2},
			{"not at all if told so", http.MethodPost, nil, []steady.RetryOption{steady.UnknownResends(0)}, 1},
			{"twice if told so", http.MethodPost, nil, []steady.RetryOption{steady.UnknownResends(2)}, 3},
			{"freely with a key", http.MethodPost, http.Header{"Idempotency-Key": {"k"}}, []steady.RetryOption{steady.UnknownResends(0)}, 4},
			{"freely for a GET", http.MethodGet, nil, []steady.RetryOption{steady.UnknownResends(0)}, 4},
		} {
			t.Run(s.name+", "+tc.name, func(t *testing.T) {
				t.Parallel() // one of them takes its time
				var requests atomic.Int32
				url, tr := s.start(t, &requests)
				seen := &events{}
				timeout := time.Minute
				if s.name[:3] == "(b)" {
					timeout = 200 * time.Millisecond
				}
				rt := wireStack(t, tr, timeout, seen, tc.retry...)
				resp, err := rt.RoundTrip(wireRequest(t, tc.method, url, tc.header))
				if err == nil {
					t.Fatalf("got %v, want an error", resp)
				}
				var gaveUp *steady.RetryError
				if tc.want > 1 && (!errors.As(err, &gaveUp) || gaveUp.Attempts != int(tc.want)) {
					t.Errorf("error %#v, want a RetryError of %d attempts", err, tc.want)
				}
				if got := requests.Load(); got != tc.want {
					t.Errorf("the server got %d, want %d (%v)", got, tc.want, err)
				}
				for _, e := range of[steady.AttemptEnded](seen) {
					if tc.method == http.MethodPost && e.Outcome != "unknown" && s.name != "breaks the TLS connection" {
						t.Errorf("attempt %d: outcome %s, want unknown", e.Attempt, e.Outcome)
					}
				}
			})
		}
	}
}

// abortingServer speaks HTTP/2 and resets each stream once it has the request.
func abortingServer(t *testing.T, requests *atomic.Int32) (string, *http.Transport) {
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		if r.ProtoMajor == 2 {
			requests.Add(1)
		}
		panic(http.ErrAbortHandler)
	}))
	srv.EnableHTTP2 = true
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.StartTLS()
	t.Cleanup(srv.Close)
	return srv.URL, srv.Client().Transport.(*http.Transport)
}

// brokenTLSServer reads the request and then breaks off the encryption, so that
// the client's error is one of TLS, though the handshake is long over.
func brokenTLSServer(t *testing.T, requests *atomic.Int32) (string, *http.Transport) {
	srv, pool := certificate(t)
	addr := rawServer(t, func(conn net.Conn, _ int) {
		secure := tls.Server(conn, srv)
		r := bufio.NewReader(secure)
		if _, _, err := readRequest(r); err == nil {
			requests.Add(1)
			conn.Write(append([]byte{0x17, 3, 3, 0, 32}, make([]byte, 32)...))
			io.Copy(io.Discard, conn) // closing at once could overtake the record with a reset
		}
	})
	return "https://" + addr, &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}
}

// certificate returns the configuration of a TLS server, without HTTP/2, and the
// pool that trusts it.
func certificate(t *testing.T) (*tls.Config, *x509.CertPool) {
	t.Helper()
	srv := httptest.NewUnstartedServer(http.NotFoundHandler())
	srv.StartTLS()
	defer srv.Close()
	pool := x509.NewCertPool()
	pool.AddCert(srv.Certificate())
	return &tls.Config{Certificates: srv.TLS.Certificates}, pool
}

// h2Server speaks just so much HTTP/2, without TLS: it calls answer when it has
// the whole of the n-th request, counted over all connections, and closes the
// connection when that returns false.
func h2Server(t *testing.T, requests *atomic.Int32, answer func(c net.Conn, stream uint32, n int32) bool) (string, *http.Transport) {
	addr := rawServer(t, func(conn net.Conn, _ int) {
		preface := make([]byte, len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))
		if _, err := io.ReadFull(conn, preface); err != nil {
			return
		}
		h2Write(conn, 4, 0, 0, nil)
		for {
			head := make([]byte, 9)
			if _, err := io.ReadFull(conn, head); err != nil {
				return
			}
			size := int64(head[0])<<16 | int64(head[1])<<8 | int64(head[2])
			if _, err := io.CopyN(io.Discard, conn, size); err != nil {
				return
			}
			kind, flags, stream := head[3], head[4], binary.BigEndian.Uint32(head[5:])
			if kind == 4 && flags&1 == 0 {
				h2Write(conn, 4, 1, 0, nil) // settings, acknowledged
			}
			if kind <= 1 && flags&1 != 0 { // data or headers, and the end of the stream
				if !answer(conn, stream, requests.Add(1)) {
					return
				}
			}
		}
	})
	tr := &http.Transport{Protocols: &http.Protocols{}}
	tr.Protocols.SetUnencryptedHTTP2(true)
	return "http://" + addr, tr
}

func h2Write(c net.Conn, kind, flags byte, stream uint32, payload []byte, more ...byte) {
	payload = append(payload, more...)
	frame := append([]byte{byte(len(payload) >> 16), byte(len(payload) >> 8), byte(len(payload)), kind, flags}, 0, 0, 0, 0)
	binary.BigEndian.PutUint32(frame[5:], stream)
	c.Write(append(frame, payload...))
}

func h2OK(c net.Conn, stream uint32) { h2Write(c, 1, 5, stream, []byte{0x88}) } // :status 200, and the end

func TestRC4_WhatWasSurelyNotDoneIsSentAgain(t *testing.T) {
	for _, tc := range []struct {
		name  string
		start func(t *testing.T, requests *atomic.Int32) (string, *http.Transport)
		want  int32 // requests that the server got whole
	}{
		{"(f) the server closes in the TLS handshake, twice", handshakeFailures(func(net.Conn) {}), 1},
		{"(f) the server resets in the TLS handshake, twice", handshakeFailures(func(c net.Conn) { c.(*net.TCPConn).SetLinger(0) }), 1},
		{"(f) the server sends an alert in the TLS handshake, twice", handshakeFailures(func(c net.Conn) {
			c.Write([]byte{0x15, 3, 3, 0, 2, 2, 80}) // internal error
		}), 1},
		{"(g) 503, twice", func(t *testing.T, requests *atomic.Int32) (string, *http.Transport) {
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				io.Copy(io.Discard, r.Body)
				if requests.Add(1) < 3 {
					w.WriteHeader(503)
				}
			}))
			t.Cleanup(srv.Close)
			return srv.URL, &http.Transport{}
		}, 3},
		{"(h) REFUSED_STREAM", func(t *testing.T, requests *atomic.Int32) (string, *http.Transport) {
			return h2Server(t, requests, func(c net.Conn, stream uint32, n int32) bool {
				if n == 1 {
					h2Write(c, 3, 0, stream, []byte{0, 0, 0, 7})
				} else {
					h2OK(c, stream)
				}
				return true
			})
		}, 2},
		{"(h) GOAWAY with this stream not among the done ones", func(t *testing.T, requests *atomic.Int32) (string, *http.Transport) {
			return h2Server(t, requests, func(c net.Conn, stream uint32, n int32) bool {
				if n == 1 {
					h2Write(c, 7, 0, 0, make([]byte, 8))
					return false
				}
				h2OK(c, stream)
				return true
			})
		}, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var requests atomic.Int32
			url, tr := tc.start(t, &requests)
			rt := wireStack(t, tr, time.Minute, &events{}, steady.UnknownResends(0))
			resp, err := rt.RoundTrip(wireRequest(t, http.MethodPost, url, nil))
			if err != nil || resp.StatusCode != 200 {
				t.Fatalf("got %v, %v", resp, err)
			}
			read(t, resp)
			if got := requests.Load(); got != tc.want {
				t.Errorf("the server got %d, want %d", got, tc.want)
			}
		})
	}
}

// handshakeFailures is a TLS server that answers the first two hellos with fail.
func handshakeFailures(fail func(net.Conn)) func(*testing.T, *atomic.Int32) (string, *http.Transport) {
	return func(t *testing.T, requests *atomic.Int32) (string, *http.Transport) {
		srv, pool := certificate(t)
		addr := rawServer(t, func(conn net.Conn, n int) {
			if n <= 2 {
				io.ReadAtLeast(conn, make([]byte, 4<<10), 100)
				fail(conn)
				return
			}
			secure := tls.Server(conn, srv)
			if _, _, err := readRequest(bufio.NewReader(secure)); err == nil {
				requests.Add(1)
				io.WriteString(secure, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nOK")
			}
			io.Copy(io.Discard, secure)
		})
		return "https://" + addr, &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}
	}
}

func TestRC4_ARefusedDialIsTriedAgain(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close() // nobody listens there now
	seen := &events{}
	rt := wireStack(t, &http.Transport{}, time.Minute, seen, steady.UnknownResends(0))
	_, err = rt.RoundTrip(wireRequest(t, http.MethodPost, "http://"+l.Addr().String(), nil))
	if !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("error %v, want ECONNREFUSED", err)
	}
	ended := of[steady.AttemptEnded](seen)
	if len(ended) != 4 || ended[0].Outcome != "failed" {
		t.Errorf("attempts %+v, want 4 that failed", ended)
	}
}

func TestRC4_AnAnswerThatBreaksOffIsNotAskedForAgain(t *testing.T) {
	const half = `{"choices":[{"mess`
	for _, header := range []string{"Content-Length: 100\r\n", "Transfer-Encoding: chunked\r\n"} {
		t.Run(header, func(t *testing.T) {
			var requests atomic.Int32
			addr := rawServer(t, func(conn net.Conn, _ int) {
				if _, _, err := readRequest(bufio.NewReader(conn)); err == nil {
					requests.Add(1)
					body := half
					if strings.HasPrefix(header, "Tr") {
						body = "12\r\n" + half + "\r\n"
					}
					io.WriteString(conn, "HTTP/1.1 200 OK\r\n"+header+"\r\n"+body)
				}
			})
			seen := &events{}
			rt := wireStack(t, &http.Transport{}, time.Minute, seen, steady.UnknownResends(3))
			resp, err := rt.RoundTrip(wireRequest(t, http.MethodPost, "http://"+addr, http.Header{"Idempotency-Key": {"k"}}))
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if string(body) != half || !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("body %q, %v, want the half and io.ErrUnexpectedEOF", body, err)
			}
			if got := requests.Load(); got != 1 {
				t.Errorf("the server got %d, want 1", got)
			}
			if ended := of[steady.AttemptEnded](seen); len(ended) != 1 || ended[0].Outcome != "truncated" {
				t.Errorf("attempts %+v, want one that is truncated", ended)
			}
		})
	}
}

func TestRC3_ACertificateThatIsNotTrustedIsNotRetried(t *testing.T) {
	srv := httptest.NewUnstartedServer(http.NotFoundHandler())
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.StartTLS()
	t.Cleanup(srv.Close)
	pool := x509.NewCertPool()
	pool.AddCert(srv.Certificate())
	for name, conf := range map[string]*tls.Config{
		"unknown CA":      {},
		"wrong host name": {RootCAs: pool, ServerName: "api.llm.test"},
	} {
		t.Run(name, func(t *testing.T) {
			seen := &events{}
			rt := wireStack(t, &http.Transport{TLSClientConfig: conf}, time.Minute, seen)
			_, err := rt.RoundTrip(wireRequest(t, http.MethodPost, srv.URL, nil))
			var bad *tls.CertificateVerificationError
			if !errors.As(err, &bad) {
				t.Errorf("error %v, want a CertificateVerificationError", err)
			}
			if got := len(of[steady.AttemptEnded](seen)); got != 1 {
				t.Errorf("%d attempts, want 1", got)
			}
		})
	}
}

// What may be sent again, in one table. The base has read the whole request.
func TestUnknownResends_WhatMayBeSentAgain(t *testing.T) {
	reset := &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	handedBack := errors.New("stream error: stream ID 3; REFUSED_STREAM; received from peer")
	key := http.Header{"Idempotency-Key": {"k"}}
	type row struct {
		name   string
		path   string
		header http.Header
		step   step
		resend int
		want   int // attempts out of 5
	}
	rows := []row{
		{"reset, default", "/v1/chat/completions", nil, step{err: reset}, 1, 2},
		{"reset, 0", "/v1/chat/completions", nil, step{err: reset}, 0, 1},
		{"reset, 2", "/v1/chat/completions", nil, step{err: reset}, 2, 3},
		{"reset, key", "/v1/chat/completions", key, step{err: reset}, 0, 5},
		{"reset, key without a value", "/v1/chat/completions", http.Header{"Idempotency-Key": {""}}, step{err: reset}, 0, 1},
		{"504, 0", "/v1/chat/completions", nil, step{status: 504}, 0, 1},
		{"504, 2", "/v1/chat/completions", nil, step{status: 504}, 2, 3},
		{"524, default", "/v1/chat/completions", nil, step{status: 524}, 1, 2},
		{"504, key", "/v1/chat/completions", key, step{status: 504}, 0, 5},
		{"503, 0", "/v1/chat/completions", nil, step{status: 503}, 0, 5},
		{"500, 0", "/v1/chat/completions", nil, step{status: 500}, 0, 5},
		{"handed back, 0", "/v1/chat/completions", nil, step{err: handedBack}, 0, 5},
		{"refused, 0", "/v1/chat/completions", nil, step{err: refused}, 0, 5},
	}
	for _, path := range []string{
		"/v1/batches", "/v1/messages/batches", "/v1/messages/batches/", "/v1/files", "/v1/fine_tuning/jobs", "/v1/threads/t1/messages",
		"/openai/threads/t1/messages", "/v1/images/generations", "/v1/responses/r1/cancel", "/v1/notmessages", "/model/m/async-invoke", "/",
	} {
		rows = append(rows,
			row{"429", path, nil, step{status: 429}, 1, 5},
			row{"refused", path, nil, step{err: refused}, 1, 5},
			row{"handed back", path, nil, step{err: handedBack}, 1, 5},
			row{"reset", path, nil, step{err: reset}, 5, 1},
			row{"503", path, nil, step{status: 503}, 5, 1},
			row{"500", path, nil, step{status: 500}, 5, 1},
			row{"504", path, nil, step{status: 504}, 5, 1},
			row{"503 with a key", path, key, step{status: 503}, 0, 5},
			row{"reset with a key", path, key, step{err: reset}, 0, 5},
		)
	}
	for _, path := range []string{
		"/chat/completions", "/v1/completions", "/v1/messages", "/v1/messages/", "/v1/messages/count_tokens", "/v1/responses", "/v1/embeddings", "/v2/rerank",
		"/v1beta/models/gemini:generateContent", "/v1beta/models/gemini:streamGenerateContent", "/api/chat", "/api/generate",
		"/model/anthropic.claude/invoke", "/model/anthropic.claude/invoke-with-response-stream", "/model/m/converse", "/model/m/converse-stream",
		"/openai/deployments/gpt/chat/completions",
	} {
		rows = append(rows, row{"503", path, nil, step{status: 503}, 0, 5}, row{"reset", path, nil, step{err: reset}, 1, 2})
	}
	for _, tc := range rows {
		t.Run(tc.path+" "+tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				base := play(tc.step)
				rt := steady.Retry(append(steadyWaits, steady.MaxAttempts(5), steady.UnknownResends(tc.resend))...)(base)
				req := request(t, http.MethodPost, tc.path, "q")
				for k, v := range tc.header {
					req.Header[k] = v
				}
				resp, err := rt.RoundTrip(req)
				if resp != nil {
					read(t, resp)
				}
				if (err != nil) != (tc.step.err != nil) {
					t.Errorf("got %v, %v", resp, err)
				}
				if got := base.attempts(); got != tc.want {
					t.Errorf("%d attempts, want %d", got, tc.want)
				}
			})
		})
	}
}

// A default that nobody set is 1, and the count is per call.
func TestUnknownResends_CountsOverTheWholeCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reset := &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}
		base := play(step{err: reset}, step{status: 503}, step{status: 504}, step{status: 200})
		rt := steady.Retry(steadyWaits...)(base)
		for range 2 {
			base.seen, base.steps = nil, []step{{err: reset}, {status: 503}, {status: 504}, {status: 200}}
			resp, err := rt.RoundTrip(post(t, t.Context(), "q"))
			if err != nil || resp.StatusCode != 504 {
				t.Fatalf("got %v, %v, want the 504", resp, err)
			}
			read(t, resp)
			if got := base.attempts(); got != 3 {
				t.Errorf("%d attempts, want 3", got)
			}
		}
	})
}

// PUT and DELETE are idempotent by definition; PATCH is not.
func TestUnknownResends_OtherMethods(t *testing.T) {
	for method, want := range map[string]int{
		http.MethodPut: 4, http.MethodDelete: 4, http.MethodHead: 4, http.MethodOptions: 4, http.MethodPatch: 1, "FROB": 1,
	} {
		t.Run(method, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				base := statuses(503)
				rt := steady.Retry(append(steadyWaits, steady.MaxAttempts(4))...)(base)
				resp, err := rt.RoundTrip(request(t, method, "/v1/chat/completions", "q"))
				if err != nil {
					t.Fatal(err)
				}
				read(t, resp)
				if got := base.attempts(); got != want {
					t.Errorf("%d attempts, want %d", got, want)
				}
			})
		})
	}
}

// A server cannot have done what it cannot have got.
func TestUnknownResends_GoByHowMuchOfTheBodyWentOut(t *testing.T) {
	const text = "question"
	for _, tc := range []struct {
		name   string
		length int64
		read   int // bytes, by each attempt; -1 for all and the end
		want   int
	}{
		{"nothing of a known length", 8, 0, 5},
		{"half of a known length", 8, 4, 5},
		{"all of a known length, but not its end", 8, 8, 1},
		{"all of a known length and its end", 8, -1, 1},
		{"half of an unknown length", -1, 4, 5},
		{"all of an unknown length, but not its end", -1, 8, 5},
		{"all of an unknown length and its end", -1, -1, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := 0
				base := roundTripFunc(func(req *http.Request) (*http.Response, error) {
					n++
					if tc.read < 0 {
						io.Copy(io.Discard, req.Body)
					} else {
						io.CopyN(io.Discard, req.Body, int64(tc.read))
					}
					req.Body.Close()
					return nil, &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}
				})
				req := post(t, t.Context(), text)
				req.ContentLength = tc.length
				rt := steady.Retry(append(steadyWaits, steady.MaxAttempts(5), steady.UnknownResends(0))...)(base)
				if _, err := rt.RoundTrip(req); !errors.Is(err, syscall.ECONNRESET) {
					t.Errorf("error %v, want ECONNRESET", err)
				}
				if n != tc.want {
					t.Errorf("%d attempts, want %d", n, tc.want)
				}
			})
		})
	}
}
