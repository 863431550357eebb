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
	cap   limit
	on    bool
	most  int       // no more slots than this, by the refusals
	least int       // no fewer than this, by the acceptances
	fits  int       // refusals in a row that agree
	last  time.Time // when the latest of those was sent
	look  pass      // an attempt watched until it is clear that it was accepted
	gone  int       // attempts over since, of those that were out when it was sent
	floor float64   // attempts per second that were accepted before
	sent  uint64    // when it was acted on
}

func (s *slots) reset() { *s = slots{most: math.MaxInt} }

func (s *slots) capped() bool { return s.on }

func (s *slots) max() float64 {
	if !s.on {
		return math.Inf(1)
	}
	return math.Floor(max(s.cap.base, s.cap.value()))
}

func (s *slots) witnessed(a pass) {
	if s.look.seq == 0 && a.flying > s.least {
		s.look, s.gone = a, 0
	}
}

// settled counts those that were out before the watched attempt and are no more.
func (s *slots) settled(a *pass, accepted, soon bool) {
	switch {
	case a.seq < s.look.seq && soon:
		s.gone++
	case a.seq == s.look.seq && !accepted:
		s.look = pass{}
	}
}

// explains takes a refusal into account and reports whether slots explain it.
func (s *slots) explains(a *pass, apart time.Duration) bool {
	n := a.flying - 1
	if n < 1 {
		s.reset()
		return false
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
	return s.on || s.fits >= 5 && 4*s.least >= 3*s.most
}

func (p *pace) capSlots(a *pass) {
	s := &p.slots
	if !s.on { // the rate was not to blame
		s.floor, s.sent = 0.9*p.flow*(1-p.recent.share()), p.seq
		r := max(p.bet.rate, 2*float64(s.most)/max(p.answer.mean, 0.1))
		p.rate = limit{base: r, step: dip * r, t: 1}
		p.apply(a.at)
	}
	s.on = true
	n := float64(max(1, min(s.most, a.flying-1)))
	s.cap = limit{base: n, step: max(1, dip*n)}
	p.bet.after = p.seq
	p.trace(a.at, "slots %.0f (flying %d most %d least %d fits %d)", n, a.flying, s.most, s.least, s.fits)
}

// doubt drops the hypothesis when it does not help: with the cap less is served than without.
func (p *pace) doubt() {
	if s := &p.slots; s.on && p.seq > s.sent+40 && p.flow < s.floor {
		p.trace(p.lastSent, "slots refuted flow %.1f floor %.1f", p.flow, s.floor)
		s.reset()
	}
}
