package pace

import (
	"math"
	"math/bits"
	"time"
)

// estimate is a smoothed mean and deviation, in seconds.
type estimate struct{ mean, dev float64 }

func (e *estimate) add(x float64) {
	if e.mean == 0 {
		e.mean, e.dev = x, x/2
	}
	e.dev += drift * (math.Abs(x-e.mean) - e.dev)
	e.mean += drift * (x - e.mean)
}

const drift = 0.02 // weight of the latest: what an estimate says is that of some 50

// tally is a rate per second, smoothed over 5 s.
type tally struct {
	sum      float64
	at, from instant
}

func (t *tally) add(now instant, n float64) {
	if t.from.IsZero() {
		t.from, t.at = now, now
	}
	t.sum = max(0, t.sum*decay(now.Sub(t.at).Seconds()/5)+n/5)
	t.at = now
}

func (t *tally) rate(now instant) float64 {
	age := max(0.5, now.Sub(t.from).Seconds())
	return t.sum * math.Exp(-now.Sub(t.at).Seconds()/5) / (1 - math.Exp(-age/5))
}

// paused is t as it goes on after d that does not count.
func (t tally) paused(d time.Duration) tally {
	if !t.from.IsZero() {
		t.at, t.from = t.at.Add(d), t.from.Add(d)
	}
	return t
}

// decay is exp(-x). Attempts mostly follow one another so fast that five terms of the
// series are as exact, at a tenth of the price.
func decay(x float64) float64 {
	if x > 1e-3 || x < 0 {
		return math.Exp(-x)
	}
	return 1 + x*(-1+x*(1.0/2+x*(-1.0/6+x*(1.0/24))))
}

// historyLen is how many attempts a history remembers, by the bits that it is made of.
const historyLen = 64

// history remembers which of the last historyLen attempts up to the latest refused one
// were refused.
type history struct {
	top  uint64
	bits uint64
	from instant // when the first of the run at the end was sent
}

// ago moves the history on to a, if a is later, and returns how many attempts lie
// between a and the latest.
func (h *history) ago(a *Pass) uint64 {
	if a.seq > h.top {
		h.bits <<= min(historyLen, a.seq-h.top)
		h.top = a.seq
	}
	return h.top - a.seq
}

// mark takes note that a was refused.
func (h *history) mark(a *Pass) {
	if d := h.ago(a); d < historyLen {
		h.bits |= 1 << d
	}
	if h.run() == 1 {
		h.from = a.at
	}
}

// skip takes note of an attempt of which nothing is known: it counts as the one
// before it did, so that callers who leave do not look like answers.
func (h *history) skip(a *Pass) {
	if d := h.ago(a); d < historyLen-1 && h.bits&(1<<(d+1)) != 0 {
		h.bits |= 1 << d
	}
}

// cycle counts what was accepted between two times at which the provider refused.
// At both its bucket was empty, so that this is what it replenishes, provided that
// calls were waiting all the time.
type cycle struct {
	from   instant
	sent   float64 // attempts
	unheld float64 // those of them that had not waited
	start  float64 // the rate at its beginning
	void   bool    // the bucket was not empty then: a trial had slowed us down
}

func (c *cycle) note(a *Pass) {
	if c.from.IsZero() {
		c.from = a.at
	}
	c.sent++
	if a.heldBy == byNothing {
		c.unheld++
	}
}

// held reports whether calls were waiting nearly all the time.
func (c *cycle) held() bool { return c.unheld <= c.sent/5 }

// rate is what was accepted per second, or infinity if that says nothing.
func (c *cycle) rate(now instant) float64 {
	span := now.Sub(c.from).Seconds()
	if c.void || c.sent < 20 || span < 1 || !c.held() {
		return math.Inf(1)
	}
	return c.sent / span
}

// run is how many in a row were refused, the latest included.
func (h *history) run() int { return bits.TrailingZeros64(^h.bits) }

// clean is how many in a row before the latest refused one were not refused.
func (h *history) clean() int { return bits.TrailingZeros64(h.bits >> 1) }

// allFail reports whether the run is one that chance does not explain.
func (h *history) allFail() bool {
	run := h.run()
	return run >= failRun && !ByChance(run, h.refused(historyLen), h.sinceFirst())
}

// sinceFirst is how many of the remembered attempts were sent since the first refused one,
// with which what is chance may have begun.
func (h *history) sinceFirst() int { return historyLen - bits.LeadingZeros64(h.bits) }

const failRun = 4 // refusals in a row that can be more than chance

// fewOthers besides a run are the least of which a share is judged: of fewer the rest count
// as passed.
const fewOthers = 30

// ByChance reports whether chance explains a run of failures at the end of so many
// attempts: at the share of the others that failed, one as long comes more often than
// about once in a million attempts. Of 64 attempts it does not explain 4 in a row if no
// other failed, 9 if ten others did, or 16 if twenty did.
func ByChance(run, failed, attempts int) bool {
	share := float64(max(0, failed-run)+1) / float64(max(fewOthers, attempts-run)+2)
	return float64(run)*math.Log(share) >= -13.8 // the logarithm of 1e-6
}

// likelier is how much more likely it is, as a logarithm, that so many of those sent are
// refused if the share a of all is than if b is.
func likelier(refused, sent, a, b float64) float64 {
	odds := 0.0
	if refused != 0 {
		odds += refused * math.Log(a/b)
	}
	if passed := sent - refused; passed != 0 {
		odds += passed * math.Log((1-a)/(1-b))
	}
	return odds
}

// refused is how many of the last n attempts were refused.
func (h *history) refused(n int) int { return bits.OnesCount64(h.bits << (historyLen - n)) }

// share is the part of the remembered attempts that was refused.
func (h *history) share() float64 { return float64(h.refused(historyLen)) / historyLen }
