package sim

import (
	"math"
	"slices"
	"time"
)

func (s *Stack) bin(t time.Time) *bin {
	i := int64(t.Sub(s.zero) / binLen)
	b := &s.bins[i%nBins]
	if b.idx < i {
		*b = bin{idx: i}
	}
	if b.idx > i {
		return nil // too old
	}
	return b
}

// settle is how long an attempt must be out before silence means "accepted".
func (s *Stack) settle() time.Duration {
	if !s.o.Implicit { // wait for the answers themselves
		return time.Duration(math.Min(5, s.svcMean+s.svcDev)*1e9) + 50*time.Millisecond
	}
	return time.Duration(math.Min(5, math.Max(0.05, 2*s.rejLat))*1e9) + 10*time.Millisecond
}

// window sums the attempts sent in whole bins of (from, to].
func (s *Stack) window(from, to time.Time) (sent, thr, fail int) {
	a, b := int64(from.Sub(s.zero)/binLen)+1, int64(to.Sub(s.zero)/binLen)
	for i := b - 1; i >= a && i > b-nBins && i >= 0; i-- {
		if x := &s.bins[i%nBins]; x.idx == i {
			sent, thr, fail = sent+x.sent, thr+x.thr, fail+x.fail
		}
	}
	return
}

// accepts measures the rate the server accepts and the share it throttles.
func (s *Stack) accepts(now time.Time) (rate, ratio float64, n int) {
	to := now.Add(-s.settle())
	for w := s.o.WinMin; ; w *= 2 {
		w = min(w, s.o.WinMax)
		from := to.Add(-w)
		if from.Before(s.windowFrom) {
			from = s.windowFrom
		}
		span := to.Sub(from).Seconds()
		if span < 0.15 {
			return 0, 0, 0
		}
		sent, thr, _ := s.window(from, to)
		if sent >= s.o.WinSamples || w >= s.o.WinMax || from.Equal(s.windowFrom) {
			if sent == 0 {
				return 0, 0, 0
			}
			return float64(sent-thr) / span, float64(thr) / float64(sent), sent
		}
	}
}

// allFailing reports whether the last settled attempts all failed.
func (s *Stack) allFailing(now time.Time) bool {
	to := now.Add(-s.settle())
	b := int64(to.Sub(s.zero) / binLen)
	first := max(b-int64(2*time.Second/binLen), int64(s.windowFrom.Sub(s.zero)/binLen)+1, 0)
	sent, bad := 0, 0
	for i := b; i >= first; i-- {
		if x := &s.bins[i%nBins]; x.idx == i {
			sent += x.sent
			bad += x.thr + x.fail
		}
		if sent >= s.o.GateMin && b-i >= 2 {
			break
		}
	}
	return sent >= s.o.GateMin && bad >= sent
}

func (s *Stack) refill(now time.Time) {
	dt := now.Sub(s.last).Seconds()
	if dt <= 0 {
		return
	}
	s.last = now
	if math.IsInf(s.rate, 1) {
		return
	}
	if s.binding && s.gate == gateOpen {
		switch {
		case s.slow:
			s.rate *= math.Exp2(dt / s.slowDouble.Seconds())
		case s.o.AIMD:
			s.rate += dt * math.Max(1, 0.02*s.rate)
		default:
			if t := now.Sub(s.lastThrottle) - s.o.Hold; t > 0 {
				g := math.Min(s.o.GrowMax, s.o.Grow*math.Exp2(t.Seconds()/s.o.GrowDouble.Seconds()))
				if now.Before(s.nonCongUntil) {
					g = math.Min(g, 0.05)
				}
				s.rate *= math.Exp(g * math.Min(dt, 1))
			}
		}
	}
	if s.gate == gateOpen && now.Sub(s.capFull) < 100*time.Millisecond {
		if t := now.Sub(s.lastThrottle) - s.o.Hold; t > 0 {
			g := math.Min(s.o.GrowMax, s.o.Grow*math.Exp2(t.Seconds()/s.o.GrowDouble.Seconds()))
			s.cap *= math.Exp(g * math.Min(dt, 1))
		}
	}
	s.tokens = math.Min(math.Max(1, s.rate*s.o.BurstSec), s.tokens+dt*s.rate)
}

// throttled reacts to one rejection of an attempt (fail: a 503 or 529, else a
// 429). Rejections of attempts sent before the last cut are old news.
func (s *Stack) throttled(now time.Time, a *attempt, fail bool) {
	if !s.o.Pace || !a.sent.After(s.lastCut) {
		return
	}
	if s.o.AIMD {
		s.refill(now)
		s.slow, s.lastThrottle = false, now
		s.rate = math.Max(0.5, s.rate*0.5)
		s.lastCut, s.known = now, true
		return
	}
	acc, ratio, n := s.accepts(now)
	if now.Before(s.nonCongUntil) {
		if n < 20 || ratio < 1.5*s.nonCongRatio+0.15 {
			return
		}
		// congestion on top of it, or a mistake
		s.nonCongUntil = time.Time{}
		s.debug(now, "noncongestive ends", acc, ratio, n)
	}
	if fail && (ratio*float64(n) < 3 || ratio < s.o.TolFail) {
		return // a few failures say nothing about the rate
	}
	s.refill(now)
	quiet := now.Sub(s.lastThrottle)
	s.lastThrottle, s.slow = now, false
	if s.o.Cap && s.slotted(now, a, acc) {
		s.lastCut = now // the number in flight met a limit; the rate is innocent
		return
	}
	if quiet > max(5*time.Second, time.Duration(20/s.rate*1e9)) || s.level < 0 {
		s.episode(now, acc, ratio)
	}
	next := 0.7 * s.rate
	if n >= 5 {
		if s.binding { // the rate itself is known better than a count of a few
			acc = math.Max(acc, math.Min(1.1*acc, s.rate*(1-ratio)))
		}
		next = s.o.Beta * acc
	}
	if s.o.NonCong {
		sent, thr, _ := s.window(s.levelFrom, now.Add(-s.settle()))
		r := float64(thr) / math.Max(1, float64(sent))
		switch {
		case sent >= 20 && now.Sub(s.levelFrom) > 300*time.Millisecond+s.settle() && r >= math.Max(0.06, s.share/2):
			// this level is still too fast, or speed is not the matter
			s.level++
			s.share += (r - s.share) / float64(s.level+1)
			if s.level > 3 && s.rate < 0.8*s.fromRate {
				s.noncongestive(now, r)
				return
			}
			next, s.levelFrom = s.rate*math.Max(0.4, s.o.Beta*(1-r)), now
		case sent >= 40 && (r < 0.06 || r < s.share/3): // slower did help
			s.episode(now, acc, ratio)
		case s.level > 0:
			return // wait for the verdict on this level
		}
	}
	if now.Sub(s.lastCut) > 3*time.Second {
		s.cutFrom = s.rate
	}
	s.setRate(math.Min(s.rate, next))
	s.lastCut, s.known, s.before = now, true, 0
	s.Cuts++
	s.debug(now, "cut", acc, ratio, n)
}

// episode begins a run of cuts.
func (s *Stack) episode(now time.Time, acc, ratio float64) {
	s.level, s.levelFrom = 0, now
	s.fromRate, s.fromAcc, s.share = s.rate, acc, math.Max(ratio, 0.1)
}

// noncongestive is called when the rate was cut level by level to what had been
// accepted at the level before, and the share of rejections stayed: sending slower
// does not help. What was accepted before the cuts is tried again, and rejections
// do not count for a while.
func (s *Stack) noncongestive(now time.Time, r float64) {
	s.rate = math.Min(s.fromRate, math.Max(s.rate, s.fromAcc/(1-math.Min(r, 0.9))))
	s.cap, s.level = math.Inf(1), -1
	s.nonCongFor = min(4*time.Minute, max(30*time.Second, 2*s.nonCongFor))
	s.nonCongUntil, s.nonCongRatio = now.Add(s.nonCongFor), s.share
	s.debug(now, "noncongestive", s.fromAcc, s.share, 0)
}

// slotted tells a concurrency limit from a rate limit: the last rejections all
// came with about as many in flight as were ever accepted of late, or more. Then
// the attempts in flight are capped there. A rejection well below takes it back.
func (s *Stack) slotted(now time.Time, a *attempt, acc float64) bool {
	if now.Before(s.slotOff) {
		return false
	}
	if s.capSafe > 0 && a.flying <= s.capSafe {
		if s.within++; s.within >= 3 {
			s.cap, s.capSafe, s.rejN, s.within, s.slotOff = math.Inf(1), 0, 0, 0, now.Add(30*time.Second)
		}
		return false
	}
	s.rejFlying[s.rejN%len(s.rejFlying)] = a.flying
	s.rejN++
	if s.rejN < len(s.rejFlying) {
		return false
	}
	most, sec := 0, int64(now.Sub(s.zero)/time.Second)
	for _, p := range s.peaks {
		if sec-p.sec < int64(len(s.peaks)) {
			most = max(most, p.n)
		}
	}
	f := s.rejFlying
	slices.Sort(f[:])
	// what is on its way is in flight for us, not for the server
	skew := 2 * acc * s.rejLat
	if most == 0 || f[0] < 2 || float64(f[0]) < 0.97*(float64(most)-skew) {
		s.cap, s.capSafe = math.Inf(1), 0
		return false
	}
	s.cap, s.capSafe, s.within = float64(max(1, f[len(f)/2]-1)), f[0]-1, 0
	return true
}

func (s *Stack) setRate(r float64) {
	s.rate = math.Max(0.1, r)
	s.tokens = math.Min(s.tokens, math.Max(1, s.rate*s.o.BurstSec))
}
