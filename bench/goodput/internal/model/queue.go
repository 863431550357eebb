package model

import (
	"time"

	"github.com/steadyhttp/steady/internal/line"
	"github.com/steadyhttp/steady/internal/pace"
)

// waiting is a call in the queue.
type waiting struct {
	line.Place
	grant chan bool
	pass  pace.Pass
}

// queue is the line of the package, in which calls wait that the package would
// refuse.
type queue struct{ line.Line[*waiting] }

// until is when the call that arrived last must be answered, so about the latest
// of all.
func (q *queue) until() time.Time {
	if w := q.Latest(); w != nil {
		return w.Until
	}
	return time.Time{}
}

// hopeless returns a call to refuse, nil if there is none: the oldest, if more wait
// than there is room for, or if it cannot be answered before its deadline when it is
// sent at earliest and an answer takes need. A call that waits alone gets its chance.
func (q *queue) hopeless(earliest time.Time, need time.Duration, room float64) *waiting {
	w := q.Oldest()
	if w == nil || q.Len() == 1 || w.Until.IsZero() {
		return nil
	}
	if float64(q.Len()) > room || w.Until.Sub(earliest) < need {
		return w
	}
	return nil
}
