package steady

import (
	"io"
	"sync"
)

// replayBuffer keeps what has been read of a body that has no GetBody, while the
// first attempt reads it, up to a limit. Its readers take turns: see replay.
type replayBuffer struct {
	src   io.ReadCloser
	limit int

	mu      sync.Mutex // guards the rest
	buf     []byte
	err     error // what src ended in
	lost    bool  // more than limit has gone by
	readers int   // readers that have not been closed
	final   bool  // no more readers will be opened
	closed  bool  // src is closed
}

type replayReader struct {
	r      *replayBuffer
	off    int
	closed bool
}

func (r *replayBuffer) open() io.ReadCloser {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.readers++
	return &replayReader{r: r}
}

func (r *replayBuffer) whole() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.lost && !r.closed
}

func (r *replayBuffer) finish() {
	r.mu.Lock()
	r.final = true
	r.mu.Unlock()
	r.closeUnread()
}

// closeUnread closes src when nobody reads it and nobody will.
func (r *replayBuffer) closeUnread() error {
	r.mu.Lock()
	unread := r.final && r.readers == 0
	r.mu.Unlock()
	if !unread {
		return nil
	}
	return closeOnce(&r.mu, &r.closed, r.src)
}

func (rd *replayReader) Read(p []byte) (int, error) {
	r := rd.r
	r.mu.Lock()
	if !r.lost && rd.off < len(r.buf) {
		n := copy(p, r.buf[rd.off:])
		rd.off += n
		r.mu.Unlock()
		return n, nil
	}
	if err := r.err; err != nil {
		r.mu.Unlock()
		return 0, err
	}
	r.mu.Unlock()

	n, err := r.src.Read(p) // not under the lock: it may block, and Close must not

	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = err
	if r.lost || len(r.buf)+n > r.limit {
		r.lost, r.buf = true, nil
		return n, err
	}
	r.buf = append(r.buf, p[:n]...)
	rd.off += n
	return n, err
}

func (rd *replayReader) Close() error {
	r := rd.r
	r.mu.Lock()
	if !rd.closed {
		rd.closed = true
		r.readers--
	}
	r.mu.Unlock()
	return r.closeUnread()
}
