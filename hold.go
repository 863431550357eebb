package steady

import "time"

// holdBy names what holds a queue.
type holdBy uint8

const (
	byNobody  holdBy = iota
	byBreaker        // the provider fails
	byPace           // the provider refuses everything
)

// trouble is for how long the provider has kept a queue: in holds, and in the
// ramps after them.
type trouble struct {
	by     holdBy        // what holds the queue, as far as is known
	quiet  bool          // the last hold was for silence
	since  time.Time     // when it began
	calm   time.Time     // when the ramp after it is over, whatever the pace
	before time.Duration // the troubled time before since
}

// total returns all of it until now.
func (t *trouble) total(now time.Time) time.Duration {
	if t.since.IsZero() {
		return 0
	}
	if t.by == byNobody && now.After(t.calm) {
		now = t.calm
	}
	return t.before + now.Sub(t.since)
}

// holding returns what holds the queue and how long until it is worth asking
// again, 0 if one attempt may go now to find out. It notes when a hold begins and
// ends, whoever's it is: when it ends the queue ramps. q.mu must be held.
func (q *queue) holding(now time.Time) (wait time.Duration, by holdBy) {
	wait, by = q.heldBy(now)
	t := &q.trouble
	switch {
	case by == t.by:
		return wait, by
	case t.by == byNobody:
		t.before = t.total(now)
		t.since, t.quiet = now, by == byPace && q.pace.MayBeSlow(now)
		q.ramp.hold(now)
	case by == byNobody:
		t.calm = now.Add(rampFor)
		q.ramp.start(now)
	}
	t.by = by
	q.note(now)
	q.wakeAll() // their waits have other bounds now
	return wait, by
}

// heldBy asks those who can hold the queue. While the breaker does, the pace
// learns nothing: what fails says nothing about speed. q.mu must be held.
func (q *queue) heldBy(now time.Time) (wait time.Duration, by holdBy) {
	if q.all.cfg.holder != nil {
		h := q.all.cfg.holder.hold(q.key, now)
		if q.pace != nil {
			q.pace.Down(now, h.state != holdNone)
		}
		switch {
		case h.state == holdProbe:
			return 0, byBreaker
		case h.state == holdWait && h.until.IsZero():
			return forever, byBreaker
		case h.state == holdWait:
			return max(h.until.Sub(now), 1), byBreaker
		}
	}
	if q.pace != nil {
		if on, wait := q.pace.Holding(now); on {
			return wait, byPace
		}
	}
	return 0, byNobody
}
