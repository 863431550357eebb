package steady

import (
	"slices"
	"sort"
	"time"
)

// line is who waits in a queue, ordered by when their calls began. A re-send has
// come with its call, and so stands before calls that are younger.
type line struct {
	all        []*waiter // those that have left stay until they are at an end, or as many as those that have not
	live       int       // how many have not left
	owed       int       // the cost of those,
	owedTokens int       // and in tokens of the model
	crowded    bool      // more have come than can be served in time
}

// add puts w in line.
func (l *line) add(w *waiter) {
	i := len(l.all)
	if i > 0 && l.all[i-1].began().After(w.began()) {
		i = sort.Search(i, func(k int) bool { return l.all[k].began().After(w.began()) })
	}
	l.all = append(l.all, nil)
	copy(l.all[i+1:], l.all[i:])
	l.all[i] = w
	l.live++
	l.owed += w.p.cost
	l.owedTokens += w.p.reserved()
}

// remove takes w out of line, wherever it stands.
func (l *line) remove(w *waiter) {
	w.gone = true
	l.live--
	l.owed -= w.p.cost
	l.owedTokens -= w.p.reserved()
	i, n := 0, len(l.all)
	for ; i < n && l.all[i].gone; i++ {
		l.all[i] = nil
	}
	for ; n > i && l.all[n-1].gone; n-- {
		l.all[n-1] = nil
	}
	if l.all = l.all[i:n]; len(l.all) > 64 && len(l.all) > 2*l.live {
		l.all = slices.DeleteFunc(l.all, func(w *waiter) bool { return w.gone })
	}
}

// oldest returns the call that began first, nil if none waits.
func (l *line) oldest() *waiter {
	if len(l.all) == 0 {
		return nil
	}
	return l.all[0]
}

// latest returns the call that began last, nil if none waits.
func (l *line) latest() *waiter {
	if len(l.all) == 0 {
		return nil
	}
	return l.all[len(l.all)-1]
}

// freshFor is for how long a call counts as fresh: about as long as somebody who
// waits for an answer takes it for a slow one and not for none.
const freshFor = 2 * time.Second

// next returns the call whose turn it is, nil if none waits: the oldest, as long
// as the whole line can be served in time at perSecond. Beyond that some calls
// will not be answered whatever the order; then the fresh ones go first, since
// that is the order in which they are least. The line stays crowded until no
// call in it need wait for longer than it is fresh.
func (l *line) next(now time.Time, perSecond float64, need time.Duration) *waiter {
	first := l.oldest()
	takes := float64(l.live) / perSecond
	l.crowded = l.crowded && takes > freshFor.Seconds()
	if first == nil || now.Sub(first.began()) < freshFor {
		return first
	}
	if takes < (l.latest().until.Sub(now) - need).Seconds() {
		return first
	}
	l.crowded = true
	from := now.Add(-freshFor)
	i := sort.Search(len(l.all), func(k int) bool { return !l.all[k].began().Before(from) })
	for ; i < len(l.all); i++ {
		if !l.all[i].gone {
			return l.all[i]
		}
	}
	return first
}
