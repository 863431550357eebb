package steady_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/steadyhttp/steady"
)

// snapshot is what a caller can see of a request.
type snapshot struct {
	url, host string
	header    http.Header
	body      io.ReadCloser
	getBody   uintptr
	length    int64
	encoding  []string
	ctx       context.Context
}

func snapshotOf(req *http.Request) snapshot {
	return snapshot{
		req.URL.String(), req.Host, req.Header.Clone(), req.Body, reflect.ValueOf(req.GetBody).Pointer(),
		req.ContentLength, append([]string(nil), req.TransferEncoding...), req.Context(),
	}
}

func TestC1_TheCallersRequestDoesNotChange(t *testing.T) {
	tests := []struct {
		name   string
		header http.Header
	}{
		{"with headers", http.Header{"Authorization": {"Bearer x"}, "X-Twice": {"a"}, "Content-Type": {"application/json"}}},
		{"with a nil header", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				body := spyOf("question")
				body.restart = func() io.Reader { return strings.NewReader("question") }
				req := post(t, t.Context(), "")
				req.Header, req.Body, req.ContentLength = tt.header, body, 8
				req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("question")), nil }
				before := snapshotOf(req)

				base := statuses(503, 503, 200)
				rt := must(t)(steady.New(steady.WithBase(base), neverTrips(), steady.WithRateLimit(1000, 1000),
					steady.WithRetry(steady.RetryBudget(2, 0))))
				for i := range 50 {
					base.mu.Lock()
					base.steps = statuses(503, 503, 200).steps
					base.mu.Unlock()
					resp, err := rt.RoundTrip(req)
					if err != nil || resp.StatusCode != 200 {
						t.Fatalf("call %d: %v, %v", i, resp, err)
					}
					if resp.Request != req {
						t.Fatalf("call %d: the response names another request than the caller's", i)
					}
					read(t, resp)
					if got := snapshotOf(req); !reflect.DeepEqual(got, before) {
						t.Fatalf("call %d: the request is now %+v, was %+v", i, got, before)
					}
				}
				if got := base.attempts(); got != 150 {
					t.Errorf("%d attempts, want 150", got)
				}
				for i, a := range base.seen {
					if a.body != "question" {
						t.Errorf("attempt %d: body %q", i+1, a.body)
					}
					if !reflect.DeepEqual(a.header, tt.header) {
						t.Errorf("attempt %d: header %v, want %v", i+1, a.header, tt.header)
					}
				}
			})
		})
	}
}

func TestC1_AHeaderThatIsSharedIsOnlyRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		values := append(make([]string, 0, 8), "v")
		template := post(t, t.Context(), "q")
		template.Header = http.Header{"X-Spare": values}
		rt := must(t)(steady.New(steady.WithBase(roundTripFunc(func(req *http.Request) (*http.Response, error) {
			if got := req.Header["X-Spare"]; len(got) != 1 {
				t.Errorf("X-Spare: %q, want one value", got)
			}
			time.Sleep(time.Millisecond)
			return respond(req, 503, nil, nil), nil
		})), neverTrips(), steady.WithRetry(steady.MaxAttempts(3))))
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				req := template.WithContext(t.Context()) // shares the map: the race detector sees a write
				req.Body, _ = template.GetBody()
				resp, err := rt.RoundTrip(req)
				if err != nil {
					t.Error(err)
					return
				}
				read(t, resp)
			})
		}
		wg.Wait()
		if got := values[:cap(values)]; got[1] != "" {
			t.Errorf("something was appended to the caller's values: %q", got)
		}
	})
}

// A response leads to its request, and a context taken from there must not carry
// what the layers knew of the finished call into another.
func TestC1_AContextTakenFromAResponseIsAContextLikeAnyOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := statuses(503, 200, 503, 200)
		rt := must(t)(steady.New(steady.WithBase(base), steady.WithConcurrency(1)))
		resp, err := rt.RoundTrip(post(t, t.Context(), "a"))
		if err != nil {
			t.Fatal(err)
		}
		read(t, resp)
		inside := base.seen[1].req.Context() // as a base that keeps its request for later might
		heard := &events{}
		alone := steady.Chain(statuses(200), steady.Attempt(steady.WithObserver(heard)))
		if resp, err = alone.RoundTrip(post(t, context.WithoutCancel(inside), "c")); err != nil {
			t.Fatal(err)
		}
		read(t, resp)
		if got := of[steady.AttemptEnded](heard); len(got) != 1 || got[0].Attempt != 1 {
			t.Errorf("events %+v, want the end of a first attempt", got)
		}
		for _, ctx := range []context.Context{resp.Request.Context(), inside} {
			name := "outside.test"
			if ctx == inside {
				ctx, name = context.WithoutCancel(inside), "inside.test"
			}
			req := post(t, ctx, "b")
			req.URL.Host = name
			resp, err = rt.RoundTrip(req)
			if err != nil || resp.StatusCode != 200 || resp.Request != req {
				t.Fatalf("got %v, %v", resp, err)
			}
			read(t, resp)
			if s := rt.State(); !slices.ContainsFunc(s, func(s steady.KeyState) bool { return s.Key == name && s.InFlight == 0 }) {
				t.Errorf("state %+v, want one of %s with nothing in flight", s, name)
			}
		}
	})
}

// A base that asks another host for a token, with the context of the request
// and through the same stack, is in the middle of a call of its own.
func TestC1_ACallWithinACallIsJudgedByItsOwnKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var rt *steady.Transport
		var attempts []string
		base := roundTripFunc(func(req *http.Request) (*http.Response, error) {
			attempts = append(attempts, req.URL.Host)
			if req.URL.Host == "auth.test" {
				return respond(req, 503, nil, nil), nil
			}
			token := post(t, req.Context(), "refresh")
			token.URL.Host = "auth.test"
			resp, err := rt.RoundTrip(token)
			if err != nil {
				return nil, err
			}
			read(t, resp)
			return respond(req, 200, nil, nil), nil
		})
		rt = must(t)(steady.New(steady.WithBase(base), steady.WithConcurrency(1), steady.WithRetry(steady.MaxAttempts(3)),
			steady.WithBreaker(steady.TripAfter(3), steady.OpenFor(time.Hour))))
		resp, err := rt.RoundTrip(post(t, t.Context(), "q"))
		if err != nil || resp.StatusCode != 200 {
			t.Fatalf("got %v, %v", resp, err)
		}
		read(t, resp)
		if want := []string{"llm.test", "auth.test", "auth.test", "auth.test"}; !slices.Equal(attempts, want) {
			t.Errorf("attempts %v, want %v", attempts, want)
		}
		s := rt.State()
		if len(s) != 2 || s[0].Key != "auth.test" || s[0].Breaker != "open" || s[1].Key != "llm.test" || s[1].Breaker != "closed" {
			t.Errorf("state %+v, want auth.test open and llm.test closed", s)
		}
	})
}

func TestC2_TheRequestBodyIsClosedOnEveryEarlyWayOut(t *testing.T) {
	errGetBody := errors.New("no second body")
	open := []steady.Option{steady.WithBreaker(steady.TripAfter(1), steady.OpenFor(time.Hour)), steady.WithRetry(steady.MaxAttempts(1))}
	tests := []struct {
		name     string
		opts     []steady.Option
		before   int // calls that are made before, whose bodies nobody closes
		steps    []int
		change   func(*http.Request) *http.Request
		attempts int // besides those before
	}{
		{name: "the context is done", change: func(req *http.Request) *http.Request {
			ctx, cancel := context.WithCancel(req.Context())
			cancel()
			return req.WithContext(ctx)
		}},
		{name: "the limiter refuses", before: 1, opts: []steady.Option{steady.WithRateLimit(0.001, 1)}},
		{name: "the queue is full", before: 1, opts: []steady.Option{steady.WithConcurrency(1), steady.MaxWait(0)}},
		{name: "the breaker is open", before: 1, steps: []int{503}, opts: open},
		{name: "the breaker is open and nobody waits", before: 1, steps: []int{503}, opts: append(open[:2:2], steady.Patience(0))},
		{
			name: "the budget is empty", steps: []int{503}, before: 1, attempts: 1,
			opts: []steady.Option{neverTrips(), steady.WithRetry(steady.RetryBudget(0, 0), steady.MaxAttempts(20), steady.Delays(ms, ms))},
		},
		{name: "GetBody fails", steps: []int{503}, attempts: 1, change: func(req *http.Request) *http.Request {
			req.GetBody = func() (io.ReadCloser, error) { return nil, errGetBody }
			return req
		}},
		{name: "an option of the request is invalid", change: func(req *http.Request) *http.Request {
			return req.WithContext(steady.ContextWithRetry(req.Context(), steady.MaxAttempts(0)))
		}},
		{name: "a cost is invalid", change: func(req *http.Request) *http.Request {
			return req.WithContext(steady.ContextWithCost(req.Context(), -1))
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				base := statuses(append(tt.steps, 200)[0])
				rt := must(t)(steady.New(append([]steady.Option{steady.WithBase(base)}, tt.opts...)...))
				for range tt.before {
					resp, err := rt.RoundTrip(post(t, t.Context(), "q"))
					if err != nil {
						t.Fatal(err)
					}
					defer resp.Body.Close()
				}
				already := base.attempts()
				body := spyOf("question")
				req := post(t, t.Context(), "question")
				req.Body = body
				if tt.change != nil {
					req = tt.change(req)
				}
				resp, err := rt.RoundTrip(req)
				if (err == nil) != (tt.attempts > 0) {
					t.Errorf("got %v, %v", resp, err)
				}
				if resp != nil {
					if resp.StatusCode != 503 {
						t.Errorf("status %d", resp.StatusCode)
					}
					read(t, resp)
				}
				body.check(t, "the request body")
				if got := base.attempts() - already; got != tt.attempts {
					t.Errorf("%d attempts, want %d", got, tt.attempts)
				}
			})
		})
	}
}

func TestC2_ABreakerAloneClosesTheBodyThatItRefuses(t *testing.T) {
	base := statuses(503)
	rt := steady.Chain(base, steady.Breaker(steady.TripAfter(1)))
	resp, err := rt.RoundTrip(post(t, t.Context(), "q"))
	if err != nil {
		t.Fatal(err)
	}
	read(t, resp)
	body := spyOf("question")
	req := post(t, t.Context(), "question")
	req.Body = body
	if _, err := rt.RoundTrip(req); !errors.Is(err, steady.ErrBreakerOpen) {
		t.Errorf("error %v, want ErrBreakerOpen", err)
	}
	body.check(t, "the request body")
	if got := base.attempts(); got != 1 {
		t.Errorf("%d attempts, want 1", got)
	}
}

func TestC2_AURLWithoutASchemeClosesTheBodyAndIsNobodysFault(t *testing.T) {
	base := &http.Transport{}
	rt := must(t)(steady.New(steady.WithBase(base), steady.WithBreaker(steady.TripAfter(1))))
	body := spyOf("question")
	req := post(t, t.Context(), "question")
	req.Body, req.URL.Scheme = body, ""
	if resp, err := rt.RoundTrip(req); err == nil || resp != nil {
		t.Errorf("got %v, %v", resp, err)
	} else if _, ok := errors.AsType[*steady.RetryError](err); ok {
		t.Errorf("error %v, want the attempt's own", err)
	}
	body.check(t, "the request body")
	if s := rt.State(); s[0].Breaker != "closed" {
		t.Errorf("the breaker is %s", s[0].Breaker)
	}
}

// What is wrong with a request says nothing about the provider.
func TestC2_ACallThatNeverLeftDoesNotCountAgainstTheProvider(t *testing.T) {
	errReader := errors.New("disk on fire")
	tests := []struct {
		name string
		req  func(*http.Request) *http.Request
	}{
		{"a cancelled context", func(req *http.Request) *http.Request {
			ctx, cancel := context.WithCancel(req.Context())
			cancel()
			return req.WithContext(ctx)
		}},
		{"a deadline that has passed", func(req *http.Request) *http.Request {
			ctx, cancel := context.WithDeadline(req.Context(), time.Now())
			cancel()
			return req.WithContext(ctx)
		}},
		{"an invalid option", func(req *http.Request) *http.Request {
			return req.WithContext(steady.ContextWithRetry(req.Context(), steady.MaxAttempts(0)))
		}},
		{"an invalid cost", func(req *http.Request) *http.Request {
			return req.WithContext(steady.ContextWithCost(req.Context(), -1))
		}},
		{"a body that cannot be read", func(req *http.Request) *http.Request {
			req.Body = io.NopCloser(io.MultiReader(strings.NewReader("que"), iotest.ErrReader(errReader)))
			return req
		}},
		{"no header map", func(req *http.Request) *http.Request {
			req.Header = nil
			return req
		}},
	}
	orders := []struct {
		name   string
		layers []steady.Middleware
	}{
		{"in New's order", []steady.Middleware{steady.RateLimit(100, 100), steady.Breaker(steady.TripAfter(1)), steady.Retry(), steady.Attempt()}},
		{"breaker outside", []steady.Middleware{steady.Breaker(steady.TripAfter(1)), steady.RateLimit(100, 100), steady.Retry()}},
		{"breaker inside", []steady.Middleware{steady.Retry(), steady.RateLimit(100, 100), steady.Breaker(steady.TripAfter(1)), steady.Attempt()}},
		{"breaker without limit", []steady.Middleware{steady.Breaker(steady.TripAfter(1)), steady.Retry()}},
	}
	for _, tt := range tests {
		for _, order := range orders {
			if tt.name == "an invalid cost" && order.name == "breaker without limit" {
				continue // nobody asks for the cost
			}
			t.Run(tt.name+"/"+order.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					pipe := newPipeNet(t, func(w http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body) })
					rt := steady.Chain(pipe.transport, order.layers...)
					resp, err := rt.RoundTrip(tt.req(post(t, t.Context(), "question")))
					if err == nil || resp != nil {
						t.Fatalf("got %v, %v", resp, err)
					}
					if errors.Is(err, steady.ErrBreakerOpen) {
						t.Errorf("error %v", err)
					}
					resp, err = rt.RoundTrip(post(t, t.Context(), "question"))
					if err != nil {
						t.Fatalf("the next call: %v", err)
					}
					read(t, resp)
				})
			})
		}
	}
}

func TestC2_ACancelledCallCostsNoToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		base := statuses(200)
		rt := must(t)(steady.New(steady.WithBase(base), steady.WithRateLimit(1.0/60, 1)))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := rt.RoundTrip(post(t, ctx, "q")); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		resp, err := rt.RoundTrip(post(t, t.Context(), "q"))
		if err != nil {
			t.Fatal(err)
		}
		read(t, resp)
		if got := base.times(start); !reflect.DeepEqual(got, []time.Duration{0}) {
			t.Errorf("attempts at %v, want one at once", got)
		}
	})
}

func TestC3_WhenRetriesAreUsedUpTheCallerGetsTheLastResponseWhole(t *testing.T) {
	long := strings.Repeat("0123456789abcdef", 1<<16) // longer than what is kept of a response that is given up
	tests := []struct {
		name string
		last string
	}{
		{"a JSON error", `{"error":{"message":"overloaded","type":"server_error"}}`},
		{"a megabyte", long},
		{"nothing", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var logged bytes.Buffer
				defer log.SetOutput(log.Writer())
				log.SetOutput(&logged)
				bodies := []*spy{spyOf("first"), spyOf(long), spyOf(tt.last)}
				var steps []step
				for i, b := range bodies {
					id := "r" + string(rune('1'+i))
					steps = append(steps, step{status: 503, header: http.Header{"Request-Id": {id}, "Content-Type": {"application/json"}}, body: b})
				}
				base := play(steps...)
				client := &http.Client{Transport: must(t)(steady.New(steady.WithBase(base), steady.WithRetry(steady.MaxAttempts(3))))}
				resp, err := client.Do(post(t, t.Context(), "q"))
				if err != nil {
					t.Fatal(err)
				}
				if got := resp.Header.Get("Request-Id"); resp.StatusCode != 503 || got != "r3" {
					t.Errorf("status %d of %s, want 503 of r3", resp.StatusCode, got)
				}
				if got := read(t, resp); got != tt.last {
					t.Errorf("body of %d bytes, want %d", len(got), len(tt.last))
				}
				for i, b := range bodies {
					b.check(t, "body "+string(rune('1'+i)))
				}
				if logged.Len() > 0 {
					t.Errorf("logged %q", &logged)
				}
				if got := base.attempts(); got != 3 {
					t.Errorf("%d attempts, want 3", got)
				}
			})
		})
	}
}

// A failed response whose body does not come must not hold up the retry for
// more than a moment.
func TestC3_ABodyThatHangsIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		r, w := io.Pipe()
		base := play(step{status: 503, body: r, header: after("1")}, step{status: 200})
		rt := must(t)(steady.New(steady.WithBase(base)))
		resp, err := rt.RoundTrip(post(t, t.Context(), "q"))
		if err != nil || resp.StatusCode != 200 {
			t.Fatalf("got %v, %v", resp, err)
		}
		read(t, resp)
		if _, err := w.Write([]byte("late")); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("the hanging body is still open: %v", err)
		}
		if at := base.times(start)[1]; at < time.Second || at > 1250*time.Millisecond { // Retry-After and its jitter, from the answer on
			t.Errorf("the retry went at %v", at)
		}
	})
}

// When a layer keeps the next attempt from going, the provider's last word is
// worth more than the layer's.
func TestC3_ARefusedResendYieldsTheLastResponseWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		body := spyOf(`{"error":"first"}`)
		base := play(step{status: 503, body: body, header: http.Header{"Request-Id": {"r1"}}}, step{status: 200})
		rt := must(t)(steady.New(steady.WithBase(base), steady.WithBreaker(steady.TripAfter(1), steady.OpenFor(time.Hour))))
		resp, err := rt.RoundTrip(post(t, t.Context(), "q"))
		if err != nil {
			t.Fatal(err)
		}
		if got := read(t, resp); resp.StatusCode != 503 || resp.Header.Get("Request-Id") != "r1" || got != `{"error":"first"}` {
			t.Errorf("got %d %v %q", resp.StatusCode, resp.Header, got)
		}
		body.check(t, "the body")
		if s := stateOf(rt, "llm.test"); s.InFlight != 0 {
			t.Errorf("%d in flight at the end", s.InFlight)
		}
		if got := base.attempts(); got != 1 {
			t.Errorf("%d attempts, want 1", got)
		}
	})
}

// pipeNet is a network of pipes in memory, for a real http.Transport and a real
// http.Server in a bubble.
type pipeNet struct {
	transport *http.Transport
	conns     chan net.Conn
	closed    chan struct{}
	mu        sync.Mutex
	dials     map[string]int
}

func (p *pipeNet) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}
func (p *pipeNet) Close() error   { return nil }
func (p *pipeNet) Addr() net.Addr { return &net.TCPAddr{} }

func (p *pipeNet) dialed(addr string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dials[addr]
}

// newPipeNet has h answer every host.
func newPipeNet(t *testing.T, h http.HandlerFunc) *pipeNet {
	p := newPipeDialer(t)
	server := &http.Server{Handler: h}
	go server.Serve(p)
	t.Cleanup(func() {
		p.transport.CloseIdleConnections()
		close(p.closed)
		server.Close()
		synctest.Wait()
	})
	return p
}

// newPipeDialer leaves it to the test to take what is dialed from conns.
func newPipeDialer(*testing.T) *pipeNet {
	p := &pipeNet{conns: make(chan net.Conn), closed: make(chan struct{}), dials: map[string]int{}}
	dial := func(ctx context.Context, _, addr string) (net.Conn, error) {
		p.mu.Lock()
		p.dials[addr]++
		p.mu.Unlock()
		client, server := net.Pipe()
		select {
		case p.conns <- server:
			return client, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	p.transport = &http.Transport{DialContext: dial, DialTLSContext: dial}
	return p
}

func TestC5_101PassesThroughWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pipe := newPipeDialer(t)
		go func() { // answers 101 and echoes
			conn := <-pipe.conns
			defer conn.Close()
			r := bufio.NewReader(conn)
			if _, err := http.ReadRequest(r); err != nil {
				t.Error(err)
				return
			}
			io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
			io.Copy(conn, r)
		}()
		heard := &events{}
		rt := must(t)(steady.New(steady.WithBase(pipe.transport), steady.WithObserver(heard), steady.WithConcurrency(1),
			steady.WithTimeouts(steady.HeaderTimeout(200*time.Millisecond))))
		req := post(t, t.Context(), "")
		req.Method, req.Body, req.GetBody = http.MethodGet, nil, nil
		req.Header = http.Header{"Connection": {"Upgrade"}, "Upgrade": {"echo"}}
		resp, err := (&http.Client{Transport: rt}).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		conn, ok := resp.Body.(io.ReadWriteCloser)
		if !ok || resp.StatusCode != 101 {
			t.Fatalf("status %d with a body of type %T", resp.StatusCode, resp.Body)
		}
		time.Sleep(time.Second) // all timeouts have passed
		for _, say := range []string{"hello", "again"} {
			if _, err := io.WriteString(conn, say); err != nil {
				t.Fatal(err)
			}
			got := make([]byte, len(say))
			if _, err := io.ReadFull(conn, got); err != nil || string(got) != say {
				t.Fatalf("echo %q, %v", got, err)
			}
		}
		if s := rt.State(); s[0].InFlight != 1 || len(of[steady.AttemptEnded](heard)) != 0 {
			t.Errorf("before Close: %d in flight, events %v", s[0].InFlight, heard.all)
		}
		conn.Close()
		ended := of[steady.AttemptEnded](heard)
		if s := rt.State(); s[0].InFlight != 0 || len(ended) != 1 || s[0].Breaker != "closed" {
			t.Fatalf("after Close: state %+v, events %v", s[0], heard.all)
		}
		if e := ended[0]; e.Status != 101 || e.Took != time.Second || e.Err != nil || len(of[steady.RetryScheduled](heard)) != 0 {
			t.Errorf("attempt %+v, want one of 101 that took 1s", e)
		}
	})
}

func TestC5_103ChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pipe := newPipeNet(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Link", "</style.css>")
			w.WriteHeader(http.StatusEarlyHints)
			time.Sleep(100 * time.Millisecond)
			io.WriteString(w, "ans")
			w.(http.Flusher).Flush()
			time.Sleep(time.Second) // a body may take longer than headers
			io.WriteString(w, "wer")
		})
		heard := &events{}
		rt := must(t)(steady.New(steady.WithBase(pipe.transport), steady.WithObserver(heard),
			steady.WithTimeouts(steady.HeaderTimeout(200*time.Millisecond))))
		var hints atomic.Int32
		ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
			Got1xxResponse: func(code int, _ textproto.MIMEHeader) error { hints.Add(int32(code)); return nil },
		})
		resp, err := rt.RoundTrip(post(t, ctx, "q"))
		if err != nil {
			t.Fatal(err)
		}
		if got := read(t, resp); resp.StatusCode != 200 || got != "answer" || hints.Load() != 103 {
			t.Errorf("status %d, body %q, hints %d", resp.StatusCode, got, hints.Load())
		}
		if got := of[steady.AttemptEnded](heard); len(got) != 1 || got[0].Attempt != 1 || got[0].Outcome != "ok" || got[0].Headers != 100*time.Millisecond || got[0].Took != 1100*time.Millisecond {
			t.Errorf("attempts %+v, want one of 1.1s with its headers after 100ms", got)
		}
	})
}

// idleCounter counts what asks for idle connections to be closed.
type idleCounter struct {
	http.RoundTripper
	asked atomic.Int32
}

func (c *idleCounter) CloseIdleConnections() {
	c.asked.Add(1)
	if rt, ok := c.RoundTripper.(interface{ CloseIdleConnections() }); ok {
		rt.CloseIdleConnections()
	}
}

func TestC7_CloseIdleConnectionsReachesTheBaseOnce(t *testing.T) {
	layers := map[string][]steady.Middleware{
		"no layer":      nil,
		"RateLimit":     {steady.RateLimit(1, 1)},
		"Breaker":       {steady.Breaker()},
		"Retry":         {steady.Retry()},
		"Attempt":       {steady.Attempt()},
		"SDK":           {steady.SDK()},
		"all of them":   {steady.SDK(), steady.RateLimit(1, 1), steady.Breaker(), steady.Retry(), steady.Attempt()},
		"two of a kind": {steady.Retry(), steady.Retry()},
	}
	stacks := map[string]func(http.RoundTripper) http.RoundTripper{
		"New": func(base http.RoundTripper) http.RoundTripper { return must(t)(steady.New(steady.WithBase(base))) },
	}
	for name, l := range layers {
		stacks[name] = func(base http.RoundTripper) http.RoundTripper { return steady.Chain(base, l...) }
	}
	for name, stack := range stacks {
		t.Run(name, func(t *testing.T) {
			base := &idleCounter{RoundTripper: statuses(200)}
			(&http.Client{Transport: stack(base)}).CloseIdleConnections()
			if got := base.asked.Load(); got != 1 {
				t.Errorf("the base was asked %d times, want 1", got)
			}
			// A base that cannot is left alone.
			(&http.Client{Transport: stack(roundTripFunc(nil))}).CloseIdleConnections()
		})
	}
}

func TestC7_RetriesLeaveTheConnectionsOfOthersAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pipe := newPipeNet(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Host == "a.test" {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
			io.WriteString(w, "answer")
		})
		base := &idleCounter{RoundTripper: pipe.transport}
		rt := must(t)(steady.New(steady.WithBase(base), neverTrips(), steady.WithRetry(steady.MaxAttempts(3), steady.RetryBudget(10, 0))))
		call := func(host string) {
			req := post(t, t.Context(), "q")
			req.URL.Scheme, req.URL.Host, req.Host = "http", host, host
			resp, err := rt.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			read(t, resp)
		}
		call("b.test")
		for range 100 {
			call("a.test")
		}
		call("b.test")
		if got := base.asked.Load(); got != 0 {
			t.Errorf("the base was asked to close its idle connections %d times", got)
		}
		for _, host := range []string{"a.test:80", "b.test:80"} {
			if got := pipe.dialed(host); got != 1 {
				t.Errorf("%d connections to %s, want 1", got, host)
			}
		}
	})
}
