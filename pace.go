package steady

import (
	"math"
	"math/rand/v2"
	"net/http"
	"sync/atomic"
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
// many at a time, the provider of a key takes. A limit is found by running into it:
// what was accepted is where it lies. Until the provider refuses, slows down or
// falls silent, only the limits that you set hold. Without a rate of yours the
// start is slow besides: ten attempts go at once, and the others at a rate that
// begins at 20 a second and doubles every quarter of one while calls wait, until it
// must be borne out by what was accepted. Calls made one after the other do not wait.
// A limit that nobody meets for five minutes is searched for anew.
//
// The pace heeds the headers in which providers say what is left, and holds the
// queue when nothing has passed of late: then one attempt goes as a probe. When
// more calls wait than can be answered before their deadlines, those younger than 2
// seconds go first, and the oldest are refused at once, with [ErrRateLimited].
//
// It is on in [New], and off in [RateLimit] alone. Limits that you set are
// ceilings above it. A call with a [MaxWait] of 0 is not kept by it, only by holds.
func WithPace(opts ...PaceOption) QueueOption {
	return queueOption(func(c *limitConfig) {
		c.pace = paceConfig{on: true}
		for _, opt := range opts {
			if !c.amiss.missing(opt == nil) {
				opt.applyPace(&c.pace)
			}
		}
		c.amiss.add(!c.pace.on && c.pace.pool, "NoPace and AdaptivePool: contradict each other: give one of them")
	})
}

// NoPace leaves the pace to you: only the limits that you set hold.
func NoPace() PaceOption { return paceOption(func(c *paceConfig) { c.on = false }) }

// AdaptivePool replaces what is learned by a simple rule that looks at 429 alone: a
// moving share of them, to which the latest attempt adds with a weight of 0.3.
// Above 5 % the number in flight falls by 2, below 1 % it rises by 1, from 16 at
// first and between 4 and 64, and so does the number of attempts in a second. It is
// easy to predict and knows nothing of providers that take more or fewer.
func AdaptivePool() PaceOption { return paceOption(func(c *paceConfig) { c.pool = true }) }

// newPace returns the pace of a new queue, nil if it is not to be learned.
func (c *limitConfig) newPace() *pace.Pace {
	if !c.pace.on {
		return nil
	}
	p := pace.Config{
		Start: 20, Burst: 10, MaxFlight: c.maxInFlight, Random: rand.Float64, Breaker: c.holder != nil,
		Without: pace.NoRamp, // the queue has one, for whoever held it
	}
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
	if q.pace == nil || q.all.cfg.ownWait() == 0 {
		return 0
	}
	if wait := q.pace.TokensWait(now, p.reserved()); wait > 0 {
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
		owed, _ := q.line.Owed()
		r = q.all.cfg.rate * float64(max(q.line.Len(), 1)) / float64(max(owed, 1))
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
	left := q.quotas(h, time.Now(), outcomeOK)
	defer q.tellNews()
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.monotonic(time.Now())
	q.pace.Headers(now, &p.pass)
	q.holding(now) // it may be over
	q.note(now)
	if left != nil {
		q.tellLeft(p, left, now)
		q.wakeNext(now)
	}
}

// refused tells the pace of an answer whose body is yet to be read that the
// provider's word is in.
func (q *queue) refused(p *limitPass, v *verdict) {
	left := q.quotas(v.header, time.Now(), v.outcome)
	defer q.tellNews()
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.monotonic(time.Now())
	q.learn(p, v, now)
	if left != nil {
		q.tellLeft(p, left, now)
	}
	q.wakeNext(now) // the pace takes the attempt for over
}

// tellLeft tells the pace what the answer to p's attempt says is left. q.mu must be held.
func (q *queue) tellLeft(p *limitPass, left *pace.Quotas, now time.Time) {
	q.pace.Told(now, &p.pass, *left)
	q.tight.Store(q.pace.TokensTight(now))
}

// holdsFor is for how long at most a provider's word holds the whole queue: after
// that a probe asks again. The wait may be for one model of many, for a day's
// quota of one caller, or a slip.
const holdsFor = time.Minute

// learn tells the pace, once, what became of p's attempt. q.mu must be held.
func (q *queue) learn(p *limitPass, v *verdict, now time.Time) {
	if q.pace == nil || p.learned {
		return
	}
	p.learned = true
	var hinted time.Duration
	if v.hinted {
		hinted = min(v.wait, holdsFor)
	}
	q.pace.Settled(now, &p.pass, paceOutcome(v), hinted)
	set(&q.brownOut, q.pace.BrownOut())
	set(&q.passing, q.pace.Passing(now))
	if v.outcome != outcomeOK || q.trouble.by != byNobody { // else no hold can have begun or ended
		q.holding(now)
	}
	q.note(now)
}

// set sets b, at the price of a look if it is as it should be already.
func set(b *atomic.Bool, to bool) {
	if b.Load() != to {
		b.Store(to)
	}
}

// paceOutcome says v in the words of the pace.
func paceOutcome(v *verdict) pace.Outcome {
	switch v.outcome {
	case outcomeOK:
		return pace.OK
	case outcomeDeclined:
		return pace.Declined
	case outcomeRejected:
		return pace.Rejected
	case outcomeOverloaded:
		if v.status == http.StatusServiceUnavailable {
			return pace.Unavailable
		}
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

// quotas reads from the headers of an answer what is left. It returns nil if they do
// not say so, or are not to be read. Where a good answer has none the next ones are not
// looked at for as long: such headers come with all of them or with none. It takes no
// lock.
func (q *queue) quotas(h http.Header, now time.Time, o outcome) *pace.Quotas {
	if q.pace == nil || h == nil {
		return nil
	}
	at, last, plain := int64(now.Sub(q.epoch)), q.readAt.Load(), q.plainAt.Load()
	switch {
	case at-last < int64(readEvery), o == outcomeOK && at-plain < int64(readEvery):
	case !wire.Paced(h):
		if o == outcomeOK {
			q.plainAt.Store(at)
		}
	case q.readAt.CompareAndSwap(last, at):
		return quotasOf(wire.Pacing(h, now))
	}
	return nil
}

// quotasOf says s in the words of the pace: what is left of requests and of tokens,
// and when there is more. It returns nil if s says nothing that matters to it.
func quotasOf(s wire.Snapshot) *pace.Quotas {
	var q pace.Quotas
	for _, l := range s.Limits {
		if l.Remaining < 0 || !l.HasReset || l.Window > time.Minute || firstBack(l) > time.Minute || l.Limit == 0 {
			continue // no matter of pace, or a limit of none, which lets nobody ask
		}
		switch l.Name {
		case "requests", "default":
			q.Requests = quotaOf(l)
		case "tokens", "input_tokens":
			q.Tokens = quotaOf(l)
		}
	}
	if !q.Requests.Known && !q.Tokens.Known {
		return nil
	}
	return &q
}

// firstBack is how long until there is more of l than now.
func firstBack(l wire.Limit) time.Duration {
	if !l.Refill {
		return l.Reset
	}
	return l.Reset / time.Duration(max(1, l.Limit-l.Remaining))
}

func quotaOf(l wire.Limit) pace.Quota {
	return pace.Quota{Left: float64(l.Remaining), Limit: float64(l.Limit), Reset: l.Reset, Refills: l.Refill, Known: true}
}
