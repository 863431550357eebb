package steady_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/steadyhttp/steady"
)

// defaultBase returns the base that New makes when it is given none.
func defaultBase(t *testing.T) *http.Transport {
	t.Helper()
	base, ok := steady.Chain(nil).(*http.Transport)
	if !ok {
		t.Fatalf("the default base is a %T", steady.Chain(nil))
	}
	t.Cleanup(base.CloseIdleConnections)
	return base
}

func TestTheDefaultBaseIsFitForLLMCalls(t *testing.T) {
	b := defaultBase(t)
	if !b.ForceAttemptHTTP2 {
		t.Error("no HTTP/2, which a DialContext turns off unless it is asked for")
	}
	if b.MaxIdleConnsPerHost != b.MaxIdleConns || b.MaxIdleConns < 100 {
		t.Errorf("keeps %d idle connections to a host of %d in all", b.MaxIdleConnsPerHost, b.MaxIdleConns)
	}
	if b.MaxConnsPerHost != 0 {
		t.Errorf("at most %d connections: a queue that no layer sees", b.MaxConnsPerHost)
	}
	if b.ResponseHeaderTimeout != 0 {
		t.Errorf("ResponseHeaderTimeout %v: an answer that takes long is cut", b.ResponseHeaderTimeout)
	}
	if b.TLSHandshakeTimeout != 10*time.Second || b.IdleConnTimeout != 90*time.Second || b.Proxy == nil {
		t.Errorf("TLS %v, idle %v, proxy from the environment %v", b.TLSHandshakeTimeout, b.IdleConnTimeout, b.Proxy != nil)
	}
	if b.HTTP2 == nil || b.HTTP2.SendPingTimeout != 15*time.Second || b.HTTP2.PingTimeout != 15*time.Second {
		t.Errorf("HTTP2 %+v, want a ping after 15s of silence and 15s for its answer", b.HTTP2)
	}
	if b == http.DefaultTransport || b == defaultBase(t) {
		t.Error("the base is shared")
	}
}

// tlsServer returns a server, a base that trusts it, and the count of its
// connections.
func tlsServer(t *testing.T, h http.Handler) (*httptest.Server, *http.Transport, *atomic.Int64) {
	t.Helper()
	var conns atomic.Int64
	srv := httptest.NewUnstartedServer(h)
	srv.EnableHTTP2 = true
	srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			conns.Add(1)
		}
	}
	srv.StartTLS()
	t.Cleanup(srv.Close)
	base := defaultBase(t)
	pool := x509.NewCertPool()
	pool.AddCert(srv.Certificate())
	base.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	return srv, base, &conns
}

func TestTheDefaultBaseSpeaksHTTP2OverOneConnection(t *testing.T) {
	srv, base, conns := tlsServer(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		_, _ = io.Copy(w, req.Body)
	}))
	rt := must(t)(steady.New(steady.WithBase(base)))
	for i := range 20 {
		resp, err := rt.RoundTrip(request(t, http.MethodPost, srv.URL+"/v1/messages", "q"))
		if err != nil {
			t.Fatal(err)
		}
		if got := read(t, resp); got != "q" || resp.ProtoMajor != 2 {
			t.Fatalf("call %d: %q by %s", i+1, got, resp.Proto)
		}
	}
	if got := conns.Load(); got != 1 {
		t.Errorf("%d connections, want 1", got)
	}
}

// A batch that has been through keeps its connections for the next one. With
// http.DefaultTransport all but two would have been closed.
func TestTheDefaultBaseKeepsTheConnectionsOfABatch(t *testing.T) {
	const batch = 50
	var conns atomic.Int64
	var meet sync.WaitGroup
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		meet.Done()
		meet.Wait() // so that all are under way at once
		_, _ = io.WriteString(w, "ok")
	}))
	srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			conns.Add(1)
		}
	}
	srv.Start()
	t.Cleanup(srv.Close)
	rt := must(t)(steady.New())
	t.Cleanup(rt.CloseIdleConnections)
	for range 3 {
		meet.Add(batch)
		var wg sync.WaitGroup
		for range batch {
			wg.Go(func() {
				resp, err := rt.RoundTrip(request(t, http.MethodPost, srv.URL+"/v1/messages", "q"))
				if err != nil {
					t.Error(err)
					return
				}
				read(t, resp)
			})
		}
		wg.Wait()
	}
	if got := conns.Load(); got != batch {
		t.Errorf("%d connections for three batches of %d, want %d", got, batch, batch)
	}
}

// silentListener accepts connections and never says a word.
func silentListener(t *testing.T) net.Addr {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var conns []net.Conn
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns = append(conns, c)
			mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		defer mu.Unlock()
		for _, c := range conns {
			c.Close()
		}
	})
	return l.Addr()
}

// Each timeout of an attempt by itself, on a real socket, the other two being
// much longer. What had not been sent may be sent again, what had is unknown.
func TestEachTimeoutByItself(t *testing.T) {
	const short, long = 100 * time.Millisecond, time.Minute
	for _, test := range []struct {
		name              string
		url               func(t *testing.T) string
		dial, tls, header time.Duration
		outcome           string
	}{
		{"dial", func(t *testing.T) string { return "http://" + fullListener(t) + "/v1/messages" }, short, long, long, "failed"},
		{"TLS", func(t *testing.T) string { return "https://" + silentListener(t).String() + "/v1/messages" }, long, short, long, "failed"},
		{"headers", func(t *testing.T) string { return "http://" + silentListener(t).String() + "/v1/messages" }, long, long, short, "unknown"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var heard events
			rt := must(t)(steady.New(
				steady.WithTimeouts(steady.DialTimeout(test.dial), steady.TLSTimeout(test.tls), steady.HeaderTimeout(test.header)),
				steady.WithRetry(steady.MaxAttempts(1)), steady.WithObserver(&heard),
			))
			t.Cleanup(rt.CloseIdleConnections)
			start := time.Now()
			resp, err := rt.RoundTrip(request(t, http.MethodPost, test.url(t), "q"))
			took := time.Since(start)
			if resp != nil || err == nil {
				t.Fatalf("got %v, %v", resp, err)
			}
			if timeout, ok := errors.AsType[net.Error](err); !ok || !timeout.Timeout() {
				t.Errorf("error %v is no timeout", err)
			}
			if took < short || took > long/4 {
				t.Errorf("took %v, want %v or little more", took, short)
			}
			if got := of[steady.AttemptEnded](&heard); len(got) != 1 || got[0].Outcome != test.outcome {
				t.Errorf("attempts %+v, want one whose outcome is %q", got, test.outcome)
			}
		})
	}
}

func TestAnUpgradePassesThroughWhole(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		for {
			line, err := rw.ReadString('\n')
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, "echo "+line)
		}
	}))
	t.Cleanup(srv.Close)
	rt := must(t)(steady.New(steady.WithConcurrency(1), steady.WithTimeouts(steady.HeaderTimeout(50*time.Millisecond))))
	t.Cleanup(rt.CloseIdleConnections)
	req := request(t, http.MethodGet, srv.URL, "")
	req.Body, req.GetBody, req.ContentLength = nil, nil, 0
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", "echo")
	resp, err := rt.RoundTrip(req)
	if err != nil || resp.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("got %v, %v", resp, err)
	}
	conn, ok := resp.Body.(io.ReadWriteCloser)
	if !ok {
		t.Fatalf("the body is a %T and cannot be written to", resp.Body)
	}
	time.Sleep(100 * time.Millisecond) // longer than the header timeout, which is over
	r := bufio.NewReader(conn)
	for _, line := range []string{"one\n", "two\n"} {
		if _, err := io.WriteString(conn, line); err != nil {
			t.Fatal(err)
		}
		if got, err := r.ReadString('\n'); err != nil || got != "echo "+line {
			t.Errorf("got %q, %v", got, err)
		}
	}
	if s := rt.State(); s[0].InFlight != 1 {
		t.Errorf("%d in flight while the connection is open, want 1", s[0].InFlight)
	}
	conn.Close()
	if s := rt.State(); s[0].InFlight != 0 {
		t.Errorf("%d in flight after Close, want 0", s[0].InFlight)
	}
}

func TestTrailersComeAfterTheBody(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Trailer", "X-Usage")
		_, _ = io.WriteString(w, "body")
		w.Header().Set("X-Usage", "15")
	})
	plain := httptest.NewServer(h)
	t.Cleanup(plain.Close)
	srv, base, _ := tlsServer(t, h)
	for major, url := range map[int]string{1: plain.URL, 2: srv.URL} {
		rt := must(t)(steady.New(steady.WithBase(base)))
		resp, err := rt.RoundTrip(request(t, http.MethodPost, url+"/v1/messages", "q"))
		if err != nil {
			t.Fatal(err)
		}
		if _, announced := resp.Trailer["X-Usage"]; !announced || resp.ProtoMajor != major {
			t.Errorf("%s announces %v", resp.Proto, resp.Trailer)
		}
		if got := read(t, resp); got != "body" || resp.Trailer.Get("X-Usage") != "15" {
			t.Errorf("%s: body %q, trailer %v", resp.Proto, got, resp.Trailer)
		}
	}
}

// A caller who leaves in mid-body gets his own error from Read, and the server
// learns of it.
func TestACancelInTheMiddleOfABodyReachesTheServer(t *testing.T) {
	left := make(chan struct{})
	srv, base, _ := tlsServer(t, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		_, _ = io.WriteString(w, "begin")
		_ = http.NewResponseController(w).Flush()
		<-req.Context().Done()
		close(left)
	}))
	rt := must(t)(steady.New(steady.WithBase(base), steady.WithConcurrency(1)))
	ctx, cancel := context.WithCancel(t.Context())
	resp, err := rt.RoundTrip(request(t, http.MethodPost, srv.URL+"/v1/messages", "q").WithContext(ctx))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.ReadFull(resp.Body, make([]byte, 5)); err != nil {
		t.Fatal(err)
	}
	cancel()
	<-left
	settled(t, "attempts in flight before anybody reads on", func() int { return rt.State()[0].InFlight })
	if _, err := resp.Body.Read(make([]byte, 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("Read returned %v, want context.Canceled", err)
	}
}
