package sim

import (
	"math"
	"time"
)

func (s *Stack) shut(now time.Time, ra time.Duration, fail bool) {
	if s.gate == gateOpen {
		s.Gates++
		s.gateN = 0
		if s.o.Pace && !fail && !s.o.AIMD { // what was accepted before everything failed
			if acc, _, n := s.accepts(now); n >= 5 && s.known {
				s.setRate(math.Min(s.rate, math.Max(0.85*acc, 0.5*s.rate)))
			} else {
				s.setRate(0.7 * s.rate)
			}
			s.slow = false
			s.lastCut = now
		}
	} else {
		s.gateN++
	}
	if s.gate == gateOpen && fail && s.cutFrom > s.rate && now.Sub(s.lastCut) < 3*time.Second {
		s.rate = s.cutFrom // those cuts were the beginning of the outage
	}
	s.gate, s.gateFail, s.probe = gateShut, fail, nil
	s.debug(now, "gate", 0, 0, s.gateN)
	d := math.Min(float64(s.o.ProbeMax), float64(s.o.ProbeMin)*math.Pow(s.o.ProbeMult, float64(s.gateN)))
	d *= 0.8 + 0.4*s.rng.float()
	if ra > 0 && !s.o.IgnoreRA { // may lengthen the wait, never shorten it
		d = math.Max(d, float64(ra)+s.rng.float()*math.Min(0.05*float64(ra), 250e6))
	}
	s.gateUntil = now.Add(time.Duration(d))
}

func (s *Stack) reopen(now time.Time) {
	if s.gate == gateOpen {
		return
	}
	s.gate, s.probe = gateOpen, nil
	s.windowFrom = now
	s.last = now
	s.lastThrottle = now
	if s.gateFail && s.o.Pace && s.o.RampFrac < 1 {
		s.before = s.rate
		s.rate = math.Max(s.o.StartRate, s.rate*s.o.RampFrac)
		s.slow, s.slowDouble = true, s.o.RampDouble
	}
	s.tokens = math.Min(s.tokens, 1)
}
