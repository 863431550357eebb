package steady

import (
	"errors"
	"io"
	"sync"
	"time"
)

// How much of a failed response is read, and for how long, before its attempt
// is given up: enough for any error message, too little to hang.
const (
	heldBytes = 64 << 10
	heldFor   = 250 * time.Millisecond
)

// errNotKept is the end of a failed response that could be kept only in part.
var errNotKept = errors.New("steady: the rest of this response was not kept")

// heldBody is a response body whose beginning is in memory. It reads like the
// whole: what is in memory, then what is still to come.
type heldBody struct {
	rc io.ReadCloser

	mu      sync.Mutex    // guards the rest
	buf     []byte        // what has been read ahead
	off     int           // how much of buf its reader has had
	err     error         // what ended rc, io.EOF if all of it is in buf
	enough  bool          // read no further ahead
	closed  bool          // rc is closed
	ahead   chan struct{} // closed when the reading ahead has stopped
	dropped bool          // the rest was given up
}

// holdBody reads ahead in rc until its end, max bytes or within, whichever is
// first. It starts a goroutine, which ends when rc next yields or is closed.
func holdBody(rc io.ReadCloser, max int, within time.Duration) *heldBody {
	h := &heldBody{rc: rc, ahead: make(chan struct{})}
	go h.readAhead(max)
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-h.ahead:
	case <-timer.C:
		h.mu.Lock()
		h.enough = true
		h.mu.Unlock()
	}
	h.mu.Lock()
	ended := h.err != nil
	h.mu.Unlock()
	if ended {
		h.closeBase() // gives the connection back now, not when the caller comes to it
	}
	return h
}

func (h *heldBody) readAhead(max int) {
	defer close(h.ahead)
	var chunk [4 << 10]byte
	for {
		n, err := h.rc.Read(chunk[:])
		h.mu.Lock()
		h.buf = append(h.buf, chunk[:n]...)
		if !h.dropped {
			h.err = err
		}
		stop := err != nil || h.enough || len(h.buf) >= max
		h.mu.Unlock()
		if stop {
			return
		}
	}
}

func (h *heldBody) Read(p []byte) (int, error) {
	for {
		h.mu.Lock()
		if h.off < len(h.buf) {
			n := copy(p, h.buf[h.off:])
			h.off += n
			h.mu.Unlock()
			return n, nil
		}
		err := h.err
		h.mu.Unlock()
		if err != nil {
			return 0, err
		}
		select {
		case <-h.ahead:
			if h.drained() {
				return h.readOn(p)
			}
		default:
			<-h.ahead // the read that is under way brings the next bytes
		}
	}
}

// drained reports whether there is nothing left but what rc still has to give.
func (h *heldBody) drained() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.off == len(h.buf) && h.err == nil
}

func (h *heldBody) readOn(p []byte) (int, error) {
	n, err := h.rc.Read(p)
	if err != nil {
		h.mu.Lock()
		h.err = err
		h.mu.Unlock()
	}
	return n, err
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

// drop gives up the connection. What has been read stays readable, from the
// start; its end is io.EOF only if it is the whole.
func (h *heldBody) drop() {
	h.mu.Lock()
	if h.err == nil {
		h.err = errNotKept
	}
	h.enough, h.dropped = true, true
	h.mu.Unlock()
	h.closeBase()
}
