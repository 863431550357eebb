package steady

import (
	"math"
	"time"
)

// What a failed response names as a wait, by Retry-After and its relatives, by
// the reset of what is used up, or in its body, package internal/wire reads; it
// comes with the verdict. Here is what is made of it.

// named returns the wait before the next attempt when the server has named one,
// and reports whether that is to be waited for: it must not be longer than most,
// and must end within room.
func named(wait, most, room time.Duration) (time.Duration, bool) {
	if wait > most {
		return wait, false
	}
	wait = stretch(wait, room)
	return wait, wait < room
}

// stretch returns wait and up to a quarter more, but if possible less than room:
// what the server has named is a minimum, and those who were told the same must
// not come back together. Even a wait of nothing becomes up to 50 milliseconds.
func stretch(wait, room time.Duration) time.Duration {
	more := max(wait/4, min(50*time.Millisecond, 50*time.Millisecond-wait))
	if wait < room {
		more = min(more, room-wait-1)
	}
	if more = upTo(max(0, more)); wait <= math.MaxInt64-more {
		return wait + more
	}
	return wait
}

// worked is how much of what Within allows the call has used so far: neither its waits
// in the queue nor the attempts that it is spared, with the waits after them.
func (c *retryCall) worked(now time.Time) time.Duration {
	until := now.Sub(c.outer.began)
	if c.spared {
		until = c.sentAt
	}
	return until - c.began - c.queued
}

// delay computes the wait before the next attempt. It reports false, with the
// call's end in place, if that wait is not to be begun.
func (c *retryCall) delay(now time.Time) bool {
	room, byDeadline := c.cfg.within-c.worked(now), false
	if c.spared { // nor does the wait after it count
		room = forever
	}
	if deadline, ok := c.ctx.Deadline(); ok && deadline.Sub(now) <= room {
		room, byDeadline = deadline.Sub(now), true
	}
	begin := false
	if c.verdict.hinted {
		c.wait, begin = named(c.verdict.wait, c.cfg.maxRetryAfter, room)
	} else {
		c.wait = c.ownWait()
		begin = c.wait < room
	}
	if begin {
		return true
	}
	c.late(byDeadline)
	return false
}
