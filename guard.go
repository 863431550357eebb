package steady

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/steadyhttp/steady/internal/wire"
)

// guard judges the body of a good answer as it passes by. It never adds a byte,
// and holds none back but a [DONE] behind an error, at which SDKs would stop and
// take what they have for the whole; it only decides how the body ends. Over the
// body of an error answer it only keeps the clock.
type guard struct {
	due bool // an answer of a model: nothing else will do

	mu       sync.Mutex    // guards the rest: the reader's, but the body may be ended by others
	dec      *wire.Decoder // nil for an error answer
	skip     int           // bytes at the beginning that dec has seen while they were read ahead
	seen     int64         // bytes that dec has seen
	passed   int64         // bytes that the reader has had
	forged   int64         // where the [DONE] behind an error begins; 0 for nowhere
	matched  int           // of a line behind an error, how much is the name of a data field; -1 for another line
	partial  int64         // size of the unfinished event when it last counted as content
	opened   bool          // content was among the bytes read ahead
	finished bool          // the answer is whole; its usage may still come
	terminal bool          // nothing is due after it
	end      error         // what the body ended in
	clock    bodyClock
}

// waits notes that a read on rc, the body under the guard, begins.
func (g *guard) waits(rc io.Closer) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.end == nil {
		g.clock.start(g, rc)
	}
}

// pass looks at p, which has been read, and at what ended the read. It returns how
// much of p the reader is to have, what the read is to end in, and whether the
// terminal event has passed, and all that was read with it. caller is the context
// of whom the body belongs to.
func (g *guard) pass(caller context.Context, p []byte, err error) (n int, end error, over bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.end != nil {
		return g.short(len(p)), g.end, true
	}
	g.clock.halt(g.see(p))
	n = g.short(len(p))
	g.passed += int64(n)
	switch {
	case n < len(p):
		g.end = g.failure()
	case err != nil:
		g.end = g.endsIn(caller, err)
	}
	return n, g.end, g.terminal && g.skip == 0 && (g.finished || g.clock.begun)
}

// see feeds the decoder and reports whether content has passed.
func (g *guard) see(p []byte) (content bool) {
	if g.skip > 0 {
		n := min(g.skip, len(p))
		g.skip -= n
		p = p[n:]
		content = g.skip == 0 && g.opened
	}
	switch {
	case len(p) == 0:
		return content
	case g.dec == nil:
		return true
	}
	return g.look(p) || content
}

// look feeds the decoder with p, which it has not seen yet.
func (g *guard) look(p []byte) (content bool) {
	pr := g.dec.Write(p)
	g.note(p, pr)
	return pr.Content > 0 || g.grown(pr.Partial) || g.foreign()
}

func (g *guard) note(p []byte, pr wire.Progress) {
	g.terminal = g.terminal || pr.AfterTerminal > 0
	g.finished = g.finished || pr.AfterFinish > 0
	if _, _, failed := g.dec.Failure(); failed && g.forged == 0 && g.dec.Form() == wire.FormSSE {
		if i := g.sentinel(p[pr.AfterError:]); i >= 0 {
			g.forged = g.seen + int64(pr.AfterError+i)
		}
	}
	g.seen += int64(len(p))
}

// sentinel looks for a [DONE] in p, which comes behind an error, and returns where
// its line begins, or 0 if that was before p. It returns -1 if there is none. What
// may yet become one counts too: the bytes that tell may come too late to hold it
// back, and nothing behind an error matters.
func (g *guard) sentinel(p []byte) int {
	const field, done = "data:", "[DONE]"
	start := 0
	for i, c := range p {
		switch {
		case c == '\n' || c == '\r':
			g.matched, start = 0, i+1
		case g.matched < 0 || g.matched == len(field) && c == ' ':
		case g.matched < len(field) && c == field[g.matched]:
			g.matched++
		case g.matched == len(field) && strings.HasPrefix(done, string(p[i:min(len(p), i+len(done))])):
			return start
		default:
			g.matched = -1
		}
	}
	return -1
}

// short returns how many of the n bytes that follow are to be passed on.
func (g *guard) short(n int) int {
	if g.forged == 0 {
		return n
	}
	return int(max(0, min(int64(n), g.forged-g.passed)))
}

// A large event is content while it is still on its way: it counts each time
// that it has grown by this much. No keep-alive is as large.
const grownBytes = 1 << 10

func (g *guard) grown(partial int64) bool {
	if partial < g.partial {
		g.partial = 0 // that of another event
	}
	if partial-g.partial < grownBytes {
		return false
	}
	g.partial = partial
	return true
}

// foreign reports whether the body is nothing that has content of its own, so
// that any byte counts.
func (g *guard) foreign() bool {
	switch g.dec.Form() {
	case wire.FormHTML, wire.FormText, wire.FormOpaque:
		return true
	}
	return false
}

// endsIn says how a body ends that the transport ended with err.
func (g *guard) endsIn(caller context.Context, err error) error {
	clean := err == io.EOF //nolint:errorlint // Read's contract: io.EOF itself
	if g.dec == nil {
		if g.clock.stalled && !clean {
			return fmt.Errorf("%w: nothing for %v", ErrStreamStalled, g.clock.limit())
		}
		return err
	}
	r := g.dec.End(clean)
	broken := r.Truncated || r.Complete && r.Retryable // the latter is an end to nothing
	switch {
	case r.Error.Position != "":
		return g.failure()
	case !clean && caller.Err() != nil:
		return err // the caller has left; what was missing is not the answer's fault
	case r.Complete && r.Strength == wire.StrengthStrong:
		return io.EOF // whole: what the connection did afterwards is nobody's loss
	case errors.Is(err, ErrStreamStalled):
		return err
	case g.clock.stalled && !clean:
		return fmt.Errorf("%w: no content for %v", ErrStreamStalled, g.clock.limit())
	case clean && !g.due && r.Dialect == wire.DialectUnknown && (r.Form == wire.FormSSE || r.Form == wire.FormUnknown):
		return err // events of something else, or none
	case broken:
		return truncated(err)
	case g.due && clean && (r.Form == wire.FormHTML || r.Form == wire.FormText):
		return answerError(notAnAnswer(), typeNotAnAnswer, "")
	}
	return err
}

// truncated is ErrStreamTruncated for a body that the transport ended with err.
func truncated(err error) error {
	if err == io.EOF { //nolint:errorlint // Read's contract: io.EOF itself
		return ErrStreamTruncated
	}
	return fmt.Errorf("%w: %w", ErrStreamTruncated, err)
}

// failure returns the error that has passed by, or nil.
func (g *guard) failure() error {
	if _, v, ok := g.dec.Failure(); ok {
		return answerError(v, v.Type, v.Code)
	}
	return nil
}

func answerError(v wire.Verdict, typ, code string) *AnswerError {
	return &AnswerError{Class: v.Class.String(), Type: typ, Code: code, verdict: v}
}

// whole reports whether the answer is, as far as it has passed.
func (g *guard) whole() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.finished || g.terminal && g.clock.begun
}

// stop ends the clock. It returns what has been told so far of usage and of an
// error, which is the end of the answer whoever ends the body.
func (g *guard) stop() (wire.Usage, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.clock.stop()
	if g.dec == nil {
		return wire.Usage{}, nil
	}
	return g.dec.Usage(), g.failure()
}
