package pace

// sinking is how far refusals have lowered the cap on the slots while others were
// accepted all the time. Fewer slots refuse nothing once the cap is as low as they are;
// chance goes on.
type sinking struct {
	from          float64 // the cap before
	times         int     // that it was lowered since
	last          uint64  // the refusal that lowered it last
	sent, refused int     // attempts meanwhile
}

const (
	sinkings  = 3       // in vain show that it is chance
	sinkSoon  = 64      // attempts from one to the next, or it is another matter
	sinkStill = 3.0 / 4 // of them refused may be those that fewer slots refuse until some are free,
	sinkLeast = 1.0 / 4 // and fewer may be for slots that are taken by answers which nobody waits for
)

// sinks takes note that the refusal of a is to lower the cap once more, and reports
// whether it shows that all of them were chance.
func (p *Pace) sinks(a *Pass) bool {
	k, base := &p.slots.sinking, p.slots.cap.base
	if a.seq <= k.last { // it was sent when the cap was not as low yet
		return false
	}
	sent := int(min(a.seq-k.last, sinkSoon+1))
	if sent > sinkSoon {
		*k = sinking{from: base, last: a.seq}
		return false
	}
	refused := p.luck[p.slots.says].recent.refused(sent)
	if float64(refused) > sinkStill*float64(sent) {
		return false
	}
	k.from, k.times, k.last = max(k.from, base), k.times+1, a.seq
	k.sent, k.refused = k.sent+sent, k.refused+refused
	return k.times >= sinkings && float64(k.refused) >= sinkLeast*float64(k.sent)
}

// slotsAreChance ends a sinking of the cap: what was refused under it was so by chance.
func (p *Pace) slotsAreChance() {
	s := &p.slots
	l, k := &p.luck[s.says], s.sinking
	l.seen = float64(k.sent)
	l.uphold(float64(k.refused)/l.seen, p.seq)
	l.since(p.seq)
	s.cap, s.cut = limit{base: k.from, step: max(1, dip*k.from)}, p.seq
	s.most, s.least, s.shut, s.strikes, s.sinking = int(k.from), 0, 0, strikes{}, sinking{}
}
