package pace

import "time"

// trial finds out what the refusals of a bet are about: for a while we send clearly
// less than is accepted, or half of what was before them if 30 % of that is still. If it
// is our speed, none is refused now; if as large a share as before is, it is chance, and
// going slower does not help.
type trial struct {
	on     bool
	began  instant
	number int     // of the trials of this bet
	about  kind    // the refusals that are on trial
	share  float64 // of attempts that was refused before it,
	sent   float64 // of so many,
	passed float64 // and how many per second were accepted

	tried, refused float64 // attempts in it
}

const (
	trials       = 4    // of one bet at most
	trialRate    = 0.7  // of what is accepted: low enough that a limit refuses none, and calls still go;
	trialLeast   = 0.1  // at least of the rate, or the trial would take too long,
	trialSlowest = 0.6  // and so many attempts a second, or trialRate of the rate: a dozen in trialLong,
	trialBorne   = 0.5  // and so much of what was accepted for a while before the refusals began,
	trialPasses  = 0.3  // if so much of that is still: else it might be far above a limit
	trialFew     = 8    // attempts after which it may end with what is likelier, if it lasts for trialLong
	shareMost    = 0.9  // counts as refused before it: if all were, no share could be far higher
	spanLeast    = 0.05 // s from the refusal that the bet began with: in less, a few attempts would be any rate
	lateBy       = 1.5  // times what a refusal takes: attempts sent since may still be refused
	guessMost    = 0.8  // of what is sent, refused by chance, is made up for at once
	soonSent     = 256  // attempts after a verdict or a cut in which another one is about the same trouble

	trialLong = 20 * time.Second
)

// slowed is the rate from which a trial has brought us down. A trial may err: if soon
// afterwards another one says that it is chance, this is the rate to go back to.
type slowed struct {
	from  float64
	until uint64 // the attempt up to which that is soon
}

// beginTrial slows down until it is clear what refusals of a kind, the latest of them
// that of a, are about.
func (p *Pace) beginTrial(now instant, a *Pass, k kind) {
	b := &p.bet
	v, span := p.perSecond(now), max(spanLeast, a.at.Sub(b.from.at).Seconds())
	b.trial.passed = min(v, (float64(a.seq-b.from.seq)+1-float64(b.refused))/span)
	if a.heldBy == byRate && p.cycle.held() { // else what was accepted is what was asked for
		b.trial.passed = min(b.trial.passed, max(p.accepted.rate(now), credible*v))
	}
	b.trial.about = k
	share, sent := b.lows.share(k)
	p.tryAt(now, b.trialAt(v), share, sent)
}

// trialAt is the rate for the first trial of a bet, after one of v: below a limit, if there
// is one, and fast enough to tell soon.
func (b *bet) trialAt(v float64) float64 {
	passed := b.trial.passed
	r := slower(passed, v)
	if passed >= trialPasses*b.borne {
		r = max(r, min(v, trialBorne*b.borne))
	}
	return r
}

// slower is the rate for a trial after one of v at which so many were accepted.
func slower(passed, v float64) float64 {
	return max(trialRate*passed, trialLeast*v, min(trialRate*v, trialSlowest))
}

// tryAt begins a trial at r attempts per second, when a share of those sent was refused.
func (p *Pace) tryAt(now instant, r, share, sent float64) {
	b := &p.bet
	t := &b.trial
	t.number++
	t.on, t.began, t.share, t.sent = true, now, min(shareMost, share), sent
	t.tried, t.refused, b.lows = 0, 0, lows{}
	p.rate = found(r, 1)
	p.applyDrained(now)
	p.rateChanged(now)
}

// endTrial decides, once enough attempts of the trial have been sent and settled.
func (p *Pace) endTrial(now instant) {
	b, t := &p.bet, &p.bet.trial
	v := p.perSecond(now)
	long := t.tried >= trialFew && now.Sub(t.began) > trialLong
	if t.tried < v*lateBy*p.saying || b.undecided() && !long {
		return
	}
	switch share := t.refused / t.tried; {
	case t.worse() > sure && t.number < trials: // slower and yet worse: it may have been too fast still
		t.passed = v * (1 - share)
		p.tryAt(now, slower(t.passed, v), share, t.tried)
	case t.odds() > 0:
		p.findChance(now)
	default:
		p.findSpeed(now)
	}
}

// findChance ends a trial that says that the refusals are chance. If no limit had been met
// before them, none has been met yet.
func (p *Pace) findChance(now instant) {
	t, guess := p.bet.trial, p.bet.guess
	seen := t.tried + t.sent
	share := max(t.refused/t.tried, (t.refused+t.share*t.sent)/seen)
	r := max(p.perSecond(now), p.bet.rate)
	if guess { // as many may be accepted as before
		r = max(r, p.bet.held/(1-min(share, guessMost)))
	}
	if p.seq < p.slowed.until { // that, too, was chance
		r = max(r, p.slowed.from)
	}
	p.backAt(r)
	if guess {
		p.rate.searching = true
	}
	p.luck[t.about].learn(share, seen, p.seq)
	p.dropBet()
	p.cycle = cycle{void: true}
	p.apply(now)
}

// findSpeed ends a trial that says that we were too fast. Unless it is the second one
// to say so, the trouble may have ended while it went on: see wayBack.
func (p *Pace) findSpeed(now instant) {
	t, before, held, proven := p.bet.trial, p.bet.rate, p.bet.held, p.bet.proven
	r := max(p.perSecond(now), t.passed, credible*before)
	second := p.slowed.from > 0
	p.says = t.about
	p.luck[t.about].drop()
	if !second {
		p.slowed.from = before
	}
	p.slowed.until = p.seq + soonSent
	p.bet, p.changed.after = bet{}, p.seq
	p.cycle = cycle{start: r}
	p.setRate(now, r)
	if !second && proven && held > r {
		p.rate = wayBack(r, held)
	}
}

// worse is how much more likely, as a logarithm, what the trial has shown is if the
// share is far higher now than before than if it is the same.
func (t *trial) worse() float64 { return likelier(t.refused, t.tried, (1+t.share)/2, t.share) }

// odds is how much more likely, as a logarithm, what the trial has shown is if the
// share is about the same as before than if hardly any is refused now.
func (t *trial) odds() float64 {
	share := aboutSame * t.share
	return likelier(t.refused, t.tried, share, hardly*share)
}

// undecided reports whether the odds are for neither yet.
func (b *bet) undecided() bool {
	chance, speed := float64(sure), float64(sure)
	if b.trial.about == rejection {
		chance += more429
	}
	if b.byUser {
		speed += moreByUser
	}
	odds, worse := b.trial.odds(), b.trial.worse()
	return odds > -speed && (odds < chance || worse > -slim && worse < sure && b.trial.tried < worseSent)
}

const (
	aboutSame = 0.6  // of the share before is the same share still
	hardly    = 0.25 // of a share is hardly any of it

	sure       = 3  // twenty to one
	slim       = 1  // nearly three to one against a far higher share, before it is called the same,
	worseSent  = 16 // or so many attempts
	moreByUser = 3  // more for speed where the user has set one
	more429    = 1  // more for a 429 to be chance, which is not what it says: of many clients one that errs draws the others along
)
