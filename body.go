package steady

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"
)

// A watcher is told, once, how the body of its attempt's response ended.
type watcher interface {
	// bodyEnded is called on whatever goroutine the end was seen, with no lock
	// of the body held. The error of v is nil unless the body could not be read.
	bodyEnded(v verdict)
}

// A releaser holds what a body needs while it can be read: the attempt's context.
type releaser interface {
	// release is called when nothing more can be read, perhaps more than once. That
	// may be later than the end of the attempt, which the terminal event of an
	// answer is.
	release()
}

// errLeftEarly is the end of a body that its reader closed before it was over.
var errLeftEarly = errors.New("steady: response body closed before its end")

// watch has w told when the attempt that resp answers is over: at the first of
// EOF, read error, Close, and the end of ctx, which is the caller's. A response
// that has no body is over at once. The layers of a stack share one watched
// body; the innermost is told first.
func watch(ctx context.Context, resp *http.Response, w watcher) {
	if b := watchedIn(resp.Body); b != nil {
		b.add(w)
		return
	}
	if settled(resp) {
		w.bodyEnded(judge(ctx, resp, nil))
		return
	}
	b := &watchedBody{}
	b.begin(ctx, resp, w, nil, nil)
	if ctx.Done() != nil {
		stop := context.AfterFunc(ctx, func() { b.callerLeft(ctx.Err()) })
		b.mu.Lock()
		b.stop = stop
		b.mu.Unlock()
	}
}

// own has r released when nothing more can be read of resp's body.
func own(ctx context.Context, resp *http.Response, r releaser) {
	if b := watchedIn(resp.Body); b != nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.owner != nil {
			r = owners{b.owner, r}
		}
		b.owner = r
		return
	}
	if settled(resp) {
		r.release()
		return
	}
	new(watchedBody).begin(ctx, resp, nil, nil, r)
}

type owners [2]releaser

func (o owners) release() {
	o[0].release()
	o[1].release()
}

// watchedBody passes a response body on as it comes and tells its watchers when
// it is over.
type watchedBody struct {
	rc    io.ReadCloser
	ctx   context.Context // the caller's, to tell whose end it was
	plain bool            // no stream: who has read of it and closes it has what was wanted
	guard *guard          // or nil
	owner releaser        // or nil

	mu       sync.Mutex // guards the rest
	read     bool       // some of it has been read
	over     bool
	verdict  verdict // by the headers, and once over by the body
	watchers []watcher
	space    [3]watcher // watchers' first array
	stop     func() bool
}

// begin puts b in the place of resp's body. Each of the others may be nil: w is
// its first watcher, g judges what passes, and owner is released at the end.
func (b *watchedBody) begin(ctx context.Context, resp *http.Response, w watcher, g *guard, owner releaser) {
	v := judge(ctx, resp, nil) // which may read ahead in the body
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rc, b.ctx, b.plain, b.verdict = resp.Body, ctx, !streams(resp), v
	b.guard, b.owner = g, owner
	if w != nil {
		b.watchers = append(b.space[:0], w)
	}
	resp.Body = b.dress()
}

// callerLeft ends b, if it has begun, because ctx has ended by err.
func (b *watchedBody) callerLeft(err error) {
	b.mu.Lock()
	begun := b.rc != nil
	b.mu.Unlock()
	if begun {
		b.end(err)
	}
}

func (b *watchedBody) watched() *watchedBody { return b }

// watchedIn returns the watched body that body is, however it is dressed, or nil.
func watchedIn(body io.ReadCloser) *watchedBody {
	if w, ok := body.(interface{ watched() *watchedBody }); ok {
		return w.watched()
	}
	return nil
}

// dress returns b as an io.ReadCloser that can also do what the body under it
// can: write itself out, or take the bytes of an upgraded connection.
func (b *watchedBody) dress() io.ReadCloser {
	if b.guard != nil {
		return b
	}
	if _, ok := b.rc.(io.Writer); ok {
		return watchedUpgrade{b}
	}
	if _, ok := b.rc.(io.WriterTo); ok {
		return watchedWriterTo{b}
	}
	return b
}

func (b *watchedBody) add(w watcher) {
	b.mu.Lock()
	if !b.over {
		b.watchers = append(b.watchers, w)
		b.mu.Unlock()
		return
	}
	b.mu.Unlock()
	w.bodyEnded(b.verdict)
}

func (b *watchedBody) Read(p []byte) (int, error) {
	if b.guard != nil {
		b.guard.waits(b.rc)
	}
	n, err := b.rc.Read(p)
	if n > 0 && !b.read { // only the reader writes it, and end reads it under mu
		b.mu.Lock()
		b.read = true
		b.mu.Unlock()
	}
	if b.guard != nil {
		var over bool
		if n, err, over = b.guard.pass(b.ctx, p[:n], err); err == nil && over {
			b.end(io.EOF)
		}
	}
	if err != nil {
		b.end(err)
		b.letGo()
	}
	return n, err
}

// Close tells the watchers first, since closing the body under it may block.
func (b *watchedBody) Close() error {
	b.end(errLeftEarly)
	b.letGo()
	return b.rc.Close()
}

func (b *watchedBody) letGo() {
	if b.owner != nil {
		b.owner.release()
	}
}

// end is the one place where the attempt is over. err is what ended the body.
func (b *watchedBody) end(err error) {
	b.mu.Lock()
	if b.over {
		b.mu.Unlock()
		return
	}
	b.over = true
	if b.guard != nil {
		usage, failed := b.guard.stop()
		if b.verdict.usage = usage; failed != nil {
			err = failed
		}
	}
	b.verdict = b.judge(err)
	b.verdict.at = time.Now() // for all of the watchers
	watchers, stop, v := b.watchers, b.stop, b.verdict
	b.mu.Unlock()
	if stop != nil {
		stop()
	}
	tellWatchers(watchers, v)
}

// tellWatchers tells all of them, also when the observer of one panics.
func tellWatchers(watchers []watcher, v verdict) {
	if len(watchers) > 0 {
		defer tellWatchers(watchers[1:], v)
		watchers[0].bodyEnded(v)
	}
}

// judge says what became of the attempt whose body ended by err. What speaks
// against the provider in the headers is not mended by a body that could be read.
// b.mu must be held.
func (b *watchedBody) judge(err error) verdict {
	v := b.verdict
	if v.outcome != outcomeOK || err == io.EOF { //nolint:errorlint // Read's contract: io.EOF itself
		return v
	}
	early := errors.Is(err, errLeftEarly)
	left := early || errors.Is(b.ctx.Err(), context.Canceled)
	if early && b.plain && b.read || left && b.guard != nil && b.guard.whole() {
		return v
	}
	if answer, ok := errors.AsType[*AnswerError](err); ok {
		v.class, v.outcome, v.err = answer.verdict.Class, outcomeOf(answer.verdict, v.status), err
		return v
	}
	switch {
	case left:
		v.outcome = outcomeCancelled
	case errors.Is(err, ErrStreamStalled):
		v.outcome, v.err = outcomeStalled, err
	case b.ctx.Err() != nil:
		v.outcome, v.err = outcomeUnknown, err
	default:
		v.outcome, v.err = outcomeTruncated, err
	}
	return v
}

// closeOnce closes c unless closed, which mu guards, says that it has been. It does
// not hold mu meanwhile, since closing may block.
func closeOnce(mu *sync.Mutex, closed *bool, c io.Closer) error {
	mu.Lock()
	before := *closed
	*closed = true
	mu.Unlock()
	if before {
		return nil
	}
	return c.Close()
}

type watchedWriterTo struct{ *watchedBody }

// WriteTo hands on what the body under it does fastest.
func (b watchedWriterTo) WriteTo(w io.Writer) (int64, error) {
	n, err := b.rc.(io.WriterTo).WriteTo(w)
	b.mu.Lock()
	b.read = b.read || n > 0
	b.mu.Unlock()
	if err == nil {
		b.end(io.EOF)
		b.letGo()
	}
	return n, err // an error may be w's: the body is over when it is closed
}

type watchedUpgrade struct{ *watchedBody }

// Write writes to the connection that has been upgraded.
func (b watchedUpgrade) Write(p []byte) (int, error) { return b.rc.(io.Writer).Write(p) }
