package steady_test

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/steadyhttp/steady"
	"github.com/steadyhttp/steady/internal/fakeserver"
)

var (
	soakCalls = flag.Int("soak.calls", 2000, "calls of each soak; 20000 is the full one")
	soakSeed  = flag.Uint64("soak.seed", 0, "seed of the soak; 0 draws one")
)

// soakFaults is everything that can go wrong, with probabilities that leave most
// requests alone.
func soakFaults() []fakeserver.Option {
	var all []fakeserver.Option
	add := func(share float64, e fakeserver.Effect) {
		all = append(all, fakeserver.When(fakeserver.Share(share), e))
	}
	for _, status := range []int{400, 401, 403, 404, 408, 409, 413, 422, 425, 429, 500, 501, 502, 503, 504, 520, 524, 529} {
		add(0.006, fakeserver.Status(status))
	}
	add(0.01, fakeserver.Status(429, fakeserver.RetryAfter("0")))
	add(0.005, fakeserver.Status(503, fakeserver.Body("application/json", `{"error":{"message":"`+strings.Repeat("x", 9000)+`"}}`)))
	add(0.005, fakeserver.Status(503, fakeserver.Stall(fakeserver.AfterBytes(20))))
	add(0.005, fakeserver.Status(429, fakeserver.EarlyThenRead(512, time.Millisecond)))
	add(0.005, fakeserver.Status(429, fakeserver.EarlyThenClose()))
	add(0.005, fakeserver.ResetBeforeBody())
	add(0.005, fakeserver.ResetAfterBody())
	add(0.005, fakeserver.CloseAfterBody())
	add(0.003, fakeserver.Hang())
	add(0.005, fakeserver.Stall(fakeserver.AfterEvents(2)))
	add(0.005, fakeserver.Cut(fakeserver.AfterEvents(2), fakeserver.Reset))
	add(0.005, fakeserver.Cut(fakeserver.AfterEvents(2), fakeserver.FIN))
	add(0.005, fakeserver.Cut(fakeserver.BeforeFinish(), fakeserver.Clean))
	add(0.005, fakeserver.StreamError(0, "overloaded_error", "overloaded"))
	add(0.005, fakeserver.StreamError(2, "server_error", "server_error"))
	add(0.01, fakeserver.KeepAlive(time.Millisecond, ""))
	add(0.02, fakeserver.ConnectionClose())
	return append(all,
		fakeserver.Latency(fakeserver.LogNormal(500*time.Microsecond, 1)),
		fakeserver.Generation(fakeserver.LogNormal(time.Millisecond, 1)))
}

// books is what the soak's callers and observer have counted.
type books struct {
	calls, attempts, written, opened, closed atomic.Int64
}

func (b *books) Observe(_ context.Context, e steady.Event) {
	if e, ok := e.(steady.AttemptEnded); ok {
		b.attempts.Add(1)
		b.written.Add(int64(e.Written))
	}
}

// soakBody is a request body that tells when it is closed.
type soakBody struct {
	io.Reader
	once   sync.Once
	closed *atomic.Int64
}

func (b *soakBody) Close() error { b.once.Do(func() { b.closed.Add(1) }); return nil }

// WS2: one fresh stack, many goroutines, all faults, random cancels, and at the
// end the books of both sides agree.
func TestWS2_Soak(t *testing.T) {
	seed := *soakSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("-soak.seed %d -soak.calls %d", seed, *soakCalls)
	for _, proto := range []string{"HTTP/1.1", "HTTP/2"} {
		t.Run(proto, func(t *testing.T) { soak(t, seed, proto == "HTTP/2") })
	}
}

func soak(t *testing.T, seed uint64, h2 bool) {
	srv := fakeserver.New(append(soakFaults(), fakeserver.Seed(seed))...)
	start := srv.Start
	if h2 {
		start = srv.StartTLS
	}
	ts := start()
	base := ts.Client().Transport.(*http.Transport).Clone()
	base.MaxIdleConnsPerHost = 200
	var b books
	var sent atomic.Int64 // attempts that reached the base
	rt := must(t)(steady.New(
		steady.WithBase(roundTripFunc(func(req *http.Request) (*http.Response, error) { sent.Add(1); return base.RoundTrip(req) })),
		steady.WithRateLimit(1e6, 1e6), steady.WithConcurrency(150), steady.Patience(10*time.Second),
		steady.WithBreaker(steady.OpenFor(5*time.Millisecond), steady.TripRatio(0.9, time.Second, 50)),
		steady.WithRetry(steady.Delays(time.Millisecond, 8*time.Millisecond), steady.RetryBudget(0.5, 1000)),
		steady.WithTimeouts(steady.HeaderTimeout(150*time.Millisecond), steady.FirstContent(150*time.Millisecond),
			steady.Idle(150*time.Millisecond), steady.FirstEvent(50*time.Millisecond)),
		steady.WithObserver(&b),
	))
	root := countChildren(t.Context())
	stop, polled := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(polled)
		for {
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
				rt.State()
			}
		}
	}()
	soakCallers(root, rt, ts.URL, seed, &b)
	close(stop)
	<-polled
	rt.CloseIdleConnections()
	base.CloseIdleConnections()
	srv.Close()
	soakBooks(t, rt, srv.Counts(), root, &b, &sent)
}

// soakBooks compares what all sides have counted.
func soakBooks(t *testing.T, rt *steady.Transport, c fakeserver.Counts, root *countedContext, b *books, sent *atomic.Int64) {
	settled(t, "child contexts", root.children)
	settled(t, "request bodies not closed", func() int { return int(b.opened.Load() - b.closed.Load()) })
	settled(t, "attempts that have not ended", func() int { return int(sent.Load() - b.attempts.Load()) })
	settled(t, "attempts in flight and calls waiting", func() (n int) {
		for _, s := range rt.State() {
			n += s.InFlight + s.Waiting
		}
		return n
	})
	t.Logf("calls %d, attempts %d, written %d, received %d, read whole %d, connections %d",
		b.calls.Load(), b.attempts.Load(), b.written.Load(), c.Requests, c.BodiesRead, c.Connections)
	if got := b.calls.Load(); got != int64(*soakCalls) {
		t.Errorf("%d calls ended, want %d", got, *soakCalls)
	}
	if most := 6 * int64(*soakCalls); b.attempts.Load() > most {
		t.Errorf("%d attempts, want at most %d", b.attempts.Load(), most)
	}
	// What the server has read whole was written whole, and what it has received
	// was sent. In between lie the requests that broke on their way.
	if b.written.Load() < int64(c.BodiesRead) {
		t.Errorf("the server read %d requests whole, and %d were written", c.BodiesRead, b.written.Load())
	}
}

// soakCallers makes the calls, 200 at a time, and leaves some of them at random.
func soakCallers(root context.Context, rt http.RoundTripper, url string, seed uint64, b *books) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for w := range 200 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(w)))
			for next.Add(1) <= int64(*soakCalls) {
				soakCall(root, rt, url, r, b)
				b.calls.Add(1)
			}
		})
	}
	wg.Wait()
}

func soakCall(root context.Context, rt http.RoundTripper, url string, r *rand.Rand, b *books) {
	ctx, cancel := context.WithCancel(root)
	defer cancel()
	if r.IntN(10) == 0 {
		timer := time.AfterFunc(time.Duration(r.IntN(20_000))*time.Microsecond, cancel)
		defer timer.Stop()
	}
	resp, err := rt.RoundTrip(soakRequest(ctx, url, r, b))
	if err != nil {
		return
	}
	switch r.IntN(4) {
	case 0:
		io.CopyN(io.Discard, resp.Body, int64(r.IntN(200))) //nolint:errcheck // as far as it goes
	case 1:
	default:
		io.Copy(io.Discard, resp.Body) //nolint:errcheck // what it ends in is another test's
	}
	resp.Body.Close()
}

func soakRequest(ctx context.Context, url string, r *rand.Rand, b *books) *http.Request {
	body := fmt.Sprintf(`{"model":"m","stream":%v,"messages":[{"role":"user","content":"%s"}]}`, r.IntN(2) == 0, strings.Repeat("q", r.IntN(3000)))
	open := func() io.ReadCloser {
		b.opened.Add(1)
		return &soakBody{Reader: strings.NewReader(body), closed: &b.closed}
	}
	path := []string{"/v1/chat/completions", "/v1/messages", "/v1/batches"}[r.IntN(3)]
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+path, open())
	if err != nil {
		panic(err)
	}
	kind := r.IntN(3) // 0: of unknown length, and no GetBody
	if kind > 0 {
		req.ContentLength = int64(len(body))
	}
	if kind > 1 {
		req.GetBody = func() (io.ReadCloser, error) { return open(), nil }
	}
	return req
}
