package steady

import (
	"container/list"
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
	line     list.List     // of *waiter, in the order in which the calls came
	owed     int           // the cost of all in line
	held     bool          // the holder has said so, and has not yet said otherwise
	since    time.Time     // when the last hold began
	calm     time.Time     // when the ramp after it is over, whatever the pace
	before   time.Duration // the troubled time before since
	ramp     ramp
	gone     bool // retired: whoever finds it looks up another
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
	for {
		q := t.queues.get(p.key, p.c.began)
		q.mu.Lock()
		now := time.Now() // with the lock held: TestUpstreamRateFillsTwiceWhenTimeGoesBack
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
	if q.cfg.holder != nil && !q.cfg.holder.enter(q.key, p.c, now) {
		wait, held = q.holding(now)
		return max(wait, 1), held // never 0: it has not been let in
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
		q.before = q.troubled(now)
		q.held, q.since = true, now
		q.ramp.hold(now)
		defer q.wakeAll() // their waits have other bounds now
	case h.state == holdNone && q.held:
		q.held, q.calm = false, now.Add(rampFor)
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

// troubled returns for how long in all the provider has kept the queue: its
// holds, and the ramps after them. q.mu must be held.
func (q *queue) troubled(now time.Time) time.Duration {
	if q.since.IsZero() {
		return 0
	}
	if !q.held && now.After(q.calm) {
		now = q.calm
	}
	return q.before + now.Sub(q.since)
}

// lacking returns how long until the bucket can pay for n: a request heavier
// than the bucket asks for a full one. q.mu must be held.
func (q *queue) lacking(n int, now time.Time) time.Duration {
	if q.bucket == nil {
		return 0
	}
	return q.until(float64(min(n, q.cfg.burst)), now)
}

// until returns how long until the bucket has, or would have, n tokens. q.mu must
// be held.
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
	if q.bucket == nil {
		return
	}
	if n > q.cfg.burst { // ReserveN takes no more than the burst
		q.bucket.SetBurstAt(now, n)
		defer q.bucket.SetBurstAt(now, q.cfg.burst)
	}
	q.bucket.ReserveN(now, n)
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

// look notes what the holder says now, so that a hold and its ramp begin when
// they begin and not when the next call comes, and lets the head look again.
func (q *queue) look() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.holding(time.Now())
	q.wakeHead()
}

// wakeHead lets the head look. q.mu must be held.
func (q *queue) wakeHead() {
	if e := q.line.Front(); e != nil {
		e.Value.(*waiter).rouse()
	}
}

// wakeAll lets all in line look. q.mu must be held.
func (q *queue) wakeAll() {
	for e := q.line.Front(); e != nil; e = e.Next() {
		e.Value.(*waiter).rouse()
	}
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
