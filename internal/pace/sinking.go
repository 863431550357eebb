package pace

// sinking is how far refusals have lowered the cap on the slots while others were
// accepted all the time. Fewer slots refuse nothing once the cap is as low as they are;
// chance goes on.
type sinking struct {
	from          float64 // the cap before
	times         int     // that it was lowered
	sent, refused int     // attempts meanwhile
}

const (
	sinkings  = 3       // in vain show that it is chance
	sinkSoon  = 64      // attempts from one to the next, or it is another matter
	sinkStill = 3.0 / 4 // of them refused may be those that fewer slots refuse until some are free,
	sinkLeast = 1.0 / 4 // and fewer may be for slots that are taken by answers which nobody waits for
)

// further takes note that a cap of base is to be lowered, and that so many of the
// attempts since it was last lowered were refused. It reports whether it is chance.
func (k *sinking) further(base float64, sent uint64, refused int) bool {
	if sent > sinkSoon {
		*k = sinking{from: base}
		return false
	}
	if float64(refused) > sinkStill*float64(sent) {
		return false
	}
	if k.times == 0 {
		k.from = max(k.from, base)
	}
	k.times, k.sent, k.refused = k.times+1, k.sent+int(sent), k.refused+refused
	return k.times >= sinkings && float64(k.refused) >= sinkLeast*float64(k.sent)
}

// sinks reports whether the refusal of a, which would lower the cap once more, shows
// that all of them were chance.
func (p *Pace) sinks(a *Pass) bool {
	s := &p.slots
	if a.seq <= s.cut { // it was sent when the cap was not as low yet
		return false
	}
	sent := a.seq - s.cut
	return s.sinking.further(s.cap.base, sent, p.luck[s.says].recent.refused(int(min(historyLen, sent))))
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
