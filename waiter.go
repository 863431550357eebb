package steady

import (
	"context"
	"errors"
	"time"

	"github.com/steadyhttp/steady/internal/line"
)

// waiter is a call in line.
type waiter struct {
	line.Place
	*stood // p's
	p      *limitPass
	wake   chan struct{} // has room for one, so that nobody waits to wake
	shed   bool          // it is to leave: more wait than can be served
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
	w := q.waiter(p, now)
	defer q.mu.Unlock()
	if err := q.hopeless(w, now); err != nil {
		return err
	}
	q.line.Add(w)
	q.shed(now)
	defer func() {
		if !w.Left() {
			q.line.Remove(w)
			q.letGo(now)
		}
	}()
	for {
		wait, by := q.turnOf(w, now)
		left, byDeadline := q.patience(w, by, now)
		slow := q.maybeSlow(by, byDeadline, now)
		if wait <= 0 || left <= 0 && slow && !w.shed && q.unheard(p, now) {
			return nil
		}
		if left <= 0 || w.shed || wait != forever && wait > left && !slow {
			return q.refusal(w, by, wait, byDeadline, now)
		}
		if calm := q.trouble.calm.Sub(now); by == byNobody && calm > 0 {
			left = min(left, calm) // then its wait has other bounds
		}
		ended := q.pause(w, min(wait, left))
		now = q.monotonic(time.Now())
		if w.Left() { // let go
			return nil
		}
		w.waited = now.Sub(w.came)
		if ended {
			return q.ended(w, by, now)
		}
	}
}

// waiter returns p as one that waits from now on or, after a probe that failed, as the
// one that it was. q.mu must be held.
func (q *queue) waiter(p *limitPass, now time.Time) *waiter {
	q.stand(p, now)
	w := &waiter{stood: p.stood, p: p, wake: make(chan struct{}, 1)}
	w.Place = line.Place{Began: p.c.began, Cost: p.cost, Tokens: p.reserved()}
	return w
}

// stand begins p's wait now, unless one goes on. q.mu must be held.
func (q *queue) stand(p *limitPass, now time.Time) {
	if p.stood == nil {
		p.stood = &stood{came: now, past: q.trouble.total(now)}
	}
}

// ended returns the error for w, whose context is done. q.mu must be held.
func (q *queue) ended(w *waiter, by holdBy, now time.Time) error {
	_, byDeadline := q.patience(w, by, now)
	return q.refusal(w, by, forever, byDeadline, now)
}

// letGo lets all go whose turn has come, and then the next one look. Were each of
// them woken to find out for itself, the line would last as long as calls come
// faster than goroutines are switched, though nothing holds it. q.mu must be held.
func (q *queue) letGo(now time.Time) {
	for {
		w := q.next(now)
		if w != q.up { // mostly none was and none is
			q.up = w
		}
		if w == nil {
			return
		}
		if w.p.c.Context.Err() != nil { // it would cost it a turn
			w.rouse()
			return
		}
		switch wait, by := q.turn(w.p, now); {
		case wait <= 0:
			w.waited = now.Sub(w.came)
			q.line.Remove(w)
			w.rouse()
		case wait == forever && by == byNobody: // who leaves will let it go, and it need not look in vain
			return
		default:
			w.rouse()
			return
		}
	}
}

// turnOf is turn for w, if the turn is w's. Else it rouses the waiter whose turn it
// is, unless the last look has done so, and w goes on waiting. q.mu must be held.
func (q *queue) turnOf(w *waiter, now time.Time) (wait time.Duration, by holdBy) {
	next, last := q.next(now), q.up
	q.up = next
	if next == w {
		return q.turn(w.p, now)
	}
	if next != last {
		next.rouse()
	}
	return forever, q.trouble.by
}

// pause has w sleep, with q.mu free. Before that it tells the news, which else nobody
// might tell for as long as all sleep. When an observer panics, what w was let go with
// is given back by who recovers. q.mu must be held.
func (q *queue) pause(w *waiter, d time.Duration) (ended bool) {
	q.mu.Unlock()
	returned := false
	defer func() {
		q.mu.Lock()
		if !returned && w.Left() {
			w.p.state.Or(passUnderWay)
		}
	}()
	q.tellNews()
	returned = true
	return w.sleep(d)
}

// sleep waits for d or to be roused, and reports whether the call ended.
func (w *waiter) sleep(d time.Duration) (ended bool) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-w.wake:
	case <-timer.C:
	case <-w.p.c.Context.Done():
		return true
	}
	return w.p.c.Context.Err() != nil
}

// hopeless returns an error if it is known now that w's turn cannot come in
// time. q.mu must be held.
func (q *queue) hopeless(w *waiter, now time.Time) error {
	wait, by := q.holding(now)
	if by == byNobody {
		cost, tokens := q.line.Owed()
		wait = max(q.bucket.wait(cost, w.p.cost, now), q.tokens.wait(tokens, w.p.reserved(), now))
	}
	left, byDeadline := q.patience(w, by, now)
	if by == byNobody {
		left = min(left, max(q.all.cfg.ownWait(), q.trouble.calm.Sub(now)))
	}
	if left <= 0 || wait != forever && wait > left && !q.maybeSlow(by, byDeadline, now) {
		return q.refusal(w, by, wait, byDeadline, now)
	}
	w.Until = now.Add(left)
	return nil
}

// maybeSlow reports whether all that keeps a call is that the provider says nothing,
// or said nothing until a moment ago: many slow answers that were asked for at once
// look so, too. When the patience of the call ends it goes, for a call that is refused
// is lost for sure. q.mu must be held.
func (q *queue) maybeSlow(by holdBy, byDeadline bool, now time.Time) bool {
	if byDeadline {
		return false
	}
	return by == byPace && q.pace.MayBeSlow(now) || by == byNobody && q.trouble.quiet && now.Before(q.trouble.calm)
}

// unheard lets p go although the pace holds the queue, or the ramp after that, if
// nothing else speaks against it. q.mu must be held.
func (q *queue) unheard(p *limitPass, now time.Time) bool {
	p.probe = byNobody
	return !q.full() && q.lacking(p, now) <= 0 && q.admit(p, now)
}

// shed lets the oldest go away when more wait than will be served before the
// latest of them must have an answer. A fresh call is not shed. q.mu must be held.
func (q *queue) shed(now time.Time) {
	if q.pace == nil {
		return
	}
	room := q.pace.Room(now, q.line.Latest().Until)
	for w := range q.line.All() {
		if float64(q.line.Len()) <= room || now.Sub(w.Began) < line.FreshFor {
			return
		}
		w.shed = true
		w.rouse()
		room++ // it is as good as gone
	}
}

// patience returns how much longer w may wait, and whether it is its deadline that
// ends that. With a MaxWait the time for which the provider has kept w counts against
// the Patience alone; without one the Patience bounds both together.
func (q *queue) patience(w *waiter, by holdBy, now time.Time) (left time.Duration, byDeadline bool) {
	waited, theirs := now.Sub(w.came), q.trouble.total(now)-w.past
	left = q.all.cfg.patience - waited
	if q.all.cfg.maxWaitSet {
		if left = q.all.cfg.patience - theirs; by == byNobody && !now.Before(q.trouble.calm) {
			left = q.all.cfg.maxWait - (waited - theirs)
		}
	}
	if w.p.c.Context.Err() != nil {
		left, byDeadline = 0, true
	} else if deadline, ok := w.p.c.Context.Deadline(); ok {
		if d := deadline.Sub(now) - q.need(); d < left { // a turn at the deadline is too late
			left, byDeadline = d, true
		}
	}
	return left, byDeadline
}

// refusal returns the error for w, whose patience is too short for the wait that
// would be needed. A call that was cancelled is told that and nothing else.
func (q *queue) refusal(w *waiter, by holdBy, wait time.Duration, byDeadline bool, now time.Time) error {
	switch ctx := w.p.c.Context; {
	case errors.Is(ctx.Err(), context.Canceled):
		return contextError(ctx)
	case by != byBreaker:
		return q.limited(w, by, wait, byDeadline, now)
	case byDeadline:
		return &reasons{q.all.cfg.holder.refusal(q.key), context.DeadlineExceeded}
	}
	return q.all.cfg.holder.refusal(q.key)
}

// limited returns the error for w, which leaves because wait is too long. q.mu
// must be held.
func (q *queue) limited(w *waiter, by holdBy, wait time.Duration, byDeadline bool, now time.Time) *LimitError {
	e := &LimitError{Key: q.key, Wait: wait, Deadline: byDeadline, waitKnown: wait != forever, waited: now.Sub(w.came), shed: w.shed}
	if !e.waitKnown {
		e.Wait = e.waited
	}
	// Without a MaxWait the Patience is the bound of both waits, but a longer
	// MaxWait is all that a call needs to which the provider does nothing.
	theirs := by != byNobody || now.Before(q.trouble.calm)
	e.option, e.most, e.unset = "MaxWait", q.all.cfg.ownWait(), !q.all.cfg.maxWaitSet && !q.all.cfg.patienceSet
	if theirs || q.all.cfg.patienceSet && !q.all.cfg.maxWaitSet {
		e.option, e.most, e.unset = "Patience", q.all.cfg.patience, !q.all.cfg.patienceSet
	}
	e.heldOnly = theirs && q.all.cfg.maxWaitSet
	return e
}

// need is how long before its deadline a call must have its turn to be answered
// in time, as far as is known. A call that waits alone gets its chance. q.mu must
// be held.
func (q *queue) need() time.Duration {
	if q.pace == nil || q.line.Len() <= 1 {
		return 1
	}
	if q.line.Crowded() { // there are others who surely have the time
		return max(1, q.pace.LongAnswer())
	}
	return max(1, q.pace.Answer())
}
