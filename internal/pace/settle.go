package pace

import "time"

// Headers takes note of the first byte of an answer.
func (p *Pace) Headers(now time.Time, a *Pass) { p.headers(p.at(now), a) }

func (p *Pace) headers(now instant, a *Pass) {
	if !a.heard {
		p.unheard--
	}
	a.heard = true
	p.silentFrom = 0
	p.firstByte.add(now.Sub(a.at).Seconds())
	p.barren.accepted(a)
	p.credit(now)
	if !p.cfg.Without.has(NoSlowness) {
		p.slow.heard(now, a, true, p.seq+1)
	}
	if p.hold.on && (a.seq > p.hold.after || p.hold.silent) {
		p.resume(now)
	}
}

// Settled takes note that an attempt is over. hinted is how long the provider asked
// to wait, 0 if it did not.
func (p *Pace) Settled(now time.Time, a *Pass, o Outcome, hinted time.Duration) {
	p.settled(p.at(now), a, o, hinted, kindOf(now, o, hinted))
}

func (p *Pace) settled(now instant, a *Pass, o Outcome, hinted time.Duration, k kind) {
	p.over++
	if !a.heard {
		p.unheard--
		if !p.cfg.Without.has(NoSlowness) { // whatever it was: a block waits for all of its attempts
			p.slow.heard(now, a, false, p.seq+1)
		}
	}
	p.slots.settled(now, a, a.heard || o == OK)
	if p.cfg.Pool != nil && o != Cancelled && o != Unknown {
		p.cfg.Pool.Feedback(o == Rejected)
		p.apply(now)
	}
	switch o {
	case OK:
		if !p.hold.on { // or those that take longest would be all that is heard
			p.answer.add(now.Sub(a.at).Seconds())
		}
		return
	case Declined:
		p.silentFrom = 0
		p.credit(now)
		if p.hold.silent {
			p.resume(now)
		}
		return
	case Cancelled:
		p.cancelled(a)
		return
	case Unknown:
	default:
		if o == Failed {
			p.credit(now)
		}
		p.silentFrom, p.hold.mute = 0, 0
	}
	if !a.heard { // else it was accepted, and broke later
		p.unanswered(now, a, o, hinted, k)
	}
}

// sayingDrift is the weight of the latest refusal in how long refusals take.
const sayingDrift = 0.1

// unanswered learns from an attempt that ended without an answer.
func (p *Pace) unanswered(now instant, a *Pass, o Outcome, hinted time.Duration, k kind) {
	if o != Unknown {
		took := now.Sub(a.at).Seconds()
		p.saying += sayingDrift * (took - p.saying)
		p.slots.said(took)
	}
	p.refuse(now, a, o, hinted, k)
}

// cancelled takes note that a's caller left.
func (p *Pace) cancelled(a *Pass) {
	if !a.heard {
		p.recent.skip(a)
	}
	if p.hold.on && a.seq == p.hold.probe.seq {
		p.hold.probe = Pass{}
	}
}

// credit gives back the token of an attempt that was answered while no limit is
// known and nobody waits: calls made one after the other never wait.
func (p *Pace) credit(now instant) {
	if p.rate.searching && p.heldBy == byNothing && p.cfg.Pool == nil {
		p.bucket.take(now, -1) // it gets no fuller than full
	}
}

// refuse learns from an attempt that was not accepted.
func (p *Pace) refuse(now instant, a *Pass, o Outcome, hinted time.Duration, k kind) {
	if p.down {
		if a.seq > p.hold.after {
			p.hold.probes++
		}
		return
	}
	if p.recent.mark(a); p.recent.run() == 1 {
		p.fastest, p.rushed = p.perSecond(now), a.heldBy == byRate
	}
	if p.later = 0; p.seq > p.recent.top {
		p.later = now
	}
	p.luck[k].mark(a)
	p.barren.refused(now, p.seq)
	p.accepted.add(now, -1)
	p.refused, p.met = p.refused+1, now
	p.rebate.refused(a)
	switch {
	case p.hold.on:
		p.refusedOnHold(now, a, hinted)
	case p.mustHold(now, a, hinted) && (o == Rejected || !p.cfg.Breaker):
		p.beginHold(now, o, hinted)
	case p.cfg.Pool != nil:
	case k != computed && !p.free() && (o == Rejected || o.overloaded()) && p.slotsExplain(now, a, k):
	case o == Rejected, o.overloaded() && (k == computed || p.overloadCounts(a, k)):
		p.suspect(now, a, k)
	case o.overloaded():
		p.overloadedAlone(a, k)
		p.credit(now)
	}
}

const (
	// Fewer overloads than these say nothing about the rate.
	overloadsOf8  = 3 // of 8 attempts
	overloadsOf64 = 5 // or of 64,
	overloadsOf32 = 3 // and of 32 once a bet is about them

	loudRun = 8 // in a row, or half of all, are heard also where the limit is told by others
)

// overloadCounts reports whether the overload of a may be for its speed: a few of
// them say nothing about the rate, nor do more where the limit is told by others, unless
// half of all attempts are refused.
func (p *Pace) overloadCounts(a *Pass, k kind) bool {
	of, b := &p.luck[k].recent, &p.bet
	// A run of nothing else is for the breaker, unless it came while we pushed.
	pure := p.cfg.Breaker && a.heldBy == byNothing && of.run() == of.refused(8)
	often := of.refused(8) >= overloadsOf8 || of.refused(historyLen) >= overloadsOf64
	goesOn := b.on && b.began == k && of.refused(32) >= overloadsOf32
	if p.toldByOthers(k) {
		often, goesOn = of.run() >= loudRun || p.recent.refused(historyLen) >= historyLen/2, false
	}
	return p.pushed(a) && (often && !pure || goesOn)
}

// toldByOthers reports whether it is refusals of another kind than k that tell the limit.
// Once the rate is twice what it was when those were met they do not any more.
func (p *Pace) toldByOthers(k kind) bool {
	return p.says != unsaid && p.says != k && !p.rate.searching && p.rate.value() < doubled*p.rate.base
}

const doubled = 2

// pushed reports whether there was anything to overload the provider with when a was
// sent: other attempts in flight, or, if any ever passed, those that had gone before, for
// refusals that cost a provider something leave none in flight.
func (p *Pace) pushed(a *Pass) bool {
	ever := p.seq > p.refused+uint64(p.InFlight())
	return a.flying > 1 || a.heldBy == byRate && ever
}

// overloadedAlone adds the refusal of an attempt that was the only one out to the bet:
// it was not refused for its speed, and so speaks for chance.
func (p *Pace) overloadedAlone(a *Pass, k kind) {
	if b := &p.bet; b.on && a.flying == 1 && a.heldBy != byRate && a.seq >= b.from.seq {
		p.count(a, k)
	}
}
