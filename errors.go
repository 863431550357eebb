package steady

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/steadyhttp/steady/internal/wire"
)

// Errors for use with [errors.Is].
var (
	// ErrBreakerOpen reports that a call was not sent because the breaker of its
	// key is open. The error's type is [*BreakerError].
	ErrBreakerOpen = errors.New("steady: circuit breaker is open")

	// ErrRateLimited reports that a call was not sent because its turn could not
	// come in time. The error's type is [*LimitError]. A call that was sent and
	// rejected by the provider is none of these: it ends in the response 429, so who
	// wants to know of both looks at the status, too.
	ErrRateLimited = errors.New("steady: rate limited")

	// ErrStreamTruncated is what the body of an answer ends in, after all the
	// bytes that came, when the answer is not whole. It matches
	// [io.ErrUnexpectedEOF], and the transport's own error if there was one.
	ErrStreamTruncated error = &streamError{"steady: the answer ended too early", io.ErrUnexpectedEOF}

	// ErrStreamStalled is what the body of an answer ends in when no content has
	// come for too long, whatever else has. It matches [os.ErrDeadlineExceeded],
	// and its Timeout method reports true.
	ErrStreamStalled error = &streamError{"steady: the answer stalled", os.ErrDeadlineExceeded}
)

// streamError is an error that is also another one.
type streamError struct {
	text string
	is   error
}

func (e *streamError) Error() string { return e.text }
func (e *streamError) Unwrap() error { return e.is }

// Timeout reports whether it is a stall.
func (e *streamError) Timeout() bool { return e.is == os.ErrDeadlineExceeded }

// AnswerError is what the body of an answer ends in, after all its bytes, when
// they tell of an error in spite of the status 200.
type AnswerError struct {
	Class      string // what it means, as in [AttemptEnded]
	Type, Code string // in the provider's words, where it has any

	verdict wire.Verdict
}

func (e *AnswerError) Error() string {
	text := "steady: the answer is an error: " + e.Class
	if e.Type != "" && e.Type != e.Class {
		text += " (" + e.Type + ")"
	}
	if e.Code != "" && e.Code != e.Class && e.Code != e.Type {
		text += " (" + e.Code + ")"
	}
	return text
}

// BreakerError is the error for a call that the breaker refused. It matches
// [ErrBreakerOpen]. It is neither a timeout nor temporary in the sense of
// [net.Error], so that nobody takes it for an invitation to try again at once.
type BreakerError struct {
	Key string // whose breaker is open

	// Until is when the next attempt may go. It is zero while a probe is out, for
	// then nobody knows: the next goes when the probe has succeeded, [OpenFor] after
	// it has failed, or 10 seconds after it went if there is no answer by then.
	Until time.Time
}

func (e *BreakerError) Error() string {
	if e.Until.IsZero() {
		return fmt.Sprintf("%v for %s: a probe is out", ErrBreakerOpen, e.Key)
	}
	return fmt.Sprintf("%v for %s until %s", ErrBreakerOpen, e.Key, e.Until.UTC().Format(time.RFC3339))
}

// Unwrap returns [ErrBreakerOpen].
func (e *BreakerError) Unwrap() error { return ErrBreakerOpen }

// LimitError is the error for a call whose turn could not come in time. It
// matches [ErrRateLimited], and [context.DeadlineExceeded] when it was the
// request's deadline that was too near.
type LimitError struct {
	Key      string        // whose queue it was
	Wait     time.Duration // how long the turn was still off when that can be told, else how long the call had waited
	Deadline bool          // whether the request's deadline decided, and not MaxWait or Patience

	waitKnown bool          // Wait is how long the turn was off
	waited    time.Duration // in the queue, by then
	shed      bool          // it has left so that others are answered in time
	option    string        // what has set the bound, unless it is the deadline,
	most      time.Duration // to this,
	unset     bool          // or would have: it is the default
	heldOnly  bool          // only the time counts for which the provider has held the queue
}

func (e *LimitError) Error() string {
	bound := "the call may wait"
	switch {
	case e.Deadline:
		bound = "the deadline allows"
	case e.option != "":
		bound = fmt.Sprintf("%s (%v%s) allows", e.option, e.most, when(e.unset, ", the default"))
	}
	wait, waited := e.Wait.Round(time.Millisecond), e.waited.Round(time.Millisecond)
	var text string
	switch {
	case e.shed:
		text = fmt.Sprintf("waited %v, and more calls are before it than can be served in the time that %s", waited, bound)
	case e.waitKnown && waited > 0:
		text = fmt.Sprintf("waited %v, and a turn needs %v more, longer than %s", waited, wait, bound)
	case e.waitKnown:
		text = fmt.Sprintf("a turn needs %v, longer than %s", wait, bound)
	default:
		text = fmt.Sprintf("waited %v, as long as %s", wait, bound)
	}
	text += when(e.heldOnly && waited > 0 && !e.Deadline, ", which counts from when the provider began to hold the queue")
	return fmt.Sprintf("%v for %s: %s", ErrRateLimited, e.Key, text)
}

// when returns text if that holds.
func when(holds bool, text string) string {
	if holds {
		return text
	}
	return ""
}

// Unwrap returns [ErrRateLimited], and [context.DeadlineExceeded] if Deadline is set.
func (e *LimitError) Unwrap() []error {
	if e.Deadline {
		return []error{ErrRateLimited, context.DeadlineExceeded}
	}
	return []error{ErrRateLimited}
}

// Timeout reports whether the request's deadline decided.
func (e *LimitError) Timeout() bool { return e.Deadline }

// RetryError is the error of a call that Retry gave up on. A call that failed
// at its first attempt for a reason that no re-send can mend returns that
// attempt's error as it is.
type RetryError struct {
	Attempts int   // how many were made
	Status   int   // of the last response, if any attempt had one, else 0
	Err      error // why the last attempt failed, and why there was no other
}

func (e *RetryError) Error() string {
	plural, last := "s", ""
	if e.Attempts == 1 {
		plural = ""
	}
	if e.Status != 0 {
		last = fmt.Sprintf(" (last status %d)", e.Status)
	}
	return fmt.Sprintf("steady: gave up after %d attempt%s%s: %v", e.Attempts, plural, last, withoutURL(e.Err))
}

// Unwrap returns Err.
func (e *RetryError) Unwrap() error { return e.Err }

// Timeout reports whether Err is a timeout. [net/url.Error.Timeout] looks for
// this method on the error itself and does not unwrap.
func (e *RetryError) Timeout() bool {
	if errors.Is(e.Err, context.DeadlineExceeded) {
		return true
	}
	t, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](e.Err)
	return ok && t.Timeout()
}

// withoutURL returns err's text without the URLs that *url.Errors in its tree put
// into it, which may carry a key in their query or their user information.
func withoutURL(err error) string { return hideURLs(err.Error(), err) }

func hideURLs(text string, err error) string {
	if u, ok := err.(*url.Error); ok && u.URL != "" { //nolint:errorlint // the walk unwraps
		text = strings.ReplaceAll(text, fmt.Sprintf("%q", u.URL), "(url)")
		text = strings.ReplaceAll(text, u.URL, "(url)")
	}
	switch e := err.(type) { //nolint:errorlint // the walk unwraps
	case interface{ Unwrap() error }:
		if inner := e.Unwrap(); inner != nil {
			text = hideURLs(text, inner)
		}
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			text = hideURLs(text, inner)
		}
	}
	return text
}

// reasons joins two errors in one line.
type reasons struct{ why, last error }

func (r *reasons) Error() string   { return r.why.Error() + ": " + r.last.Error() }
func (r *reasons) Unwrap() []error { return []error{r.why, r.last} }

// contextError returns the error for a call whose ctx is done. It matches
// ctx.Err() and the cause that the caller may have given.
func contextError(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if cause == nil || errors.Is(cause, err) {
		return cause
	}
	return &reasons{err, cause}
}

// flaws is what is wrong with the options of a layer.
type flaws []error

// add adds a flaw if there is one.
func (f *flaws) add(wrong bool, format string, args ...any) {
	if wrong {
		*f = append(*f, fmt.Errorf("steady: "+format, args...))
	}
}

// missing notes a nil option, which a helper of the caller's may have returned, and
// reports whether it is one.
func (f *flaws) missing(is bool) bool {
	f.add(is, "an option is nil: leave it out")
	return is
}

// short adds a flaw if d, which opt(d) sets, is negative or so short that its unit must
// have been forgotten.
func (f *flaws) short(d time.Duration, opt string) {
	f.add(d != 0 && d < time.Millisecond, "%s(%v): must be 0 or at least 1ms", opt, d)
}

// tooShort is short where 0 makes no sense either.
func (f *flaws) tooShort(d time.Duration, opt string) {
	f.add(d < time.Millisecond, "%s(%v): must be at least 1ms", opt, d)
}

// must panics on an invalid option of a layer: the caller wrote it into the
// program, as with time.NewTicker(0). New returns the same error instead.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
