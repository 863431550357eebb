package pace

import "math"

// trial finds out what the refusals of a bet are about: for a while we send clearly
// less than was accepted. If it is our speed, none is refused now; if as large a share
// as before is, it is chance, and going slower does not help.
type trial struct {
	on     bool
	number int     // of the trials of this bet
	about  kind    // the refusals that are on trial
	share  float64 // of attempts that was refused before it,
	sent   float64 // of so many,
	passed float64 // and how many per second were accepted
}

const (
	trials     = 4    // of one bet at most: the last is at a quarter of what was accepted, or less
	trialRate  = 0.7  // of what was accepted: low enough that a limit refuses none, and calls still go
	trialLeast = 0.1  // of the rate, or the trial would take too long
	shareMost  = 0.9  // counts as refused before it: if all were, no share could be far higher
	spanLeast  = 0.05 // s from the refusal that the bet began with: in less, a few attempts would be any rate
	lateBy     = 1.5  // times what a refusal takes: attempts sent since may still be refused
	soonSent   = 256  // attempts after a verdict or a cut in which another one is about the same trouble
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
	p.tryAt(now, max(trialRate*b.trial.passed, trialLeast*v))
}

// tryAt begins a trial at r attempts per second.
func (p *Pace) tryAt(now instant, r float64) {
	b := &p.bet
	t := &b.trial
	t.number++
	t.on, t.share, t.sent = true, min(shareMost, b.low.refused[t.about]/b.low.sent), b.low.sent
	b.low = sample{}
	p.rate = found(r, 1)
	p.applyDrained(now)
	p.rateChanged(now)
}

// endTrial decides, once enough attempts of the trial have been sent and settled.
func (p *Pace) endTrial(now instant) {
	b, t := &p.bet, &p.bet.trial
	if !t.on {
		return
	}
	v := p.perSecond(now)
	if b.low.sent < v*lateBy*p.saying || b.undecided() {
		return
	}
	switch refused := b.low.refused[t.about]; {
	case b.worse() > 0 && t.number < trials: // slower and yet worse: it may have been too fast still
		t.passed = v * (1 - refused/b.low.sent)
		p.tryAt(now, max(trialRate*t.passed, trialLeast*v))
	case b.odds() > 0:
		p.findChance(now)
	default:
		p.findSpeed(now)
	}
}

// findChance ends a trial that says that the refusals are chance.
func (p *Pace) findChance(now instant) {
	t, low := p.bet.trial, p.bet.low
	r := max(p.perSecond(now), p.bet.rate)
	if p.seq < p.slowed.until { // that, too, was chance
		r = max(r, p.slowed.from)
	}
	p.backAt(r)
	refused, seen := low.refused[t.about], low.sent+t.sent
	p.luck[t.about].learn(max(refused/low.sent, (refused+t.share*t.sent)/seen), seen, p.seq)
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
func (b *bet) worse() float64 {
	refused, share := b.low.refused[b.trial.about], b.trial.share
	more := (1 + share) / 2
	return refused*math.Log(more/share) + (b.low.sent-refused)*math.Log((1-more)/(1-share))
}

// odds is how much more likely, as a logarithm, what the trial has shown is if the
// share is about the same as before than if hardly any is refused now.
func (b *bet) odds() float64 {
	refused, share := b.low.refused[b.trial.about], aboutSame*b.trial.share
	few := hardly * share
	return refused*math.Log(share/few) + (b.low.sent-refused)*math.Log((1-share)/(1-few))
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
	odds, worse := b.odds(), b.worse()
	return odds > -speed && (odds < chance || worse > -slim && worse < sure)
}

const (
	aboutSame = 0.6  // of the share before is the same share still
	hardly    = 0.25 // of a share is hardly any of it

	sure       = 3 // twenty to one
	slim       = 1 // nearly three to one against a far higher share, before it is called the same
	moreByUser = 3 // more for speed where the user has set one
	more429    = 1 // more for a 429 to be chance, which is not what it says: of many clients one that errs draws the others along
)
