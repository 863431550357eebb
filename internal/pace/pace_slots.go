package pace

import (
	"math"
	"time"
)

// slots is the hypothesis that the provider allows so many attempts at a time.
//
// A refusal with n others in flight says that there are no more than n slots, and an
// attempt that was accepted while n others were certainly still out says that there
// are more. As long as the two agree the hypothesis stands; it is acted on when the
// rate was cut several times and the refusals went on.
type slots struct {
	cap     limit
	on      bool
	most    int // no more slots than this, by the refusals
	least   int // no fewer than this, by the acceptances
	strikes int
	struck  uint64
	fits    int       // refusals in a row that agree
	last    time.Time // when the latest of those was sent
	looks   [8]witness
	floor   float64 // attempts per second that were accepted before
	sent    uint64  // when it was acted on
}

func (s *slots) reset() { *s = slots{most: math.MaxInt} }

func (s *slots) capped() bool { return s.on }

func (s *slots) max() float64 {
	if !s.on {
		return math.Inf(1)
	}
	return math.Floor(max(s.cap.base, s.cap.value()))
}

// witness is an attempt that is watched until it is clear that it was accepted.
type witness struct {
	Pass
	gone int // of those that were out when it was sent, how many left before it arrived
}

func (s *slots) watch(a Pass) {
	if a.flying <= s.least {
		return
	}
	for i := range s.looks {
		if w := &s.looks[i]; w.seq == 0 {
			*w = witness{Pass: a}
			return
		}
	}
}

// settled takes note that a is over, and drops it from the witnesses if it was refused.
func (s *slots) settled(now time.Time, a *Pass, accepted bool, roundTrip float64) {
	for i := range s.looks {
		switch w := &s.looks[i]; {
		case w.seq > a.seq && now.Sub(w.at).Seconds() <= roundTrip:
			w.gone++
		case w.seq == a.seq && !accepted:
			*w = witness{}
		}
	}
}

// hear takes the evidence of the witnesses that were sent before the given time.
func (s *slots) hear(sent time.Time) {
	for i := range s.looks {
		if w := &s.looks[i]; w.seq != 0 && !w.at.After(sent) {
			s.least = max(s.least, w.flying-w.gone)
			*w = witness{}
		}
	}
}

// explains takes a refusal into account and reports whether slots explain it.
func (s *slots) explains(a *Pass, apart time.Duration) bool {
	n := a.flying - 1
	if n < 1 {
		s.reset()
		return false
	}
	if s.on {
		return s.holds(a, n)
	}
	s.most = min(s.most, n)
	if a.at.Sub(s.last) > apart {
		s.fits++
		s.last = a.at
	}
	if s.least > s.most {
		s.reset()
		return false
	}
	return s.fits >= 5 && 4*s.least >= 3*s.most
}

// holds takes a refusal into account while the hypothesis is acted on. One that does
// not agree may come from an answer that nobody waits for any more but that still
// takes its slot; three in a row say that it is something else.
func (s *slots) holds(a *Pass, n int) bool {
	if a.seq > s.struck+50 {
		s.strikes = 0
	}
	s.most = min(n, int(s.cap.base))
	if n < s.least {
		s.strikes++
		s.struck, s.least = a.seq, n
	}
	if s.strikes >= 3 {
		s.reset()
		s.fits = 3
		return false
	}
	return true
}

// capSlots acts on the hypothesis after a refusal that it explains.
func (p *Pace) capSlots(now time.Time) {
	s := &p.slots
	if !s.on { // the rate was not to blame
		s.on, s.floor, s.sent = true, 0.6*p.accepted.rate(now), p.seq
		p.rate = found(max(p.bet.rate, 2*float64(s.most)/max(p.answer.mean, 0.1)), 1)
		p.apply(now)
	}
	n := float64(max(1, s.most))
	s.cap = limit{base: n, step: max(1, dip*n)}
	p.bet.after = p.seq
}

// doubt drops the hypothesis when it does not help: much less is served than before it.
func (p *Pace) doubt(now time.Time) {
	if s := &p.slots; s.on && p.seq > s.sent+40 && p.accepted.rate(now) < s.floor {
		s.reset()
	}
}
