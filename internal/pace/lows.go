package pace

import "math"

// lows are the attempts of a bet that were sent below the limit, as long as no trial is
// on, and what their refusals say by kind.
type lows struct {
	sent float64
	by   [kinds]suspicion
}

// suspicion is the evidence that refusals of a kind are chance: how much more likely they
// are, as a logarithm, if that refuses chanceShare of what is sent below the limit than if
// speed refuses speedShare. Where that falls to nothing it begins anew (the CUSUM of Page,
// 1954), so that neither old news nor how few are sent at a time hides a change.
type suspicion struct {
	odds    float64
	from    float64 // of the attempts below the limit, how many came before it began,
	seen    float64 // and how many before the latest refusal, that included
	refused float64 // since it began
}

// The two shares that are told apart: what our speed has refused below the limit, and what
// chance has. Above 9.5 % the odds grow.
const (
	speedShare  = 0.04
	chanceShare = 0.18
)

var (
	refusedSays = math.Log(chanceShare / speedShare)
	passedSays  = math.Log((1 - chanceShare) / (1 - speedShare))
)

// Where these odds are reached a trial is due.
const (
	trialOdds = 4.5 // 90 to 1, for as often as one looks,
	trialSent = 16  // if so many were sent: of fewer no share can be told,
	plainOdds = 9   // or so plain, whatever was sent: seven refusals at least
)

// refuse takes the refusal, of a kind, of the latest attempt of l or of one shortly before.
func (l *lows) refuse(k kind) {
	s := &l.by[k]
	s.odds += max(0, l.sent-1-s.seen) * passedSays
	if s.odds <= 0 {
		*s = suspicion{from: max(0, l.sent-1)}
	}
	s.odds += refusedSays
	s.refused++
	s.seen = l.sent
}

// share is the part of the attempts that was refused since the suspicion of k began, and
// of how many that is.
func (l *lows) share(k kind) (share, sent float64) {
	sent = max(1, l.sent-l.by[k].from)
	return min(1, l.by[k].refused/sent), sent // refused ones may have been sent before the first that counts
}

// suspicious reports whether a trial is due, to find out whether refusals of a kind are
// chance.
func (l *lows) suspicious(k kind) bool {
	odds := l.by[k].odds
	return odds >= plainOdds || odds >= trialOdds && l.sent-l.by[k].from >= trialSent
}
