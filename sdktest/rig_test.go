package sdktest

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/steadyhttp/steady"
	"github.com/steadyhttp/steady/internal/fakeserver"
)

// A rig is an HTTP client over the stack over real sockets to a fake server.
type rig struct {
	srv    *fakeserver.Server
	url    string
	client *http.Client // for the SDK
	base   http.RoundTripper

	roundTrips atomic.Int64 // on the stack
	dials      atomic.Int64
	refuse     atomic.Bool // has every dial refused
	answered   atomic.Pointer[[]byte]
}

// newRig makes a rig whose stack has opts on top of three attempts a call with
// next to no time between them.
func newRig(t *testing.T, opts ...steady.Option) *rig {
	t.Helper()
	r := &rig{srv: fakeserver.New()}
	r.url = r.srv.Start().URL
	nobody := closedPort(t)
	base := &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		r.dials.Add(1)
		if r.refuse.Load() {
			addr = nobody
		}
		return (&net.Dialer{}).DialContext(ctx, network, addr)
	}}
	r.stack(t, base, opts)
	t.Cleanup(func() {
		base.CloseIdleConnections()
		r.srv.Close()
	})
	return r
}

func (r *rig) stack(t *testing.T, base http.RoundTripper, opts []steady.Option) {
	t.Helper()
	r.base = base
	stack, err := steady.New(append([]steady.Option{
		steady.WithBase(base),
		steady.WithRetry(steady.MaxAttempts(3), steady.Delays(time.Millisecond, 2*time.Millisecond)),
	}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	r.client = &http.Client{Transport: counted{stack, &r.roundTrips}}
}

type counted struct {
	next http.RoundTripper
	n    *atomic.Int64
}

func (c counted) RoundTrip(req *http.Request) (*http.Response, error) {
	c.n.Add(1)
	return c.next.RoundTrip(req)
}

// closedPort returns an address at which nobody listens.
func closedPort(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// play has the server do this to the requests from now on.
func (r *rig) play(effects ...fakeserver.Effect) {
	script := append([]fakeserver.Effect{geminiAnswer(r.srv)}, effects...)
	r.srv.Script(append(script, geminiOK())...)
}

// status answers with an error status in the words of the API that was asked.
func status(code int, with ...fakeserver.Effect) fakeserver.Effect {
	return fakeserver.Status(code, append([]fakeserver.Effect{geminiFault(code)}, with...)...)
}

// good answers, and remembers what it was asked.
func (r *rig) good(x *fakeserver.Exchange) {
	body := x.Body()
	r.answered.Store(&body)
}

// want returns the text that the SDK has to hand to its caller.
func (r *rig) want() string {
	if body := r.answered.Load(); body != nil {
		return r.srv.Answer(*body).Text
	}
	return "(nothing was answered)"
}

// ask asks one thing by p.
func (r *rig) ask(t *testing.T, p path, with settings) (answer, error) {
	t.Helper()
	return r.askIn(t.Context(), t, p, with)
}

func (r *rig) askIn(ctx context.Context, t *testing.T, p path, with settings) (answer, error) {
	t.Helper()
	call, stream := p.open(t, connection{r.url, r.client, with})
	if p.stream {
		return stream(ctx, "ahoy")
	}
	return call(ctx, "ahoy")
}

// requests returns how many the server has had.
func (r *rig) requests() int { return r.srv.Counts().Requests }

// spend makes one plain request on the stack, so that what the test needs has
// happened before.
func (r *rig) spend(t *testing.T) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.url+"/v1/models", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := r.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	r.roundTrips.Store(0)
	r.dials.Store(0)
}

func wantCount[N int | int64](t *testing.T, what string, got, want N) {
	t.Helper()
	if got != want {
		t.Errorf("%d %s, want %d", got, what, want)
	}
}

// wantError checks that err is there, and that it is target where the SDK lets
// that be seen.
func wantError(t *testing.T, p path, err, target error) {
	t.Helper()
	switch {
	case err == nil:
		t.Errorf("no error, want %v", target)
	case errors.Is(err, target) != p.wraps:
		t.Errorf("error %v: errors.Is(%v) is %t, want %t", err, target, !p.wraps, p.wraps)
	}
}

// wantTold checks that err is the SDK's own for this status, with the body of
// the last response, the n-th, and its Retry-After where the SDK keeps it.
func wantTold(t *testing.T, p path, a answer, err error, want told) {
	t.Helper()
	got, ok := p.told(a, err)
	if !ok {
		t.Fatalf("error %v (%T), want the SDK's own for status %d", err, err, want.status)
	}
	if !p.keepsHint() {
		want.retryAfter = ""
	}
	if got.status != want.status || !contains(got.body, want.body) || got.retryAfter != want.retryAfter {
		t.Errorf("error tells %+v, want %+v", got, want)
	}
}
