package sim

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// RAMode says how a rejection tells the client when to come back.
type RAMode int

const (
	RANone    RAMode = iota
	RASeconds        // Retry-After: whole seconds, rounded up (at least 1)
	RAMillis         // retry-after-ms exact, plus Retry-After rounded up
	RADate           // Retry-After: HTTP-date, rounded up to a whole second
)

// Fault is a window in which a share P of the attempts fails.
type Fault struct {
	From, To time.Duration
	P        float64
	Status   int // 503, 529, 429; 0 = connection reset, Hang = no answer at all
	RA       RAMode
}

// Hang is the status of a fault in which attempts are taken and never answered.
const Hang = -1

// ServerConfig describes the modelled provider. Zero values switch a part off.
type ServerConfig struct {
	Seed       uint64
	NetRTT     time.Duration // both ways together
	RejectProc time.Duration // server time to say no

	TTFBMedian time.Duration // lognormal
	TTFBSigma  float64
	GenMean    time.Duration // lognormal; tokens = TokensMean scaled the same way
	GenSigma   float64
	TokensMean float64

	RPS        float64 // token bucket, continuous replenishment
	Burst      float64
	RejectCost float64 // tokens a rejected attempt consumes ("failed requests count")
	Debt       float64 // how far below zero that may push the bucket
	RateStatus int     // status of a rate rejection (default 429)

	WindowLimit int // fixed window
	Window      time.Duration

	Slots      int // concurrency limit
	SlotStatus int // status of a slot rejection (429, 503, 529)
	Knee       int // service time x max(1, (inflight/Knee)^Thrash)
	Thrash     float64

	RetryAfter RAMode
	Share      func(t time.Duration) float64 // our share of a pool used by others too
	Faults     []Fault
	StallP     float64       // share of accepted attempts that stall
	Stall      time.Duration // for this long before the first byte
}

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
	Attempts, Accepted, Throttled, Failed, Resets int
	MaxWire, MaxInflight                          int
	BilledTokens, WastedTokens                    float64
	Bins                                          []SecBin
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

func (s *Server) share(t time.Duration) float64 {
	if s.cfg.Share == nil {
		return 1
	}
	return s.cfg.Share(t)
}

func (s *Server) refill(t time.Duration) {
	if s.cfg.RPS > 0 {
		dt := (t - s.refilled).Seconds()
		if dt > 0 {
			s.tokens = math.Min(s.cfg.Burst, s.tokens+dt*s.cfg.RPS*s.share(t))
			s.refilled = t
		}
	}
	if s.cfg.WindowLimit > 0 {
		if i := int64(t / s.cfg.Window); i != s.winIdx {
			s.winIdx, s.winUsed = i, 0
		}
	}
}

// capacity reports whether an attempt would pass the limits at t, and else how
// long until it may (0 = until a slot frees). s.mu is held.
func (s *Server) capacity(t time.Duration) (ok bool, wait time.Duration, status int) {
	s.refill(t)
	if s.cfg.WindowLimit > 0 && s.winUsed >= int(float64(s.cfg.WindowLimit)*s.share(t)) {
		return false, s.cfg.Window - t%s.cfg.Window, 429
	}
	if s.cfg.RPS > 0 && s.tokens < 1 {
		w := (1 - s.tokens) / (s.cfg.RPS * math.Max(s.share(t), 1e-9))
		return false, time.Duration(w*1e9) + 1, cmp.Or(s.cfg.RateStatus, 429)
	}
	if s.cfg.Slots > 0 && s.inflight >= int(float64(s.cfg.Slots)*s.share(t)) {
		return false, 0, s.cfg.SlotStatus
	}
	return true, 0, 200
}

func (s *Server) take() {
	s.winUsed++
	s.tokens--
	s.inflight++
	s.MaxInflight = max(s.MaxInflight, s.inflight)
}

// TryReserve is the oracle's back door: take the capacity now and let the
// attempt that follows pass. wait 0 = until a slot frees.
func (s *Server) TryReserve(ci *callInfo) (ok bool, wait time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.now()
	for _, f := range s.cfg.Faults {
		if f.P >= 1 && t >= f.From-s.cfg.NetRTT && t < f.To {
			return false, f.To - t
		}
	}
	ok, wait, _ = s.capacity(t)
	if ok && s.cfg.Knee > 0 && s.inflight >= s.cfg.Knee {
		return false, 0
	}
	if ok {
		s.take()
		ci.reserved = true
	}
	return ok, wait
}

// ServiceTime is what the n-th attempt of a call would take, without stretch.
func (s *Server) ServiceTime(ci *callInfo, n int) (ttfb, gen time.Duration, tokens float64) {
	c := &s.cfg
	ttfb = time.Duration(float64(c.TTFBMedian) * math.Exp(c.TTFBSigma*normal(c.Seed, 1, ci.id, uint64(n))))
	// The length of the answer belongs to the call, not to the attempt.
	f := math.Exp(c.GenSigma*normal(c.Seed, 2, ci.id, 0) - c.GenSigma*c.GenSigma/2)
	gen = time.Duration(float64(c.GenMean) * f)
	if c.StallP > 0 && u01(c.Seed, 3, ci.id, uint64(n)) < c.StallP {
		ttfb += c.Stall
	}
	return ttfb, gen, c.TokensMean * f
}

var errReset = errors.New("read tcp: connection reset by peer")

func (s *Server) retryAfter(h http.Header, mode RAMode, t, wait time.Duration) {
	sec := int64(math.Max(1, math.Ceil(wait.Seconds())))
	switch mode {
	case RASeconds:
		h.Set("Retry-After", strconv.FormatInt(sec, 10))
	case RAMillis:
		h.Set("Retry-After-Ms", strconv.FormatInt(int64(math.Ceil(float64(wait)/1e6)), 10))
		h.Set("Retry-After", strconv.FormatInt(sec, 10))
	case RADate:
		at := s.start.Add(t + wait + time.Second - 1).UTC()
		h.Set("Retry-After", at.Format(http.TimeFormat))
	}
}

// RoundTrip implements http.RoundTripper.
func (s *Server) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	ci := callFrom(ctx)
	if req.Body != nil {
		defer req.Body.Close()
	}
	half := s.cfg.NetRTT / 2
	if err := ctx.Err(); err != nil { // like http.Transport: nothing goes out
		return nil, err
	}

	s.mu.Lock()
	ci.attempts++
	n := ci.attempts
	s.Attempts++
	s.bin(s.now()).Attempts++
	s.wireNow++
	s.MaxWire = max(s.MaxWire, s.wireNow)
	s.mu.Unlock()
	released := false
	release := func() {
		s.mu.Lock()
		if !released {
			released = true
			s.wireNow--
		}
		s.mu.Unlock()
	}

	if err := sleepCtx(ctx, half); err != nil {
		release()
		return nil, err
	}

	s.mu.Lock()
	t := s.now()
	bin := s.bin(t)
	status, hdr := 200, http.Header{}
	for i, f := range s.cfg.Faults {
		if t >= f.From && t < f.To && (f.P >= 1 || u01(s.cfg.Seed, 100+uint64(i), ci.id, uint64(n)) < f.P) {
			status = f.Status
			s.retryAfter(hdr, f.RA, t, f.To-t)
			if f.P < 1 {
				hdr.Del("Retry-After")
				if f.RA != RANone {
					hdr.Set("Retry-After", "1")
				}
			}
			break
		}
	}
	if status == 200 && !ci.reserved {
		ok, wait, st := s.capacity(t)
		if ok {
			s.take()
		} else {
			status = st
			if s.cfg.RejectCost > 0 && s.cfg.RPS > 0 {
				s.tokens = math.Max(-s.cfg.Debt, s.tokens-s.cfg.RejectCost)
			}
			s.retryAfter(hdr, s.cfg.RetryAfter, t, wait)
		}
	} else if status != 200 && ci.reserved { // the oracle's luck ran out
		s.inflight--
		s.tokens++
		s.winUsed--
	}
	ci.reserved = false

	if status != 200 {
		switch {
		case status == 0:
			s.Resets++
			s.Failed++
			bin.Failed++
		case status == 429:
			s.Throttled++
			bin.Throttled++
		default:
			s.Failed++
			bin.Failed++
		}
		s.mu.Unlock()
		if status == Hang {
			<-ctx.Done()
			release()
			return nil, ctx.Err()
		}
		err := sleepCtx(ctx, half+s.cfg.RejectProc)
		release()
		if err != nil {
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
		return response(req, status, hdr, io.NopCloser(bytes.NewReader([]byte(body)))), nil
	}

	s.Accepted++
	bin.Accepted++
	ttfb, gen, tokens := s.ServiceTime(ci, n)
	if s.cfg.Knee > 0 && s.inflight > s.cfg.Knee {
		k := math.Pow(float64(s.inflight)/float64(s.cfg.Knee), s.cfg.Thrash)
		ttfb = time.Duration(float64(ttfb) * k)
		gen = time.Duration(float64(gen) * k)
	}
	b := &genBody{s: s, ctx: ctx, ready: s.start.Add(t + ttfb + gen + half), tokens: tokens, release: release}
	s.mu.Unlock()
	// The generation runs to its end and is charged for, whoever still listens.
	time.AfterFunc(ttfb+gen, func() {
		s.mu.Lock()
		s.inflight--
		s.BilledTokens += tokens
		if b.gone {
			s.WastedTokens += tokens
		}
		b.finished = true
		f := s.onFree
		s.mu.Unlock()
		if f != nil {
			f()
		}
	})
	if err := sleepCtx(ctx, ttfb+half); err != nil {
		b.leave()
		return nil, err
	}
	hdr.Set("Content-Type", "application/json")
	return response(req, 200, hdr, b), nil
}

func response(req *http.Request, status int, h http.Header, body io.ReadCloser) *http.Response {
	return &http.Response{
		Status: strconv.Itoa(status) + " " + http.StatusText(status), StatusCode: status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: h, Body: body, ContentLength: -1, Request: req,
	}
}

var okBody = []byte(`{"id":"c","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}]}`)

// genBody delivers the answer when its generation is done.
type genBody struct {
	s        *Server
	ctx      context.Context
	ready    time.Time
	tokens   float64
	off      int
	got      bool
	gone     bool
	finished bool
	release  func()
}

func (b *genBody) Read(p []byte) (int, error) {
	if !b.got {
		if err := sleepCtx(b.ctx, time.Until(b.ready)); err != nil {
			b.leave()
			return 0, err
		}
		b.got = true
		b.release()
	}
	if b.off >= len(okBody) {
		return 0, io.EOF
	}
	n := copy(p, okBody[b.off:])
	b.off += n
	return n, nil
}

func (b *genBody) Close() error {
	if !b.got {
		b.leave()
	}
	return nil
}

// leave notes that nobody will read this generation.
func (b *genBody) leave() {
	b.release()
	b.s.mu.Lock()
	defer b.s.mu.Unlock()
	if b.gone {
		return
	}
	b.gone = true
	if b.finished {
		b.s.WastedTokens += b.tokens
	}
}

// sleepCtx sleeps for d or until ctx is done.
func sleepCtx(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(d)
	select {
	case <-ctx.Done():
		t.Stop()
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
