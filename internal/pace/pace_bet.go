package pace

import (
	"cmp"
	"math"
	"time"
)

// bet is a run of refusals and what we make of it. Having cut the rate we bet that
// the refusals will go away. If they do not, a trial decides: for a while we send
// clearly less than was accepted. If speed is what they are about, none is refused
// now; if as large a share as before is, they are chance, and cutting does not help.
type bet struct {
	on      bool
	from    Pass    // the refusal it began with
	began   kind    // of that
	last    uint64  // the latest one
	refused int     // since from
	rate    float64 // before the first cut
	told    bool    // that was the one that the user has set,
	proven  bool    // or it had held at least
	undo    limit   // before the first cut since the rate was last back at the limit

	lowSent    float64        // attempts sent below the place where the limit was found,
	lowRefused [kinds]float64 // and how many of them were refused, by kind

	trial       bool
	trials      int
	about       kind    // the refusals that are on trial
	share, sent float64 // before it: the share that was refused, of so many attempts,
	passed      float64 // and how many per second were accepted

	after uint64    // the last attempt sent before the latest cut
	calm  time.Time // attempts sent before may still be refused for the old rate
	fresh uint64    // the first one sent since, 0 while there is none,
	again int       // and how many from there on were refused
}

// slowed is the rate from which a trial has brought us down. A trial may err: if soon
// afterwards another one says that it is chance, this is the rate to go back to.
type slowed struct {
	from  float64
	until uint64 // the attempt up to which that is soon
}

// runOver is how many attempts without a refusal end a run of refusals.
const runOver = 40

// low reports whether we send less than where the limit was found.
func (p *Pace) low(now time.Time) bool {
	return now.After(p.bet.calm) && (p.bet.trial || p.free() || !p.rate.searching && p.rate.t < 0.6)
}

// suspect reacts to an attempt that was refused for its speed, perhaps.
func (p *Pace) suspect(now time.Time, a *Pass, k kind) {
	if p.rate.searching { // what is sent while nobody waits shows only here
		p.rate.base = max(p.rate.base, p.accepted.rate(now))
	}
	b := &p.bet
	if p.luck[k].share > 0 && !p.doubtChance(now, a, k) {
		return
	}
	if p.recent.refused(runOver) <= 1 { // none but a for a while: the last trial was right
		p.slowed = slowed{}
	}
	if !b.on || a.seq > b.last+runOver {
		*b = bet{on: true, from: *a, began: k, told: p.free(), proven: !p.rate.searching || p.free(), rate: min(p.perSecond(now), max(1, 1.5*p.accepted.rate(now))), after: b.after, calm: b.calm}
	}
	if a.seq < b.from.seq {
		return
	}
	b.refused++
	b.last = max(b.last, a.seq)
	b.countLow(a, k)
	fresh := a.seq > b.after && a.at.After(b.calm) // sent at the rate of now
	if fresh {
		b.again++
	}
	spared := b.told && (p.free() || p.rate.t < 0.7) // whoever set a rate knows something: the trial comes first
	switch {
	case b.trial:
	case k != computed && b.lowRefused[k] >= 4 && b.lowSent >= 16 && b.often(k) && p.recent.run() < 4 && !p.cfg.Without.has(NoChance):
		p.beginTrial(now, a, k)
	case fresh && (!spared || p.recent.allFail()):
		p.cut(now, a, k)
	}
}

// often reports whether so many are refused below the limit that it matters.
func (b *bet) often(k kind) bool { return b.lowRefused[k] >= 0.08*b.lowSent }

func (b *bet) countLow(a *Pass, k kind) {
	if !b.trial && b.lowSent > 50 && !b.often(rejection) && !b.often(overload) {
		b.lowSent, b.lowRefused = 0, [kinds]float64{}
	}
	if a.low && (!b.trial || a.seq > b.after) {
		b.lowRefused[k]++
	}
}

// beginTrial slows down until five refusals would be expected if they are chance.
func (p *Pace) beginTrial(now time.Time, a *Pass, k kind) {
	b := &p.bet
	v, span := p.perSecond(now), max(0.05, a.at.Sub(b.from.at).Seconds())
	b.passed = min(v, (float64(a.seq-b.from.seq)+1-float64(b.refused))/span)
	b.about = k
	p.tryAt(now, max(0.7*b.passed, 0.1*v))
}

// tryAt begins a trial at r attempts per second.
func (p *Pace) tryAt(now time.Time, r float64) {
	b := &p.bet
	b.trials++
	b.trial, b.share, b.sent = true, min(0.9, b.lowRefused[b.about]/b.lowSent), b.lowSent
	b.lowSent, b.lowRefused = 0, [kinds]float64{}
	p.rate = limit{base: r}
	p.applyDrained(now)
	p.sinceNow(now)
}

// sinceNow makes the attempts sent so far those of the old rate. So are the next ones
// for as long as it takes until those sent before have reached the provider.
func (p *Pace) sinceNow(now time.Time) {
	p.bet.after, p.bet.calm = p.seq, now.Add(time.Duration(p.saying*1e9))
	p.bet.fresh, p.bet.again = 0, 0
}

// endTrial decides, once enough attempts of the trial have been sent and settled.
func (p *Pace) endTrial(now time.Time) {
	b := &p.bet
	late := p.perSecond(now) * 1.5 * p.saying // these may still be refused
	refused := b.lowRefused[b.about]
	if !b.trial || b.lowSent < late || b.undecided() {
		return
	}
	share := refused / b.lowSent
	if far := b.lowSent*b.share + 2.5*math.Sqrt(b.lowSent*b.share*(1-b.share)); refused > far && b.trials == 1 { // slower and yet worse: it may have been too fast still
		b.passed = p.perSecond(now) * (1 - share)
		p.tryAt(now, max(0.7*b.passed, 0.1*p.perSecond(now)))
		return
	}
	if b.odds() > 0 {
		r := max(p.perSecond(now), b.rate)
		if p.seq < p.slowed.until { // that, too, was chance
			r = max(r, p.slowed.from)
		}
		p.backAt(r)
		l := &p.luck[b.about]
		l.seen = b.lowSent + b.sent
		l.uphold(max(share, (refused+b.share*b.sent)/l.seen), p.seq)
		l.since(p.seq)
		*b = bet{after: p.seq}
		p.cycle = cycle{void: true}
		p.apply(now)
		return
	}
	r, before, proven := max(p.perSecond(now), b.passed, 0.3*b.rate), b.rate, b.proven
	again := p.seq < p.slowed.until
	p.luck[b.about].drop()
	if !again {
		p.slowed.from = b.rate
	}
	p.slowed.until = p.seq + 256
	*b = bet{after: p.seq, calm: b.calm}
	p.cycle = cycle{start: r}
	p.setRate(now, r)
	if !again && proven {
		p.rate = wayBack(r, before)
	}
}

// odds is how much more likely, as a logarithm, what the trial has shown is if the
// share is the same as before than if hardly any is refused now.
func (b *bet) odds() float64 {
	refused, share := b.lowRefused[b.about], 0.6*b.share
	few := share / 4
	return refused*math.Log(share/few) + (b.lowSent-refused)*math.Log((1-share)/(1-few))
}

// undecided reports whether the odds are for neither yet.
func (b *bet) undecided() bool {
	chance, speed := float64(sure), float64(sure)
	if b.about == rejection {
		chance += more429
	}
	if b.told {
		speed += moreTold
	}
	odds := b.odds()
	return odds > -speed && odds < chance
}

const (
	sure     = 3 // twenty to one
	moreTold = 3 // more for speed where the user has set one
	more429  = 1 // more for a 429 to be chance, which is not what it says: of many clients one that errs draws the others along
)

// cut lowers the rate after a refusal of an attempt that was sent at this rate: a
// little, if it is the first one since the rate was back where it was; further, if
// what was accepted since the refusals began says so. Every attempt sent before a has
// been refused by now or it never will be. One cut is never below 0.7, since
// refused attempts may cost capacity and then less is accepted than could be.
func (p *Pace) cut(now time.Time, a *Pass, k kind) {
	b, v := &p.bet, p.perSecond(now)
	p.hold.ramped = false
	p.says = k
	p.sinceNow(now)
	if p.cfg.Without.has(NoMeasure) {
		p.setRate(now, v/2)
		return
	}
	floor := 0.7 * v
	measured := max(b.measured(a), floor)
	if p.rate.searching || p.rate.t >= 0.7 {
		b.undo = found(min(b.rate, max(v, p.rate.base)), 1)
		if p.rate.back > 0 {
			b.undo = wayBack(v, p.rate.back)
		}
		c := p.cycle.rate(a.at)
		if p.cycle.sent < 100 || p.cycle.start < 0.9*c {
			c = max(math.Sqrt(c*v), p.accepted.rate(now)) // the provider's bucket may have flowed over meanwhile
		}
		p.setRate(now, min(below*v, measured, max(c, 0.3*v)))
		b.lowSent /= 2 // old news
		for i := range b.lowRefused {
			b.lowRefused[i] /= 2
		}
		p.cycle = cycle{start: p.perSecond(now)}
		return
	}
	measured = max(measured, v*(1-b.againShare(a)))
	if measured < v {
		before := cmp.Or(p.rate.back, p.rate.base)
		p.rate = found(measured/(1-dip), p.rate.t)
		p.rate.back = before
		p.apply(now)
	}
}

// measured is the rate of what was accepted since the bet began, rounded up.
func (b *bet) measured(a *Pass) float64 {
	span := a.at.Sub(b.from.at).Seconds()
	if span <= 0 {
		return math.Inf(1)
	}
	return (float64(a.seq-b.from.seq) - float64(b.refused) + 2) / span
}

// againShare is the share of the attempts sent at the rate of now, up to a, that was refused.
func (b *bet) againShare(a *Pass) float64 {
	if b.fresh == 0 || a.seq < b.fresh {
		return 1
	}
	return min(1, float64(b.again)/float64(a.seq-b.fresh+1))
}

// setRate makes r the place where the rate limit was found.
func (p *Pace) setRate(now time.Time, r float64) {
	p.rate = found(r, 0)
	p.applyDrained(now)
}

// applyDrained applies the rate and forgets saved tokens.
func (p *Pace) applyDrained(now time.Time) {
	p.apply(now)
	if n := int(p.bucket.level(now)); n > 0 {
		p.bucket.take(now, n)
	}
}
