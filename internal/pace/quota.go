package pace

import "time"

// Quota is what a provider's answer says about one of its limits.
type Quota struct {
	Known   bool
	Left    float64
	Limit   float64       // negative if it is not told
	Reset   time.Duration // until all of it is there again
	Refills bool          // bit by bit, and not all at once
}

// Quotas are those that an attempt counts against.
type Quotas struct{ Requests, Tokens Quota }

// quotas keeps account of what is left by the provider's own word, from one answer
// that says so to the next.
type quotas struct{ requests, tokens account }

// account is what is left of one limit.
type account struct {
	left      float64
	perSecond float64 // that are added
	limit     float64
	at, until instant       // until then the account is good
	heard     instant       // when it was last told
	window    time.Duration // the longest time until a reset that was told
}

// longest is for how long a provider's word about what is left is taken: after a
// minute an attempt asks it again, whatever it said.
const longest = time.Minute

// Told takes note of what the answer to a said is left. Attempts that were sent
// after a are not in it yet.
func (p *Pace) Told(now time.Time, a *Pass, q Quotas) {
	t := p.at(now)
	if q.Requests.Known && (q.Requests.Refills || q.Requests.Reset <= longest) { // else it is no matter of pace
		p.quotas.requests.told(t, q.Requests, float64(p.seq-a.seq))
	}
	if q.Tokens.Known && (q.Tokens.Refills || q.Tokens.Reset <= longest) {
		p.quotas.tokens.told(t, q.Tokens, p.tokens-a.tokens)
	}
}

// told opens the account anew, or for another window. since is what was taken after
// the attempt whose answer tells q.
func (a *account) told(now instant, q Quota, since float64) {
	a.fill(now)
	reset := min(q.Reset, longest)
	*a = account{
		left: q.Left - since, limit: q.Limit, window: max(a.window, reset),
		heard: now, at: now, until: now.Add(reset),
	}
	if missing := q.Limit - q.Left; q.Refills && missing > 0 && q.Reset > 0 {
		a.perSecond = missing / q.Reset.Seconds()
	}
}

// fill brings the account up to now. When its time is over it is full again, and
// good for another window if it is known how full that is and how long.
func (a *account) fill(now instant) {
	if !now.Before(a.until) {
		if a.limit <= 0 || a.window < time.Second || now.Sub(a.heard) > 2*longest {
			*a = account{}
			return
		}
		a.left, a.at = a.limit, now
		a.until = a.until.Add((now.Sub(a.until)/a.window + 1) * a.window)
	}
	if dt := now.Sub(a.at); dt > 0 {
		a.left = min(max(a.limit, a.left), a.left+a.perSecond*dt.Seconds())
		a.at = now
	}
}

// wait is how long until n of it are left.
func (a *account) wait(now instant, n float64) time.Duration {
	if a.until.IsZero() {
		return 0
	}
	a.fill(now)
	const hair = 1e-6 // float64's rounding
	if a.until.IsZero() || a.left >= n-hair {
		return 0
	}
	wait := a.until.Sub(now)
	if a.perSecond > 0 {
		wait = min(wait, time.Duration((n-a.left)/a.perSecond*1e9)+1)
	}
	return max(wait, 1)
}

// TokensTight reports whether so few tokens are left, by the provider's word, that
// it matters what a request costs.
func (p *Pace) TokensTight(now time.Time) bool {
	a := &p.quotas.tokens
	a.fill(p.at(now))
	return !a.until.IsZero() && a.left < a.limit/4
}

// TokensWait is how long until an attempt that costs n tokens may go by the
// provider's word. One that is heavier than the limit goes when all of it is there.
func (p *Pace) TokensWait(now time.Time, n int) time.Duration {
	a := &p.quotas.tokens
	if a.until.IsZero() { // as it mostly is
		return 0
	}
	need := float64(n)
	if a.limit > 0 {
		need = min(need, a.limit)
	}
	return a.wait(p.at(now), need)
}

// Spent takes note that a, which has just been sent, costs n tokens.
func (p *Pace) Spent(now time.Time, a *Pass, n int) {
	p.quotas.tokens.take(p.at(now), float64(n))
	if n != 0 { // which is mostly not known
		p.tokens += float64(n)
	}
	a.tokens = p.tokens
}

func (a *account) take(now instant, n float64) {
	if !a.until.IsZero() {
		a.fill(now)
		a.left -= n
	}
}
