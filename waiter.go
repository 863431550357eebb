package steady

import (
	"container/list"
	"context"
	"errors"
	"time"
)

// waiter is a call in line.
type waiter struct {
	p    *limitPass
	came time.Time
	past time.Duration // the queue's troubled time before it came
	wake chan struct{} // has room for one, so that nobody waits to wake
	at   *list.Element
}

func (w *waiter) rouse() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// wait puts p in line until its turn comes or cannot come in time. It is called
// with q.mu held and returns without.
func (q *queue) wait(p *limitPass, now time.Time) error {
	w := &waiter{p: p, came: now, past: q.troubled(now), wake: make(chan struct{}, 1)}
	defer q.mu.Unlock()
	if err := q.hopeless(w, now); err != nil {
		return err
	}
	q.push(w)
	defer q.remove(w)
	for {
		wait, held := forever, q.held
		if q.line.Front() == w.at {
			if wait, held = q.turn(p, now); wait <= 0 {
				p.waited = now.Sub(w.came)
				return nil
			}
		}
		left, err := q.patience(w, held, now)
		if left <= 0 || wait != forever && wait > left {
			return err(wait)
		}
		if calm := q.calm.Sub(now); !q.held && calm > 0 {
			left = min(left, calm) // then its wait has other bounds
		}
		q.mu.Unlock()
		ended := w.sleep(min(wait, left))
		q.mu.Lock()
		now = time.Now()
		switch {
		case !ended:
		case errors.Is(p.ctx.Err(), context.Canceled):
			return contextError(p.ctx)
		default:
			_, err = q.patience(w, held, now)
			return err(forever)
		}
	}
}

// sleep waits for d or to be roused, and reports whether the call ended.
func (w *waiter) sleep(d time.Duration) (ended bool) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-w.wake:
	case <-timer.C:
	case <-w.p.ctx.Done():
		return true
	}
	return w.p.ctx.Err() != nil
}

// hopeless returns an error if it is known now that w's turn cannot come in
// time. q.mu must be held.
func (q *queue) hopeless(w *waiter, now time.Time) error {
	wait, held := q.holding(now)
	if !held && q.bucket != nil {
		wait = q.until(float64(q.owed)+float64(min(w.p.cost, q.cfg.burst)), now)
	}
	left, err := q.patience(w, held, now)
	if !held {
		left = min(left, max(q.cfg.ownWait(), q.calm.Sub(now)))
	}
	if left <= 0 || wait != forever && wait > left {
		return err(wait)
	}
	return nil
}

// patience returns how much longer w may wait, and the error for when that is
// too short. The error is given the wait that would be needed. With a MaxWait
// the time for which the provider has kept w counts against the Patience alone;
// without one the Patience bounds both together.
func (q *queue) patience(w *waiter, held bool, now time.Time) (time.Duration, func(wait time.Duration) error) {
	waited, theirs := now.Sub(w.came), q.troubled(now)-w.past
	left, byDeadline := q.cfg.patience-waited, false
	if q.cfg.maxWaitSet {
		if left = q.cfg.patience - theirs; !held && !now.Before(q.calm) {
			left = q.cfg.maxWait - (waited - theirs)
		}
	}
	if w.p.ctx.Err() != nil {
		left, byDeadline = 0, true
	} else if deadline, ok := w.p.ctx.Deadline(); ok {
		if d := deadline.Sub(now) - 1; d < left { // a turn at the deadline is too late
			left, byDeadline = d, true
		}
	}
	return left, func(wait time.Duration) error {
		if wait == forever {
			wait = waited
		}
		limited := &LimitError{Key: q.key, Wait: wait, Deadline: byDeadline}
		switch {
		case !held:
			return limited
		case byDeadline:
			return &reasons{q.cfg.holder.refusal(q.key), context.DeadlineExceeded}
		}
		return q.cfg.holder.refusal(q.key)
	}
}

// push puts w in line: behind all that came before its call did. A re-send has
// come with its call, and so goes before calls that are younger.
func (q *queue) push(w *waiter) {
	q.owed += w.p.cost
	for e := q.line.Back(); e != nil; e = e.Prev() {
		if !e.Value.(*waiter).p.c.began.After(w.p.c.began) {
			w.at = q.line.InsertAfter(w, e)
			return
		}
	}
	w.at = q.line.PushFront(w)
	if next := w.at.Next(); next != nil {
		next.Value.(*waiter).rouse() // it is the head no longer
	}
}

// remove takes w out of line and lets the next head look.
func (q *queue) remove(w *waiter) {
	q.owed -= w.p.cost
	q.line.Remove(w.at)
	q.wakeHead()
}
