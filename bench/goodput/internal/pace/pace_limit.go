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
	p.accepted.add(now, 1)
	if b := &p.bet; b.chance > 0 && float64(p.seq-p.recent.top) > max(64, 8/b.chance) {
		p.trace(now, "chance is over")
		*b = bet{after: b.after}
	}
	dt := min(gap, now.Sub(p.heldAt))
	switch p.held {
	case byRate:
		if p.bet.chance > 0 {
			dt /= 4
		}
		if !p.bet.trial && (p.rate.value() < 2*p.accepted.rate(now) || p.seq < 20) {
			p.rate.advance(dt)
		}
	case bySlots:
		if p.slots.capped() {
			p.slots.cap.advance(dt)
			p.doubt(now)
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
	start   float64 // the rate at its beginning
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
