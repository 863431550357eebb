package steady

import (
	"context"
	"sync"
)

// attemptContext is the context of one attempt, and a part of the attempt's own
// struct: it costs one registration with the caller's context, which the body shares,
// where a context of package context, a timer's closure and a watch over the body
// would cost three.
//
// Its owner calls end, also when the caller's context has ended.
type attemptContext struct {
	context.Context // the caller's, for all but the end

	mu       sync.Mutex    // guards the rest
	done     chan struct{} // made when it is asked for
	children *child        // the one that was registered last
	ended    attemptEnd    // whether it has, and why
}

// attemptEnd is why an attempt is over.
type attemptEnd uint8

const (
	endNotYet attemptEnd = iota
	endDone              // nothing of it is to be read any more
	endLate              // its time was up
	endCaller            // the caller's context has ended
)

// child is a context that is to end with an attempt.
type child struct {
	end    func()
	before *child // registered before it
}

// Done returns a channel that is closed at the end.
func (c *attemptContext) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done == nil {
		c.done = make(chan struct{})
		if c.ended != endNotYet {
			close(c.done)
		}
	}
	return c.done
}

// Err returns why it ended. It knows of the caller's end as soon as the caller
// does.
func (c *attemptContext) Err() error {
	if c.Context.Err() != nil {
		c.end(endCaller)
	}
	c.mu.Lock()
	why := c.ended
	c.mu.Unlock()
	switch why {
	case endDone:
		return context.Canceled
	case endLate:
		return context.DeadlineExceeded
	case endCaller:
		return c.Context.Err()
	}
	return nil
}

// AfterFunc lets package context register a child without a goroutine. What that
// package hands it takes the child's lock, which is held during the registration.
func (c *attemptContext) AfterFunc(end func()) (stop func() bool) {
	ch := &child{end: end}
	c.mu.Lock()
	ended := c.ended != endNotYet
	if !ended {
		ch.before, c.children = c.children, ch
	}
	c.mu.Unlock()
	if ended {
		go end()
	}
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		for at := &c.children; *at != nil; at = &(*at).before {
			if *at == ch {
				*at = ch.before
				return true
			}
		}
		return false
	}
}

// end ends the context, once, and its children.
func (c *attemptContext) end(why attemptEnd) {
	c.mu.Lock()
	if c.ended != endNotYet {
		c.mu.Unlock()
		return
	}
	c.ended = why
	if c.done != nil {
		close(c.done)
	}
	last := c.children
	if last != nil { // mostly there is none, and a pointer is dear to write
		c.children = nil
	}
	c.mu.Unlock()
	for ch := last; ch != nil; ch = ch.before {
		ch.end()
	}
}
