package pace

import (
	"math"
	"time"
)

// Down tells the pace whether somebody else, a breaker, holds the calls because
// the provider fails. What happens meanwhile says nothing about speed.
func (p *Pace) Down(now time.Time, down bool) {
	if down != p.down { // which mostly it is not
		p.turned(p.at(now), down)
	}
}

// turned takes note that an outage begins, or is over.
func (p *Pace) turned(now instant, down bool) {
	if down {
		p.doubtHold()
		ours := p.rushed && now.Sub(p.hold.resumed) < flaps // no outage, then: we were too fast
		if ours {
			if b := &p.bet; b.on && b.rate < p.rate.value() { // more than that was never accepted
				p.backAt(b.rate)
			}
			p.dropBet()
		} else {
			p.undoCuts()
		}
		p.hold = hold{after: p.seq, from: now, failing: !ours}
	} else {
		before := p.recent.bits << 1 // a brown-out that looked like an outage shows in them
		p.resume(now)
		p.recent.bits = before
	}
	p.down = down
}

const flaps = 10 * time.Second // a hold that soon after another is none of the provider's

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
// none through meanwhile.
func (p *Pace) Passing(now time.Time) bool {
	at := p.at(now)
	if !p.recent.allFail() || p.later != 0 && at.Sub(p.later) > p.settle() {
		return true
	}
	lasts, ever := at.Sub(p.recent.from), p.refused+uint64(p.InFlight()) < p.seq
	return ever && lasts < runCounts && lasts.Seconds()*p.fastest < runPasses
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
