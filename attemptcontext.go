package steady

import (
	"context"
	"time"
)

// An attempt is the context of its own request: that costs one registration with the
// caller's context, which the body shares, where a context of package context, a timer's
// closure and a watch over the body would cost three. It is the caller's context for all
// but the end.

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

// Deadline is the caller's.
func (a *attempt) Deadline() (time.Time, bool) { return a.call.Context.Deadline() }

// Value makes the call findable, and passes everything else on.
func (a *attempt) Value(key any) any {
	if _, ok := key.(callContextKey); ok {
		return a.call
	}
	if v := a.vigil.Load(); v != nil {
		return v.values.Value(key)
	}
	return a.call.Context.Value(key)
}

// Done returns a channel that is closed at the end.
func (a *attempt) Done() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	v := a.arm()
	if v.done == nil {
		v.done = make(chan struct{})
		if a.ended != endNotYet {
			close(v.done)
		}
	}
	return v.done
}

// Err returns why the attempt ended. It knows of the caller's end as soon as the
// caller does.
func (a *attempt) Err() error {
	if a.call.Context.Err() != nil {
		a.end(endCaller)
	}
	a.mu.Lock()
	a.arm()
	why := a.ended
	a.mu.Unlock()
	switch why {
	case endDone:
		return context.Canceled
	case endLate:
		return context.DeadlineExceeded
	case endCaller:
		return a.call.Context.Err()
	}
	return nil
}

// AfterFunc lets package context register a child without a goroutine. What that
// package hands it takes the child's lock, which is held during the registration.
func (a *attempt) AfterFunc(end func()) (stop func() bool) {
	a.mu.Lock()
	v := a.keepVigil()
	ch := &v.first
	if ch.end != nil { // that one is taken
		ch = new(child)
	}
	ch.end = end
	ended := a.ended != endNotYet
	if !ended {
		ch.before, v.children = v.children, ch
	}
	a.mu.Unlock()
	if ended {
		go end()
	}
	return func() bool {
		a.mu.Lock()
		defer a.mu.Unlock()
		for at := &v.children; *at != nil; at = &(*at).before {
			if *at == ch {
				*at = ch.before
				return true
			}
		}
		return false
	}
}

// end ends the attempt, once, and its children.
func (a *attempt) end(why attemptEnd) {
	a.mu.Lock()
	if a.ended != endNotYet {
		a.mu.Unlock()
		return
	}
	a.ended = why
	var last *child
	if v := a.vigil.Load(); v != nil {
		if v.done != nil {
			close(v.done)
		}
		last, v.children = v.children, nil
	}
	a.mu.Unlock()
	for ch := last; ch != nil; ch = ch.before {
		ch.end()
	}
}
