package pace

import (
	"math"
	"time"
)

// slots is the hypothesis that the provider allows so many attempts at a time.
//
// When a refusal arrives, those sent before it that are still out were being served
// when it was refused, so that there are no more slots than that. In the same way an
// attempt that was accepted counts those that were served then, itself included, and
// there are no fewer slots than that. As long as the two agree the hypothesis stands.
type slots struct {
	cap    limit // of the attempts that are out, some of which are already over at the provider
	on     bool
	says   kind      // the refusals that tell of them
	before float64   // the rate before they were believed in
	cut    uint64    // the last attempt sent before the latest cut
	most   int       // no more slots than this, by the refusals
	least  int       // no fewer than this, by the acceptances
	fits   int       // refusals that agree
	shut   time.Time // until then none is free, unless an answer ends

	witnesses [8]witness
	watched   int // how many of those there are

	trip    float64 // seconds from sending an attempt until its refusal is heard, smoothed; 0 = none yet
	doubt   doubt
	strikes int    // refusals in a row with fewer served than there are slots,
	struck  Pass   // the latest of them, or of those that agree,
	doubted uint64 // the first of them,
	fewest  int    // and the fewest that were served at the time of one
}

func (s *slots) reset() { *s = slots{trip: s.trip, doubt: doubt{wrong: s.doubt.wrong}} }

func (s *slots) max() float64 {
	if !s.on {
		return math.Inf(1)
	}
	n := math.Floor(max(s.cap.base, s.cap.value()))
	if s.doubt.knocks > 0 {
		n = max(n, math.Floor(s.cap.base)+1)
	}
	return n
}

// witness is an attempt that is watched until it is clear that it was accepted.
type witness struct {
	Pass
	gone int // of those that were out when it was sent, how many left before it arrived
}

// said takes note of how long a refusal took.
func (s *slots) said(seconds float64) {
	if s.trip == 0 {
		s.trip = seconds
	}
	s.trip += 0.1 * (seconds - s.trip)
}

func (s *slots) watch(a *Pass) {
	if s.trip == 0 { // what is out when it arrives could not be told
		return
	}
	enough := s.least
	if s.on && s.strikes > 0 {
		enough = s.fewest
	}
	if a.flying <= enough {
		return
	}
	for i := range s.witnesses {
		if w := &s.witnesses[i]; w.seq == 0 {
			*w = witness{Pass: *a}
			s.watched++
			return
		}
	}
}

// settled takes note that a is over, and drops it from the witnesses if it was refused.
func (s *slots) settled(now time.Time, a *Pass, accepted bool) {
	if accepted && !s.shut.IsZero() { // which mostly it is, and then nothing is written
		s.shut = time.Time{}
	}
	if s.watched == 0 {
		return
	}
	for i := range s.witnesses {
		switch w := &s.witnesses[i]; {
		case w.seq > a.seq && now.Sub(w.at).Seconds() <= s.trip:
			w.gone++
		case w.seq == a.seq && !accepted:
			*w = witness{}
			s.watched--
		}
	}
}

// hear takes the evidence of the witnesses that were sent before the given time.
func (s *slots) hear(sent time.Time) {
	for i := range s.witnesses {
		w := &s.witnesses[i]
		if w.seq == 0 || w.at.After(sent) {
			continue
		}
		served := w.flying - w.gone
		s.least = max(s.least, served)
		if !s.on && 100*served > 101*s.most {
			s.fits = 0
		}
		if s.on && served > s.most { // there are more now
			if s.doubt.opened() {
				s.giveUp()
				return
			}
			s.cap.base += float64(served - s.most)
			s.cap.t = max(s.cap.t, 2)
			s.most = served
		}
		if s.on && w.seq > s.doubted && served > s.fewest {
			s.strikes = 0 // there were as many slots as ever: chance, or an answer nobody waits for
		}
		*w = witness{}
		s.watched--
	}
}

// slotsExplain reports whether it was for want of a slot that a was refused, and
// lowers the cap then.
func (p *Pace) slotsExplain(now time.Time, a *Pass, k kind) bool {
	if p.cfg.Without.has(NoSlots) || p.luck[k].share > 0 {
		return false
	}
	s, served := &p.slots, int(a.seq)-int(p.over)
	switch {
	case s.on && k == s.says:
		return p.refusedForSlots(now, a, served)
	case s.on: // nor is it for speed, which is kept down by the slots
		return p.perSecond(now)*p.answer.mean > float64(s.most) && p.luck[k].recent.refused(16) <= 8
	}
	if s.fits == 0 {
		s.says = k
	}
	if k != s.says {
		return false
	}
	apart := max(p.settle(), time.Duration(p.answer.mean/8*1e9)) // so long that the number could have changed
	same := uint64(p.recent.run()) > a.seq-s.struck.seq          // nothing was accepted since the one before
	if p.answer.mean == 0 || same || !s.agree(a, served, apart) || p.recent.refused(16) > 8 {
		return false
	}
	s.on, s.strikes, s.before = true, 0, p.bet.rate // the rate was not to blame
	if s.most < fewSlots {
		s.doubt.knocks = knocks
	}
	s.lower(a.flying-1, a.seq, p.seq)
	p.backAt(max(p.bet.rate, 2*float64(s.most)/p.answer.mean))
	p.dropBet()
	p.apply(now)
	return true
}

// refusedForSlots takes the refusal of a while the cap is on, and reports whether
// the cap explains it.
func (p *Pace) refusedForSlots(now time.Time, a *Pass, served int) bool {
	s := &p.slots
	if float64(a.flying) > s.cap.base {
		s.doubt.closed()
	}
	if p.recent.refused(64) > 40 || s.most < fewSlots && p.luck[s.says].recent.refused(16) > 6 { // the cap does not help
		s.reset()
		return false
	}
	few := s.most < fewSlots
	alone := few && a.flying == 1 && p.recent.run() == 1 && s.doubt.refusedAlone(a.seq)
	filling := a.at.Before(p.hold.resumed.Add(p.Answer())) // after a hold few are served, whatever the number of slots
	fewer := served < s.least && !filling && s.strike(a, served, p.settle())
	switch {
	case alone, fewer && few && s.doubt.swung(): // it is a limit on the rate
		p.rate = wayBack(p.accepted.rate(now), s.before)
		s.giveUp()
		p.apply(now)
		return false
	case fewer || served >= s.least:
		s.most = max(1, served)
		s.lower(a.flying-1, a.seq, p.seq)
	case float64(a.flying) > s.cap.base:
		s.cap.t = 0
	}
	s.shut = now.Add(time.Duration(p.answer.mean / float64(max(1, served)) * 1e9))
	return true
}

// agree reports whether refusals and acceptances agree that it is slots: four refusals
// came when as many were served, and as many but no more were accepted meanwhile.
func (s *slots) agree(a *Pass, served int, apart time.Duration) bool {
	if a.at.Sub(s.struck.at) <= apart {
		return false
	}
	s.struck = *a
	if served < 1 { // nothing was served: it is not for want of a slot
		s.fits = 0
		return false
	}
	if s.fits == 0 || s.most-served > max(1, s.most/100) {
		s.most, s.least, s.fits = served, 0, 0
	}
	s.most = max(s.most, served)
	s.fits++
	return s.fits >= 4<<min(s.doubt.wrong, 4) && 10*s.least >= 8*s.most
}

// strike takes a refusal with fewer served than there are slots. Three of them, with
// no acceptance between them of more than that, say that there are fewer slots now.
func (s *slots) strike(a *Pass, served int, apart time.Duration) bool {
	switch {
	case s.strikes == 0:
		s.strikes, s.fewest, s.struck, s.doubted = 1, served, *a, a.seq
	case a.at.Sub(s.struck.at) > apart:
		s.strikes++
		s.fewest, s.struck = min(s.fewest, served), *a
	}
	if s.strikes < 3 {
		return false
	}
	s.strikes, s.least = 0, s.fewest
	return true
}

// lower cuts the cap to n after the refusal of an attempt. One that was sent before
// the latest cut cannot raise it again.
func (s *slots) lower(n int, sent, last uint64) {
	base := float64(max(1, n))
	if sent <= s.cut {
		base = min(base, s.cap.base)
	}
	s.cap = limit{base: base, step: max(1, dip*base)}
	s.cut = last
}

// grow moves the cap on by one attempt that had to wait for it, dt after the one before.
func (s *slots) grow(dt time.Duration) {
	s.cap.t += min(dt.Seconds()/comeback, 1.0/slotsSent)
}

const slotsSent = 15 // attempts from a cut until the cap is back; a refusal in twice so many is tolerable
