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
	held   float64 // as much of that as was accepted, and so held;
	byUser bool    // the user has set that rate,
	proven bool    // or it had held for a while, at least
	borne  float64 // as much was accepted for a while until then, and may be still; 0 if that is not known
	guess  bool    // no limit had been met, but for what may be chance or an outage
	undo   limit   // before the first cut since the rate was last back at the limit

	lows  lows // what was sent below the place where the limit was found, before a trial
	trial trial
}

const (
	runOver  = 40   // attempts without a refusal end what a bet is about
	lowUntil = 0.6  // the part of the way back from a cut on which we are surely below the limit,
	wellLow  = 0.85 // or of what was accepted before, wherever on that way we are
	beyond   = 1.5  // times what was accepted is surely more than the limit,

	fromSearch = 1.4 // or times what was accepted since, on the way down from the search of the first seconds

	borneFor = 10 * time.Second // what was accepted on average is what the provider could bear
)

// low reports whether we send less than where the limit was found.
func (p *Pace) low(now instant) bool {
	return now.After(p.changed.calm) &&
		(p.bet.trial.on || p.free() || !p.rate.searching && p.wellBelow() && !p.farAbove(now))
}

// wellBelow reports whether the rate is well below where the limit was found, or what was
// accepted before the refusals began.
func (p *Pace) wellBelow() bool {
	return p.rate.t < lowUntil || p.rate.value() < wellLow*p.bet.borne
}

// sentLow counts an attempt that was sent below the limit.
func (p *Pace) sentLow(now instant) {
	if !p.bet.trial.on {
		p.bet.lows.sent++
		return
	}
	p.bet.trial.tried++
	p.endTrial(now)
}

// farAbove reports whether the cuts of a rate that went far beyond the limit have not
// brought it near yet.
func (p *Pace) farAbove(now instant) bool {
	b, v := &p.bet, p.rate.value()
	if !b.on {
		return false
	}
	if b.guess && b.borne == 0 && b.began == rejection && v > fromSearch*b.accepted(now, p.seq) {
		return true // so early that what was accepted before may be what the provider's bucket had saved up
	}
	return v > b.rate && v > beyond*p.accepted.rate(now)
}

// suspect reacts to an attempt that was refused for its speed, perhaps.
func (p *Pace) suspect(now instant, a *Pass, k kind) {
	if p.rate.searching { // what is sent while nobody waits shows only here
		p.rate.base = max(p.rate.base, p.accepted.rate(now))
	}
	if p.luck[k].share > 0 && !p.doubtChance(now, a, k) {
		return
	}
	if p.recent.refused(runOver) <= 1 && p.rate.back == 0 { // a is the first for a while: the last trial was right
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
	trialFirst := b.byUser && (p.free() || p.rate.t < nearlyBack) // whoever set a rate knows something
	switch {
	case b.trial.on: // which will tell
	case !p.changed.since(a): // a was sent before the latest cut, which may be enough
	case p.maybeChance(k):
		p.beginTrial(now, a, k)
	case !trialFirst, p.recent.allFail():
		p.cut(now, a, k)
	}
}

// newBet is the bet that the refusal of a begins.
func (p *Pace) newBet(now instant, a *Pass, k kind) bet {
	v, accepted := p.perSecond(now), max(1, p.accepted.rate(now))
	b := bet{
		on: true, from: *a, began: k, rate: min(v, beyond*accepted), held: min(v, 1.1*accepted),
		byUser: p.free(), proven: !p.rate.searching && p.rate.t >= 1 || p.free(),
		guess: p.rate.searching || p.rate.guess,
	}
	if now.Sub(p.accepted.from) >= borneFor {
		b.borne = min(v, p.accepted.rate(now))
	}
	return b
}

// renew begins the bet anew at a refusal after which fresh would be the bet. What has held
// since it began is not forgotten.
func (b *bet) renew(fresh bet) {
	b.from, b.refused, b.borne = fresh.from, 1, fresh.borne
	b.rate, b.held = max(b.rate, fresh.rate), max(b.held, fresh.held)
}

// dropBet forgets what the refusals so far are about.
func (p *Pace) dropBet() { p.bet, p.changed = bet{}, change{after: p.seq} }

// count adds the refusal of a to the bet.
func (p *Pace) count(a *Pass, k kind) {
	b := &p.bet
	b.refused++
	b.last = max(b.last, a.seq)
	switch {
	case !a.low:
	case !b.trial.on:
		b.lows.refuse(k)
	case a.seq > p.changed.after && k == b.trial.about:
		b.trial.refused++
	}
}

// maybeChance reports whether so many are refused below the limit that a trial is due.
func (p *Pace) maybeChance(k kind) bool {
	return k != computed && p.bet.lows.suspicious(k) && p.recent.run() < failRun && !p.cfg.Without.has(NoChance)
}
