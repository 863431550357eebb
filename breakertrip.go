package steady

import "time"

// trips reports whether b opens, now that so many attempts have failed in its window. It is
// called with both locks held.
func (b *breaker) trips(failed int) bool {
	c := &b.all.cfg
	judged := b.period.successes.last(windowBuckets, b.period.age(time.Now())) + failed
	if !c.own {
		judged += b.period.presumed
	}
	return b.inARow >= c.inARow && (c.own || !b.period.byChance(b.inARow)) ||
		judged >= c.minimum && b.tooMany(float64(failed)/float64(judged), judged)
}

// tooMany reports whether a share of the attempts judged has failed for which the breaker
// opens. By default it asks whether that helps: if as many fail right after an opening
// that was no outage, they do so at random, and only where nearly all fail it opens again.
func (b *breaker) tooMany(share float64, judged int) bool {
	c := &b.all.cfg
	switch {
	case c.own:
		return share >= c.ratio
	case share < c.ratio/2:
		b.vain = false
	case share >= c.ratio && judged < 2*c.minimum && b.period.carried.failed > 0:
		b.vain = true
	}
	return share >= c.ratio && !b.vain || share >= nearlyAll
}

const nearlyAll = 0.9 // of what fails at random more is more than retries repair
