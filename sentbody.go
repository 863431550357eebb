package steady

import (
	"context"
	"io"
	"sync/atomic"
	"time"
)

// extent is how much of a request body the layers below have read.
type extent uint8

const (
	extentNone  extent = iota // there is no body to tell by
	extentPart                // no server can have got the whole request
	extentWhole               // so that it was sent
	extentOther               // more or less than its ContentLength says
)

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
	bodyReading  = 1 << iota // a read is under way
	bodyDetached             // it is another attempt's turn
	bodyClosed
	bodyEnded  // rc has come to its end
	bodyPoured // all of it was handed on in one piece, or is being so: see WriteTo

	bodyFlags = iota // how many
)

// reopen is the GetBody of b's attempt, with which net/http can replay by itself.
func (b *sentBody) reopen() (io.ReadCloser, error) {
	r := b.of
	r.mu.Lock()
	defer r.mu.Unlock()
	if b != r.reopenable {
		return nil, errSuperseded
	}
	if err := r.open(); err != nil {
		return nil, err
	}
	return r.current, nil
}

func (b *sentBody) Read(p []byte) (int, error) {
	if !b.begins(bodyReading) {
		return 0, errSuperseded
	}
	n, err := b.rc.Read(p)
	before := b.finished(n, err == io.EOF)                     //nolint:errorlint // Read's contract: io.EOF itself
	if err != nil && err != io.EOF && before&bodyClosed == 0 { //nolint:errorlint // the same; or net/http has closed it meanwhile
		err = errCaller{err}
	}
	return n, err
}

// WriteTo pours what is left of b into w, in one piece if it lies in memory: so it would
// go there without Retry, and in pieces it is copied once more.
//
// Memory can be read without an error, so that one is always w's and never the caller's.
// How much of b a w that fails has passed on is not known here: it counts as the whole.
func (b *sentBody) WriteTo(w io.Writer) (int64, error) {
	from := inMemory(b.rc)
	if from == nil {
		return io.Copy(w, readerOnly{b})
	}
	if !b.begins(bodyReading | bodyPoured) {
		return 0, errSuperseded
	}
	n, err := from.WriteTo(w)
	b.finished(int(n), err == nil)
	return n, err
}

// readerOnly hides that a Reader is a WriterTo.
type readerOnly struct{ io.Reader }

// begins sets flags for a read that begins, unless b is detached, and reports whether it
// did.
func (b *sentBody) begins(flags uint64) bool {
	for {
		before := b.state.Load()
		if before&bodyDetached != 0 {
			return false
		}
		if b.state.CompareAndSwap(before, before|flags) {
			return true
		}
	}
}

// finished takes note that a read of n bytes is over, and whether b has ended with it. It
// tells detach if that waits, and returns the state before.
func (b *sentBody) finished(n int, ended bool) uint64 {
	for {
		before := b.state.Load()
		after := before&^bodyReading + uint64(n)<<bodyFlags
		if ended {
			after |= bodyEnded
		}
		if !b.state.CompareAndSwap(before, after) {
			continue
		}
		if before&bodyDetached != 0 {
			select {
			case b.idle <- struct{}{}:
			default:
			}
		}
		return before
	}
}

func (b *sentBody) Close() error {
	if b.state.Or(bodyClosed)&bodyClosed != 0 {
		return nil
	}
	return b.rc.Close()
}

// detachFor is how long a read of a body that has no GetBody may go on when another
// attempt wants the body: what does not come does not come for that attempt either. Nor
// may a body be poured any longer into what takes no more of it.
const detachFor = 250 * time.Millisecond

// detach ends the reading of b, and waits for a read that is under way, but not for
// longer than within. It is called by one at a time.
func (b *sentBody) detach(ctx context.Context, within time.Duration) error {
	if b.idle == nil {
		b.idle = make(chan struct{}, 1)
	}
	before := b.state.Or(bodyDetached)
	if before&bodyReading == 0 {
		return nil
	}
	if before&bodyPoured != 0 {
		within = min(within, detachFor)
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

// read returns how much of b was read, which is length bytes long by its ContentLength.
func (b *sentBody) read(length int64) extent {
	if b.lent != nil {
		return b.lent.extent()
	}
	state := b.state.Load()
	n, ended := int64(state>>bodyFlags), state&bodyEnded != 0
	switch {
	case length > 0 && (n > length || ended && n < length):
		return extentOther
	case ended || state&bodyPoured != 0 || length > 0 && n == length:
		return extentWhole
	}
	return extentPart
}
