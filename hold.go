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
	heldBytes = 64 << 10
	heldFor   = 250 * time.Millisecond
)

// errNotKept is the end of a failed response that could be kept only in part.
var errNotKept = errors.New("steady: the rest of this response was not kept")

// heldBody is a response body whose beginning is in memory. It reads like the
// whole: what is in memory, then what is still to come.
type heldBody struct {
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

// holdBody reads ahead in rc until its end, most bytes, within, the end of ctx or
// until look has seen enough, whichever is first. It starts a goroutine, which ends
// when rc next yields or is closed.
func holdBody(ctx context.Context, rc io.ReadCloser, most int, within time.Duration, look func([]byte) bool) *heldBody {
	h := &heldBody{rc: rc, look: look, stopped: make(chan struct{})}
	go h.readAhead(most)
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-h.stopped:
	case <-timer.C:
	case <-ctx.Done():
	}
	h.mu.Lock()
	h.enough = true
	ended := h.err != nil
	h.mu.Unlock()
	if ended {
		h.closeBase() // gives the connection back now, not when the caller comes to it
	}
	return h
}

func (h *heldBody) readAhead(most int) {
	defer close(h.stopped)
	for {
		room := h.room(most)
		n, err := h.rc.Read(room)
		if h.took(room[:n], err, most) {
			return
		}
	}
}

// room returns the part of buf that the next read ahead may fill. Nobody else
// comes near it until took has made it a part of what there is to read.
func (h *heldBody) room(most int) []byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.buf) == cap(h.buf) {
		h.buf = slices.Grow(h.buf, max(1<<10, len(h.buf)))
	}
	return h.buf[len(h.buf):min(cap(h.buf), most, len(h.buf)+4<<10)] // little at a time, for it may be too much
}

// took keeps p, the part of room that a read ahead has filled, and reports whether
// it was the last.
func (h *heldBody) took(p []byte, err error, most int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.buf = append(h.buf, p...) // which copies nothing, unless kept has let go of buf meanwhile
	if !h.cut {
		h.err = err
	}
	if h.enough {
		h.filled = true
		return true
	}
	h.seen = len(h.buf)
	h.filled = h.look != nil && len(p) > 0 && h.look(p) || err != nil || len(h.buf) >= most
	return h.filled
}

// ahead returns what has been read ahead so far. It must not be changed.
func (h *heldBody) ahead() []byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.buf[:len(h.buf):len(h.buf)]
}

// seenAhead returns how many of those bytes look has seen.
func (h *heldBody) seenAhead() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.seen
}

// ended returns what ended the body while it was read ahead, or nil.
func (h *heldBody) ended() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.err
}

func (h *heldBody) Read(p []byte) (int, error) {
	if !h.drained {
		if n, err, ok := h.kept(p); ok {
			return n, err
		}
		if h.stopped != nil {
			<-h.stopped // the read that is under way brings the next bytes
		}
		if n, err, ok := h.kept(p); ok {
			return n, err
		}
		h.drained = true
	}
	n, err := h.rc.Read(p)
	if err != nil {
		h.mu.Lock()
		h.err = err
		h.mu.Unlock()
	}
	return n, err
}

// kept reads from memory. It reports false if there is nothing there and more to
// come.
func (h *heldBody) kept(p []byte) (n int, err error, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.off == len(h.buf) {
		return 0, h.err, h.err != nil
	}
	n = copy(p, h.buf[h.off:])
	if h.off += n; h.off == len(h.buf) && (h.filled || h.stopped == nil) {
		h.buf, h.off = nil, 0 // a long answer need not carry its beginning along
	}
	return n, nil, true
}

func (h *heldBody) Close() error { return h.closeBase() }

func (h *heldBody) closeBase() error {
	h.mu.Lock()
	closed := h.closed
	h.closed = true
	h.mu.Unlock()
	if closed {
		return nil
	}
	return h.rc.Close()
}

// judge puts v, the verdict on the response, with its body, for the layers
// further out.
func (h *heldBody) judge(v verdict) { h.verdict, h.judged = v, true }

// drop gives up the connection. What has been read stays readable, from the
// start; its end is io.EOF only if it is the whole.
func (h *heldBody) drop() {
	h.mu.Lock()
	switch {
	case h.err == nil:
		h.err = errNotKept
	case h.judged && h.verdict.outcome == outcomeTruncated: // its guard is gone too
		h.err = truncated(h.err)
	}
	h.enough, h.cut = true, true
	h.mu.Unlock()
	h.closeBase()
}

// heldIn returns the held body that body is, or watches, or nil.
func heldIn(body io.ReadCloser) *heldBody {
	if w := watchedIn(body); w != nil {
		body = w.rc
	}
	h, _ := body.(*heldBody)
	return h
}
