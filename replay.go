package steady

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
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

	mu      sync.Mutex // guards the rest, as net/http calls reopen
	begun   *sentBody  // with which the attempt under way began; no other can be reopened
	current *sentBody
	first   sentBody // that of the first attempt, with the caller's body
}

// of makes r the replay of the body of req, open for the first attempt. It keeps
// at most limit bytes of it if it has to keep them itself.
func (r *replay) of(req *http.Request, limit int) {
	r.req = req
	if req.Body == nil || req.Body == http.NoBody {
		return
	}
	r.begun, r.current = &r.first, &r.first
	r.first.rc, r.first.of = req.Body, r
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
	r.begun = nil
	if err := r.open(); err != nil {
		return err
	}
	r.begun = r.current
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
	r.begun = nil
	last := r.current
	r.mu.Unlock()
	if failed && last != nil {
		last.Close()
	}
	if buffer := r.buffer(); buffer != nil {
		buffer.finish()
	}
}

// extent is how much of a request body the layers below have read.
type extent uint8

const (
	extentNone  extent = iota // there is no body to tell by
	extentPart                // no server can have got the whole request
	extentWhole               // so that it was sent
	extentOther               // more or less than its ContentLength says
)

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

// sentBody is a request body on its way to one attempt. It is read without a lock,
// as every request is; the state tells what became of it.
type sentBody struct {
	rc    io.ReadCloser
	of    *replay
	lent  *lentBody     // what is read in its stead, or nil
	state atomic.Uint64 // bodyFlags, and above them how many bytes were read
	idle  chan struct{} // told that the read that detach waits for is over; made before bodyDetached is set
}

const (
	bodyReading  = 1 << iota // a Read is under way
	bodyDetached             // it is another attempt's turn
	bodyClosed
	bodyEnded // rc has come to its end

	bodyFlags = iota // how many
)

// reopen is the GetBody of b's attempt, with which net/http can replay by itself.
func (b *sentBody) reopen() (io.ReadCloser, error) {
	r := b.of
	r.mu.Lock()
	defer r.mu.Unlock()
	if b != r.begun {
		return nil, errSuperseded
	}
	if err := r.open(); err != nil {
		return nil, err
	}
	return r.current, nil
}

func (b *sentBody) Read(p []byte) (int, error) {
	if !b.begins() {
		return 0, errSuperseded
	}
	n, err := b.rc.Read(p)
	before := b.finished(n, err == io.EOF) //nolint:errorlint // Read's contract: io.EOF itself
	if before&bodyDetached != 0 {
		select {
		case b.idle <- struct{}{}:
		default:
		}
	}
	if err != nil && err != io.EOF && before&bodyClosed == 0 { //nolint:errorlint // the same; or net/http has closed it meanwhile
		err = errCaller{err}
	}
	return n, err
}

// begins notes that a Read begins, unless b is detached.
func (b *sentBody) begins() bool {
	for {
		before := b.state.Load()
		if before&bodyDetached != 0 {
			return false
		}
		if b.state.CompareAndSwap(before, before|bodyReading) {
			return true
		}
	}
}

// finished notes that a Read of n bytes is over, and returns the state before that.
func (b *sentBody) finished(n int, ended bool) uint64 {
	for {
		before := b.state.Load()
		after := before&^bodyReading + uint64(n)<<bodyFlags
		if ended {
			after |= bodyEnded
		}
		if b.state.CompareAndSwap(before, after) {
			return before
		}
	}
}

func (b *sentBody) Close() error {
	if b.state.Or(bodyClosed)&bodyClosed != 0 {
		return nil
	}
	return b.rc.Close()
}

// detachFor is how long a Read of a body that has no GetBody may go on when another
// attempt wants the body: what does not come has nothing for that attempt either.
const detachFor = 250 * time.Millisecond

// detach ends the reading of b. It waits for a Read that is under way. It is called by
// one at a time.
func (b *sentBody) detach(ctx context.Context, within time.Duration) error {
	if b.idle == nil {
		b.idle = make(chan struct{}, 1)
	}
	if b.state.Or(bodyDetached)&bodyReading == 0 {
		return nil
	}
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-b.idle:
		return nil
	case <-timer.C:
		return errNotReplayable
	case <-ctx.Done():
		return contextError(ctx)
	}
}

func (b *sentBody) read(length int64) extent {
	if b.lent != nil {
		return b.lent.extent()
	}
	state := b.state.Load()
	n, ended := int64(state>>bodyFlags), state&bodyEnded != 0
	switch {
	case length > 0 && (n > length || ended && n < length):
		return extentOther
	case ended || length > 0 && n == length:
		return extentWhole
	}
	return extentPart
}
