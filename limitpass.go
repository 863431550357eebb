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
	gateLink
	c      *call
	cost   int     // of the rate limit
	charge *charge // in tokens of the model, if that matters
	stood  *stood  // for the last turn; nil if it did not wait

	// q is the queue of the call's key, nil until it comes there. It changes only when
	// it was retired, which it is not while anything of the call counts there.
	q     atomic.Pointer[queue]
	state atomic.Uint32 // of the pass flags; the end of a body changes it from its own goroutine

	probe holdBy // what the attempt under way asks about, if it is a probe

	// Of the attempt under way. The queue's mu guards it.
	learned bool // the pace knows what became of it
	pass    pace.Pass

	own call // for use as c when this layer is the outermost, as it mostly is
}

// What the state of a limitPass says. A layer further in that sends a request several
// times at once may have left a Retry behind when RoundTrip returns.
const (
	passUnderWay = 1 << iota // an attempt counts in q
	passAway                 // the call backs off: it counts in q as one that waits, and is not in line
	passReturned             // RoundTrip has returned, and nobody gives back what is taken from now on
)

// stood is how a call has waited for its turn. When that is a probe, which fails, the
// call goes on waiting as if it had not left the line.
type stood struct {
	came   time.Time
	past   time.Duration // the queue's troubled time before that
	waited time.Duration // until the latest turn, or look
}

// waited is how long p has waited for the last turn.
func (p *limitPass) waited() time.Duration {
	if p.stood == nil {
		return 0
	}
	return p.stood.waited
}

// again waits for a turn.
func (p *limitPass) again(*http.Request) error {
	p.back()
	return p.await(p.q.Load(), time.Now())
}

// back ends what ended has begun for a call that is spared its probe.
func (p *limitPass) back() {
	if p.state.And(^uint32(passAway))&passAway != 0 {
		p.q.Load().awaits(-1)
	}
}

// await waits for a turn in q as of now, which has just been.
func (p *limitPass) await(q *queue, now time.Time) error {
	if p.stood != nil { // which goes on
		p.stood.waited = 0
	}
	q, err := q.join(p, now)
	if err == nil && p.state.Or(passUnderWay)&passReturned != 0 { // nobody would give it back
		err = errAnswered
		p.withdraw()
		p.release(verdict{outcome: outcomeRefused, err: err})
	}
	if o := q.all.cfg.observer; o != nil && (p.waited() > 0 || err != nil || q.news.any.Load()) {
		p.tell(o, q, err)
	}
	return err
}

// tell tells o how the wait in q has ended. When o panics, nobody comes for what the
// holder has given.
func (p *limitPass) tell(o Observer, q *queue, err error) {
	returned := false
	defer func() {
		if !returned {
			p.withdraw()
		}
	}()
	q.tellNews()
	if wait := p.waited(); wait > 0 || err != nil {
		o.Observe(p.c.Context, LimitWaited{Key: q.key, Cost: p.cost, Wait: wait, Err: err})
	}
	returned = true
}

// withdraw gives back what the holder has given for an attempt that will not be made.
func (p *limitPass) withdraw() {
	q := p.q.Load()
	if q == nil { // p was in none yet, and so was given nothing
		return
	}
	if h := q.all.cfg.holder; h != nil {
		h.withdraw(p.c)
	}
}

func (p *limitPass) ended(v verdict) {
	if q := p.underWay(); q != nil && p.spares(v) {
		q.awaits(1)
		if p.state.Or(passAway)&passReturned != 0 { // nobody would come back
			p.back()
		}
	} else {
		p.stood = nil
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
func (p *limitPass) underWay() *queue {
	if p.state.Load()&passUnderWay == 0 {
		return nil
	}
	return p.q.Load()
}

// over is underWay, once: it is the caller's to tell the queue that the attempt is over.
func (p *limitPass) over() *queue {
	if p.state.And(^uint32(passUnderWay))&passUnderWay == 0 {
		return nil
	}
	return p.q.Load()
}

// release gives the slot back, once, and the tokens too if nothing was sent.
func (p *limitPass) release(v verdict) {
	if q := p.over(); q != nil {
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
		if q := p.over(); q != nil {
			v := verdict{outcome: outcomeOK, header: resp.Header, at: b.at()}
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
		if p.over() == q {
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
