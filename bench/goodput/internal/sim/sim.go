package sim

import (
	"context"
	"io"
	"math"
	"net/http"
	"net/url"
	"sync"
	"time"
)

// callInfo travels in the context of a call; the server finds it there.
type callInfo struct {
	id       uint64
	client   int
	attempts int
	reserved bool
}

type callKey struct{}

func callFrom(ctx context.Context) *callInfo {
	if ci, ok := ctx.Value(callKey{}).(*callInfo); ok {
		return ci
	}
	return &callInfo{}
}

// Call is the record of one logical call.
type Call struct {
	Start, End time.Duration
	Client     int
	Attempts   int
	OK         bool
}

// Doer sends one logical call; every contender is one.
type Doer interface {
	Do(*http.Request) (*http.Response, error)
}

// RT makes a Doer of an http.RoundTripper.
type RT struct{ http.RoundTripper }

func (r RT) Do(req *http.Request) (*http.Response, error) { return r.RoundTrip(req) }

// Env is what a contender gets to build its client from.
type Env struct {
	Server *Server
	Seed   uint64
	Shared map[string]any // for contenders whose instances share state
	N      int            // number of instances
}

// Contender makes client instances.
type Contender struct {
	Name  string
	New   func(e *Env, i int) Doer
	Fresh bool // never taken from a cache: this is what is being worked on
}

// Phase is a piece of an open-loop arrival process.
type Phase struct {
	Dur  time.Duration
	Rate float64
}

// Scenario is one experiment.
type Scenario struct {
	Name     string
	Title    string
	Server   ServerConfig
	Deadline time.Duration // of every call

	// exactly one workload
	Users   int // closed loop
	Think   time.Duration
	Batch   int // all calls at once, or Workers at a time
	Workers int
	Phases  []Phase // open loop, Poisson

	Horizon time.Duration // no new calls after this
	Clients int           // independent instances (default 1)
	Weights []float64     // share of the open-loop calls by instance (default even)

	FaultFrom, FaultTo time.Duration // for recovery metrics
	FaultDemand        bool          // the demand, not the server, is the fault
}

type world struct {
	sc      *Scenario
	srv     *Server
	doers   []Doer
	mu      sync.Mutex
	calls   []Call
	wg      sync.WaitGroup
	baseReq *http.Request
}

func (w *world) one(id uint64, client int) bool {
	ci := &callInfo{id: id, client: client}
	ctx, cancel := context.WithTimeout(context.WithValue(context.Background(), callKey{}, ci), w.sc.Deadline)
	defer cancel()
	start := w.srv.now()
	req := w.baseReq.WithContext(ctx)
	req.Header = http.Header{}
	ok := false
	resp, err := w.doers[client].Do(req)
	if err == nil {
		_, rerr := io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		ok = rerr == nil && resp.StatusCode == 200
	}
	end := w.srv.now()
	w.srv.mu.Lock()
	if ok {
		w.srv.bin(end).OK++
	}
	n := ci.attempts
	w.srv.mu.Unlock()
	w.mu.Lock()
	for uint64(len(w.calls)) <= id {
		w.calls = append(w.calls, Call{Start: -1})
	}
	w.calls[id] = Call{Start: start, End: end, Client: client, Attempts: n, OK: ok}
	w.mu.Unlock()
	return ok
}

// Run plays a scenario with a contender; it must be called inside a bubble.
func Run(sc *Scenario, c Contender, seed uint64) *Result {
	cfg := sc.Server
	cfg.Seed = seed
	n := max(1, sc.Clients)
	w := &world{sc: sc, srv: NewServer(cfg)}
	u, _ := url.Parse("http://llm.test/v1/chat/completions")
	w.baseReq = &http.Request{Method: "POST", URL: u, Host: u.Host, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}
	env := &Env{Server: w.srv, Seed: seed, Shared: map[string]any{}, N: n}
	for i := range n {
		w.doers = append(w.doers, c.New(env, i))
	}
	switch {
	case sc.Users > 0:
		w.closed(seed)
	case sc.Batch > 0:
		w.batch()
	default:
		w.open(seed)
	}
	w.wg.Wait()
	end := w.srv.now()
	for _, d := range w.doers {
		if cl, ok := d.(io.Closer); ok {
			cl.Close()
		}
	}
	w.srv.mu.Lock() // generations that nobody waits for still end
	defer w.srv.mu.Unlock()
	return measure(sc, c.Name, w, end)
}

func (w *world) closed(seed uint64) {
	for u := range w.sc.Users {
		w.wg.Go(func() {
			think := func(k int) time.Duration {
				return time.Duration(expo(seed, 10, uint64(u), uint64(k), w.sc.Think.Seconds()) * 1e9)
			}
			time.Sleep(think(0))
			for k := 1; w.srv.now() < w.sc.Horizon; k++ {
				// ids are dense enough: user-major would waste memory, so interleave
				w.one(uint64(k-1)*uint64(w.sc.Users)+uint64(u), u%len(w.doers))
				time.Sleep(think(k))
			}
		})
	}
}

func (w *world) batch() {
	if w.sc.Workers == 0 {
		for i := range w.sc.Batch {
			w.wg.Go(func() { w.one(uint64(i), i%len(w.doers)) })
		}
		return
	}
	next := 0
	var mu sync.Mutex
	for range w.sc.Workers {
		w.wg.Go(func() {
			for {
				mu.Lock()
				i := next
				next++
				mu.Unlock()
				if i >= w.sc.Batch {
					return
				}
				w.one(uint64(i), 0)
			}
		})
	}
}

func (w *world) open(seed uint64) {
	w.wg.Go(func() {
		var id uint64
		t, end := 0.0, 0.0
		for _, ph := range w.sc.Phases {
			end += ph.Dur.Seconds()
			for ph.Rate > 0 {
				t += expo(seed, 20, id, 0, 1/ph.Rate)
				if t >= end {
					break
				}
				time.Sleep(time.Duration(t*1e9) - w.srv.now())
				me, client := id, w.pick(seed, id)
				w.wg.Go(func() { w.one(me, client) })
				id++
			}
			t = end
		}
	})
}

func (w *world) pick(seed, id uint64) int {
	n := len(w.doers)
	if n == 1 {
		return 0
	}
	x := u01(seed, 30, id, 0)
	if w.sc.Weights == nil {
		return min(n-1, int(x*float64(n)))
	}
	sum := 0.0
	for _, v := range w.sc.Weights {
		sum += v
	}
	for i, v := range w.sc.Weights {
		if x -= v / sum; x < 0 {
			return i
		}
	}
	return n - 1
}

func quantile(v []float64, q float64) float64 {
	if len(v) == 0 {
		return math.NaN()
	}
	i := int(math.Ceil(q*float64(len(v)))) - 1
	return v[max(0, min(len(v)-1, i))]
}
