package steady

import (
	"math"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/steadyhttp/steady/internal/pace"
	"github.com/steadyhttp/steady/internal/wire"
)

// PaceOption is an option of [WithPace].
type PaceOption interface{ applyPace(*paceConfig) }

type paceOption func(*paceConfig)

func (f paceOption) applyPace(c *paceConfig) { f(c) }

type paceConfig struct {
	on   bool
	pool bool // instead of what is learned
}

// WithPace makes the queue find out by itself how many attempts a second, and how
// many at a time, the provider of a key takes. Nothing is limited until attempts
// are refused, but that without a rate of yours ten may be out without an answer
// at first, and ever more from then on. A limit is then found by running into it:
// what was accepted is where it lies. It heeds the headers in which providers say
// what is left, and holds the queue when all attempts of late were rejected.
//
// It is on in [New], and off in [RateLimit] alone. Limits that you set are
// ceilings above it. A call with a [MaxWait] of 0 is not kept by it, only by holds.
func WithPace(opts ...PaceOption) QueueOption {
	return queueOption(func(c *limitConfig) {
		c.pace = paceConfig{on: true}
		for _, opt := range opts {
			opt.applyPace(&c.pace)
		}
	})
}

// NoPace leaves the pace to you: only the limits that you set hold.
func NoPace() PaceOption { return paceOption(func(c *paceConfig) { c.on = false }) }

// AdaptivePool replaces what is learned by a simple rule that looks at 429 alone: a
// moving share of them, to which the latest attempt adds with a weight of 0.3.
// Above 5 % the number in flight falls by 2, below 1 % it rises by 1, between 4
// and 64, and so does the number of attempts in a second. It is easy to predict
// and knows nothing of providers that take more or fewer.
func AdaptivePool() PaceOption { return paceOption(func(c *paceConfig) { c.pool = true }) }

// newPace returns the pace of a new queue, nil if it is not to be learned.
func (c *limitConfig) newPace() *pace.Pace {
	if !c.pace.on {
		return nil
	}
	p := pace.Config{Start: 20, Burst: 10, MaxFlight: c.maxInFlight, Random: rand.Float64, Breaker: c.holder != nil}
	if c.limited {
		p.Start, p.Ceiling = c.rate, c.rate
	}
	if c.pace.pool {
		p.Pool = pace.NewPool()
	}
	return pace.New(p)
}

// paced returns how long the pace makes the next attempt wait. Calls that may not
// wait at all it does not keep: it is an estimate, and to be refused for one is
// worse than to ask the provider. q.mu must be held.
func (q *queue) paced(p *limitPass, now time.Time) time.Duration {
	if q.pace == nil || q.cfg.ownWait() == 0 {
		return 0
	}
	if wait := q.pace.TokensWait(now, p.charge.reserved); wait > 0 {
		return wait
	}
	ok, wait := q.pace.Ready(now)
	switch {
	case ok:
		return 0
	case wait == 0:
		return forever
	}
	return wait
}

// speed is how many calls a second can be expected to be served. q.mu must be held.
func (q *queue) speed() float64 {
	r := math.Inf(1)
	if q.bucket != nil {
		r = q.cfg.rate * float64(max(q.line.live, 1)) / float64(max(q.line.owed, 1))
	}
	if q.pace != nil {
		r = min(r, q.pace.Speed())
	}
	return r
}

// heard tells the pace that the answer to p's attempt has begun, with these headers.
func (q *queue) heard(p *limitPass, h http.Header) {
	if q.pace == nil {
		return
	}
	now := time.Now()
	told, any := q.told(h, now)
	q.mu.Lock()
	defer q.mu.Unlock()
	now = time.Now()
	q.pace.Headers(now, &p.pass)
	if any {
		q.tell(p, told, now)
	}
	q.holding(now) // it may be over
}

// refused tells the pace of an answer whose body is yet to be read that the
// provider's word is in.
func (q *queue) refused(p *limitPass, v verdict) {
	told, any := q.told(v.header, time.Now())
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	q.learn(p, v, now)
	if any {
		q.tell(p, told, now)
	}
}

// tell tells the pace what the answer to p's attempt says is left. q.mu must be held.
func (q *queue) tell(p *limitPass, told pace.Quotas, now time.Time) {
	q.pace.Told(now, &p.pass, told)
	q.tight.Store(q.pace.TokensTight(now))
}

// holdsFor is for how long at most a provider's word holds the whole queue: after
// that a probe asks again. The wait may be for one model of many, for a day's
// quota of one caller, or a slip.
const holdsFor = time.Minute

// learn tells the pace, once, what became of p's attempt. q.mu must be held.
func (q *queue) learn(p *limitPass, v verdict, now time.Time) {
	if q.pace == nil || p.learnt {
		return
	}
	p.learnt = true
	var hinted time.Duration
	if v.hinted {
		hinted = min(v.wait, holdsFor)
	}
	q.pace.Settled(now, &p.pass, paceOutcome(v.outcome), hinted)
	q.brownOut.Store(q.pace.Chance())
	q.passing.Store(q.pace.Passing())
	q.holding(now) // one may have begun or ended
}

// paceOutcome says o in the words of the pace.
func paceOutcome(o outcome) pace.Outcome {
	switch o {
	case outcomeOK:
		return pace.OK
	case outcomeDeclined:
		return pace.Declined
	case outcomeRejected:
		return pace.Rejected
	case outcomeOverloaded:
		return pace.Overloaded
	case outcomeUnknown:
		return pace.Unknown
	case outcomeRefused, outcomeCancelled:
		return pace.Cancelled
	}
	return pace.Failed
}

// readEvery is how often at most the pacing headers of a key are read: they say
// nothing new from one answer to the next, and reading them is not free.
const readEvery = 50 * time.Millisecond

// told reads what the headers of an answer say about the capacity that is left.
func (q *queue) told(h http.Header, now time.Time) (pace.Quotas, bool) {
	last := q.toldAt.Load()
	if q.pace == nil || h == nil || now.UnixNano()-last < int64(readEvery) || !wire.Paced(h) || !q.toldAt.CompareAndSwap(last, now.UnixNano()) {
		return pace.Quotas{}, false
	}
	return quotas(wire.Pacing(h, now))
}

// quotas says what the headers told in the words of the pace: what is left of
// requests and of tokens, and when there is more.
func quotas(s wire.Snapshot) (q pace.Quotas, any bool) {
	for _, l := range s.Limits {
		if l.Remaining < 0 || !l.HasReset || l.Window > time.Minute || l.Limit == 0 { // a limit of none lets nobody ask
			continue
		}
		switch l.Name {
		case "requests", "default":
			q.Requests, any = quota(l), true
		case "tokens", "input_tokens":
			q.Tokens, any = quota(l), true
		}
	}
	return q, any
}

func quota(l wire.Limit) pace.Quota {
	return pace.Quota{Left: float64(l.Remaining), Limit: float64(l.Limit), Reset: l.Reset, Refills: l.Refill, Known: true}
}
