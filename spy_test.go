package steady_test

import (
	"context"
	"io"
	"sync"
	"time"
)

// spy is a body that counts what is done to it.
type spy struct {
	io.Reader
	mu     sync.Mutex
	closed int
	late   int // reads after Close
	eof    bool
	at     time.Time // of the first Close
}

func (s *spy) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed > 0 {
		s.late++
	}
	s.eof = s.eof || err == io.EOF
	return n, err
}

func (s *spy) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed++; s.closed == 1 {
		s.at = time.Now()
	}
	return nil
}

func (s *spy) closes() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// countedContext is a caller's context of his own making. It counts who has
// registered with it and has not left: package context does so by AfterFunc,
// where there is one, for each child context.
type countedContext struct {
	context.Context // for the values and the deadline
	done            chan struct{}

	mu    sync.Mutex // guards the rest
	err   error
	funcs map[int]func()
	next  int
}

func countChildren(ctx context.Context) *countedContext {
	return &countedContext{Context: context.WithoutCancel(ctx), done: make(chan struct{}), funcs: map[int]func(){}}
}

func (c *countedContext) Done() <-chan struct{} { return c.done }

func (c *countedContext) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

func (c *countedContext) AfterFunc(f func()) (stop func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	id := c.next
	c.next++
	c.funcs[id] = f
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		_, ok := c.funcs[id]
		delete(c.funcs, id)
		return ok
	}
}

func (c *countedContext) cancel() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = context.Canceled
	close(c.done)
	for _, f := range c.funcs {
		go f()
	}
	clear(c.funcs)
}

// children returns how many are registered now.
func (c *countedContext) children() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.funcs)
}

// everRegistered returns how many there have been.
func (c *countedContext) everRegistered() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.next
}
