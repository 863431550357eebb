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
	says   kind    // the refusals that tell of them
	before float64 // the rate before they were believed in
	found  uint64  // the last attempt sent before they were,
	cut    uint64  // and before the latest cut
	most   int     // no more slots than this, by the refusals
	least  int     // no fewer than this, by the acceptances
	shut   instant // until then none is free, unless an answer ends
	under  history // of refusals of attempts that the cap had room for

	agreed int   // refusals that speak for them until they are believed in,
	asked  Pass  // and the latest one that was asked
	crowd  crowd // the attempts since the first of them

	trip      float64 // seconds from sending an attempt until its refusal is heard, smoothed; 0 = none yet
	witnesses witnesses
	strikes   strikes
	lowering  lowering
	doubt     doubt
}

const (
	agreeing  = 4   // refusals make us believe in slots; twice as many after each time that this was wrong,
	agreeMost = 4   // doubled no more often than this
	apartOf   = 8   // parts of an answer's time: refusals further apart than one saw other attempts served
	manySlots = 32  // more are not believed in where answers take the same time, give or take
	alike     = 0.1 // so much of it: a limit on the rate, too, is met with as many out each time there
	slotsSent = 15  // attempts from a cut until the cap is back; a refusal in twice so many is tolerable
	knockSoon = 3   // the same for a few slots at first, and twice as many after each time that one more was refused,
	knockMost = 2   // doubled no more often than this: one more than a few slots may be half of all again
	provenAt  = 2   // where on its way the cap goes on, well beyond its base, once more slots are proven

	// More refusals than these are not for want of a slot.
	tooManyOf16 = 8  // of 16 attempts, before there is a cap
	underCap64  = 40 // of 64 attempts under it,
	underCap16  = 4  // of 16 under a cap of few that had room for them: it does not help,
	roomFor64   = 24 // and of 64 under one of many that had: it is but what a rate has out
)

// few reports whether there are so few slots that they are doubted.
func (s *slots) few() bool { return s.most < fewSlots }

// extra reports whether a was more than the cap allows at its base, to see whether there
// are more slots.
func (s *slots) extra(a *Pass) bool { return float64(a.flying) > s.cap.base }

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

// said takes note of how long a refusal took.
func (s *slots) said(seconds float64) {
	if s.trip == 0 {
		s.trip = seconds
	}
	s.trip += sayingDrift * (seconds - s.trip)
}

// watch makes a witness of a, if its acceptance would show anything.
func (s *slots) watch(a *Pass) {
	if s.trip == 0 { // what is out when it arrives could not be told
		return
	}
	if !s.on && s.agreed > 0 {
		s.crowd.add(a)
	}
	enough := s.least
	if s.on && s.strikes.n > 0 {
		enough = s.strikes.fewest
	}
	if int(a.flying) > enough {
		s.witnesses.add(a)
	}
}

// settled takes note that a is over.
func (s *slots) settled(now instant, a *Pass, accepted bool) {
	if accepted && !s.shut.IsZero() { // which mostly it is, and then nothing is written
		s.shut = 0
	}
	s.witnesses.settled(now, a, accepted, s.trip)
}

// hear takes the evidence of the witnesses that were sent before the given time.
func (s *slots) hear(sent instant) {
	for i := range s.witnesses.list {
		w := &s.witnesses.list[i]
		if w.seq == 0 || w.at.After(sent) {
			continue
		}
		if s.refutedBy(w) {
			s.giveUp()
			return
		}
		s.witnesses.drop(w)
	}
}

// refutedBy takes the evidence of w, which was accepted, and reports whether it shows
// that there is no limit on the slots.
func (s *slots) refutedBy(w *witness) bool {
	served := int(w.flying) - w.gone
	s.least = max(s.least, served)
	if !s.on {
		if s.clearlyMore(served) {
			s.agreed = 0
		}
		return false
	}
	if served > s.most { // there are more now
		if s.doubt.opened() {
			return true
		}
		s.cap.base += float64(served - s.most)
		if s.clearlyMore(served) {
			s.cap.t = max(s.cap.t, provenAt)
		}
		s.most = served
	}
	if w.seq > s.strikes.from && served > s.strikes.fewest {
		s.strikes = strikes{} // there were as many slots as ever: chance, or an answer nobody waits for
	}
	return false
}

// clearlyMore reports whether more were served than there are slots by over a
// hundredth: what counts as served is a few off at times.
func (s *slots) clearlyMore(served int) bool { return 100*served > 101*s.most }

// slotsExplain reports whether it was for want of a slot that a was refused, or else
// for nothing that our speed could help. It finds and lowers the cap.
func (p *Pace) slotsExplain(now instant, a *Pass, k kind) bool {
	s, served := &p.slots, int(a.seq)-int(p.over)
	switch {
	case p.cfg.Without.has(NoSlots):
		return false
	case p.luck[k].share > 0: // by chance, unless it was one more than the cap allows
		extra := s.on && k == s.says && s.extra(a)
		if extra {
			s.cap.t = 0
		}
		return extra
	case !s.on:
		return p.findSlots(now, a, k, served)
	case k == s.says:
		return p.refusedForSlots(now, a, served)
	}
	// It is of another kind, and not for speed where that is kept down by the slots.
	return p.perSecond(now)*p.answer.mean > float64(s.most) && p.luck[k].recent.refused(16) <= tooManyOf16
}

// findSlots takes the refusal of a while there is no cap, and reports whether it is the
// last that was needed to believe in one.
func (p *Pace) findSlots(now instant, a *Pass, k kind, served int) bool {
	s := &p.slots
	if s.agreed == 0 {
		s.says, s.crowd = k, newCrowd(a)
	}
	if k != s.says || p.toldByOthers(k) {
		return false
	}
	s.crowd.refuse(a)
	apart := max(p.settle(), time.Duration(p.answer.mean/apartOf*1e9)) // so long that the number could have changed
	same := uint64(p.recent.run()) > a.seq-s.asked.seq                 // nothing was accepted since the one before
	rate := served > manySlots && p.answer.dev < alike*p.answer.mean   // or might as well be
	if p.answer.mean == 0 || same || rate || !s.agree(a, served, apart) || p.recent.refused(16) > tooManyOf16 {
		return false
	}
	s.on, s.found, s.before, s.under = true, p.seq, p.bet.rate, history{top: p.seq} // the rate was not to blame
	if s.few() {
		s.doubt.knocks = knocks
	}
	s.lower(int(a.flying)-1, a.seq, p.seq)
	p.backAt(max(p.bet.rate, 2*float64(s.most)/p.answer.mean)) // twice what the slots serve, so as not to be felt
	p.dropBet()
	p.apply(now)
	return true
}

// refusedForSlots takes the refusal of a while the cap is on, and reports whether
// the cap explains it.
func (p *Pace) refusedForSlots(now instant, a *Pass, served int) bool {
	s, extra, few := &p.slots, p.slots.extra(a), p.slots.few()
	if extra {
		s.doubt.closed()
	} else {
		s.under.mark(a)
	}
	if p.dropUseless(a) {
		return false
	}
	alone := few && a.flying == 1 && p.recent.run() == 1 && s.doubt.refusedAlone(a.seq)
	filling := a.at.Before(p.hold.resumed.Add(p.Answer())) // after a hold few are served, whatever the number of slots
	fewer := served < s.least && !filling && s.strike(a, served, p.settle())
	swung := fewer && few && s.doubt.swung()
	chance := fewer && !few && p.lowersInVain(a)
	switch {
	case alone, swung: // it is a limit on the rate
		p.rate = wayBack(p.accepted.rate(now), s.before)
		s.giveUp()
		p.apply(now)
		return false
	case chance:
		p.undoLowering()
		return false
	case fewer || served >= s.least:
		s.most = max(1, served)
		s.lower(int(a.flying)-1, a.seq, p.seq)
	case extra:
		s.cap.t = 0
	}
	s.shut = now.Add(time.Duration(p.answer.mean / float64(max(1, served)) * 1e9))
	return true
}

// agree reports whether refusals and acceptances agree that it is slots: enough
// refusals came when as many were served, and as many but no more were accepted
// meanwhile, give or take a fifth. Refusals that are not apart in time do not count. With
// a few slots all agree, so that the crowd has to tell.
func (s *slots) agree(a *Pass, served int, apart time.Duration) bool {
	if a.at.Sub(s.asked.at) <= apart {
		return false
	}
	s.asked = *a
	if served < 1 { // nothing was served: it is not for want of a slot
		s.agreed = 0
		return false
	}
	if s.agreed == 0 || s.most-served > max(1, s.most/100) {
		s.most, s.least, s.agreed = served, 0, 0
	}
	s.most = max(s.most, served)
	s.agreed++
	return s.agreed >= agreeing<<min(s.doubt.wrong, agreeMost) && 10*s.least >= 8*s.most &&
		(!s.few() || s.crowd.tells(s.most))
}

// strike takes a refusal with fewer served than there are slots, and reports whether it
// shows, with those before it, that there are fewer slots now.
func (s *slots) strike(a *Pass, served int, apart time.Duration) bool {
	if !s.strikes.add(a, served, apart) {
		return false
	}
	s.least, s.strikes = s.strikes.fewest, strikes{}
	return true
}

// lower cuts the cap to n after the refusal of an attempt. One that was sent before
// the latest cut cannot raise it again.
func (s *slots) lower(n int, sent, last uint64) {
	base := float64(max(1, n))
	if sent <= s.cut {
		base = min(base, s.cap.base)
	}
	s.capAt(base, last)
}

// capAt makes base the cap for the attempts after the last one.
func (s *slots) capAt(base float64, last uint64) {
	s.cap = limit{base: base, step: max(1, dip*base)}
	s.cut = last
}

// grow moves the cap on by one attempt that had to wait for it, dt after the one before.
func (s *slots) grow(dt time.Duration) {
	sent := slotsSent
	if s.few() {
		sent = knockSoon << min(s.doubt.inVain, knockMost)
	}
	s.cap.t += min(dt.Seconds()/comeback, 1/float64(sent))
}
