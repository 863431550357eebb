package steady

// overload is a run of overload answers each of whose attempts was sent in the
// knowledge that the one before had failed.
type overload struct {
	run  int
	from uint32 // the failures known to attempts that were sent after the first of the run
}

// refused takes an overload answer and reports whether it goes on with the run.
func (o *overload) refused(p permit, known uint32) bool {
	if p.known != known {
		return false
	}
	if o.run == 0 {
		o.from = known + 1
	}
	o.run++
	return true
}

// passed takes a success, which ends the run if it was sent after its beginning.
func (o *overload) passed(p permit) {
	if p.known >= o.from {
		o.run = 0
	}
}

// overloaded counts an overload answer where a pace deals with overload: by going
// slower, if that helps. So it is a failure only at the end of a run that shows
// that it does not help, and when the pace sees nothing pass, which is told without
// a lock. b.mu must be held.
func (b *breaker) overloaded(p permit) {
	if !b.over.refused(p, b.known.Load()) {
		return
	}
	b.known.Add(1)
	if b.over.run >= b.all.cfg.inARow && !b.all.passing(b.key) {
		b.inARow = b.over.run
		b.period.presume(p.nth)
		b.count(errFailure)
	}
}
