package sim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"sync"
	"time"
)

// SecBin is what happened on the wire in one second.
type SecBin struct {
	Attempts, Accepted, Throttled, Failed, OK int
}

// Server is an in-process LLM provider; it implements http.RoundTripper.
type Server struct {
	cfg   ServerConfig
	start time.Time

	mu       sync.Mutex
	tokens   float64
	refilled time.Duration
	winIdx   int64
	winUsed  int
	inflight int // generations running
	wireNow  int // attempts on the wire as the client sees it
	onFree   func()

	// counters
	Attempts, Accepted, Throttled, Failed int
	MaxWire                               int
	BilledTokens, WastedTokens            float64
	Bins                                  []SecBin
}

func NewServer(cfg ServerConfig) *Server {
	return &Server{cfg: cfg, start: time.Now(), tokens: cfg.Burst}
}

func (s *Server) now() time.Duration { return time.Since(s.start) }

func (s *Server) bin(t time.Duration) *SecBin {
	i := int(t / time.Second)
	for len(s.Bins) <= i {
		s.Bins = append(s.Bins, SecBin{})
	}
	return &s.Bins[i]
}

// exchange is one attempt on the wire.
type exchange struct {
	s    *Server
	req  *http.Request
	ctx  context.Context
	ci   *callInfo
	n    int // of the call's attempts
	left bool
}

// enter puts an attempt on the wire.
func (s *Server) enter(req *http.Request) *exchange {
	ctx := req.Context()
	s.mu.Lock()
	defer s.mu.Unlock()
	x := &exchange{s: s, req: req, ctx: ctx, ci: callFrom(ctx)}
	x.ci.attempts++
	x.n = x.ci.attempts
	s.Attempts++
	s.bin(s.now()).Attempts++
	s.wireNow++
	s.MaxWire = max(s.MaxWire, s.wireNow)
	return x
}

// leave takes the attempt off the wire, once.
func (x *exchange) leave() {
	x.s.mu.Lock()
	defer x.s.mu.Unlock()
	if !x.left {
		x.left = true
		x.s.wireNow--
	}
}

// RoundTrip implements http.RoundTripper.
func (s *Server) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		defer req.Body.Close()
	}
	if err := req.Context().Err(); err != nil { // like http.Transport: nothing goes out
		return nil, err
	}
	x, half := s.enter(req), s.cfg.NetRTT/2
	if err := sleepCtx(x.ctx, half); err != nil {
		x.leave()
		return nil, err
	}
	s.mu.Lock()
	t := s.now()
	h := http.Header{}
	status := s.decide(x, t, h)
	s.count(t, status)
	if status != http.StatusOK {
		s.mu.Unlock()
		return x.refuse(status, h)
	}
	b, first := s.generate(x, t)
	s.mu.Unlock()
	if err := sleepCtx(x.ctx, first+half); err != nil {
		b.leave()
		return nil, err
	}
	h.Set("Content-Type", "application/json")
	return response(req, status, h, b), nil
}

// decide returns the status for an attempt that arrives at t, and puts into h when
// to come back. s.mu is held.
func (s *Server) decide(x *exchange, t time.Duration, h http.Header) (status int) {
	reserved := x.ci.reserved
	x.ci.reserved = false
	status = s.fault(x, t, h)
	switch {
	case status != http.StatusOK && reserved: // the oracle's luck ran out
		s.inflight--
		s.tokens++
		s.winUsed--
	case status == http.StatusOK && !reserved:
		ok, wait, st := s.capacity(t)
		if ok {
			s.take()
			break
		}
		status = st
		if s.cfg.RejectCost > 0 && s.cfg.RPS > 0 {
			s.tokens = math.Max(-s.cfg.Debt, s.tokens-s.cfg.RejectCost)
		}
		s.retryAfter(h, s.cfg.RetryAfter, t, wait)
	}
	return status
}

// fault returns the status that a fault gives an attempt at t, 200 if none does.
func (s *Server) fault(x *exchange, t time.Duration, h http.Header) (status int) {
	for i, f := range s.cfg.Faults {
		if t < f.From || t >= f.To || f.P < 1 && u01(s.cfg.Seed, 100+uint64(i), x.ci.id, uint64(x.n)) >= f.P {
			continue
		}
		s.retryAfter(h, f.RA, t, f.To-t)
		if f.P < 1 {
			h.Del("Retry-After")
			if f.RA != RANone {
				h.Set("Retry-After", "1")
			}
		}
		return f.Status
	}
	return http.StatusOK
}

// count counts an answer at t. s.mu is held.
func (s *Server) count(t time.Duration, status int) {
	bin := s.bin(t)
	switch status {
	case http.StatusOK:
		s.Accepted++
		bin.Accepted++
	case http.StatusTooManyRequests:
		s.Throttled++
		bin.Throttled++
	default:
		s.Failed++
		bin.Failed++
	}
}

var errReset = errors.New("read tcp: connection reset by peer")

// refuse answers an attempt that is not accepted.
func (x *exchange) refuse(status int, h http.Header) (*http.Response, error) {
	defer x.leave()
	if status == Hang {
		<-x.ctx.Done()
		return nil, x.ctx.Err()
	}
	if err := sleepCtx(x.ctx, x.s.cfg.NetRTT/2+x.s.cfg.RejectProc); err != nil {
		return nil, err
	}
	if status == 0 {
		return nil, errReset
	}
	kind := "overloaded_error"
	if status == http.StatusTooManyRequests {
		kind = "rate_limit_error"
	}
	body := fmt.Sprintf(`{"type":"error","error":{"type":%q,"message":"status %d"}}`, kind, status)
	return response(x.req, status, h, io.NopCloser(strings.NewReader(body))), nil
}

// generate begins to work on the answer to an attempt that was accepted at t. The
// generation runs to its end and is charged for, whoever still listens. s.mu is held.
func (s *Server) generate(x *exchange, t time.Duration) (b *genBody, first time.Duration) {
	first, rest, tokens := s.ServiceTime(x.ci, x.n)
	if s.cfg.Knee > 0 && s.inflight > s.cfg.Knee {
		k := math.Pow(float64(s.inflight)/float64(s.cfg.Knee), s.cfg.Thrash)
		first = time.Duration(float64(first) * k)
		rest = time.Duration(float64(rest) * k)
	}
	b = &genBody{x: x, ready: s.start.Add(t + first + rest + s.cfg.NetRTT/2), tokens: tokens}
	time.AfterFunc(first+rest, func() {
		s.mu.Lock()
		s.inflight--
		if b.gone {
			s.WastedTokens += tokens
		}
		s.BilledTokens += tokens
		b.finished = true
		f := s.onFree
		s.mu.Unlock()
		if f != nil {
			f()
		}
	})
	return b, first
}
