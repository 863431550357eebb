package pace

// State is what a pace is doing, in the words of docs/pace.md.
type State uint8

const (
	Search State = iota // no limit was met yet
	Rate                // attempts a second are what is limited
	Trial               // it goes deliberately slowly, to see whether that helps
	Chance              // a share is refused however slowly it goes
	Slots               // attempts in flight are what is limited
	Hold                // nothing passes: one probe at a time
)

func (s State) String() string {
	return [...]string{"search", "rate", "trial", "chance", "slots", "hold"}[s]
}

// State returns what the pace is doing now. Where several fit it is the one that
// explains most of why a call waits.
func (p *Pace) State() State {
	switch {
	case p.hold.on:
		return Hold
	case p.bet.trial.on:
		return Trial
	case p.slots.on || p.slow.cap > 0:
		return Slots
	case p.chance() > 0:
		return Chance
	case p.rate.searching && !p.free() && p.cfg.Pool == nil:
		return Search
	}
	return Rate
}

// Why says what has led from a state to the one of now.
func (p *Pace) Why(from State) string {
	switch to := p.State(); {
	case to == Hold && p.hold.silent:
		return "silence"
	case to == Hold && p.hold.failing:
		return "failed"
	case to == Hold:
		return "rejected"
	case from == Hold && p.down:
		return "breaker"
	case from == Hold:
		return "probe"
	case to == Search:
		return "anew"
	case from == Trial:
		return "trial"
	case to == Trial:
		return "doubt"
	case to == Slots && !p.slots.on:
		return "slow"
	case to == Slots:
		return "in flight"
	case from == Slots:
		return "no slots"
	case from == Chance:
		return "no chance"
	}
	return "refused"
}
