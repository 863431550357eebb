package pace

import (
	"math"
	"time"
)

// limit is a ceiling that is found by running into it. Its value starts a little
// below the base, where it was found, comes back to it, stays close, and then leaves
// it ever faster, as CUBIC does.
type limit struct {
	base      float64 // where it was found
	step      float64 // how far below the base it starts
	t         float64 // where on its way it is: 0 at the start, 1 back at the base
	searching bool    // it was never met: the base doubles instead
	guess     bool    // it may never have been met: that may have been chance or an outage
	back      float64 // where it leads after the base, for it held there before; 0 if that is not known
}

// found is a limit that was found at base; t = 0 starts below it, t = 1 there.
func found(base, t float64) limit {
	base = max(base, slowest)
	return limit{base: base, step: dip * base, t: t}
}

// backAt goes on at r attempts per second, where the limit may lie, without the dip.
// At the limit that the user has set it is the only one again.
func (p *Pace) backAt(r float64) {
	if c := p.cfg.Ceiling; c > 0 && r >= c {
		p.rate = limit{base: c, searching: true}
		return
	}
	p.rate = found(r, 1)
	p.cycle.start = min(p.cycle.start, r)
}

// wayBack is the limit at r after a trial that may have outlasted what it was about:
// at the rate from before, which had held, in as long as a cut takes. Nothing says
// that the limit lies in between.
func wayBack(r, before float64) limit {
	l := found(r, 1)
	l.back = before
	return l
}

// arrive ends the way back where it leads. A limit that has grown far beyond the one
// that the user has set is none.
func (p *Pace) arrive() {
	switch v, r, c := p.rate.value(), p.rate.back, p.cfg.Ceiling; {
	case r > 0 && v >= r:
		p.rate = found(r, 1)
	case c > 0 && v > 1.5*c:
		p.backAt(c)
	}
}

// slowest is the least rate, from which there is a way back.
const slowest = 0.05

func (l *limit) value() float64 {
	d, step := l.t-1, l.step
	if d > 0 && l.back > 0 {
		step = max(step, l.back-l.base)
	}
	return l.base + step*d*d*d
}

// advance moves t on by one attempt that had to wait for this limit, dt after the one
// before: back at the base in 2 s or, where attempts are few, in 30 attempts, 8 s at
// most. Well above its base the limit has risen, for nothing was refused there: from
// then on time counts alone, but for a step that would be a leap.
func (l *limit) advance(dt, doubling time.Duration) {
	if l.searching {
		l.base *= math.Exp2(min(dt, doubling).Seconds() / doubling.Seconds())
		return
	}
	x := dt.Seconds() / comeback
	if l.t < risen {
		x = min(x, max(x/4, 1.0/comebackSent))
	} else {
		x = min(x, l.t/stride)
	}
	l.t += x
}

const (
	comeback     = 2.0   // s from a cut until the rate is back
	comebackSent = 30    // attempts, if that takes longer, up to four times; a refusal in so many is tolerable
	risen        = 2.5   // where on its way a limit has clearly risen: 10 % above its base
	stride       = 20    // steps at least for as far as it has come by then: where few are sent a step in time alone would be a leap
	dip          = 0.03  // how far the rate starts below where the limit was found
	below        = 0.985 // where the limit lies, as a share of the rate that was refused
)

// waited is how long the head of the queue has waited since another went.
func (p *Pace) waited(now instant) time.Duration {
	return min(now.Sub(p.lastSent), now.Sub(p.heldSince))
}

// waitsFree is how many attempts that had to wait move a search on before what was
// accepted must bear it out: that says little as long as few calls came.
const waitsFree = 20

// used reports whether so much of the rate, but for what is refused, has been used
// that it may grow.
func (p *Pace) used(now instant) bool {
	share, most := p.recent.share(), beyond
	if c := p.chance(); c > 0 {
		share, most = c, beyondChance
	}
	return p.rate.value()*(1-share) < most*p.accepted.rate(now)
}

// beyondChance is beyond where refusals by chance are known. A refusal does not end the
// growth there.
const beyondChance = 1.25

// searchOn goes on with the search when what has ended it says nothing any more: one
// refusal ever, which may be chance, or a limit that nobody has met for long.
func (p *Pace) searchOn(now instant) {
	if p.rate.searching || !now.After(p.changed.calm) {
		return
	}
	alone := p.refused == 1 && p.says != computed && p.seq > p.changed.after+lone
	if alone || p.met != 0 && now.Sub(p.met) > stale {
		p.rate = limit{base: p.rate.value(), searching: true}
		p.dropBet()
	}
}

const (
	lone  = 16              // attempts without a second refusal after the first
	stale = 5 * time.Minute // without a refusal: where calls wait a limit is met again long before
)

// grow moves the limit that the head of the queue waited for.
func (p *Pace) grow(now instant) {
	p.accepted.add(now, 1)
	p.forget()
	p.searchOn(now)
	switch p.heldBy {
	case byRate:
		dt := min(p.waited(now), time.Duration(2e9/p.perSecond(now))) // the rate keeps nobody for longer: who waited has left
		if p.luck[p.says].share > 0 {
			dt /= 2
		}
		p.waits++
		if !p.bet.trial.on && (p.used(now) || p.rate.searching && p.waits <= waitsFree) {
			p.rate.advance(dt, max(250*time.Millisecond, time.Duration(1.5e9*p.saying)))
			p.arrive()
			if p.cfg.Without.has(NoSpeedUp) {
				p.rate.t = min(p.rate.t, 2)
			}
		}
	case bySlots:
		if p.slots.on {
			p.slots.grow(p.waited(now))
		}
	}
	p.apply(now)
}
