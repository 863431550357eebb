package pace

import "time"

// doubt is what speaks against the slots where they are few. A limit of a few attempts
// a second looks like a few slots: its refusals, too, come when as many are out. So
// such a cap is proven by a few attempts more than there are slots, and given up when
// they are let in, or when the number swings, as slots do not.
type doubt struct {
	knocks int    // attempts more than there are slots that are yet to go
	open   int    // of those that went, how many were let in
	inVain int    // attempts more than there are slots that were refused, none let in since
	raised bool   // the number has gone up since it last went down
	swings int    // times that it went down after that
	alone  int    // attempts in a row, or nearly so, that were refused with no other one out,
	last   uint64 // and the latest of them
	wrong  int    // times that the slots were given up: each time more must agree before they are believed again
}

const (
	fewSlots = 8  // fewer are doubted
	knocks   = 3  // to prove them
	letIn    = 2  // of these say that it is no limit on the slots
	swings   = 2  // say the same
	alone    = 3  // refused with no other one out, each within
	aloneIn  = 16 // attempts of the one before, say it too: a single one may be an answer that nobody waits for
)

// refusedAlone takes the refusal of an attempt that was the only one out, and reports
// whether that refutes the slots.
func (d *doubt) refusedAlone(seq uint64) bool {
	if seq > d.last+aloneIn {
		d.alone = 0
	}
	d.alone, d.last = d.alone+1, seq
	return d.alone >= alone
}

// closed takes the refusal of one attempt more than there are slots.
func (d *doubt) closed() {
	d.knocks = max(0, d.knocks-1)
	d.inVain++
}

// opened takes the acceptance of more than there are slots, and reports whether it
// refutes them.
func (d *doubt) opened() bool {
	d.raised, d.inVain = true, 0
	if d.knocks == 0 {
		return false
	}
	d.knocks--
	d.open++
	return d.open >= letIn
}

// swung takes note that there seem to be fewer slots, and reports whether the number
// has gone up and down so often that it is none.
func (d *doubt) swung() bool {
	if d.raised {
		d.raised = false
		d.swings++
	}
	return d.swings >= swings
}

// giveUp forgets the slots, which are a limit on the rate, it seems.
func (s *slots) giveUp() {
	s.doubt.wrong++
	s.reset()
}

// dropUseless takes the cap away if attempts that it had room for are refused so often, the
// latest of them a, that it does not help, and reports whether it did so.
func (p *Pace) dropUseless(a *Pass) bool {
	s := &p.slots
	vain := s.few() && s.under.refused(16) > underCap16
	switch {
	case vain && a.seq <= s.found+historyLen, // it never did help
		s.most > manySlots && s.under.refused(historyLen) > roomFor64:
		s.giveUp()
	case vain, p.recent.refused(historyLen) > underCap64:
		s.reset()
	default:
		return false
	}
	return true
}

// knockWait is how long until one more attempt than there are slots may go, to see
// whether there are more. It goes at a time of its own, and not on the heels of
// another, which a limit on the rate would refuse for its haste.
func (p *Pace) knockWait(now instant) time.Duration {
	s := &p.slots
	if !s.on || !s.few() || float64(p.InFlight()) < s.cap.base {
		return 0
	}
	return p.lastSent.Add(time.Duration(p.answer.mean / (float64(s.most) + 0.5) * 1e9)).Sub(now)
}
