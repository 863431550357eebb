package pace

import (
	"math"
	"time"
)

// kind tells refusals apart that may have different causes: a limit that says 429
// still holds while one attempt in five is answered with 529, whatever we do.
type kind int8

const (
	unsaid kind = iota // none so far

	// These may be chance:
	rejection   // 429
	overload    // 529
	unavailable // 503

	failure  // what no limit says
	computed // naming a wait that somebody worked out: a limit, not chance
	kinds
)

// kindOf is the kind of a refusal. A wait in whole seconds, or until a whole second as
// an HTTP date names it, nobody has worked out.
func kindOf(now time.Time, o Outcome, hinted time.Duration) kind {
	const slip = 5 * time.Millisecond // from reading the date to this look at the clock
	if hinted%time.Second != 0 {
		if date := now.Add(hinted); date.Sub(date.Round(time.Second)).Abs() > slip {
			return computed
		}
	}
	switch o {
	case Rejected:
		return rejection
	case Overloaded:
		return overload
	case Unavailable:
		return unavailable
	}
	return failure
}

// luck is what is known about the refusals of one kind.
type luck struct {
	recent history
	from   uint64  // the attempts that it looks at are later than this
	share  float64 // of attempts that is refused whatever we do; 0 = none known
	seen   float64 // attempts of which that is the share; 0 once it is sure enough
	cut    uint64  // the attempt at which the rate was cut because more were refused,
	before float64 // and the rate before that
	next   uint64  // the attempt at which the share is put on trial once more
	upheld int     // the trials that it has stood
}

// since makes the attempts up to seq old news.
func (l *luck) since(seq uint64) {
	l.from, l.recent = seq, history{top: seq}
}

// mark takes note that a was refused.
func (l *luck) mark(a *Pass) {
	if a.seq > l.from {
		l.recent.mark(a)
	}
}

// judge compares the share that was refused of late with the known one: 0 means
// that chance explains it or that it is too early to tell, 1 that more were refused
// and -1 that hardly any was.
func (l *luck) judge() int {
	share := l.recent.share()
	switch {
	case l.recent.top < l.from+historyLen:
		return 0
	case l.seen > 0 && share <= l.share+spread*math.Sqrt(l.share*(1-l.share)*(1.0/historyLen+1/l.seen)): // it is chance still
		l.share = (l.share*l.seen + share*historyLen) / (l.seen + historyLen)
		l.seen = 0
		return 0
	case l.seen > 0 || share > min(0.95, 1.5*l.share+0.1): // 40 % where it was 20 %
		return 1
	case share <= hardly*l.share:
		return -1
	}
	return 0
}

// spread is by how many standard deviations the share of a history may lie above that
// of a trial and both still be samples of the same: one in 160 does not.
const spread = 2.5

// doubtChance reports whether a refusal does not fit the share that is put down to
// chance. If more are refused, the first guess is that those beyond chance are for
// speed: the rate falls to what leaves chance alone. If that does not help, the
// share is what has changed.
func (p *Pace) doubtChance(now instant, a *Pass, k kind) bool {
	l := &p.luck[k]
	verdict := l.judge()
	if verdict == 0 {
		if a.seq >= l.next {
			p.tryChance(now, a, k)
		}
		return false
	}
	share, v := l.recent.share(), p.perSecond(now)
	if verdict > 0 && (l.cut == 0 || a.seq > l.cut+soonSent) {
		l.cut, l.before = p.seq, v
		l.since(p.seq)
		p.rateChanged(now)
		p.setRate(now, v*max(credible, (1-share)/(1-l.share)))
		return false
	}
	p.bet = bet{on: verdict > 0, from: *a, rate: max(v, l.before)}
	p.changed.calm = 0 // the next refusal may cut at once
	l.drop()
	return true
}

// tryChance puts a share on trial that was found to be chance. That may have been an
// error, and a limit that is exceeded steadily looks like chance ever after.
func (p *Pace) tryChance(now instant, a *Pass, k kind) {
	share, v := p.luck[k].share, p.perSecond(now)
	p.luck[k].share = 0
	passed := v * (1 - share)
	if a.heldBy == byRate { // else what was accepted is what was asked for
		passed = min(passed, p.accepted.rate(now))
	}
	p.bet = bet{on: true, from: *a, began: k, last: a.seq, rate: v}
	p.bet.trial = trial{about: k, passed: passed}
	p.tryAt(now, trialRate*passed, share, historyLen)
}

// uphold makes share the known one. A trial costs a dozen attempts where most are
// refused and some sixty where few are; the times between them are so long that
// this does not matter, and double each time.
func (l *luck) uphold(share float64, seq uint64) {
	l.share = share
	l.next = seq + uint64(betweenTrials/share)<<min(l.upheld, 16)
	l.upheld++
}

const betweenTrials = 100 // attempts refused, between the first two trials of a share

// learn makes share the known one, as that of the seen attempts up to seq.
func (l *luck) learn(share, seen float64, seq uint64) {
	l.uphold(share, seq)
	l.seen = seen
	l.since(seq)
}

// drop forgets the share.
func (l *luck) drop() { l.share, l.cut, l.before, l.upheld = 0, 0, 0, 0 }

// forget drops the chances that no longer show.
func (p *Pace) forget() {
	for k := rejection; k <= unavailable; k++ {
		l := &p.luck[k]
		if l.share > 0 && float64(p.seq-l.recent.top) > max(historyLen, 8/l.share) { // eight were due
			l.drop()
		}
	}
}

// chance is the largest share of attempts that is known to be refused whatever we do.
func (p *Pace) chance() float64 {
	most := 0.0
	for k := rejection; k <= unavailable; k++ {
		most = max(most, p.luck[k].share)
	}
	return most
}
