package steady

import (
	"context"
	"sync"
	"time"
)

// attemptContext is the context of one attempt, and a part of the attempt's own
// struct: it costs one registration with the caller's context, which the body shares,
// where a context of package context, a timer's closure and a watch over the body
// would cost three.
//
// Its owner calls end, also when the caller's context has ended.
type attemptContext struct {
	context.Context // the caller's, for all but the end

	mu    sync.Mutex // guards the rest
	ended attemptEnd // and why
	asked *asked     // nil if nobody has asked for its end
}

// attemptEnd is why an attempt is over.
type attemptEnd uint8

const (
	endNotYet attemptEnd = iota
	endDone              // nothing of it is to be read any more
	endLate              // its time was up
	endCaller            // the caller's context has ended
)

// asked is what it takes that who asks for the end of an attempt hears of it.
type asked struct {
	done     chan struct{} // made when it is asked for
	children *child        // the one that was registered last

	armed bool         // the attempt hears of its caller's end, and of its own time's
	timer *time.Timer  // for what is due, or nil
	stop  func() bool  // ends the registration with the caller; nil if there is none
	body  *watchedBody // of the response, while it is to be read
}

// child is a context that is to end with an attempt.
type child struct {
	end    func()
	before *child // registered before it
}

// Done returns a channel that is closed at the end.
func (c *attemptContext) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := c.ask()
	if a.done == nil {
		a.done = make(chan struct{})
		if c.ended != endNotYet {
			close(a.done)
		}
	}
	return a.done
}

// ask returns asked, which it makes if need be. c.mu must be held.
func (c *attemptContext) ask() *asked {
	if c.asked == nil {
		c.asked = new(asked)
	}
	return c.asked
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
	a, ended := c.ask(), c.ended != endNotYet
	if !ended {
		ch.before, a.children = a.children, ch
	}
	c.mu.Unlock()
	if ended {
		go end()
	}
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		for at := &a.children; *at != nil; at = &(*at).before {
			if *at == ch {
				*at = ch.before
				return true
			}
		}
		return false
	}
}

// end ends the context, once, and its children. It returns what is to be stopped, nil
// for nothing.
func (c *attemptContext) end(why attemptEnd) *asked {
	c.mu.Lock()
	a := c.asked
	if c.ended != endNotYet {
		c.mu.Unlock()
		return a
	}
	c.ended = why
	var last *child
	if a != nil {
		if a.done != nil {
			close(a.done)
		}
		last, a.children = a.children, nil
	}
	c.mu.Unlock()
	for ch := last; ch != nil; ch = ch.before {
		ch.end()
	}
	return a
}
