package steady

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/steadyhttp/steady/internal/pace"
)

// news is what is still to be told of the pace of a queue: it changes under the lock,
// and no observer is called there.
type news struct {
	state  pace.State // the latest that was noted. The queue's mu guards it,
	untold []PaceChanged
	any    atomic.Bool // there are such. Written with mu held
}

// note notes if the state of the pace has changed. Whoever calls it must call tellNews
// once mu is free. q.mu must be held.
func (q *queue) note(now time.Time) {
	if q.all.cfg.observer == nil || q.pace == nil {
		return
	}
	if from, to := q.news.state, q.pace.State(); from != to {
		q.news.state = to
		e := PaceChanged{
			Key: q.key, From: from.String(), To: to.String(), Reason: q.pace.Why(from),
			InFlight: q.inFlight, Waiting: q.line.Len(), HeldUntil: q.heldUntil(now),
		}
		e.Pace, e.Slots = q.pace.Limits(now)
		q.news.untold = append(q.news.untold, e)
		q.news.any.Store(true)
	}
}

// tellNews tells the observer what has been noted. q.mu must not be held.
func (q *queue) tellNews() {
	if !q.news.any.Load() {
		return
	}
	q.mu.Lock()
	untold := q.news.untold
	q.news.untold = nil
	q.news.any.Store(false)
	q.mu.Unlock()
	for _, e := range untold {
		q.all.cfg.observer.Observe(context.Background(), e)
	}
}

// heldUntil returns when the next probe may go, zero if that is now, if one is out, or
// if nothing holds the queue. q.mu must be held.
func (q *queue) heldUntil(now time.Time) time.Time {
	if h := q.all.cfg.holder; h != nil {
		if by := h.hold(q.key, now); by.state != holdNone {
			return by.until
		}
	}
	if q.pace != nil {
		if t := q.pace.Earliest(now); t.After(now) {
			return t
		}
	}
	return time.Time{}
}
