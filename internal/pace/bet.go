package pace

import "time"

// bet is a run of refusals and what we make of it. Having cut the rate we bet that
// the refusals will go away. If they do not, a trial decides.
type bet struct {
	on      bool
	from    Pass   // the refusal that it began with,
	began   kind   // and the kind of that
	last    uint64 // the latest refusal
	refused int    // since from

	rate   float64 // before the first cut;
	held   float64 // what of that was accepted;
	told   bool    // that was the one that the user has set,
	proven bool    // or one that had held, at least
	undo   limit   // before the first cut since the rate was last back at the limit

	low   sample // what was sent below the place where the limit was found
	trial trial
}

// sample is a number of attempts, and how many of them were refused, by kind.
type sample struct {
	sent    float64
	refused [kinds]float64
}

// often reports whether so many are refused that it matters.
func (s *sample) often(k kind) bool { return s.refused[k] >= 0.08*s.sent }

// halve makes the sample count half, as old news.
func (s *sample) halve() {
	s.sent /= 2
	for i := range s.refused {
		s.refused[i] /= 2
	}
}

// runOver is how many attempts without a refusal end a run of refusals.
const runOver = 40

// low reports whether we send less than where the limit was found.
func (p *Pace) low(now time.Time) bool {
	return now.After(p.changed.calm) && (p.bet.trial.on || p.free() || !p.rate.searching && p.rate.t < 0.6)
}

// suspect reacts to an attempt that was refused for its speed, perhaps.
func (p *Pace) suspect(now time.Time, a *Pass, k kind) {
	if p.rate.searching { // what is sent while nobody waits shows only here
		p.rate.base = max(p.rate.base, p.accepted.rate(now))
	}
	if p.luck[k].share > 0 && !p.doubtChance(now, a, k) {
		return
	}
	if p.recent.refused(runOver) <= 1 && p.rate.back == 0 { // none but a for a while: the last trial was right
		p.slowed = slowed{}
	}
	b := &p.bet
	if !b.on || !b.trial.on && a.seq > b.last+runOver {
		*b = p.newBet(now, a, k)
	}
	if a.seq < b.from.seq {
		return
	}
	p.count(a, k)
	spared := b.told && (p.free() || p.rate.t < 0.7) // whoever set a rate knows something: the trial comes first
	switch {
	case b.trial.on:
	case p.maybeChance(k):
		p.beginTrial(now, a, k)
	case p.changed.since(a) && (!spared || p.recent.allFail()):
		p.cut(now, a, k)
	}
}

// newBet is the bet that the refusal of a begins.
func (p *Pace) newBet(now time.Time, a *Pass, k kind) bet {
	v, accepted := p.perSecond(now), max(1, p.accepted.rate(now))
	return bet{
		on: true, from: *a, began: k, rate: min(v, 1.5*accepted), held: min(v, 1.1*accepted),
		told: p.free(), proven: !p.rate.searching && p.rate.t >= 1 || p.free(),
	}
}

// dropBet forgets what the refusals so far are about.
func (p *Pace) dropBet() { p.bet, p.changed = bet{}, change{after: p.seq} }

// count adds the refusal of a to the bet.
func (p *Pace) count(a *Pass, k kind) {
	b := &p.bet
	b.refused++
	b.last = max(b.last, a.seq)
	if !b.trial.on && b.low.sent > 50 && !b.low.often(rejection) && !b.low.often(overload) {
		b.low = sample{}
	}
	if a.low && (!b.trial.on || a.seq > p.changed.after) {
		b.low.refused[k]++
	}
}

// maybeChance reports whether so many are refused below the limit that a trial is due.
func (p *Pace) maybeChance(k kind) bool {
	low := &p.bet.low
	return k != computed && low.refused[k] >= 4 && low.sent >= 16 && low.often(k) &&
		p.recent.run() < 4 && !p.cfg.Without.has(NoChance)
}
