package model

import (
	"sort"
	"time"

	"github.com/steadyhttp/steady/internal/pace"
)

// waiting is a call in the queue.
type waiting struct {
	arrival, deadline time.Time
	grant             chan bool
	pass              pace.Pass
	gone              bool
}

// line is the queue: in order of arrival as long as all of it can be served before
// its deadlines; beyond that fresh calls first, since the old ones are lost anyway.
type line struct {
	calls []*waiting // by arrival
	live  int
}

func (l *line) push(w *waiting) {
	i := len(l.calls)
	if i > 0 && l.calls[i-1].arrival.After(w.arrival) {
		i = sort.Search(i, func(k int) bool { return l.calls[k].arrival.After(w.arrival) })
	}
	l.calls = append(l.calls, nil)
	copy(l.calls[i+1:], l.calls[i:])
	l.calls[i] = w
	l.live++
}

// leave takes w out, wherever it stands.
func (l *line) leave(w *waiting) {
	if !w.gone {
		w.gone = true
		l.live--
	}
}

func (l *line) trim() {
	for len(l.calls) > 0 && l.calls[0].gone {
		l.calls[0] = nil
		l.calls = l.calls[1:]
	}
	for n := len(l.calls); n > 0 && l.calls[n-1].gone; n-- {
		l.calls = l.calls[:n-1]
	}
}

// oldest returns the call that waits longest.
func (l *line) oldest() *waiting {
	l.trim()
	if len(l.calls) == 0 {
		return nil
	}
	return l.calls[0]
}

// latest is the deadline of the call that arrived last, so about the latest of all.
func (l *line) latest() time.Time {
	if l.oldest() == nil {
		return time.Time{}
	}
	return l.calls[len(l.calls)-1].deadline
}

// hopeless returns a call to refuse, nil if there is none: the oldest, if more wait
// than there is room for, or if it cannot be answered before its deadline when it is
// sent at earliest and an answer takes need. A call that waits alone gets its chance.
func (l *line) hopeless(earliest time.Time, need time.Duration, room float64) *waiting {
	w := l.oldest()
	if w == nil || l.live == 1 || w.deadline.IsZero() {
		return nil
	}
	if float64(l.live) > room || w.deadline.Sub(earliest) < need {
		return w
	}
	return nil
}

const fresh = 2 * time.Second

// next returns the call whose turn it is, nil if none waits. perSecond is how fast
// the line is served, need how long an answer takes.
func (l *line) next(now time.Time, perSecond float64, need time.Duration) *waiting {
	w := l.oldest()
	if w == nil {
		return nil
	}
	last := l.calls[len(l.calls)-1]
	if last.deadline.IsZero() || now.Sub(w.arrival) < fresh {
		return w
	}
	if float64(l.live)/perSecond < (last.deadline.Sub(now) - need).Seconds() {
		return w
	}
	cut := now.Add(-fresh)
	i := sort.Search(len(l.calls), func(k int) bool { return !l.calls[k].arrival.Before(cut) })
	for ; i < len(l.calls); i++ {
		if !l.calls[i].gone {
			return l.calls[i]
		}
	}
	return w
}
