package pace

import (
	"cmp"
	"math"
	"time"
)

// change is when the rate was changed. The refusal of an attempt that was sent
// before, or so soon afterwards that it met those at the provider, is for the old rate.
type change struct {
	after uint64  // the last attempt sent before
	calm  instant // when those will have reached the provider
}

// since reports whether a was sent at the rate of now.
func (c *change) since(a *Pass) bool { return a.seq > c.after && a.at.After(c.calm) }

// cut lowers the rate after a refusal of an attempt that was sent at this rate: a
// little, if it is the first one since the rate was back where it was; further, if
// what was accepted since the refusals began says so. Every attempt sent before a has
// been refused by now or it never will be. No cut goes below deepest, since refused
// attempts may cost capacity, and then less is accepted than could be. Only where far
// more is sent than is accepted does it go deeper, to farBeyond times that. Nor does what
// was accepted since lead below trialRate of what was accepted for a while before: if
// refusals go on there it is time for a trial.
func (p *Pace) cut(now instant, a *Pass, k kind) {
	v := p.perSecond(now)
	p.hold.ramped = false
	p.says = k
	p.rateChanged(now)
	if p.rate.searching && !p.free() { // a search ends far above the limit: the next cut may come once refusals of what is sent now can
		p.changed.calm = now.Add(now.Sub(a.at))
	}
	first := p.rate.searching || p.rate.t >= nearlyBack
	if first && p.recent.clean() >= cleanRun { // what was accepted until now is what we asked for
		p.bet.renew(p.newBet(now, a, k))
	}
	if first { // it has been up to v, and is refused there
		p.bet.borne = min(p.bet.borne, v)
	}
	measured := max(p.bet.accepted(a.at, a.seq), min(deepest*v, farBeyond*p.accepted.rate(now)), trialRate*p.bet.borne)
	switch {
	case p.cfg.Without.has(NoMeasure):
		p.setRate(now, v/2)
	case first:
		p.cutFirst(now, a, v, measured)
	case measured < v:
		p.cutFurther(now, measured)
	}
}

const (
	deepest    = 0.7 // of the rate is left by the deepest cut,
	farBeyond  = 3   // or so many times what was accepted, if that is less
	nearlyBack = 0.7 // of the way back from a cut: a refusal from there on is for the limit itself
	cleanRun   = 15  // attempts before a refusal, none of them refused, that say only what was asked for
	credible   = 0.3 // of the rate: if less was counted as accepted, less may have been asked for

	// A cycle counts what the provider replenishes if it was long, and began at about
	// the rate that it tells. Else its bucket may have flowed over meanwhile.
	cycleFull = 100 // attempts
	cycleSame = 0.9 // of what it tells
)

// cutFirst cuts a rate of v that was back where it was, or was never cut.
func (p *Pace) cutFirst(now instant, a *Pass, v, measured float64) {
	b := &p.bet
	b.undo = found(min(b.rate, max(v, p.rate.base)), 1)
	if p.rate.back > 0 {
		b.undo = wayBack(v, p.rate.back)
	}
	c := p.cycle.rate(a.at)
	if p.cycle.sent < cycleFull || p.cycle.start < cycleSame*c {
		c = math.Sqrt(c * v)
	}
	c = max(c, p.accepted.rate(now))
	known := !p.rate.searching
	p.setRate(now, min(below*v, measured, max(c, credible*v)))
	if known { // a search ends far beyond the limit, and so its last attempt came much too early
		part := p.rebate.give(p.seq + 1)
		p.bucket.take(now, -part)
	}
	p.cycle = cycle{start: p.perSecond(now)}
}

// cutFurther cuts a rate that is still on its way back, which leads to where it held
// before the first cut all the same.
func (p *Pace) cutFurther(now instant, measured float64) {
	before := cmp.Or(p.rate.back, p.rate.base)
	p.rate = found(measured/(1-dip), p.rate.t)
	p.rate.back = before
	p.apply(now)
}

// accepted is how many a second were accepted since the bet began, rounded up, of the
// attempts up to the one that was sent at the given time. Those still out count as accepted.
func (b *bet) accepted(at instant, upTo uint64) float64 {
	span := at.Sub(b.from.at).Seconds()
	if span <= 0 {
		return math.Inf(1)
	}
	return (float64(upTo-b.from.seq) - float64(b.refused) + 2) / span
}

// rateChanged makes the attempts sent so far those of the old rate. So are the next
// ones for as long as it takes until those sent before have reached the provider, and
// for calmLeast where that says 429.
func (p *Pace) rateChanged(now instant) {
	calm := time.Duration(p.saying * 1e9)
	if p.says == rejection || p.says == computed {
		calm = max(calmLeast, calm)
	}
	p.changed = change{after: p.seq, calm: now.Add(calm)}
}

// calmLeast is the least time from one cut to the next. The last attempts before a window
// ends are all refused, within a part of it, and tell nothing of the rate. An overload is no
// window, and while it is not cut fast enough the breaker opens.
const calmLeast = 100 * time.Millisecond

// setRate makes r the place where the rate limit was found.
func (p *Pace) setRate(now instant, r float64) {
	p.rate = found(r, 0)
	p.applyDrained(now)
}

// applyDrained applies the rate and forgets saved tokens.
func (p *Pace) applyDrained(now instant) {
	p.apply(now)
	if n := math.Floor(p.bucket.level(now)); n > 0 {
		p.bucket.take(now, n)
	}
}
