package steady

import (
	"math"
	"time"
)

// A ramp keeps the calls that a hold has dammed up from going all at once when
// it ends. The first goes at once, the others at a quarter of the pace at which
// calls went before the hold, doubling every half second until it is twice that
// pace and the ramp is over. It follows every hold, the breaker's and the pace's,
// so what the pace would do on its own after one of its own is left out: it knows
// what it has allowed, and the ramp what has gone.
type ramp struct {
	second     int64 // the Unix second that this counts
	this, last int   // how many calls went in it, and in the one before
	former     float64

	began time.Time // zero when there is no ramp
	gone  int       // how many went since
}

const (
	rampDoubles = 500 * time.Millisecond
	rampStart   = 0.25 // of the former pace
	rampSlowest = 4.0  // calls a second that count as the least former pace

	rampFor = 3 * rampDoubles // a quarter, doubled three times, is twice the former pace
)

// went counts a call.
func (r *ramp) went(now time.Time) {
	r.count(now)
	r.this++
	if r.active() {
		r.gone++
	}
}

// count moves the counting on to the second of now.
func (r *ramp) count(now time.Time) {
	switch s := now.Unix(); {
	case s == r.second:
	case s == r.second+1:
		r.second, r.last, r.this = s, r.this, 0
	default:
		r.second, r.last, r.this = s, 0, 0
	}
}

// hold notes the pace at which a hold finds the calls. A hold that follows a
// ramp that was not over keeps the pace of the one before.
func (r *ramp) hold(now time.Time) {
	if r.active() {
		r.began = time.Time{}
		return
	}
	r.count(now)
	r.former = max(rampSlowest, float64(max(r.this, r.last)))
}

// start begins a ramp.
func (r *ramp) start(now time.Time) { r.began, r.gone = now, 0 }

func (r *ramp) active() bool { return !r.began.IsZero() }

// wait returns how long until the next call may go. With a pace of p·2^(t/τ) the
// n-th after the first is due at t = τ·log2(1 + n·ln2/(p·τ)).
func (r *ramp) wait(now time.Time) time.Duration {
	if !r.active() {
		return 0
	}
	t := now.Sub(r.began)
	if t >= rampFor {
		r.began = time.Time{}
		return 0
	}
	tau := rampDoubles.Seconds()
	due := tau * math.Log2(1+float64(r.gone)*math.Ln2/(r.former*rampStart*tau))
	return max(0, time.Duration(due*float64(time.Second))-t)
}
