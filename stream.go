package steady

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/steadyhttp/steady/internal/wire"
)

// guard judges the body of a good answer as it passes by. It never holds a byte
// back and never adds one; it only decides how the body ends. Over the body of an
// error answer it only keeps the clock.
type guard struct {
	dec   *wire.Decoder // nil for an error answer
	skip  int           // bytes at the beginning that dec has seen while they were read ahead
	ended error         // what the body has ended in

	opened bool // content was among the bytes read ahead
	clock  bodyClock

	mu       sync.Mutex // guards the rest, which is read when a body is closed
	finished bool       // the answer is whole; its usage may still come
	terminal bool       // nothing is due after it
	usage    wire.Usage
}

// waits notes that a read on rc, the body under the guard, begins.
func (g *guard) waits(rc io.Closer) { g.clock.start(rc) }

// pass looks at p, which has been read, and at what ended the read. It returns
// what the read is to end in.
func (g *guard) pass(p []byte, err error) error {
	content := g.see(p)
	stalled := g.clock.halt(content)
	switch {
	case stalled && err != io.EOF: //nolint:errorlint // Read's contract: io.EOF itself
		if err == nil {
			return nil // the bytes first; the next read will tell
		}
		return fmt.Errorf("%w: no content for %v", ErrStreamStalled, g.clock.limitNow())
	case err == nil:
		return nil
	case g.ended == nil:
		g.ended = g.verdict(err)
	}
	return g.ended
}

// see feeds the decoder and reports whether content has passed.
func (g *guard) see(p []byte) (content bool) {
	if g.skip > 0 {
		n := min(g.skip, len(p))
		g.skip -= n
		p = p[n:]
		content = g.skip == 0 && g.opened
	}
	if len(p) == 0 {
		return content
	}
	if g.dec == nil {
		return true
	}
	pr := g.dec.Write(p)
	if pr.AfterFinish > 0 || pr.AfterTerminal > 0 {
		g.note(pr)
	}
	return content || pr.Content > 0
}

func (g *guard) note(pr wire.Progress) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.finished = g.finished || pr.AfterFinish > 0 || pr.AfterTerminal > 0
	g.terminal = g.terminal || pr.AfterTerminal > 0
	g.usage = g.dec.Usage()
}

// verdict says how a body ends that the transport ended with err.
func (g *guard) verdict(err error) error {
	if g.dec == nil {
		return err
	}
	r := g.dec.End(err == io.EOF) //nolint:errorlint // Read's contract: io.EOF itself
	g.mu.Lock()
	g.usage = r.Usage
	g.mu.Unlock()
	_, v, failed := g.dec.Failure()
	switch {
	case errors.Is(err, ErrStreamStalled):
		return err
	case failed:
		return &AnswerError{Class: v.Class.String(), Type: r.Error.Type, Code: r.Error.Code, class: v.Class, verdict: v}
	case r.Truncated:
		return truncated(err)
	case r.Complete && r.Strength == wire.StrengthStrong:
		return io.EOF // whole: what the connection did afterwards is nobody's loss
	}
	return err
}

// truncated is ErrStreamTruncated for a body that the transport ended with err.
func truncated(err error) error {
	if err == io.EOF { //nolint:errorlint // Read's contract: io.EOF itself
		return ErrStreamTruncated
	}
	return fmt.Errorf("%w: %w", ErrStreamTruncated, err)
}

// over reports whether the terminal event has passed, and all that was read with
// it.
func (g *guard) over() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.terminal && g.skip == 0
}

// whole reports whether the answer is, as far as it has passed.
func (g *guard) whole() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.finished
}

// stop ends the clock and returns the usage.
func (g *guard) stop() wire.Usage {
	g.clock.stop()
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.usage
}

// bodyClock runs while a read on the body waits, and is set back by content. A
// slow reader does not make it run, and keep-alives do not set it back.
type bodyClock struct {
	first, idle time.Duration // how long the first content, and the next, may take; 0 means for ever
	give        func()        // called when it is over, to end the read

	mu      sync.Mutex // guards the rest
	begun   bool       // there has been content
	waited  time.Duration
	since   time.Time // when the read that waits began; zero if none does
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

func (c *bodyClock) limitNow() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.limit()
}

// start notes that a read waits. The timer that is armed goes on from read to
// read; it is set right when it fires, so that a read costs no timer.
func (c *bodyClock) start(rc io.Closer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	limit := c.limit()
	if limit == 0 {
		return
	}
	c.rc, c.since = rc, time.Now()
	if c.armed {
		return
	}
	c.armed = true
	if c.timer == nil {
		c.timer = time.AfterFunc(limit-c.waited, c.fired)
	} else {
		c.timer.Reset(limit - c.waited)
	}
}

// halt notes that the read is over, and whether it brought content. It reports
// whether the clock had run out.
func (c *bodyClock) halt(content bool) (stalled bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.since.IsZero() {
		c.waited += time.Since(c.since)
		c.since = time.Time{}
	}
	if content {
		c.begun, c.waited = true, 0
		if c.armed && c.timer.Stop() {
			c.armed = false // the other limit may be shorter
		}
	}
	return c.stalled
}

// fired looks whether the time is really up.
func (c *bodyClock) fired() {
	c.mu.Lock()
	limit := c.limit()
	if c.since.IsZero() || limit == 0 { // nobody waits: the next read arms it again
		c.armed = false
		c.mu.Unlock()
		return
	}
	if left := limit - c.waited - time.Since(c.since); left > 0 {
		c.timer.Reset(left)
		c.mu.Unlock()
		return
	}
	c.armed, c.stalled = false, true
	give, rc := c.give, c.rc
	c.mu.Unlock()
	give()
	rc.Close()
}

func (c *bodyClock) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer != nil {
		c.timer.Stop()
	}
}
