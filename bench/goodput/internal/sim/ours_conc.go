package sim

import (
	"math"
	"slices"
	"time"
)

// concLimit caps the attempts in flight when the time to the first byte grows
// with them: unlike the time of the whole answer it does not depend on how long
// the answer is. It does nothing before it has seen the first byte slow down.
//
// Times are compared by cohort of attempts sent one after the other, once nearly
// all of a cohort are in: what comes back first is fast by selection.
type concLimit struct {
	inflight int
	limit    float64
	base     float64 // lowest cohort median so far, drifting up slowly
	cur      *cohort
	peak     int
	full     bool
	falls    int     // decreases in a row
	fallFrom float64 // median and limit when they began
	limFrom  float64
	offUntil time.Time
	changed  time.Time // of the last decrease
}

type cohort struct {
	from       time.Time // when its first attempt was sent
	sent, lost int
	times      []float64
	done       bool
}

const (
	cohortSize = 100
	concDec    = 1.4
	concInc    = 1.25
)

func newConcLimit() *concLimit {
	return &concLimit{limit: math.Inf(1), cur: &cohort{from: time.Now()}, changed: time.Now().Add(-1)}
}

func (c *concLimit) allow() bool {
	if float64(c.inflight) < c.limit {
		return true
	}
	c.full = true
	return false
}

func (c *concLimit) send() *cohort {
	c.inflight++
	c.peak = max(c.peak, c.inflight)
	if c.cur.sent == cohortSize {
		c.cur = &cohort{from: time.Now()}
	}
	c.cur.sent++
	return c.cur
}

// sample takes the first-byte time of an attempt; d < 0 if there was none.
func (c *concLimit) sample(k *cohort, d time.Duration) {
	if d < 0 {
		k.lost++
	} else {
		k.times = append(k.times, d.Seconds())
	}
	if k.done || k.sent < cohortSize || len(k.times)+k.lost < cohortSize*95/100 {
		return
	}
	k.done = true
	if k.lost > cohortSize/2 || !k.from.After(c.changed) {
		return // sent before the last change of the limit: says nothing about it
	}
	defer func(old float64) {
		if c.limit < old {
			c.changed = time.Now()
		}
	}(c.limit)
	slices.Sort(k.times)
	med := k.times[(cohortSize-k.lost)/2]
	if c.base == 0 || med < c.base {
		c.base = med
	} else {
		c.base *= 1.0003
	}
	switch {
	case time.Now().Before(c.offUntil):
	case med > concDec*c.base && (math.IsInf(c.limit, 1) || float64(c.peak) > 0.7*c.limit):
		if c.falls == 0 {
			c.fallFrom, c.limFrom = med, math.Min(c.limit, float64(c.peak))
		}
		c.falls++
		c.limit = math.Max(8, math.Max(0.6, 0.95*concInc*c.base/med)*math.Min(c.limit, float64(c.peak)))
		if c.falls >= 3 && c.limit < 0.5*c.limFrom && med > 0.9*c.fallFrom {
			// fewer in flight did not help: this is just how slow the server is now
			c.base, c.limit, c.falls = med, math.Inf(1), 0
			c.offUntil = time.Now().Add(time.Minute)
		}
	case c.full && med < concInc*c.base:
		c.falls = 0
		c.limit *= 1.05
	case c.full:
		c.falls = 0
		c.limit *= 1.005
	default:
		c.falls = 0
	}
	c.peak, c.full = c.inflight, false
}
