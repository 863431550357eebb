package pace

// lowering is a run of cuts of the cap on the slots, each soon after the one before, while
// some attempts were accepted all the time. Where there are fewer slots now, refusals end
// once the cap is as low as they are. Those by chance go on under any cap.
type lowering struct {
	from          float64 // the cap before the first cut
	times         int     // that it was cut again
	last          uint64  // the refusal that it was last cut for
	sent, refused int     // attempts meanwhile
}

const (
	vainCuts = 3          // of a run, besides the first, say that it is chance
	soonCut  = historyLen // attempts at most lie between two cuts of a run

	stillFull   = 3.0 / 4 // if more of those were refused no slot has become free yet, and the cut cannot have helped
	unseenSlots = 1.0 / 4 // if fewer of all in a run were, answers that nobody waits for may hold slots unseen
)

// lowersInVain takes note that the refusal of a is about to lower the cap. It reports
// whether that would be in vain, as it was each time before: then it is chance.
func (p *Pace) lowersInVain(a *Pass) bool {
	s := &p.slots
	l := &s.lowering
	switch {
	case a.seq <= l.last: // it does not tell what that cut has done
		return false
	case a.seq > l.last+soonCut: // it begins a run
		*l = lowering{from: s.cap.base, last: a.seq}
		return false
	}
	sent := int(a.seq - l.last)
	refused := p.luck[s.says].recent.refused(sent)
	if float64(refused) > stillFull*float64(sent) {
		return false
	}
	l.from, l.times, l.last = max(l.from, s.cap.base), l.times+1, a.seq
	l.sent, l.refused = l.sent+sent, l.refused+refused
	return l.times >= vainCuts && float64(l.refused) >= unseenSlots*float64(l.sent)
}

// undoLowering puts the cap back to where it was before a run of cuts that were in vain.
// What was refused meanwhile is chance.
func (p *Pace) undoLowering() {
	s, l := &p.slots, p.slots.lowering
	seen := float64(l.sent)
	p.luck[s.says].learn(float64(l.refused)/seen, seen, p.seq)
	s.capAt(l.from, p.seq)
	s.most, s.least = int(l.from), 0
	s.shut, s.strikes, s.lowering = 0, strikes{}, lowering{}
}
