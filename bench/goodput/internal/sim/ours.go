package sim

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"os"
	"sync"
	"time"
)

var errShed = errors.New("resilient: queue cannot be served before the deadline")

type class int

const (
	clsOK class = iota
	clsThrottle
	clsFail
	clsOther // our own cancellation: says nothing about the server
)

const (
	binLen = 50 * time.Millisecond
	nBins  = 256
)

type bin struct {
	idx             int64
	sent, thr, fail int
}

type attempt struct {
	sent   time.Time
	probe  bool
	flying int // in flight when it was sent, itself included
	cohort *cohort
}

type peak struct {
	sec int64
	n   int
}

type waiter struct {
	arrival, deadline time.Time
	grant             chan *attempt // nil = shed
	done              bool
}

type gateState int

const (
	gateOpen    gateState = iota // traffic flows
	gateShut                     // nobody passes before until
	gateProbing                  // one attempt is out to look
)

// Stack is the proposed RoundTripper. One instance per upstream limit.
type Stack struct {
	o    Options
	next http.RoundTripper
	mu   sync.Mutex
	rng  lcg

	queue  []*waiter // by arrival
	live   int
	latest time.Time // deadline of any call so far
	timer  *time.Timer
	zero   time.Time

	rate, tokens             float64
	last                     time.Time
	slow                     bool
	slowDouble               time.Duration
	before                   float64 // the rate before an outage, until it is measured again
	known                    bool    // the rate was measured at least once
	binding                  bool    // calls wait for tokens
	lastCut                  time.Time
	lastThrottle             time.Time
	windowFrom               time.Time // accept-rate windows do not reach behind this
	bins                     [nBins]bin
	rejLat                   float64 // s
	level                    int     // noncongestive check: cuts below what was accepted that did not help
	levelFrom                time.Time
	fromRate, fromAcc, share float64 // rate and accept rate before them, mean share of rejections
	nonCongUntil             time.Time
	cutFrom                  float64 // the rate before the latest run of cuts
	nonCongRatio             float64
	nonCongFor               time.Duration
	inflight                 int
	cap                      float64   // attempts in flight
	capFull                  time.Time // when the cap last held a call back
	peaks                    [8]peak   // accepted attempts in flight, by second
	rejFlying                [6]int
	rejN                     int
	capSafe                  int
	within                   int
	slotOff                  time.Time

	gate      gateState
	gateUntil time.Time
	gateN     int
	gateFail  bool // shut because of failures, not of throttling
	probe     *attempt

	budget float64

	svcMean, svcDev float64 // s, whole calls
	conc            *concLimit

	// statistics
	Gates, Cuts, Shed_ int
}

func NewStack(next http.RoundTripper, seed uint64, o Options) *Stack {
	s := &Stack{o: o, next: next, rng: lcg{seed}, zero: time.Now(), rate: o.StartRate, tokens: o.StartRate,
		slow: true, slowDouble: o.SlowDouble, cap: math.Inf(1), budget: o.BudgetCap, rejLat: 0.1}
	s.last, s.windowFrom = s.zero, s.zero
	s.timer = time.AfterFunc(time.Hour, func() { s.mu.Lock(); s.pump(); s.mu.Unlock() })
	s.timer.Stop()
	if !o.Pace {
		s.rate, s.slow = math.Inf(1), false
	}
	if o.Conc {
		s.conc = newConcLimit()
	}
	return s
}

func (s *Stack) pump() {
	now := time.Now()
	for {
		i := s.pick(now)
		if i < 0 {
			if s.tokens >= 1 {
				s.binding = false
			}
			return
		}
		switch s.gate {
		case gateShut:
			if now.Before(s.gateUntil) {
				s.timer.Reset(s.gateUntil.Sub(now))
				return
			}
			s.gate = gateProbing
		case gateProbing:
			if s.probe != nil {
				if at := s.probe.sent.Add(2 * s.settle()); s.o.Implicit && !now.Before(at) {
					s.reopen(now)
				} else {
					s.timer.Reset(max(at.Sub(now), time.Millisecond))
					return
				}
			}
		}
		if s.conc != nil && s.gate == gateOpen && !s.conc.allow() {
			return
		}
		if s.gate == gateOpen && float64(s.inflight) >= math.Floor(s.cap) {
			s.capFull = now
			s.refill(now)
			return
		}
		s.refill(now)
		if s.gate == gateOpen && s.tokens < 1 && !math.IsInf(s.rate, 1) {
			s.binding = true
			s.timer.Reset(max(time.Duration((1-s.tokens)/s.rate*1e9)+1, 100*time.Microsecond))
			return
		}
		w := s.queue[i]
		s.remove(i)
		if s.o.DeadlineAware && !w.deadline.IsZero() && s.live > 1 &&
			w.deadline.Sub(now).Seconds() < s.svcMean+s.svcDev {
			s.finish(w, nil)
			continue
		}
		a := &attempt{sent: now, probe: s.gate == gateProbing}
		if a.probe {
			s.probe = a
		}
		if !math.IsInf(s.rate, 1) {
			s.tokens--
		}
		if b := s.bin(now); b != nil {
			b.sent++
		}
		s.inflight++
		a.flying = s.inflight
		if s.conc != nil {
			a.cohort = s.conc.send()
		}
		s.finish(w, a)
	}
}

func (s *Stack) acquire(ctx context.Context, arrival time.Time) (*attempt, error) {
	dl, _ := ctx.Deadline()
	w := &waiter{arrival: arrival, deadline: dl, grant: make(chan *attempt, 1)}
	s.mu.Lock()
	s.push(w)
	s.shed(time.Now(), w)
	s.pump()
	s.mu.Unlock()
	select {
	case a := <-w.grant:
		if a == nil {
			return nil, errShed
		}
		return a, nil
	case <-ctx.Done():
		s.mu.Lock()
		defer s.mu.Unlock()
		if !w.done {
			w.done = true
			s.live--
		} else if a := <-w.grant; a != nil { // granted at the last moment
			s.tokens++
			if b := s.bin(a.sent); b != nil {
				b.sent--
			}
			s.inflight--
			if s.conc != nil {
				s.conc.inflight--
				s.conc.sample(a.cohort, -1)
			}
			if a == s.probe {
				s.probe = nil
			}
			s.pump()
		}
		return nil, ctx.Err()
	}
}

// observe learns from the outcome of an attempt.
func (s *Stack) observe(a *attempt, c class, cong bool, ra time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	switch c {
	case clsOK:
		k := int64(now.Sub(s.zero) / time.Second)
		if p := &s.peaks[k%int64(len(s.peaks))]; p.sec != k {
			*p = peak{k, a.flying}
		} else {
			p.n = max(p.n, a.flying)
		}
		s.budget = math.Min(s.o.BudgetCap, s.budget+s.o.BudgetRatio)
		if a.probe || (s.gate != gateOpen && a.sent.After(s.gateUntil)) {
			s.reopen(now)
		}
	case clsThrottle, clsFail:
		s.inflight--
		s.rejLat += 0.1 * (now.Sub(a.sent).Seconds() - s.rejLat)
		if b := s.bin(a.sent); b != nil {
			if c == clsThrottle || cong {
				b.thr++
			} else {
				b.fail++
			}
		}
		switch {
		case s.o.GateOn429 && c == clsThrottle && ra > 0:
			if s.gate == gateOpen || a.probe {
				s.shut(now, ra, false)
			}
		case !s.o.Gate:
			if c == clsThrottle || cong {
				s.throttled(now, a, c == clsFail)
			}
		case a.probe && s.gate != gateOpen:
			s.shut(now, ra, c == clsFail)
		case s.gate == gateOpen && s.allFailing(now):
			s.shut(now, ra, c == clsFail)
		case (c == clsThrottle || cong) && s.gate == gateOpen:
			s.throttled(now, a, c == clsFail)
		}
		if s.gate == gateShut && ra > 0 && !s.o.IgnoreRA && s.o.Gate && !s.o.GateOn429 {
			// the latest word on when the limit resets
			if u := now.Add(ra); u.After(s.gateUntil) {
				s.gateUntil = u
			}
		}
	case clsOther:
		s.inflight--
		if a.probe && s.probe == a {
			s.probe = nil
		}
	}
	s.pump()
}

func (s *Stack) spend() bool {
	if s.o.BudgetRatio <= 0 {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Now().Before(s.nonCongUntil) {
		return true // the failures do not depend on how much we send
	}
	if s.budget < 1 {
		return false
	}
	s.budget--
	return true
}

// RoundTrip implements http.RoundTripper.
func (s *Stack) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	arrival := time.Now()
	deadline, hasDL := ctx.Deadline()
	for n := 1; ; n++ {
		a, err := s.acquire(ctx, arrival)
		if err == errShed {
			return shedResponse(req), nil
		}
		if err != nil {
			return nil, err
		}
		resp, err := s.next.RoundTrip(req)
		c := clsOK
		switch {
		case err != nil && ctx.Err() != nil:
			c = clsOther
		case err != nil || resp.StatusCode >= 500 || resp.StatusCode == 408:
			c = clsFail
		case resp.StatusCode == 429:
			c = clsThrottle
		}
		ra, hasRA := retryAfter(resp)
		cong := s.o.FailCong && err == nil && (resp.StatusCode == 503 || resp.StatusCode == 529)
		s.observe(a, c, cong, ra)
		if c == clsOK {
			ttfb := time.Since(a.sent)
			if s.conc != nil {
				s.mu.Lock()
				s.conc.sample(a.cohort, ttfb)
				s.mu.Unlock()
			}
			resp.Body = &onClose{ReadCloser: resp.Body, f: func() { s.complete(a) }}
			return resp, nil
		}
		s.leave(a)
		if c == clsOther || n >= s.o.MaxAttempts || (c == clsFail && !s.spend()) {
			return final(resp), err
		}
		base := s.o.BaseFail
		if c == clsThrottle {
			base = s.o.BaseThrottle
		}
		s.mu.Lock()
		d := time.Duration(s.rng.float() * float64(expDelay(base, s.o.MaxDelay, n)))
		if hasRA && !s.o.IgnoreRA {
			d = ra + time.Duration(s.rng.float()*(s.o.RAJitter*float64(ra)+50e6))
		}
		need := time.Duration((s.svcMean) * 1e9)
		s.mu.Unlock()
		if s.o.DeadlineAware && hasDL && time.Until(deadline) < d+need {
			return final(resp), err
		}
		drain(resp)
		if err := sleepCtx(ctx, d); err != nil {
			return nil, err
		}
	}
}

// final marks a failure as given up on: the SDKs made by Stainless (OpenAI,
// Anthropic) do not retry a response with this header. They do retry any error, so
// a call that was shed gets a response, too.
func final(resp *http.Response) *http.Response {
	if resp != nil {
		resp.Header.Set("X-Should-Retry", "false")
	}
	return resp
}

func shedResponse(req *http.Request) *http.Response {
	return final(response(req, http.StatusServiceUnavailable, http.Header{}, http.NoBody))
}

func (s *Stack) Do(req *http.Request) (*http.Response, error) { return s.RoundTrip(req) }

// complete is called when the answer was read (or dropped).
func (s *Stack) complete(a *attempt) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := time.Since(a.sent).Seconds()
	if s.svcMean == 0 {
		s.svcMean, s.svcDev = x, x/2
	}
	s.svcDev += 0.05 * (math.Abs(x-s.svcMean) - s.svcDev)
	s.svcMean += 0.05 * (x - s.svcMean)
	s.inflight--
	if s.conc != nil {
		s.conc.inflight--
	}
	s.pump()
}

func (s *Stack) leave(a *attempt) {
	if s.conc == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conc.inflight--
	s.conc.sample(a.cohort, -1)
	s.pump()
}

var debugging = os.Getenv("SIM_DEBUG") != ""

func (s *Stack) debug(now time.Time, what string, acc, ratio float64, n int) {
	if debugging {
		fmt.Printf("%8.2f %-20s rate %.1f cap %.0f acc %.1f ratio %.2f n %d live %d inflight %d\n",
			now.Sub(s.zero).Seconds(), what, s.rate, s.cap, acc, ratio, n, s.live, s.inflight)
	}
}
