package steady

import (
	"context"
	"time"
)

// An attempt is the context of its own request. In all but its end that is the caller's.
// So it costs one registration with the caller's context, which the body shares, where a
// context of package context, a timer's closure and a watch over the body would cost three.

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
	if tr := a.tracking.Load(); tr != nil {
		return tr.values.Value(key)
	}
	return a.call.Context.Value(key)
}

// Done returns a channel that is closed at the end.
func (a *attempt) Done() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	tr := a.arm()
	if tr.done == nil {
		tr.done = make(chan struct{})
		if a.ended != endNotYet {
			close(tr.done)
		}
	}
	return tr.done
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
	tr := a.track()
	ch := &tr.first
	if ch.end != nil { // another has that room
		ch = new(child)
	}
	ch.end = end
	ended := a.ended != endNotYet
	if !ended {
		ch.before, tr.children = tr.children, ch
	}
	a.mu.Unlock()
	if ended {
		go end()
	}
	return func() bool {
		a.mu.Lock()
		defer a.mu.Unlock()
		for at := &tr.children; *at != nil; at = &(*at).before {
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
	var children *child
	if tr := a.tracking.Load(); tr != nil {
		if tr.done != nil {
			close(tr.done)
		}
		children, tr.children = tr.children, nil
	}
	a.mu.Unlock()
	for ch := children; ch != nil; ch = ch.before {
		ch.end()
	}
}
