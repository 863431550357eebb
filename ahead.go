package steady

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"time"
)

// How much of a failed response is read, and for how long, before its attempt
// is judged: enough for any error message, too little to hang.
const (
	aheadBytes = 64 << 10
	aheadFor   = 250 * time.Millisecond
)

// errNotKept is the end of a failed response that could be kept only in part.
var errNotKept = errors.New("steady: the rest of this response was not kept")

// aheadBody is a response body whose beginning is in memory. It reads like the
// whole: what is in memory, then what is still to come.
type aheadBody struct {
	rc      io.ReadCloser
	look    func(p []byte) (enough bool) // sees what is read ahead; may be nil
	verdict verdict                      // on the response, once it is judged
	judged  bool
	stopped chan struct{} // closed when the reading ahead has stopped; nil if that was done at once
	drained bool          // its reader has had all that was read ahead, and reads on

	mu     sync.Mutex // guards the rest
	buf    []byte     // what has been read ahead
	seen   int        // how much of it look has seen
	off    int        // how much of it its reader has had
	err    error      // what ended rc, io.EOF if all of it is in buf
	enough bool       // read no further ahead
	closed bool       // rc is closed
	filled bool       // nothing more will be read ahead
	cut    bool       // the rest was given up
}

// readAhead reads ahead in rc until its end, most bytes, within, the end of ctx or
// until look has seen enough, whichever is first. It starts a goroutine, which ends
// when rc next yields or is closed.
func readAhead(ctx context.Context, rc io.ReadCloser, most int, within time.Duration, look func([]byte) bool) *aheadBody {
	b := &aheadBody{rc: rc, look: look, stopped: make(chan struct{})}
	go b.fill(most)
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-b.stopped:
	case <-timer.C:
	case <-ctx.Done():
	}
	b.mu.Lock()
	b.enough = true
	ended := b.err != nil
	b.mu.Unlock()
	if ended {
		b.closeBase() // gives the connection back now, not when the caller comes to it
	}
	return b
}

// fill reads until it is told that this was the last time.
func (b *aheadBody) fill(most int) {
	defer close(b.stopped)
	for {
		room := b.room(most)
		n, err := b.rc.Read(room)
		if b.took(room[:n], err, most) {
			return
		}
	}
}

// room returns the part of buf that the next read ahead may fill. Nobody else
// comes near it until took has made it a part of what there is to read.
func (b *aheadBody) room(most int) []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.buf) == cap(b.buf) {
		b.buf = slices.Grow(b.buf, max(1<<10, len(b.buf)))
	}
	return b.buf[len(b.buf):min(cap(b.buf), most, len(b.buf)+4<<10)] // little at a time, for it may be too much
}

// took keeps p, the part of room that a read ahead has filled, and reports whether
// it was the last.
func (b *aheadBody) took(p []byte, err error, most int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.buf = append(b.buf, p...) // which copies nothing, unless kept has let go of buf meanwhile
	if !b.cut {
		b.err = err
	}
	if b.enough {
		b.filled = true
		return true
	}
	b.seen = len(b.buf)
	b.filled = b.look != nil && len(p) > 0 && b.look(p) || err != nil || len(b.buf) >= most
	return b.filled
}

// soFar returns what has been read ahead so far. It must not be changed.
func (b *aheadBody) soFar() []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf[:len(b.buf):len(b.buf)]
}

// seenAhead returns how many of those bytes look has seen.
func (b *aheadBody) seenAhead() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.seen
}

// ended returns what ended the body while it was read ahead, or nil.
func (b *aheadBody) ended() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}

func (b *aheadBody) Read(p []byte) (int, error) {
	if !b.drained {
		if n, err, ok := b.kept(p); ok {
			return n, err
		}
		if b.stopped != nil {
			<-b.stopped // the read that is under way brings the next bytes
		}
		if n, err, ok := b.kept(p); ok {
			return n, err
		}
		b.drained = true
	}
	n, err := b.rc.Read(p)
	if err != nil {
		b.mu.Lock()
		b.err = err
		b.mu.Unlock()
	}
	return n, err
}

// kept reads from memory. It reports false if there is nothing there and more to
// come.
func (b *aheadBody) kept(p []byte) (n int, err error, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.off == len(b.buf) {
		return 0, b.err, b.err != nil
	}
	n = copy(p, b.buf[b.off:])
	if b.off += n; b.off == len(b.buf) && (b.filled || b.stopped == nil) {
		b.buf, b.off = nil, 0 // a long answer need not carry its beginning along
	}
	return n, nil, true
}

func (b *aheadBody) Close() error { return b.closeBase() }

func (b *aheadBody) closeBase() error { return closeOnce(&b.mu, &b.closed, b.rc) }

// judge puts v, the verdict on the response, with its body, for the layers
// further out.
func (b *aheadBody) judge(v verdict) { b.verdict, b.judged = v, true }

// drop gives up the connection. What has been read stays readable, from the
// start; its end is io.EOF only if it is the whole.
func (b *aheadBody) drop() {
	b.mu.Lock()
	switch {
	case b.err == nil:
		b.err = errNotKept
	case b.judged && b.verdict.outcome == outcomeTruncated: // its guard is gone too
		b.err = truncated(b.err)
	}
	b.enough, b.cut = true, true
	b.mu.Unlock()
	b.closeBase()
}

// aheadIn returns the aheadBody that body is, or watches, or nil.
func aheadIn(body io.ReadCloser) *aheadBody {
	if w := watchedIn(body); w != nil {
		body = w.rc
	}
	b, _ := body.(*aheadBody)
	return b
}
