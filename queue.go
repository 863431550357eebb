package steady

import (
	"container/list"
	"context"
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// queue is the one place in which the calls of a key wait: for a token, for a
// slot in flight, and while the holder says so.
//
// It has no goroutine. The waiter at the head looks when its turn may have come,
// and the one that leaves, for whatever reason, lets the next head look. So
// nobody waits behind one who has left, which is what x/time/rate's own WaitN
// lets happen (golang.org/x/time v0.16.0, rate.go:181).
type queue struct {
	key string
	cfg *limitConfig

	mu       sync.Mutex    // guards the rest
	bucket   *rate.Limiter // nil without a rate limit
	inFlight int
	line     list.List // of *waiter, in the order in which the calls came
	owed     int       // the cost of all in line
	held     bool      // the holder has said so, and has not yet said otherwise
	since    time.Time // since when
	ramp     ramp
	gone     bool // retired: whoever finds it looks up another
}

// waiter is a call in line.
type waiter struct {
	p    *limitPass
	came time.Time
	wake chan struct{} // has room for one, so that nobody waits to wake
	at   *list.Element
}

// forever is the wait for what no clock brings.
const forever = time.Duration(math.MaxInt64)

func newQueue(key string, cfg *limitConfig) *queue {
	q := &queue{key: key, cfg: cfg}
	if cfg.limited {
		q.bucket = rate.NewLimiter(cfg.rate, cfg.burst)
		if cfg.initialSet {
			q.bucket.AllowN(time.Now(), cfg.burst-cfg.initial)
		}
	}
	return q
}

// join returns when p's turn has come, and the queue in which it now counts as
// in flight. After an error it has cost nothing.
func (t *limitTransport) join(p *limitPass) (*queue, error) {
	if p.ctx.Err() != nil {
		return nil, contextError(p.ctx)
	}
	now := time.Now()
	for {
		q := t.queues.get(p.key, now)
		q.mu.Lock()
		if q.gone {
			q.mu.Unlock()
			t.queues.drop(p.key, q)
			continue
		}
		if q.line.Len() == 0 {
			if wait, _ := q.turn(p, now); wait <= 0 {
				q.mu.Unlock()
				return q, nil
			}
		}
		return q, q.wait(p, now)
	}
}

// turn lets p go if its turn, at the head, has come. Else it returns how long
// until it is worth looking again, and whether it is the holder who keeps it.
// q.mu must be held.
func (q *queue) turn(p *limitPass, now time.Time) (wait time.Duration, held bool) {
	if wait, held = q.holding(now); held {
		return wait, true
	}
	if q.cfg.maxInFlight > 0 && q.inFlight >= q.cfg.maxInFlight {
		return forever, false
	}
	if wait = max(q.lacking(p.cost, now), q.ramp.wait(now)); wait > 0 {
		return wait, false
	}
	if q.cfg.holder != nil && !q.cfg.holder.enter(q.key, p.c) {
		return q.holding(now)
	}
	q.pay(p.cost, now)
	q.ramp.went(now)
	q.inFlight++
	return 0, false
}

// holding asks the holder and keeps in mind what it says. q.mu must be held.
func (q *queue) holding(now time.Time) (wait time.Duration, held bool) {
	if q.cfg.holder == nil {
		return 0, false
	}
	h := q.cfg.holder.hold(q.key, now)
	switch {
	case h.state != holdNone && !q.held:
		q.held, q.since = true, now
		q.ramp.hold(now)
		defer q.wakeAll() // their waits have other bounds now
	case h.state == holdNone && q.held:
		q.held = false
		q.ramp.start(now)
		defer q.wakeAll()
	}
	if h.state != holdWait {
		return 0, false
	}
	if h.until.IsZero() {
		return forever, true
	}
	return max(h.until.Sub(now), 1), true
}

// lacking returns how long until the bucket can pay for n: a request heavier
// than the bucket asks for a full one. q.mu must be held.
func (q *queue) lacking(n int, now time.Time) time.Duration {
	if q.bucket == nil {
		return 0
	}
	return q.until(float64(min(n, q.cfg.burst)), now)
}

// until returns how long until the bucket has, or would have, n tokens.
func (q *queue) until(n float64, now time.Time) time.Duration {
	const hair = 1e-6 // of a token: float64's rounding, not a wait
	short := n - q.bucket.TokensAt(now)
	if short <= hair {
		return 0
	}
	return time.Duration(min(math.Round(short/float64(q.cfg.rate)*float64(time.Second)), math.MaxInt64/2))
}

// pay takes n tokens, and leaves a debt where there are fewer. q.mu must be held.
func (q *queue) pay(n int, now time.Time) {
	for q.bucket != nil && n > 0 {
		part := min(n, q.cfg.burst) // ReserveN takes no more at a time
		q.bucket.ReserveN(now, part)
		n -= part
	}
}

// leave ends an attempt that was in flight.
func (q *queue) leave(cost int, refund bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.inFlight--
	if refund && q.bucket != nil {
		q.bucket.AllowN(time.Now(), -cost) // a credit; TestUpstreamCredit pins that it is one
	}
	q.wakeHead()
}

// look lets the head look again.
func (q *queue) look() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.wakeHead()
}

func (q *queue) wakeHead() {
	if e := q.line.Front(); e != nil {
		e.Value.(*waiter).rouse()
	}
}

func (q *queue) wakeAll() {
	for e := q.line.Front(); e != nil; e = e.Next() {
		e.Value.(*waiter).rouse()
	}
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
	w := &waiter{p: p, came: now, wake: make(chan struct{}, 1)}
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
		q.mu.Unlock()
		ended := w.sleep(min(wait, left))
		q.mu.Lock()
		if ended {
			return contextError(p.ctx)
		}
		now = time.Now()
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
		wait = q.until(float64(q.owed+min(w.p.cost, q.cfg.burst)), now)
	}
	left, err := q.patience(w, held, now)
	if left <= 0 || wait != forever && wait > left {
		return err(wait)
	}
	return nil
}

// patience returns how much longer w may wait, and the error for when that is
// too short. The error is given the wait that would be needed.
func (q *queue) patience(w *waiter, held bool, now time.Time) (time.Duration, func(wait time.Duration) error) {
	from, allowed := w.came, q.cfg.ownWait()
	if held {
		allowed = q.cfg.patience
		if q.since.After(from) {
			from = q.since
		}
	}
	left, byDeadline := from.Add(allowed).Sub(now), false
	if deadline, ok := w.p.ctx.Deadline(); ok {
		if d := deadline.Sub(now) - 1; d < left { // a turn at the deadline is too late
			left, byDeadline = d, true
		}
	}
	return left, func(wait time.Duration) error {
		if wait == forever {
			wait = now.Sub(w.came)
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

// state returns how many attempts are under way and how many calls wait.
func (q *queue) state() (inFlight, waiting int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.inFlight, q.line.Len()
}

// retire makes an idle queue unusable. A full bucket is no different from a new
// one, unless the new one starts less than full.
func (q *queue) retire() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	full := q.bucket == nil || q.bucket.TokensAt(now) >= float64(q.cfg.burst)
	_, held := q.holding(now)
	if q.inFlight > 0 || q.line.Len() > 0 || held || q.ramp.wait(now) > 0 || !full {
		return false
	}
	q.gone = true
	return true
}
