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
	l.t += min(dt.Seconds()/comeback, 1.0/comebackSent)
}

const (
	comeback     = 2.0 // s
	comebackSent = 40
	dip          = 0.03 // the step as a share of the base
	below        = 0.985
)

// grow moves the limit that the head of the queue waited for.
func (p *pace) grow(now time.Time) {
	dt := now.Sub(p.lastSent)
	switch p.held {
	case byRate:
		p.rate.advance(dt)
	case bySlots:
		if p.slots.capped() {
			p.slots.cap.advance(dt)
		}
	}
	p.apply(now)
}

// history remembers which of the last 64 attempts up to the latest refused one were refused.
type history struct {
	top  uint64
	bits uint64
}

func (h *history) mark(seq uint64) {
	if seq > h.top {
		h.bits <<= min(64, seq-h.top)
		h.top = seq
	}
	if d := h.top - seq; d < 64 {
		h.bits |= 1 << d
	}
}

// run is how many in a row were refused, the latest included.
func (h *history) run() int { return bits.TrailingZeros64(^h.bits) }

// share is the part of the last attempts that was refused.
func (h *history) share(seq uint64) float64 {
	return float64(bits.OnesCount64(h.bits)) / float64(min(64, max(20, h.top)))
}

// bet is a stretch of attempts at one speed. Having cut the rate we bet that the
// refusals will go away; if their share stays, speed was not what they are about.
type bet struct {
	on      bool
	from    pass // the refusal it began with
	last    uint64
	refused int
	level   int     // bets lost so far
	share   float64 // of the refusals, before this bet
	rate    float64 // before the first cut
	passed  float64 // attempts per second that were accepted before the first cut
	chance  float64 // share of attempts that fail whatever we do; 0 = none known
	after   uint64  // the last attempt sent before the latest cut
}

// refused reacts to an attempt that was refused for its speed, perhaps.
func (p *pace) refused(now time.Time, a *pass) {
	b := &p.bet
	share := p.recent.share(p.seq)
	if b.chance > 0 {
		if share <= min(0.95, 1.5*b.chance+0.1) && share > b.chance/4 {
			return
		}
		*b = bet{after: b.after}
	}
	if !b.on || a.seq > b.last+200 {
		rate := p.rate.value()
		*b = bet{on: true, from: *a, rate: rate, after: b.after}
	}
	if a.seq < b.from.seq {
		return
	}
	b.refused++
	b.last = max(b.last, a.seq)
	if a.seq <= b.after {
		p.settleBet(now, a)
		return
	}
	if !p.cfg.without.has(noSlots) && p.slots.explains(a) {
		p.capSlots(a)
		return
	}
	b.after = p.seq
	p.cut(now, a)
	p.settleBet(now, a)
}

// cut lowers the rate to what has been accepted since the bet began. Every attempt
// sent before a has been refused by now or it never will be.
func (p *pace) cut(now time.Time, a *pass) {
	b := &p.bet
	v := p.rate.value()
	if p.cfg.without.has(noMeasure) {
		p.setRate(now, v/2)
		return
	}
	accepted := float64(a.seq-b.from.seq+1) - float64(b.refused)
	span := a.at.Sub(b.from.at).Seconds()
	measured := math.Inf(1)
	if span > 0 {
		measured = (accepted + 1) / span
	}
	switch {
	case p.rate.searching, p.rate.t >= 0.7:
		p.setRate(now, min(below*v, measured))
	case measured < v:
		p.rate.base = measured / (1 - dip)
		p.rate.step = dip * p.rate.base
		p.apply(now)
	}
}

func (p *pace) setRate(now time.Time, r float64) {
	p.rate = limit{base: r, step: dip * r}
	p.apply(now)
}

// settleBet looks whether enough was seen to call the bet.
func (p *pace) settleBet(now time.Time, a *pass) {
	b := &p.bet
	n := float64(a.seq - b.from.seq + 1)
	if b.refused < 4 || n < 20 {
		return
	}
	share := float64(b.refused) / n
	span := a.at.Sub(b.from.at).Seconds()
	passed := (n - float64(b.refused)) / max(span, 1e-3)
	lost := b.level
	switch {
	case b.share == 0:
		b.passed = passed
	case share >= b.share/2:
		lost++
	default:
		lost, b.rate, b.passed = 0, p.rate.value(), passed
	}
	if lost >= 2 && !p.cfg.without.has(noChance) {
		r := min(b.rate, max(p.rate.value(), b.passed/(1-min(share, 0.9))))
		*b = bet{chance: share, after: p.seq}
		p.rate = limit{base: r, step: dip * r, t: 1}
		p.apply(now)
		return
	}
	// The next bet is on attempts sent from now on.
	next := pass{at: now, seq: p.seq + 1}
	*b = bet{on: true, from: next, last: p.seq, level: lost, share: share, rate: b.rate, passed: b.passed, after: b.after}
}
