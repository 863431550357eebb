package steady

import (
	"errors"
	"io"
	"net/http"
	"sync"
)

// errNotReplayable reports a request body that cannot be sent again.
var errNotReplayable = errors.New("steady: the request body cannot be replayed")

// errSuperseded is what a body reads once another attempt has its place.
var errSuperseded = errors.New("steady: the request body is now another attempt's")

// replay hands out the body of a request once per attempt. At any time at most
// one of those handed out can be read: GetBody of some SDKs returns bodies that
// share one cursor, and net/http may go on reading the old body after RoundTrip
// has returned.
type replay struct {
	req *http.Request // whose body it is, as it came to Retry

	mu         sync.Mutex // guards the rest, as net/http calls reopen
	reopenable *sentBody  // with which the attempt under way began: no other can be reopened
	current    *sentBody  // the one that can be read
	first      sentBody   // that of the first attempt, with the caller's body
}

// of makes r the replay of the body of req, open for the first attempt. It keeps
// at most limit bytes of it if it has to keep them itself.
func (r *replay) of(req *http.Request, limit int) {
	r.req = req
	if req.Body == nil || req.Body == http.NoBody {
		return
	}
	r.first.rc, r.first.of = req.Body, r
	r.reopenable, r.current = &r.first, &r.first
	if req.GetBody == nil {
		r.first.rc = (&replayBuffer{src: req.Body, limit: limit}).open()
	}
}

// buffer returns that of the caller's body if it has no GetBody, or nil.
func (r *replay) buffer() *replayBuffer {
	if rd, ok := r.first.rc.(*replayReader); ok {
		return rd.r
	}
	return nil
}

// has reports whether there is a body.
func (r *replay) has() bool { return r.first.rc != nil }

// put gives req, a copy that is about to go down, the body that of or next
// has opened, and a GetBody with which net/http can replay by itself.
func (r *replay) put(req *http.Request) {
	if req.Body, req.GetBody = r.current, r.current.reopen; r.current.lent != nil {
		req.Body = r.current.lent.ReadCloser
	}
}

// opened returns what open opens. A GetBody may be wrong and have neither a body nor
// an error.
func opened(open func() (io.ReadCloser, error)) (io.ReadCloser, error) {
	rc, err := open()
	if err == nil && rc == nil {
		err = errNotReplayable
	}
	return rc, err
}

// opener returns what opens a copy of req's body, or nil. The body of Retry is as
// the caller's: its own GetBody would put an end to it.
func opener(req *http.Request) func() (io.ReadCloser, error) {
	if req.Body == nil || req.Body == http.NoBody {
		return nil
	}
	if b, ok := req.Body.(*sentBody); ok {
		return b.of.req.GetBody
	}
	return req.GetBody
}

// close closes the body of an attempt that no layer further in will make.
func (r *replay) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.current.Close()
}

// next takes the body from the attempt that has it and opens it for another.
func (r *replay) next() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.has() {
		return nil
	}
	r.reopenable = nil
	if err := r.open(); err != nil {
		return err
	}
	r.reopenable = r.current
	return nil
}

// open takes the body from who has it and opens it again. r.mu must be held.
func (r *replay) open() error {
	buffer, within := r.buffer(), forever
	if buffer != nil {
		within = detachFor
	}
	if err := r.current.detach(r.req.Context(), within); err != nil {
		return err
	}
	r.current.Close() // net/http's HTTP/2 forgets to when it replays by itself
	var rc io.ReadCloser
	switch {
	case buffer == nil:
		var err error
		if rc, err = opened(r.req.GetBody); err != nil {
			return err
		}
	case !buffer.whole():
		return errNotReplayable
	default:
		rc = buffer.open()
	}
	r.current = &sentBody{rc: rc, of: r}
	return nil
}

// possible reports whether next may succeed.
func (r *replay) possible() bool {
	buffer := r.buffer()
	return buffer == nil || buffer.whole()
}

// finish says that there will be no other attempt: the caller's body is closed
// when the last one has done with it, which is now if that failed.
func (r *replay) finish(failed bool) {
	r.mu.Lock()
	r.reopenable = nil
	last := r.current
	r.mu.Unlock()
	if failed && last != nil {
		last.Close()
	}
	if buffer := r.buffer(); buffer != nil {
		buffer.finish()
	}
}

// read returns how much was read of the body of the attempt that has just ended, which
// is length bytes long by its ContentLength.
func (r *replay) read(length int64) extent {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.current == nil {
		return extentNone
	}
	return r.current.read(length)
}
