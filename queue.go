package steady

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/steadyhttp/steady/internal/line"
	"github.com/steadyhttp/steady/internal/pace"
)

// queue is the one place in which the calls of a key wait: for a token, for a
// slot in flight, for the learned pace, and in a hold.
//
// It has no goroutine. Who leaves, for whatever reason, lets those go whose turn has
// come, and the next one looks again when its turn may have come. So nobody waits
// behind one who has left, which is what x/time/rate's own WaitN lets happen
// (golang.org/x/time v0.16.0, rate.go:181).
type queue struct {
	// What every attempt changes comes first, in one piece of 64 bytes: two processors that
	// write in turn send it to and fro, and that costs more than what they do with it.
	mu       sync.Mutex // guards what follows down to key, and from gone on
	latest   time.Time  // that anything was done, see monotonic
	inFlight int
	ramp     ramp

	key string
	all *limitTransport // the layer that it is a queue of

	// When headers were read last, and when a good answer had none, in nanoseconds since
	// epoch, which is so early that the first are read.
	epoch           time.Time
	readAt, plainAt atomic.Int64

	// What the pace knows, for who must not take mu. Written with mu held.
	brownOut atomic.Bool // some attempts fail however slowly they go
	passing  atomic.Bool // the latest did not all fail, or chance explains it
	tight    atomic.Bool // the provider has told that few tokens are left

	gone bool // retired: whoever finds it looks up another

	bucket  *bucket    // nil without a rate limit
	tokens  *bucket    // of the model; nil without a limit
	pace    *pace.Pace // nil if it is not to be learned
	line    line.Line[*waiter]
	up      *waiter // whose turn it was at the last look
	away    int     // calls that wait as those in line do, but back off after a probe
	trouble trouble
	news    news
}

// forever is the wait for what no clock brings.
const forever = time.Duration(math.MaxInt64)

func newQueue(key string, all *limitTransport) *queue {
	cfg := &all.cfg
	q := &queue{key: key, all: all, epoch: time.Now().Add(-readEvery), pace: cfg.newPace(), tokens: cfg.newTokens()}
	if q.pace != nil {
		q.news.state = q.pace.State()
	}
	if cfg.limited {
		q.bucket = newBucket(cfg.rate, cfg.burst)
		if cfg.initialSet {
			q.bucket.pay(cfg.burst-cfg.initial, time.Now())
		}
	}
	return q
}

// lock locks q, or if that was retired the queue that its key has since, and returns it.
func (q *queue) lock(now time.Time) *queue {
	for {
		q.mu.Lock()
		if !q.gone {
			return q
		}
		q.mu.Unlock()
		q.all.queues.drop(q.key, q)
		q = q.all.queues.get(q.key, now)
	}
}

// join returns when p's turn has come, and the queue in which it now counts as in
// flight, which is p's: q, or if that was retired the one that its key has since. After
// an error it has cost nothing.
func (q *queue) join(p *limitPass, now time.Time) (*queue, error) {
	if p.c.Context.Err() != nil {
		return q, contextError(p.c.Context)
	}
	q = q.lock(p.c.began)
	if p.q.Load() != q {
		p.q.Store(q)
	}
	if q.line.Len() == 0 {
		if wait, _ := q.turn(p, q.monotonic(now)); wait <= 0 {
			q.mu.Unlock()
			return q, nil
		}
	}
	if check := q.all.cfg.check; check != nil {
		if err := check(p.c.Context); err != nil { // it would wait for nothing
			q.mu.Unlock()
			return q, err
		}
	}
	return q, q.wait(p, q.monotonic(time.Now()))
}

// monotonic returns now, which may have been read before mu was locked or, if that is
// later, what others have taken for now since. So time never goes back here, which would
// fill the bucket twice (TestUpstreamRateFillsTwiceWhenTimeGoesBack). q.mu must be held.
func (q *queue) monotonic(now time.Time) time.Time {
	if now.After(q.latest) {
		q.latest = now
	}
	return q.latest
}

// turn lets p go if its turn, as the next one, has come. Else it returns how long
// until it is worth looking again, and what holds the queue, if it is that. q.mu
// must be held.
func (q *queue) turn(p *limitPass, now time.Time) (wait time.Duration, by holdBy) {
	if wait, by = q.holding(now); wait > 0 {
		return wait, by
	}
	if q.full() {
		return forever, byNobody
	}
	if wait = max(q.lacking(p, now), q.ramp.wait(now)); wait > 0 {
		return wait, byNobody
	}
	if wait = q.paced(p, now); wait > 0 && by == byNobody { // a probe is not kept
		return wait, byNobody
	}
	if p.probe = by; max(1, q.line.Len())+q.away <= 1 { // it asks for nobody but itself
		p.probe = byNobody
	}
	if p.probe != byNobody {
		q.stand(p, now)
	}
	if !q.admit(p, now) {
		wait, by = q.holding(now)
		return max(wait, 1), by // never 0: it has not been let in
	}
	return 0, byNobody
}

// admit lets p go, unless the holder does not. q.mu must be held.
func (q *queue) admit(p *limitPass, now time.Time) bool {
	if q.all.cfg.holder != nil && !q.all.cfg.holder.enter(q.key, p.c, now) {
		return false
	}
	q.bucket.pay(p.cost, now)
	q.tokens.pay(p.reserved(), now)
	q.ramp.went(now)
	q.inFlight++
	p.learned = false
	if q.pace != nil {
		p.pass = q.pace.Sent(now)
		q.pace.Spent(now, &p.pass, p.reserved())
		q.note(now)
	}
	return true
}

// full reports whether as many attempts are under way as the user allows. q.mu must
// be held.
func (q *queue) full() bool { return q.all.cfg.maxInFlight > 0 && q.inFlight >= q.all.cfg.maxInFlight }

// lacking returns how long until the buckets can pay for p. q.mu must be held.
func (q *queue) lacking(p *limitPass, now time.Time) time.Duration {
	return max(q.bucket.wait(0, p.cost, now), q.tokens.wait(0, p.reserved(), now))
}

// leave ends p's attempt that was in flight, of which v became. The tokens are
// given back if nothing was sent.
func (q *queue) leave(p *limitPass, v *verdict) { q.over(p, v, false) }

// over is leave, and heard before it if the answer began and ended in one.
func (q *queue) over(p *limitPass, v *verdict, begun bool) {
	now := orNow(v.at)
	left := q.quotas(v.header, now, v.outcome)
	defer q.tellNews()
	q.mu.Lock()
	defer q.mu.Unlock()
	now = q.monotonic(now)
	if begun && q.pace != nil {
		q.pace.Headers(now, &p.pass)
	}
	q.inFlight--
	if v.outcome == outcomeRefused {
		q.bucket.credit(p.cost, now)
	}
	q.settle(p, v, now)
	q.learn(p, v, now)
	if left != nil {
		q.tellLeft(p, left, now)
	}
	q.letGo(now)
}

// awaits adds n to the calls that are to come back into the line.
func (q *queue) awaits(n int) {
	q.mu.Lock()
	q.away += n
	q.mu.Unlock()
}

// look notes what the holder says now, so that a hold and its ramp begin when
// they begin and not when the next call comes, and lets the next waiter look.
func (q *queue) look() {
	defer q.tellNews()
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.monotonic(time.Now())
	q.holding(now)
	q.wakeNext(now)
}

// next returns the waiter whose turn it is, nil if none waits. q.mu must be held.
func (q *queue) next(now time.Time) *waiter {
	if q.pace == nil || q.line.Len() == 0 {
		return q.line.Oldest() // none was let in that cannot be served in time
	}
	return q.line.Next(now, q.speed(), q.pace.LongAnswer()-q.pace.Answer())
}

// wakeNext lets the waiter look whose turn it is. q.mu must be held.
func (q *queue) wakeNext(now time.Time) {
	if q.up = q.next(now); q.up != nil {
		q.up.rouse()
	}
}

// wakeAll lets all in line look. q.mu must be held.
func (q *queue) wakeAll() {
	for w := range q.line.All() {
		w.rouse()
	}
}

// state notes what is known now.
func (q *queue) state(s *KeyState) {
	q.mu.Lock()
	defer q.mu.Unlock()
	s.InFlight, s.Waiting = q.inFlight, q.line.Len()
	if q.pace != nil {
		s.Pace, s.Slots = q.pace.Limits(q.monotonic(time.Now()))
		s.PaceState = q.pace.State().String()
	}
	s.HeldUntil = q.heldUntil(time.Now())
}

// retire makes an idle queue unusable. A full bucket is no different from a new
// one, unless the new one starts less than full.
func (q *queue) retire() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.monotonic(time.Now())
	full := q.bucket.full(now) && q.tokens.full(now)
	_, by := q.holding(now)
	if q.inFlight > 0 || q.line.Len() > 0 || q.away > 0 || by != byNobody || q.ramp.wait(now) > 0 || !full {
		return false
	}
	q.gone = true
	return true
}
