package pace

import (
	"math"
	"math/bits"
	"time"
)

// limit is a ceiling that is found by running into it. Its value starts a little
// below the base, where it was found, comes back to it, stays close, and then leaves
// it ever faster, as CUBIC does: t = 1 is back at the base.
type limit struct {
	base      float64
	step      float64
	t         float64
	searching bool // it was never met: the base doubles instead
}

func (l *limit) value() float64 {
	d := l.t - 1
	return l.base + l.step*d*d*d
}

// advance moves t on by one attempt that had to wait for this limit, dt after the one
// before: back at the base in 2 s, but not in fewer than 40 attempts.
func (l *limit) advance(dt time.Duration) {
	if l.searching {
		l.base *= math.Exp2(min(dt, 250*time.Millisecond).Seconds() / 0.25)
		return
	}
	x := dt.Seconds() / comeback
	l.t += min(x, max(x/4, 1.0/comebackSent))
}

const (
	comeback     = 2.0 // s
	comebackSent = 30
	dip          = 0.03 // the step as a share of the base
	below        = 0.985
)

// grow moves the limit that the head of the queue waited for.
func (p *pace) grow(now time.Time) {
	gap := now.Sub(p.lastSent)
	if p.seq > 0 && gap > 0 { // a mean over about a second, or 10 attempts
		w := min(max(math.Exp(-gap.Seconds()), 0.9), 1-1/float64(p.seq))
		p.flow = w*p.flow + (1-w)/gap.Seconds()
	}
	dt := min(gap, now.Sub(p.heldAt))
	switch p.held {
	case byRate:
		if p.rate.value() < 2*p.flow || p.seq < 20 {
			p.rate.advance(dt)
		}
	case bySlots:
		if p.slots.capped() {
			p.slots.cap.advance(dt)
			p.doubt()
		}
	}
	p.apply(now)
}

// history remembers which of the last 64 attempts up to the latest refused one were refused.
type history struct {
	top  uint64
	bits uint64
	from time.Time // when the first of the run at the end was sent
}

func (h *history) mark(a *pass) {
	if a.seq > h.top {
		h.bits <<= min(64, a.seq-h.top)
		h.top = a.seq
	}
	if d := h.top - a.seq; d < 64 {
		h.bits |= 1 << d
	}
	if h.run() == 1 {
		h.from = a.at
	}
}

// cycle counts what was accepted between two times at which the provider refused.
// At both its bucket was empty, so that this is what it replenishes, provided that
// calls were waiting all the time.
type cycle struct {
	from    time.Time
	sent    float64
	unheld  float64
	refused float64
}

func (c *cycle) note(a pass) {
	if c.from.IsZero() {
		c.from = a.at
	}
	c.sent++
	if a.held == byNothing {
		c.unheld++
	}
}

// rate is what was accepted per second, or infinity if that says nothing.
func (c *cycle) rate(now time.Time) float64 {
	span := now.Sub(c.from).Seconds()
	if c.sent < 20 || span < 1 || c.unheld > c.sent/5 {
		return math.Inf(1)
	}
	return (c.sent - c.refused) / span
}

// run is how many in a row were refused, the latest included.
func (h *history) run() int { return bits.TrailingZeros64(^h.bits) }

// refused is how many of the last n attempts were refused.
func (h *history) refused(n int) int { return bits.OnesCount64(h.bits << (64 - n)) }

// share is the part of the last 64 attempts that was refused.
func (h *history) share() float64 { return float64(h.refused(64)) / 64 }

// bet is a stretch of attempts at one speed. Having cut the rate we bet that the
// refusals will go away; if their share stays, speed was not what they are about.
type bet struct {
	on      bool
	from    pass // the refusal it began with
	last    uint64
	refused int
	level   int       // bets lost so far
	share   float64   // of the refusals in the first bet
	sent    float64   // attempts per second in the first bet
	start   float64   // the rate when it began
	rate    float64   // the rate before the first cut
	passed  float64   // attempts per second that were accepted in the first bet
	chance  float64   // share of attempts that fail whatever we do; 0 = none known
	calm    time.Time // refusals of attempts sent before are still those of the old rate
	after   uint64    // the last attempt sent before the latest cut
}

// refused reacts to an attempt that was refused for its speed, perhaps.
func (p *pace) refused(now time.Time, a *pass) {
	b := &p.bet
	if b.chance > 0 {
		if share := p.recent.share(); share <= min(0.95, 1.5*b.chance+0.1) && share > b.chance/4 {
			return
		}
		p.trace(now, "chance ends")
		*b = bet{after: b.after}
	}
	if !b.on || a.seq > b.last+200 {
		v := p.perSecond(now)
		*b = bet{on: true, from: *a, start: v, rate: min(v, 2*p.flow), after: b.after}
	}
	if a.seq < b.from.seq {
		return
	}
	b.refused++
	b.last = max(b.last, a.seq)
	if a.seq > b.after && a.at.After(b.calm) {
		if !p.cfg.without.has(noSlots) && p.slots.explains(a, p.settle()) {
			p.capSlots(a)
			return
		}
		p.cut(now, a)
	}
	p.callBet(now, a)
}

// cut lowers the rate after a refusal of an attempt that was sent at this rate: a
// little, if it is the first one since the rate was back where it was; further, if
// what was accepted since the refusals began says so. Every attempt sent before a has
// been refused by now or it never will be. One bet never cuts below 0.7, since
// refused attempts may cost capacity and then less is accepted than could be.
func (p *pace) cut(now time.Time, a *pass) {
	b, v := &p.bet, p.perSecond(now)
	p.hold.ramped = false
	b.after, b.calm = p.seq, now.Add(time.Duration(p.saying*1e9))
	if p.cfg.without.has(noMeasure) {
		p.setRate(now, v/2)
		return
	}
	floor := 0.7 * v
	measured := max(b.measured(a), floor)
	if p.rate.searching || p.rate.t >= 0.7 {
		c := p.cycle.rate(a.at)
		p.setRate(now, min(below*v, measured, max(c, floor)))
		p.trace(now, "cut v %.1f measured %.1f cycle %.1f refused %d seq %d-%d", v, measured, c, b.refused, b.from.seq, a.seq)
		p.cycle = cycle{}
		return
	}
	if measured < v {
		p.rate.base = measured / (1 - dip)
		p.rate.step = dip * p.rate.base
		p.apply(now)
		p.trace(now, "refine v %.1f measured %.1f refused %d seq %d-%d", v, measured, b.refused, b.from.seq, a.seq)
	}
}

// measured is the rate of what was accepted since the bet began, rounded up.
func (b *bet) measured(a *pass) float64 {
	span := a.at.Sub(b.from.at).Seconds()
	if span <= 0 {
		return math.Inf(1)
	}
	return (float64(a.seq-b.from.seq) - float64(b.refused) + 2) / span
}

// setRate makes r the place where the rate limit was found, and forgets saved tokens.
func (p *pace) setRate(now time.Time, r float64) {
	p.rate = limit{base: r, step: dip * r}
	p.apply(now)
	if n := int(p.bucket.TokensAt(now)); n > 0 {
		p.bucket.AllowN(now, n)
	}
}

// callBet looks whether enough was seen to call the bet. If refusals are about speed,
// fewer attempts per second leave as many accepted as before; if they are chance, as
// many fewer are accepted as are sent.
func (p *pace) callBet(now time.Time, a *pass) {
	b := &p.bet
	n := float64(a.seq - b.from.seq + 1)
	span := a.at.Sub(b.from.at).Seconds()
	if b.refused < 3 || n < 16 || span < 0.2 {
		return
	}
	share, sent := float64(b.refused)/n, n/span
	passed := sent * (1 - share)
	lost := b.level
	switch {
	case b.share == 0, share < 0.4*b.share, share > 2*b.share: // something new
		b.share, b.sent, b.passed, lost = share, sent, passed, 0
		b.rate = max(p.perSecond(now), min(b.rate, sent))
	case sent > 0.8*b.sent:
	case passed <= b.passed*math.Sqrt(sent/b.sent):
		lost++
	default:
		lost = 0
	}
	p.trace(now, "bet called share %.2f before %.2f n %.0f sent %.1f passed %.1f before %.1f %.1f lost %d", share, b.share, n, sent, passed, b.sent, b.passed, lost)
	if lost >= 2 && !p.cfg.without.has(noChance) {
		r := min(b.rate, max(p.perSecond(now), b.passed/(1-min(share, 0.9))))
		p.trace(now, "CHANCE r %.1f share %.2f", r, share)
		*b = bet{chance: share, after: p.seq}
		p.rate = limit{base: r, step: dip * r, t: 1}
		p.apply(now)
		return
	}
	// The next bet is on attempts sent from now on, no faster than what passed.
	if v := p.perSecond(now); passed < v {
		p.setRate(now, max(passed, 0.7*v))
	}
	next := *b
	next.from, next.last, next.refused, next.after = pass{at: now, seq: p.seq + 1}, p.seq, 0, p.seq
	next.start, next.level = p.perSecond(now), lost
	*b = next
}
