package steady

import (
	"context"
	"slices"
	"sync"
)

// lifetime is the context of one attempt, and a part of the attempt's own struct:
// it costs one registration with the caller's context, which the body shares,
// where a context of package context, a timer's closure and a watch over the body
// would cost three.
//
// Its owner calls end, also when the caller's context has ended.
type lifetime struct {
	context.Context // the caller's, for all but the end

	mu       sync.Mutex    // guards the rest
	done     chan struct{} // made when it is asked for
	err      error         // nil until the end
	children []*child
}

// child is a context that is to end with a lifetime.
type child struct{ end func() }

// Done returns a channel that is closed at the end.
func (l *lifetime) Done() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.done == nil {
		l.done = make(chan struct{})
		if l.err != nil {
			close(l.done)
		}
	}
	return l.done
}

// Err returns why it ended. It knows of the caller's end as soon as the caller
// does.
func (l *lifetime) Err() error {
	if err := l.Context.Err(); err != nil {
		l.end(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// AfterFunc lets package context register a child without a goroutine. What that
// package hands it takes the child's lock, which is held during the registration.
func (l *lifetime) AfterFunc(end func()) (stop func() bool) {
	c := &child{end}
	l.mu.Lock()
	ended := l.err != nil
	if !ended {
		l.children = append(l.children, c)
	}
	l.mu.Unlock()
	if ended {
		go end()
	}
	return func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		i := slices.Index(l.children, c)
		if i >= 0 {
			l.children = slices.Delete(l.children, i, i+1)
		}
		return i >= 0
	}
}

// end ends the lifetime, once, and its children.
func (l *lifetime) end(err error) {
	l.mu.Lock()
	if l.err != nil {
		l.mu.Unlock()
		return
	}
	l.err = err
	if l.done != nil {
		close(l.done)
	}
	children := l.children
	l.children = nil
	l.mu.Unlock()
	for _, c := range children {
		c.end()
	}
}
