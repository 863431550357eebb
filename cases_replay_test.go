package steady_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/steadyhttp/steady"
)

// framing is how a request came to the server.
type framing struct {
	method   string
	length   int64
	chunked  bool
	sum      [sha256.Size]byte
	size     int
	trailing string
}

// recordingServer answers with statuses in turn, the last for ever, and keeps
// how each request came.
type recordingServer struct {
	*httptest.Server
	mu       sync.Mutex
	statuses []int
	seen     []framing
}

func newRecordingServer(t *testing.T, http2 bool) *recordingServer {
	s := &recordingServer{}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(s.serve))
	if s.EnableHTTP2 = http2; http2 {
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	return s
}

func (s *recordingServer) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	f := framing{method: r.Method, length: r.ContentLength, sum: sha256.Sum256(body), size: len(body)}
	for _, te := range r.TransferEncoding {
		f.chunked = f.chunked || te == "chunked"
	}
	if err != nil {
		f.trailing = err.Error()
	}
	s.mu.Lock()
	s.seen = append(s.seen, f)
	status := s.statuses[0]
	if len(s.statuses) > 1 {
		s.statuses = s.statuses[1:]
	}
	s.mu.Unlock()
	w.WriteHeader(status)
	fmt.Fprintf(w, "status %d", status)
}

// play sets what is to be answered and forgets what came.
func (s *recordingServer) play(statuses ...int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.statuses, s.seen = statuses, nil
}

func (s *recordingServer) requests() []framing {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]framing(nil), s.seen...)
}

func TestRB1_EveryAttemptSendsTheSameBytesInTheSameFraming(t *testing.T) {
	const text = "0123456789 and the question proper"
	file := filepath.Join(t.TempDir(), "body")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	hidden := func(s string) io.Reader { return struct{ io.Reader }{strings.NewReader(s)} }
	atTen := func() io.Reader {
		r := bytes.NewReader([]byte(text))
		r.Seek(10, io.SeekStart)
		return r
	}
	rows := []struct {
		name   string
		method string
		body   func() io.Reader
		length int64 // 0 for what http.NewRequest makes of the body
		size   int
	}{
		{"bytes.Reader", http.MethodPost, func() io.Reader { return bytes.NewReader([]byte(text)) }, 0, len(text)},
		{"no GetBody but a length", http.MethodPost, func() io.Reader { return hidden(text) }, int64(len(text)), len(text)},
		{"unknown length", http.MethodPost, func() io.Reader { return hidden(text) }, 0, len(text)},
		{"length said to be unknown", http.MethodPost, func() io.Reader { return hidden(text) }, -1, len(text)},
		{"file", http.MethodPost, func() io.Reader {
			f, err := os.Open(file)
			if err != nil {
				t.Fatal(err)
			}
			return f
		}, 0, len(text)},
		{"reader at offset 10", http.MethodPost, atTen, 0, len(text) - 10},
		{"reader at offset 10 without GetBody", http.MethodPost, func() io.Reader { return struct{ io.Reader }{atTen()} }, 0, len(text) - 10},
		{"empty body of unknown length", http.MethodPost, func() io.Reader { return hidden("") }, 0, 0},
		{"empty body of unknown length with GET", http.MethodGet, func() io.Reader { return hidden("") }, 0, 0},
		{"body of unknown length with DELETE", http.MethodDelete, func() io.Reader { return hidden(text) }, 0, len(text)},
	}
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodGet} {
		row := rows[0]
		row.method, row.size = method, 0
		row.name, row.body = "NoBody with "+method, func() io.Reader { return http.NoBody }
		rows = append(rows, row)
		row.name, row.body = "nil with "+method, func() io.Reader { return nil }
		rows = append(rows, row)
	}
	for _, proto := range []string{"HTTP/1.1", "HTTP/2"} {
		srv := newRecordingServer(t, proto == "HTTP/2")
		for _, tc := range rows {
			t.Run(proto+" "+tc.name, func(t *testing.T) {
				tr := srv.Client().Transport.(*http.Transport)
				rt := wireStack(t, tr, time.Minute, &events{})
				send := func(rt http.RoundTripper) (*http.Response, *spiedRequest) {
					req, err := http.NewRequestWithContext(t.Context(), tc.method, srv.URL+"/v1/messages", tc.body())
					if err != nil {
						t.Fatal(err)
					}
					if tc.length != 0 {
						req.ContentLength = tc.length
					}
					spied := spyOn(req)
					resp, err := rt.RoundTrip(req)
					if err != nil {
						t.Fatal(err)
					}
					return resp, spied
				}
				srv.play(200)
				resp, _ := send(tr) // what net/http makes of it by itself
				read(t, resp)
				plain := srv.requests()[0]

				srv.play(503, 503, 200)
				resp, spied := send(rt)
				if got := read(t, resp); got != "status 200" {
					t.Errorf("body %q", got)
				}
				seen := srv.requests()
				if len(seen) != 3 {
					t.Fatalf("%d requests, want 3", len(seen))
				}
				for i, f := range seen {
					if f != plain || f.size != tc.size {
						t.Errorf("attempt %d came as %+v, want %+v with %d bytes", i+1, f, plain, tc.size)
					}
				}
				spied.check(t)
			})
		}
	}
}

// spiedRequest knows every body that was handed out for a request.
type spiedRequest struct {
	mu     sync.Mutex
	bodies []*spy
}

// spyOn has every body of req watched. The closing of the real ones is left to
// the garbage collector.
func spyOn(req *http.Request) *spiedRequest {
	s := &spiedRequest{}
	if req.Body == nil || req.Body == http.NoBody {
		return s
	}
	watched := func(rc io.ReadCloser) io.ReadCloser {
		s.mu.Lock()
		defer s.mu.Unlock()
		b := &spy{from: rc}
		s.bodies = append(s.bodies, b)
		return b
	}
	req.Body = watched(req.Body)
	if get := req.GetBody; get != nil {
		req.GetBody = func() (io.ReadCloser, error) {
			rc, err := get()
			if err != nil {
				return nil, err
			}
			return watched(rc), nil
		}
	}
	return s
}

// check waits until all bodies have been closed, which net/http may do after
// RoundTrip, and reports any that are not or were read after.
func (s *spiedRequest) check(t *testing.T) {
	t.Helper()
	s.mu.Lock()
	bodies := append([]*spy(nil), s.bodies...)
	s.mu.Unlock()
	for i, b := range bodies {
		for end := time.Now().Add(5 * time.Second); b.closes() == 0 && time.Now().Before(end); {
			time.Sleep(time.Millisecond)
		}
		b.check(t, fmt.Sprintf("body %d of %d", i+1, len(bodies)))
	}
}

func TestRB1_ABodyThatCannotBeReplayedGetsOneAttempt(t *testing.T) {
	for _, proto := range []string{"HTTP/1.1", "HTTP/2"} {
		t.Run(proto, func(t *testing.T) {
			srv := newRecordingServer(t, proto == "HTTP/2")
			srv.play(503, 200)
			rt := wireStack(t, srv.Client().Transport.(*http.Transport), time.Minute, &events{}, steady.ReplayBuffer(100))
			req := wireRequest(t, http.MethodPost, srv.URL, nil)
			req.Body, req.GetBody, req.ContentLength = io.NopCloser(strings.NewReader(strings.Repeat("x", 101))), nil, 101
			spied := spyOn(req)
			resp, err := rt.RoundTrip(req)
			if err != nil || resp.StatusCode != 503 {
				t.Fatalf("got %v, %v, want the 503", resp, err)
			}
			if got := read(t, resp); got != "status 503" {
				t.Errorf("body %q", got)
			}
			if seen := srv.requests(); len(seen) != 1 || seen[0].size != 101 {
				t.Errorf("the server got %+v, want one request of 101 bytes", seen)
			}
			spied.check(t)
		})
	}
}

func TestReplayBuffer_Limit(t *testing.T) {
	const size = 1000
	for _, tc := range []struct {
		name  string
		size  int
		limit int
		want  int // attempts
	}{
		{"exactly at the limit", size, size, 3},
		{"one over", size + 1, size, 1},
		{"limit 0", 1, 0, 1},
		{"limit 0 and an empty body", 0, 0, 3},
	} {
		for _, chunk := range []int{1, 7, 512, 4096} {
			t.Run(fmt.Sprintf("%s, read by %d", tc.name, chunk), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					body := strings.Repeat("abcdefg", tc.size/7+1)[:tc.size]
					var got []string
					base := roundTripFunc(func(req *http.Request) (*http.Response, error) {
						var b strings.Builder
						io.CopyBuffer(struct{ io.Writer }{&b}, req.Body, make([]byte, chunk))
						req.Body.Close()
						got = append(got, b.String())
						return respond(req, 503, nil, nil), nil
					})
					rt := steady.Retry(append(steadyWaits, steady.MaxAttempts(3), steady.ReplayBuffer(tc.limit))...)(base)
					src := spyOf(body)
					req := post(t, t.Context(), "")
					req.Body, req.GetBody, req.ContentLength = src, nil, int64(tc.size)
					resp, err := rt.RoundTrip(req)
					if err != nil || resp.StatusCode != 503 {
						t.Fatalf("got %v, %v", resp, err)
					}
					read(t, resp)
					if len(got) != tc.want {
						t.Errorf("%d attempts, want %d", len(got), tc.want)
					}
					for i, b := range got {
						if b != body {
							t.Errorf("attempt %d sent %d bytes, want %d", i+1, len(b), len(body))
						}
					}
					if n := src.closes(); n != 1 {
						t.Errorf("the caller's body was closed %d times, want once", n)
					}
				})
			})
		}
	}
}

// The caller's body is read when the base reads and not before: nothing is
// buffered ahead of the first attempt, and a later one goes on where the source
// stands.
func TestReplayBuffer_IsFilledWhileTheFirstAttemptReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &readCounter{Reader: strings.NewReader("0123456789")}
		var got []string
		n := 0
		base := roundTripFunc(func(req *http.Request) (*http.Response, error) {
			n++
			before := src.n
			switch n {
			case 1:
				if before != 0 {
					t.Errorf("%d bytes were read before the base read any", before)
				}
			case 2: // reads half
				b := make([]byte, 5)
				io.ReadFull(req.Body, b)
				if src.n != 5 {
					t.Errorf("%d bytes were read of the source, want 5", src.n)
				}
				got = append(got, string(b))
			default:
				b, err := io.ReadAll(req.Body)
				if err != nil {
					t.Error(err)
				}
				got = append(got, string(b))
			}
			req.Body.Close()
			if n < 4 {
				return respond(req, 503, nil, nil), nil
			}
			return respond(req, 200, nil, nil), nil
		})
		req := post(t, t.Context(), "")
		req.Body, req.GetBody, req.ContentLength = io.NopCloser(src), nil, 10
		resp, err := steady.Retry(steadyWaits...)(base).RoundTrip(req)
		if err != nil || resp.StatusCode != 200 {
			t.Fatalf("got %v, %v", resp, err)
		}
		read(t, resp)
		if want := "01234 0123456789 0123456789"; strings.Join(got, " ") != want {
			t.Errorf("sent %q, want %q", got, want)
		}
	})
}

// An attempt that ended before the source's end leaves the rest to the next one;
// when that goes over the limit, it still sends all, and is the last.
func TestReplayBuffer_MayBeOutgrownByALaterAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []string
		base := roundTripFunc(func(req *http.Request) (*http.Response, error) {
			b := make([]byte, 4)
			if len(got) > 0 {
				b = make([]byte, 100)
			}
			n, _ := io.ReadFull(req.Body, b)
			req.Body.Close()
			got = append(got, string(b[:n]))
			return respond(req, 503, nil, nil), nil
		})
		req := post(t, t.Context(), "")
		req.Body, req.GetBody, req.ContentLength = io.NopCloser(strings.NewReader("0123456789")), nil, 10
		resp, err := steady.Retry(append(steadyWaits, steady.ReplayBuffer(8))...)(base).RoundTrip(req)
		if err != nil || resp.StatusCode != 503 {
			t.Fatalf("got %v, %v", resp, err)
		}
		read(t, resp)
		if want := "0123 0123456789"; strings.Join(got, " ") != want {
			t.Errorf("sent %q, want %q", got, want)
		}
	})
}

// openai-go gives its requests a body that is a *bytes.Reader and a GetBody that
// winds that same reader back. A transport that goes on reading the old body
// must neither get bytes of the new one nor take any from it.
func TestGetBodyWithASharedCursor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const text = "the whole question, which is longer than a read"
		cursor := strings.NewReader(text)
		req := post(t, t.Context(), "")
		req.Body, req.ContentLength = io.NopCloser(cursor), int64(len(text))
		req.GetBody = func() (io.ReadCloser, error) {
			_, err := cursor.Seek(0, io.SeekStart)
			return io.NopCloser(cursor), err
		}
		var late sync.WaitGroup
		var stolen strings.Builder
		n := 0
		base := roundTripFunc(func(req *http.Request) (*http.Response, error) {
			if n++; n == 1 { // an early answer; the body is read on, a byte in 100 ms
				late.Go(func() {
					for b := make([]byte, 1); ; {
						if _, err := req.Body.Read(b); err != nil {
							stolen.WriteString(" " + err.Error())
							return
						}
						stolen.Write(b)
						time.Sleep(100 * time.Millisecond)
					}
				})
				return respond(req, 503, nil, nil), nil
			}
			var b strings.Builder
			for p := make([]byte, 1); ; { // as slowly, so that the two would mix
				if _, err := req.Body.Read(p); err != nil {
					break
				}
				b.Write(p)
				time.Sleep(100 * time.Millisecond)
			}
			if b.String() != text {
				t.Errorf("attempt %d sent %q, want %q", n, b.String(), text)
			}
			return respond(req, 200, nil, nil), nil
		})
		resp, err := steady.Retry(steady.PlusMinus(0), steady.Delays(500*time.Millisecond-1, time.Minute))(base).RoundTrip(req)
		if err != nil || resp.StatusCode != 200 {
			t.Fatalf("got %v, %v", resp, err)
		}
		read(t, resp)
		late.Wait()
		// The 503's wait is a second: bytes at 0, 100, ..., 900 ms, and then none.
		if want := text[:10] + " steady: the request body is now another attempt's"; stolen.String() != want {
			t.Errorf("the old body gave %q, want %q", stolen.String(), want)
		}
	})
}

// A read of the old body that is under way is waited for, so that no two ever
// read at once, but not past the end of the request.
func TestGetBodyWaitsForAReadThatIsUnderWay(t *testing.T) {
	for _, tc := range []struct {
		name   string
		unlock time.Duration // when the read ends
		want   time.Duration // when the call does
		err    error
	}{
		{"that ends", 5 * time.Second, 5 * time.Second, nil},
		{"that does not", time.Hour, 30 * time.Second, context.DeadlineExceeded},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
				defer cancel()
				start := time.Now()
				opened := 0
				req := post(t, ctx, "")
				req.ContentLength = 3
				req.Body = io.NopCloser(slowReader{tc.unlock, strings.NewReader("old")})
				req.GetBody = func() (io.ReadCloser, error) {
					opened++
					return io.NopCloser(strings.NewReader("new")), nil
				}
				var late sync.WaitGroup
				base := roundTripFunc(func(req *http.Request) (*http.Response, error) {
					if opened == 0 {
						late.Go(func() { req.Body.Read(make([]byte, 3)) })
						synctest.Wait()
						return respond(req, 503, nil, nil), nil
					}
					return respond(req, 200, nil, nil), nil
				})
				resp, err := steady.Retry(steady.PlusMinus(0), steady.Delays(500*time.Millisecond, time.Minute))(base).RoundTrip(req)
				if !errors.Is(err, tc.err) {
					t.Errorf("error %v, want %v", err, tc.err)
				}
				if resp != nil {
					read(t, resp)
				}
				if took := time.Since(start); took != tc.want {
					t.Errorf("took %v, want %v", took, tc.want)
				}
				if tc.err != nil && opened != 0 {
					t.Error("GetBody was called while the old body was being read")
				}
				late.Wait()
			})
		})
	}
}

type slowReader struct {
	takes time.Duration
	io.Reader
}

func (r slowReader) Read(p []byte) (int, error) {
	time.Sleep(r.takes)
	return r.Reader.Read(p)
}

func TestGetBodyThatFails(t *testing.T) {
	errGone := errors.New("the file is gone")
	errReset := errors.New("connection reset by peer")
	for _, tc := range []struct {
		name   string
		step   step
		status int
		errs   []error
	}{
		{"after a response gives that response", step{status: 503}, 503, nil},
		{"after an error gives both", step{err: errReset}, 0, []error{errGone, errReset}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				base := play(tc.step)
				rt := must(t)(steady.New(steady.WithBase(base), steady.WithConcurrency(1)))
				body := spyOf("question")
				req := post(t, t.Context(), "")
				req.Body, req.ContentLength = body, 8
				req.GetBody = func() (io.ReadCloser, error) { return nil, errGone }
				resp, err := rt.RoundTrip(req)
				if tc.status != 0 {
					if err != nil || resp.StatusCode != tc.status {
						t.Fatalf("got %v, %v", resp, err)
					}
					if got := read(t, resp); got != http.StatusText(tc.status) {
						t.Errorf("body %q", got)
					}
				}
				for _, want := range tc.errs {
					if !errors.Is(err, want) {
						t.Errorf("error %v, want one that wraps %v", err, want)
					}
				}
				if got := base.attempts(); got != 1 {
					t.Errorf("%d attempts, want 1", got)
				}
				if body.closes() == 0 {
					t.Error("the body was not closed")
				}
				if s := rt.State()[0]; s.InFlight != 0 || s.Budget != 100 {
					t.Errorf("%d in flight and a budget of %v, want 0 and 100", s.InFlight, s.Budget)
				}
			})
		})
	}
}

// earlyServer answers 429 to the first request of each call after 4 KiB of its
// body, which it goes on reading slowly unless it is to close at once, and 200 to
// those that it gets whole. It keeps the sums of those bodies.
type earlyServer struct {
	answers int32 // early ones before a request is read whole
	close   bool
	whole   chan [sha256.Size]byte
	early   atomic.Int32
}

func (s *earlyServer) serve(conn net.Conn, _ int) {
	r := bufio.NewReaderSize(conn, 4<<10)
	req, err := http.ReadRequest(r)
	if err != nil {
		return
	}
	if s.early.Add(1) <= s.answers {
		conn.(*net.TCPConn).SetReadBuffer(4 << 10)
		if req.Header.Get("Expect") == "" {
			io.CopyN(io.Discard, req.Body, 4<<10)
		}
		io.WriteString(conn, "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 0\r\nContent-Length: 4\r\n\r\nwait")
		for !s.close {
			if _, err := io.CopyN(io.Discard, r, 4<<10); err != nil {
				return
			}
			time.Sleep(time.Millisecond)
		}
		return
	}
	if req.Header.Get("Expect") != "" {
		io.WriteString(conn, "HTTP/1.1 100 Continue\r\n\r\n")
	}
	h := sha256.New()
	if _, err := io.Copy(h, req.Body); err != nil {
		return
	}
	s.whole <- [sha256.Size]byte(h.Sum(nil))
	io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nOK")
	io.Copy(io.Discard, conn)
}

func TestRB3_AnAnswerBeforeTheBodyIsRead(t *testing.T) {
	body := bytes.Repeat([]byte("0123456789abcdef"), 1<<15)
	want := sha256.Sum256(body)
	bodies := map[string]func(*http.Request){
		"with GetBody": func(*http.Request) {},
		"with a GetBody that shares its cursor": func(req *http.Request) {
			cursor := bytes.NewReader(body)
			req.Body = io.NopCloser(cursor)
			req.GetBody = func() (io.ReadCloser, error) {
				_, err := cursor.Seek(0, io.SeekStart)
				return io.NopCloser(cursor), err
			}
		},
		"without GetBody": func(req *http.Request) { req.Body, req.GetBody = io.NopCloser(bytes.NewReader(body)), nil },
	}
	for _, server := range []struct {
		name    string
		answers int32
		close   bool
		expect  bool
	}{
		{"that is read on slowly", 1, false, false},
		{"and the end of the connection", 2, true, false},
		{"to Expect: 100-continue", 1, false, true},
	} {
		for name, dress := range bodies {
			t.Run(server.name+", "+name, func(t *testing.T) {
				t.Parallel()
				rounds := 10
				if strings.Contains(name, "shares") { // the race that the case is about
					rounds = 50
				}
				for range rounds {
					s := &earlyServer{answers: server.answers, close: server.close, whole: make(chan [sha256.Size]byte, 6)}
					addr := rawServer(t, s.serve)
					dialer := &net.Dialer{}
					tr := &http.Transport{
						ExpectContinueTimeout: time.Minute,
						DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
							c, err := dialer.DialContext(ctx, network, addr)
							if err == nil {
								c.(*net.TCPConn).SetWriteBuffer(32 << 10)
							}
							return c, err
						},
					}
					seen := &events{}
					rt := wireStack(t, tr, time.Minute, seen, steady.MaxAttempts(6), steady.EqualJitter())
					req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+addr+"/v1/messages", bytes.NewReader(body))
					if err != nil {
						t.Fatal(err)
					}
					dress(req)
					if server.expect {
						req.Header.Set("Expect", "100-continue")
					}
					spied := spyOn(req)
					resp, err := rt.RoundTrip(req)
					if err != nil || resp.StatusCode != 200 {
						t.Fatalf("got %v, %v", resp, err)
					}
					read(t, resp)
					if got := <-s.whole; got != want {
						t.Error("the server got another body")
					}
					if n := len(s.whole); n != 0 {
						t.Errorf("the server got it %d times", n+1)
					}
					retries := of[steady.RetryScheduled](seen)
					if len(retries) != int(server.answers) {
						t.Errorf("%d retries, want %d", len(retries), server.answers)
					}
					for _, r := range retries {
						if r.Status == 0 && (r.Outcome != "failed" || r.Wait <= 0) {
							t.Errorf("%+v, want a wait after what failed: it was not sent whole", r)
						}
					}
					spied.check(t)
					tr.CloseIdleConnections()
				}
			})
		}
	}
}

// net/http replays a request by itself when the server takes a connection down
// gracefully, if it has a GetBody. The control run shows what happens without.
func TestRB4_GoAwayAndABodyWithoutGetBody(t *testing.T) {
	const calls = 200
	run := func(t *testing.T, stack bool) (failures int32) {
		var served atomic.Int32
		srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			b, err := io.ReadAll(r.Body)
			if err == nil && string(b) != strings.Repeat("x", 3000) {
				t.Errorf("a body of %d bytes", len(b))
			}
			if served.Add(1)%20 == 0 {
				w.Header().Set("Connection", "close")
			}
		}))
		srv.Config.Protocols = &http.Protocols{}
		srv.Config.Protocols.SetUnencryptedHTTP2(true) // 200 TLS handshakes would take seconds
		srv.Start()
		defer srv.Close()
		tr := &http.Transport{Protocols: srv.Config.Protocols}
		defer tr.CloseIdleConnections()
		var rt http.RoundTripper = tr
		if stack {
			rt = wireStack(t, tr, time.Minute, &events{}, steady.MaxAttempts(1)) // net/http must do it alone
		}
		var wg sync.WaitGroup
		var failed atomic.Int32
		turns := make(chan struct{}, 50) // with all at once, net/http's six replays may not be enough
		for range calls {
			wg.Go(func() {
				turns <- struct{}{}
				defer func() { <-turns }()
				req := wireRequest(t, http.MethodPost, srv.URL, nil)
				req.Body, req.GetBody, req.ContentLength = io.NopCloser(strings.NewReader(strings.Repeat("x", 3000))), nil, 3000
				resp, err := rt.RoundTrip(req)
				if err != nil || resp.StatusCode != 200 {
					failed.Add(1)
					if stack {
						t.Errorf("got %v, %v", resp, err)
					}
					return
				}
				read(t, resp)
			})
		}
		wg.Wait()
		return failed.Load()
	}
	for i := range 3 {
		t.Run(fmt.Sprint("run ", i+1), func(t *testing.T) {
			t.Parallel() // net/http waits seconds before some of its replays
			t.Logf("without the stack %d of %d failed", run(t, false), calls)
			if got := run(t, true); got != 0 {
				t.Errorf("%d of %d failed", got, calls)
			}
		})
	}
}
