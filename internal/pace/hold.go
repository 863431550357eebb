package pace

import (
	"cmp"
	"math"
	"time"
)

// hold is the state in which nothing passes: one probe at a time. While a breaker holds
// the calls it is not on, and keeps what is to be known when they go on.
type hold struct {
	on      bool
	silent  bool    // because nothing was heard at all,
	mute    instant // and since when; zero once a refusal was
	failing bool    // because of failures, not of rejections, nor of such as our speed may have brought about
	from    instant
	after   uint64  // the last attempt sent before it began or, once it is over, ended
	until   instant // when the next probe may go
	probes  int     // how many were due so far; in an outage, how many have failed
	probe   Pass    // the one that is out, if its seq is not 0

	// Of an outage.
	accepted tally   // what was accepted when it began,
	most     float64 // and how many a second at most
	again    bool    // it began soon after another

	resumed instant // when the latest one ended
	ramped  bool    // the rate still ramps up after that
}

// mustHold reports whether the refusals up to a are a run that chance does not
// explain, or say that the count of a window is used up.
func (p *Pace) mustHold(now instant, a *Pass, hinted time.Duration) bool {
	if p.cfg.Without.has(NoHold) || a.seq <= p.hold.after {
		return false
	}
	if !p.cfg.Without.has(NoWindow) && p.windowUsedUp(now, hinted) {
		return true
	}
	return p.recent.allFail() && a.at.Sub(p.recent.from) >= 3*p.settle()
}

// windowUsedUp reports whether the provider names a time until which a limit per second
// would have let many pass, and says so three times in a row. Where windows are known
// once is enough.
func (p *Pace) windowUsedUp(now instant, hinted time.Duration) bool {
	refusals, many := 3, 8.0
	if p.window.known(now) {
		refusals, many = 1, 2
	}
	return hinted >= windowLeast && p.recent.run() >= refusals && hinted.Seconds()*p.accepted.rate(now) >= many
}

// windowLeast is the shortest wait that may be for the end of a window: what is shorter
// is how limits per second say no.
const windowLeast = 2 * time.Second

// watch looks for what shows by time alone: a probe that is as good as accepted, a
// watched attempt, and silence.
func (p *Pace) watch(now instant) {
	if p.slots.witnesses.n > 0 {
		p.slots.hear(now.Add(-p.settle()))
	}
	if p.cfg.Without.has(NoSilence) || p.down || p.hold.on || p.silentFrom.IsZero() {
		return
	}
	if p.unheard >= silentFew && now.Sub(p.silentFrom).Seconds() > p.patience() {
		p.beginHold(now, Unknown, 0)
	}
}

// patience is for how many seconds nothing need be heard. Of many attempts one would
// have been heard soon, and all that go meanwhile may be lost. Those whose answers are
// under way are not waited for.
func (p *Pace) patience() float64 {
	late := p.firstByte.mean + 4*p.firstByte.dev
	switch {
	case late == 0:
		return strange
	case p.unheard >= silentMany:
		return max(4, 1.2*late)
	}
	return max(10, 3*late)
}

const (
	silentFew  = 5  // attempts out are the least that is a silence: fewer may just be late together
	silentMany = 50 // are many: one of them would have been heard soon
)

// MayBeSlow reports whether it is for silence that nothing passes, and only for as
// long as attempts to an unknown provider may take.
func (p *Pace) MayBeSlow(now time.Time) bool {
	return p.hold.on && p.hold.silent && p.at(now).Sub(p.hold.mute).Seconds() < strange
}

// strange is for how many seconds a provider may be silent of which nothing is known.
const strange = 60

func (p *Pace) beginHold(now instant, o Outcome, hinted time.Duration) {
	p.undoCuts()
	p.doubtHold()
	if o == Rejected && !p.cfg.Without.has(NoWindow) {
		p.window.usedUp(now, float64(p.seq-p.refused))
		if hinted < windowLeast && p.window.known(now) { // going about evenly saves most probes
			p.backAt(1.3 * p.window.rate)
		}
	}
	if hinted > 0 { // the time until then is not the provider's pace
		p.cycle = cycle{void: true}
	}
	p.hold = hold{on: true, silent: o == Unknown, failing: o != Rejected, after: p.seq, from: now, mute: p.silentFrom}
	p.nextProbe(now, hinted)
}

// doubtHold forgets what was taken for chance if a hold follows soon upon another:
// those refusals in a row are no outage, nor chance.
func (p *Pace) doubtHold() {
	if p.hold.after == 0 || p.seq > p.hold.after+holdSoon {
		return
	}
	for i := range p.luck {
		p.luck[i].drop()
	}
}

// holdSoon is how many attempts after a hold another one follows soon upon it: as many
// as the history goes back by which a hold is judged.
const holdSoon = historyLen

// undoCuts forgets the latest cuts, which were but the beginning of an outage.
func (p *Pace) undoCuts() {
	switch b := &p.bet; {
	case !b.on || p.free():
	case b.undo.back > 0:
		p.rate = b.undo
	default:
		p.backAt(cmp.Or(b.undo.base, b.rate))
		p.rate.guess = b.guess
	}
	p.dropBet()
}

// nextProbe says when the next probe may go: later from one to the next, and never
// before the time that the provider named.
func (p *Pace) nextProbe(now instant, hinted time.Duration) {
	h := &p.hold
	r := p.rate.value()
	wait := min(max(probeEvery, probeTurns/r), probeMost, probeFirst*math.Exp2(float64(h.probes)/2))
	wait *= 0.8 + 0.4*p.cfg.Random() // or many clients would ask at once
	if hinted > 0 {
		late := p.cfg.Random() * min(0.05*hinted.Seconds(), 0.25) // for the same reason
		wait = max(wait, hinted.Seconds()+late)
	}
	h.until = now.Add(time.Duration(wait * 1e9))
	h.probe = Pass{}
	h.probes++
}

// In seconds, for a provider of r attempts a second:
const (
	probeFirst = 0.25 // until the first probe; from one to the next by the root of 2 longer
	probeEvery = 2.0  // up to this, for a probe in 2 s loads nobody,
	probeTurns = 4.0  // or to the time of so many attempts, if that is longer,
	probeMost  = 30.0 // but no further
)

// probeReady is Ready while the queue is held.
func (p *Pace) probeReady(now instant) (bool, time.Duration) {
	h := &p.hold
	p.heldBy = byHold
	if h.probe.seq == 0 {
		if now.Before(h.until) {
			return false, h.until.Sub(now)
		}
		return true, 0
	}
	// A probe is out. Not being refused in time is as good as an answer, unless
	// silence is what we hold for.
	due := h.probe.at.Add(2 * p.settle())
	if h.silent {
		due = h.probe.at.Add(silentProbe)
	}
	if now.Before(due) {
		return false, due.Sub(now)
	}
	if h.silent {
		h.probe = Pass{}
		return true, 0
	}
	p.resume(now)
	return p.ready(now)
}

// silentProbe is how long a probe may be out in a silence before the next one goes.
const silentProbe = 2 * time.Second

// refusedOnHold takes the refusal of a probe, or of an attempt that was out when the
// hold began.
func (p *Pace) refusedOnHold(now instant, a *Pass, hinted time.Duration) {
	h := &p.hold
	if a.seq == h.probe.seq {
		p.nextProbe(now, hinted)
		return
	}
	if hinted > 0 && h.probe.seq == 0 {
		h.until = max(h.until, now.Add(hinted))
	}
}

// resume ends the hold.
func (p *Pace) resume(now instant) {
	if h := &p.hold; h.failing && now.Sub(h.from) > outage && p.chance() == 0 {
		p.rate.searching = true // nothing is known for sure any more
	}
	p.hold = hold{after: p.seq, resumed: now, ramped: !p.cfg.Without.has(NoRamp)}
	p.recent, p.barren = history{top: p.seq}, barren{}
	for i := range p.luck {
		p.luck[i].since(p.seq)
	}
	p.heldBy = byNothing
	p.apply(now)
}

// outage is how long a hold for failures lasts if it is one, and not a stumble.
const outage = 3 * time.Second

const (
	rampFrom    = 0.25 // of the rate is used right after a hold
	rampDoubles = 0.5  // s
)

// ramp is the share of the rate that is used after a hold: rampFrom at first, and twice as
// much every rampDoubles.
func (h *hold) ramp(now instant) float64 {
	if !h.ramped {
		return 1
	}
	return min(1, rampFrom*math.Exp2(now.Sub(h.resumed).Seconds()/rampDoubles))
}
