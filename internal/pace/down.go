package pace

import (
	"math"
	"time"
)

// Down tells the pace whether somebody else, a breaker, holds the calls because
// the provider fails. What happens meanwhile says nothing about speed.
func (p *Pace) Down(now time.Time, down bool) {
	if down == p.down { // as it mostly is
		return
	}
	p.down = down
	if down {
		p.outageBegins(p.at(now))
	} else {
		p.outageEnds(p.at(now))
	}
}

func (p *Pace) outageBegins(now instant) {
	h := hold{after: p.seq, from: now, failing: true, accepted: p.accepted, most: math.Inf(1)}
	h.again = now.Sub(p.hold.resumed) < soonAgain
	if p.bet.on {
		h.most = p.bet.rate
	}
	p.doubtHold()
	p.undoCuts()
	p.hold = h
}

func (p *Pace) outageEnds(now instant) {
	h, before := p.hold, p.recent.bits // a brown-out that looked like an outage shows in them
	if h.probes >= OutageProbes {
		before >>= p.recent.run()
	}
	if h.again && (p.rushed || h.probes == 0) { // it may have been our doing
		p.hold.failing = false
		p.backAt(againRate * min(h.most, p.rate.value()))
	}
	p.resume(now)
	p.recent.bits = before << 1
	p.accepted = h.accepted.paused(now.Sub(h.from)) // nothing could be accepted meanwhile
}

const (
	soonAgain = 10 * time.Second // after the end of an outage another one is soon:
	againRate = 0.85             // we go on at so much of the rate, in case that we were too fast
)

// OutageProbes that failed make a hold an outage: the run of failures before it says nothing
// of chance.
const OutageProbes = 2

// Holding reports whether nothing passes, and how long until the next probe may go.
func (p *Pace) Holding(now time.Time) (on bool, wait time.Duration) {
	t := p.at(now)
	p.watch(t)
	if !p.hold.on {
		return false, 0
	}
	_, wait = p.probeReady(t)
	return p.hold.on, wait
}

// BrownOut reports whether some attempts are overloaded however slowly they are sent.
func (p *Pace) BrownOut() bool { return p.luck[overload].share > 0 || p.luck[unavailable].share > 0 }

// Passing reports whether attempts pass as far as can be told: the latest refusals
// are no run but what chance explains, or have been followed by an attempt that must
// have been accepted, or are a run so short that a limit on the rate could have let
// none through meanwhile. Whatever the latest are, nothing passes in a barren time of
// twice what an answer takes.
func (p *Pace) Passing(now time.Time) bool {
	at := p.at(now)
	if p.barren.lasts(at, max(runCounts, 2*p.Answer())) {
		return false
	}
	if !p.recent.allFail() || p.later != 0 && at.Sub(p.later) > p.settle() {
		return true
	}
	lasts, ever := at.Sub(p.recent.from), p.refused+uint64(p.InFlight()) < p.seq
	return ever && lasts < runCounts && lasts.Seconds()*p.fastest < runPasses
}

// barren is a time in which no attempt was accepted that was sent after its first refusal.
// In an outage that is told now soon and now late those still out look as if they passed,
// but none ever does.
type barren struct {
	from     instant
	after    uint64 // the last attempt sent before
	refusals int
}

func (b *barren) refused(now instant, seq uint64) {
	if b.refusals == 0 {
		b.from, b.after = now, seq
	}
	b.refusals++
}

func (b *barren) accepted(a *Pass) {
	if b.refusals > 0 && a.seq > b.after {
		b.refusals = 0
	}
}

// lasts reports whether it has lasted for so long, with many refusals.
func (b *barren) lasts(now instant, d time.Duration) bool {
	return b.refusals >= runPasses && now.Sub(b.from) > d
}

const (
	runPasses = 16              // attempts would have gone in the time of a run, if speed were not what it is about
	runCounts = 5 * time.Second // it counts whatever would have passed
)

// free reports whether the limit that the user has set is the only one known.
func (p *Pace) free() bool {
	return p.cfg.Ceiling > 0 && p.cfg.Pool == nil && p.rate.searching && p.rate.base >= p.cfg.Ceiling
}

// Limits returns the attempts per second, and at a time, that are allowed now, 0
// where no limit is known.
func (p *Pace) Limits(now time.Time) (perSecond float64, inFlight int) {
	if !p.rate.searching {
		perSecond = p.perSecond(p.at(now))
	}
	if n := min(p.slots.max(), p.slow.max()); n < math.MaxInt32 {
		inFlight = int(n)
	}
	return perSecond, inFlight
}
