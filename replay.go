package steady

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
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
	ctx    context.Context
	length int64         // the request's ContentLength
	buffer *replayBuffer // of the caller's body, if that has no GetBody
	has    bool          // there is a body

	mu      sync.Mutex // guards current, as net/http calls next too
	current *sentBody
	first   sentBody // that of the first attempt, with the caller's body and GetBody
}

// of makes r the replay of req's body, open for the first attempt. It keeps at most
// limit bytes of it if it has to keep them itself.
func (r *replay) of(req *http.Request, limit int) {
	r.ctx, r.length = req.Context(), req.ContentLength
	if req.Body == nil || req.Body == http.NoBody {
		return
	}
	r.has, r.current = true, &r.first
	r.first.rc, r.first.open = req.Body, req.GetBody
	if req.GetBody == nil {
		r.buffer = &replayBuffer{src: req.Body, limit: limit}
		r.first.rc = r.buffer.open()
	}
}

// put gives req, a copy that is about to go down, the body that of or next
// has opened, and a GetBody with which net/http can replay by itself.
func (r *replay) put(req *http.Request) {
	if req.Body, req.GetBody = r.current, r.next; r.current.lent != nil {
		req.Body = r.current.lent.ReadCloser
	}
}

// opener returns what opens a copy of req's body, or nil. The body of Retry is as
// the caller's: its own GetBody would put an end to it.
func opener(req *http.Request) func() (io.ReadCloser, error) {
	if req.Body == nil || req.Body == http.NoBody {
		return nil
	}
	if b, ok := req.Body.(*sentBody); ok {
		return b.open
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
func (r *replay) next() (io.ReadCloser, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.has {
		return http.NoBody, nil
	}
	within := forever
	if r.buffer != nil {
		within = detachFor
	}
	if err := r.current.detach(r.ctx, within); err != nil {
		return nil, err
	}
	r.current.Close() // net/http's HTTP/2 forgets to when it replays by itself
	var rc io.ReadCloser
	switch {
	case r.buffer == nil:
		var err error
		if rc, err = r.first.open(); err != nil {
			return nil, err
		}
	case !r.buffer.whole():
		return nil, errNotReplayable
	default:
		rc = r.buffer.open()
	}
	r.current = &sentBody{rc: rc, open: r.first.open}
	return r.current, nil
}

// possible reports whether next may succeed.
func (r *replay) possible() bool {
	return r.buffer == nil || r.buffer.whole()
}

// finish says that there will be no other attempt: the caller's body is closed
// when the last one has done with it, which is now if that failed.
func (r *replay) finish(failed bool) {
	if failed && r.current != nil {
		r.current.Close()
	}
	if r.buffer != nil {
		r.buffer.finish()
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

// read returns how much was read of the body of the attempt that has just ended.
func (r *replay) read() extent {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.current == nil {
		return extentNone
	}
	return r.current.read(r.length)
}

// sentBody is a request body on its way to one attempt.
type sentBody struct {
	rc   io.ReadCloser
	open func() (io.ReadCloser, error) // opens a copy; nil if none can be had
	lent *lentBody                     // what is read in its stead, or nil

	mu       sync.Mutex    // guards the rest
	idle     chan struct{} // closed when the read that detach waits for is over
	n        int64         // bytes read
	reading  bool
	detached bool
	closed   bool
	ended    bool // rc has come to its end
}

func (b *sentBody) Read(p []byte) (int, error) {
	b.mu.Lock()
	if b.detached {
		b.mu.Unlock()
		return 0, errSuperseded
	}
	b.reading = true
	b.mu.Unlock()

	n, err := b.rc.Read(p)

	b.mu.Lock()
	defer b.mu.Unlock()
	b.reading = false
	b.n += int64(n)
	if b.idle != nil {
		close(b.idle)
		b.idle = nil
	}
	switch {
	case err == io.EOF: //nolint:errorlint // Read's contract: io.EOF itself
		b.ended = true
	case err != nil && !b.closed: // or net/http has closed it meanwhile
		err = errCaller{err}
	}
	return n, err
}

func (b *sentBody) Close() error { return closeOnce(&b.mu, &b.closed, b.rc) }

// detachFor is how long a Read of a body that has no GetBody may go on when another
// attempt wants the body: what does not come has nothing for that attempt either.
const detachFor = 250 * time.Millisecond

// detach ends the reading of b. It waits for a Read that is under way.
func (b *sentBody) detach(ctx context.Context, within time.Duration) error {
	b.mu.Lock()
	b.detached = true
	if !b.reading {
		b.mu.Unlock()
		return nil
	}
	idle := make(chan struct{})
	b.idle = idle
	b.mu.Unlock()
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-idle:
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
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case length > 0 && (b.n > length || b.ended && b.n < length):
		return extentOther
	case b.ended || length > 0 && b.n == length:
		return extentWhole
	}
	return extentPart
}
