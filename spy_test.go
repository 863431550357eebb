package steady_test

import (
	"context"
	"io"
	"strings"
	"sync"
	"testing"
	"time"
)

// spy is a body that knows what is done to it.
type spy struct {
	from    io.Reader
	restart func() io.Reader // if set, what a Close makes of the body

	mu     sync.Mutex // guards the rest
	closed int
	late   int // reads after a Close that was not a restart
	eof    bool
	at     time.Time // of the first Close
}

func spyOf(text string) *spy { return &spy{from: strings.NewReader(text)} }

func (s *spy) Read(p []byte) (int, error) {
	s.mu.Lock()
	from := s.from
	if s.closed > 0 && s.restart == nil {
		s.late++
	}
	s.mu.Unlock()
	n, err := from.Read(p) // not under the lock: it may block, and Close must not
	s.mu.Lock()
	defer s.mu.Unlock()
	s.eof = s.eof || err == io.EOF
	return n, err
}

func (s *spy) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed++; s.closed == 1 {
		s.at = time.Now()
	}
	if s.restart != nil {
		s.from = s.restart()
	}
	return nil
}

func (s *spy) closes() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// check reports a body that was not closed, or was read after that.
func (s *spy) check(t *testing.T, name string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed == 0 {
		t.Errorf("%s was not closed", name)
	}
	if s.late > 0 {
		t.Errorf("%s was read %d times after it was closed", name, s.late)
	}
}

// readCounter is a body that counts what is read of it.
type readCounter struct {
	io.Reader
	n int
}

func (c *readCounter) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n += n
	return n, err
}

func (c *readCounter) Close() error { return nil }

// countedContext is a context of the caller's own making, which never ends. It
// counts who has registered with it and has not left: package context does so by
// AfterFunc, where there is one, for each child context.
type countedContext struct {
	context.Context               // for the values
	done            chan struct{} // never closed, but there: else nobody registers

	mu    sync.Mutex // guards the rest
	funcs map[int]func()
	next  int
}

func countChildren(ctx context.Context) *countedContext {
	return &countedContext{Context: context.WithoutCancel(ctx), done: make(chan struct{}), funcs: map[int]func(){}}
}

func (c *countedContext) Done() <-chan struct{} { return c.done }

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
