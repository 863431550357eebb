package steady

import (
	"io"
	"time"
)

// bodyClock runs while a read on the body waits, and is set back by content. A
// slow reader does not make it run, and keep-alives do not set it back. Its
// guard's mu guards it.
type bodyClock struct {
	first, idle time.Duration // how long the first content, and the next, may take; 0 means for ever
	stall       func()        // called when it is over, to end the read

	epoch   time.Time     // what since counts from: half as dear as the time of day
	begun   bool          // there has been content
	waited  time.Duration // by reads that are over, since there was content
	since   time.Duration // when the read that waits began
	waiting bool          // a read waits
	rc      io.Closer
	timer   *time.Timer
	armed   bool
	stalled bool
}

func (c *bodyClock) limit() time.Duration {
	if c.begun {
		return c.idle
	}
	return c.first
}

// start notes that a read waits. The timer that is armed goes on from read to
// read, for it never fires too late; it is set right when it fires, so that a
// read costs no timer.
func (c *bodyClock) start(g *guard, rc io.Closer) {
	limit := c.limit()
	if limit == 0 {
		return
	}
	if c.timer == nil {
		c.epoch, c.rc = time.Now(), rc
		c.timer = time.AfterFunc(limit-c.waited, g.fired)
	} else if !c.armed {
		c.timer.Reset(limit - c.waited)
	}
	c.since, c.waiting, c.armed = time.Since(c.epoch), true, true
}

// halt notes that the read is over, and whether it brought content.
func (c *bodyClock) halt(content bool) {
	switch {
	case content && c.begun:
		c.waited = 0
	case content:
		c.begun, c.waited = true, 0
		c.stop() // the other limit may be shorter
	case c.waiting:
		c.waited += time.Since(c.epoch) - c.since
	}
	c.waiting = false
}

func (c *bodyClock) stop() {
	if c.armed && c.timer.Stop() {
		c.armed = false
	}
}

// fired looks whether the time is really up.
func (g *guard) fired() {
	g.mu.Lock()
	c := &g.clock
	limit := c.limit()
	if !c.waiting || limit == 0 || g.end != nil { // nobody waits: the next read arms it again
		c.armed = false
		g.mu.Unlock()
		return
	}
	if left := limit - c.waited - (time.Since(c.epoch) - c.since); left > 0 {
		c.timer.Reset(left)
		g.mu.Unlock()
		return
	}
	c.armed, c.stalled = false, true
	rc := c.rc
	g.mu.Unlock()
	c.stall()
	rc.Close()
}
