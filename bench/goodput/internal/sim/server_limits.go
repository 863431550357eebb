package sim

import (
	"cmp"
	"math"
	"net/http"
	"strconv"
	"time"
)

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
