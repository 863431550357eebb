package steady

import (
	"net/http"
	"sync/atomic"
	"time"

	"github.com/steadyhttp/steady/internal/pace"
)

// limitPass is one call's way through the queue of its key: what its attempt
// under way holds. It is the call's gate.
type limitPass struct {
	t      *limitTransport
	c      *call
	key    string
	cost   int           // of the rate limit
	charge *charge       // in tokens of the model, if that matters
	waited time.Duration // for the last turn

	// A probe that fails puts its call back into the line as if it had not left.
	probe holdBy        // what the attempt under way asks about, if it is one
	since time.Time     // when the wait began that goes on then; zero if none does
	past  time.Duration // the queue's troubled time before that

	// away is where the call counts as one that waits although it is not in line: it
	// backs off. A Retry that was left behind may still set it.
	away atomic.Pointer[queue]

	// q is where the attempt under way counts; nil between attempts. The end of a
	// body changes it from its own goroutine.
	q atomic.Pointer[queue]

	// Of the attempt under way. The queue's mu guards it.
	pass    pace.Pass
	learned bool // the pace knows what became of it

	// returned tells that RoundTrip has, while a layer further in, which sends a
	// request several times at once, may have left a Retry behind.
	returned atomic.Bool

	own call // for use as c when this layer is the outermost, as it mostly is
}

// again waits for a turn.
func (p *limitPass) again(*http.Request) error {
	p.back()
	return p.await(time.Now())
}

// back ends what ended has begun for a call that is spared its probe.
func (p *limitPass) back() {
	if q := p.away.Swap(nil); q != nil {
		q.awaits(-1)
	}
}

// await waits for a turn as of now, which has just been.
func (p *limitPass) await(now time.Time) error {
	p.waited = 0
	q, err := p.t.join(p, now)
	if err == nil {
		p.q.Store(q)
		if p.returned.Load() { // nobody would give it back
			err = errAnswered
			p.withdraw()
			p.release(verdict{outcome: outcomeRefused, err: err})
		}
	}
	if o := p.t.cfg.observer; o != nil && (p.waited > 0 || err != nil || q.news.any.Load()) {
		p.tell(o, q, err)
	}
	return err
}

// tell tells o how the wait in q, nil if there was none, has ended. When o panics,
// nobody comes for what the holder has given.
func (p *limitPass) tell(o Observer, q *queue, err error) {
	returned := false
	defer func() {
		if !returned {
			p.withdraw()
		}
	}()
	if q != nil {
		q.tellNews()
	}
	if p.waited > 0 || err != nil {
		o.Observe(p.c.Context, LimitWaited{Key: p.key, Cost: p.cost, Wait: p.waited, Err: err})
	}
	returned = true
}

// withdraw gives back what the holder gave for an attempt that will not be made.
func (p *limitPass) withdraw() {
	if h := p.t.cfg.holder; h != nil {
		h.withdraw(p.c)
	}
}

func (p *limitPass) ended(v verdict) {
	if q := p.underWay(); q != nil && p.spares(v) {
		q.awaits(1)
		p.away.Store(q)
	} else {
		p.since = time.Time{}
	}
	p.release(v)
}

func (p *limitPass) bodyEnded(v verdict) {
	v.header = nil // it has been read, and is the caller's since
	p.release(v)
}

// pays reports whether the queue sees to it that a re-send after v is no burden
// to the provider, so that it need not be paid from the retry budget: those after
// a rejection it paces, and those of a brown-out it has found to be chance.
func (p *limitPass) pays(v verdict) bool {
	q := p.underWay()
	return q != nil && q.pace != nil && (v.outcome == outcomeRejected || v.outcome == outcomeOverloaded && q.brownOut.Load())
}

// spares reports whether the attempt under way was a probe, and what holds the queue
// goes on holding it after v. It is nothing that the call has asked for: it keeps its
// place in line and its attempts, and its patience bounds how often it is sent.
func (p *limitPass) spares(v verdict) bool {
	switch p.probe {
	case byBreaker:
		return v.outcome.bad()
	case byPace:
		return v.outcome.bad() || v.outcome == outcomeRejected
	}
	return false
}

// underWay returns the queue in which the attempt under way counts, or nil.
func (p *limitPass) underWay() *queue { return p.q.Load() }

// release gives the slot back, once, and the tokens too if nothing was sent.
func (p *limitPass) release(v verdict) {
	if q := p.q.Swap(nil); q != nil {
		q.leave(p, &v)
	}
}

// undo gives back what p holds after a panic, and resp, which nobody gets.
func (p *limitPass) undo(resp *http.Response) {
	p.back()
	p.withdraw()
	p.release(verdict{outcome: outcomeFailed})
	if resp != nil {
		resp.Body.Close()
	}
}

// failed ends the attempt under way, which ended in err.
func (p *limitPass) failed(err error) { p.release(judge(p.c.Context, nil, err)) }

// answered takes note of the answer to the attempt under way.
func (p *limitPass) answered(resp *http.Response) {
	if b := wholeIn(resp); b != nil { // as it mostly is
		if q := p.q.Swap(nil); q != nil {
			v := verdict{outcome: outcomeOK, header: resp.Header, at: b.at}
			if p.charge != nil {
				v.usage = b.usage()
			}
			q.over(p, &v, true)
		}
		return
	}
	q := p.underWay()
	if q == nil {
		return
	}
	switch v := judge(p.c.Context, resp, nil); {
	case v.outcome == outcomeOK && settled(resp):
		if p.q.Swap(nil) == q {
			q.over(p, &v, true)
		}
		return
	case v.outcome == outcomeOK:
		q.heard(p, resp.Header)
	default:
		q.refused(p, &v)
	}
	watch(p.c.Context, resp, p)
}
