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
	err      error         // nil until the end
	children *child        // the one that was registered last
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
	if c.done == nil {
		c.done = make(chan struct{})
		if c.err != nil {
			close(c.done)
		}
	}
	return c.done
}

// Err returns why it ended. It knows of the caller's end as soon as the caller
// does.
func (c *attemptContext) Err() error {
	if err := c.Context.Err(); err != nil {
		c.end(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// AfterFunc lets package context register a child without a goroutine. What that
// package hands it takes the child's lock, which is held during the registration.
func (c *attemptContext) AfterFunc(end func()) (stop func() bool) {
	ch := &child{end: end}
	c.mu.Lock()
	ended := c.err != nil
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
func (c *attemptContext) end(err error) {
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return
	}
	c.err = err
	if c.done != nil {
		close(c.done)
	}
	last := c.children
	c.children = nil
	c.mu.Unlock()
	for ch := last; ch != nil; ch = ch.before {
		ch.end()
	}
}
