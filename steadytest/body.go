package steadytest

import (
	"errors"
	"io"
	"strings"
	"sync/atomic"
)

var errReadAfterClose = errors.New("steadytest: read on a closed body")

// A body is a request or response body that knows what was done to it.
type body struct {
	what   string
	reader io.Reader
	alive  func() error // nil, or the reason why reading ends before the end
	onEOF  func()
	writer io.Writer // of an upgraded connection

	closed   atomic.Bool
	ended    atomic.Bool
	lateRead atomic.Bool
	closing  chan struct{} // closed by the first Close
}

func (s *scene) newBody(what string, content io.Reader) *body {
	b := &body{what: what, reader: content, closing: make(chan struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bodies = append(s.bodies, b)
	return b
}

func (b *body) Read(p []byte) (int, error) {
	if b.closed.Load() {
		b.lateRead.Store(true)
		return 0, errReadAfterClose
	}
	if b.alive != nil {
		if err := b.alive(); err != nil {
			return 0, err
		}
	}
	n, err := b.reader.Read(p)
	if err == io.EOF && !b.ended.Swap(true) && b.onEOF != nil {
		b.onEOF()
	}
	return n, err
}

func (b *body) Close() error {
	if !b.closed.Swap(true) {
		close(b.closing)
	}
	return nil
}

func (b *body) verifyEnd(s *scene) {
	request := strings.HasPrefix(b.what, "request")
	switch {
	case request && !b.closed.Load():
		s.Errorf("a %s was not closed", b.what)
	case request && b.lateRead.Load():
		s.Errorf("a %s was read after it had been closed", b.what)
	case !request && !b.closed.Load() && !b.ended.Load():
		s.Errorf("a %s of the base transport was neither read to its end nor closed", b.what)
	}
}

// upgraded is the body of a 101 response.
type upgraded struct{ *body }

func (u upgraded) Write(p []byte) (int, error) { return u.writer.Write(p) }
