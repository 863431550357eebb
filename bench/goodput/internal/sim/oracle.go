package sim

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"time"
)

// oracle knows the server: it sends exactly when an attempt will pass, skips
// calls whose answer could not be ready before their deadline, and never backs
// off. All instances of a fleet share one. fifo gives the most successes,
// lifo the lowest latency under overload.
type oracle struct {
	srv   *Server
	lifo  bool
	takes time.Duration // it takes every answer to be ready in this time; 0 if it knows of each
	mu    sync.Mutex
	queue []*owait
	timer *time.Timer
}

type owait struct {
	ci       *callInfo
	deadline time.Time
	need     time.Duration
	ch       chan bool
	gone     bool
}

func newOracle(s *Server, lifo bool) *oracle {
	o := &oracle{srv: s, lifo: lifo}
	o.timer = time.AfterFunc(time.Hour, o.pump)
	o.timer.Stop()
	s.onFree = o.pump
	return o
}

func (o *oracle) pump() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.queue) > 0 {
		i := 0
		if o.lifo {
			i = len(o.queue) - 1
		}
		w := o.queue[i]
		if w.gone || time.Until(w.deadline) < w.need {
			o.drop(i)
			if !w.gone {
				w.ch <- false
			}
			continue
		}
		ok, wait := o.srv.TryReserve(w.ci)
		if !ok {
			if wait > 0 {
				o.timer.Reset(wait)
			}
			return
		}
		o.drop(i)
		w.ch <- true
	}
}

func (o *oracle) drop(i int) {
	if i == 0 {
		o.queue = o.queue[1:]
	} else {
		o.queue = o.queue[:i]
	}
}

func (o *oracle) acquire(ctx context.Context, ci *callInfo) bool {
	takes := o.takes
	if takes == 0 {
		t, g, _ := o.srv.ServiceTime(ci, ci.attempts+1)
		takes = t + g
	}
	dl, _ := ctx.Deadline()
	w := &owait{ci: ci, deadline: dl, need: takes + o.srv.cfg.NetRTT, ch: make(chan bool, 1)}
	o.mu.Lock()
	o.queue = append(o.queue, w)
	o.mu.Unlock()
	o.pump()
	select {
	case ok := <-w.ch:
		return ok
	case <-ctx.Done():
		o.mu.Lock()
		w.gone = true
		o.mu.Unlock()
		o.srv.mu.Lock()
		if ci.reserved { // granted at the last moment
			ci.reserved = false
			o.srv.inflight--
		}
		o.srv.mu.Unlock()
		return false
	}
}

func (o *oracle) Do(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	ci := callFrom(ctx)
	for {
		if !o.acquire(ctx, ci) {
			return nil, errGiveUp
		}
		resp, err := o.srv.RoundTrip(req)
		if !retryable(resp, err) || ctx.Err() != nil {
			return resp, err
		}
		drain(resp)
	}
}

// Oracle is the bound that every contender is measured against.
func Oracle(lifo bool) Contender {
	return oracleOf("oracle", lifo, func(*Server) time.Duration { return 0 })
}

// BlindOracle is the bound for who cannot know how long an answer will be before it is
// there: of this it knows no more than how long nine of ten take. One that knows serves, in
// overload on a server with few slots, the short answers only.
func BlindOracle(lifo bool) Contender {
	return oracleOf("oracle-blind", lifo, func(s *Server) time.Duration { return s.mostTake(0.9) })
}

func oracleOf(name string, lifo bool, takes func(*Server) time.Duration) Contender {
	if lifo {
		name += "-lifo"
	}
	return Contender{Name: name, New: func(e *Env, i int) Doer {
		if e.Shared[name] == nil {
			o := newOracle(e.Server, lifo)
			o.takes = takes(e.Server)
			e.Shared[name] = o
		}
		return e.Shared[name].(*oracle)
	}}
}

// mostTake is the time in which such a share of the answers is ready.
func (s *Server) mostTake(share float64) time.Duration {
	const answers, none = 2000, 1 << 40 // of calls that are not made
	took := make([]time.Duration, answers)
	for i := range took {
		ttfb, gen, _ := s.ServiceTime(&callInfo{id: uint64(none + i)}, 1)
		took[i] = ttfb + gen
	}
	slices.Sort(took)
	return took[int(share*answers)]
}
