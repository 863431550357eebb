// Package line keeps those who wait for a turn, and says whose turn is next.
package line

import (
	"iter"
	"slices"
	"sort"
	"time"
)

// Place is what a line knows of one who waits. A waiter embeds it and fills it in
// before it comes.
type Place struct {
	Began  time.Time // when its call began
	Until  time.Time // when its patience or its deadline ends, whichever is first; zero for never
	Cost   int
	Tokens int // of the model

	left bool
}

// Left reports whether the waiter has come and left.
func (p *Place) Left() bool { return p.left }

func (p *Place) place() *Place { return p }

// Waiter is a pointer to what embeds a [Place].
type Waiter interface{ place() *Place }

// Line is who waits, ordered by when their calls began. A re-send has come with
// its call, and so stands before calls that are younger. The zero Line is empty. It
// has no lock.
type Line[W Waiter] struct {
	all        []W // those that have left stay until they are at an end, or as many as those that have not
	live       int // how many have not left
	owed       int // the cost of those,
	owedTokens int // and in tokens of the model
	crowded    bool
}

// Add puts w in line.
func (l *Line[W]) Add(w W) {
	p := w.place()
	i := len(l.all)
	if i > 0 && l.began(i-1).After(p.Began) {
		i = sort.Search(i, func(k int) bool { return l.began(k).After(p.Began) })
	}
	l.all = slices.Insert(l.all, i, w)
	l.live++
	l.owed += p.Cost
	l.owedTokens += p.Tokens
}

func (l *Line[W]) began(i int) time.Time { return l.all[i].place().Began }
func (l *Line[W]) left(i int) bool       { return l.all[i].place().left }

// Remove takes w out of line, wherever it stands, unless it has left.
func (l *Line[W]) Remove(w W) {
	p := w.place()
	if p.left {
		return
	}
	p.left = true
	l.live--
	l.owed -= p.Cost
	l.owedTokens -= p.Tokens
	i, n := 0, len(l.all)
	for ; i < n && l.left(i); i++ {
	}
	for ; n > i && l.left(n-1); n-- {
	}
	clear(l.all[:i]) // so that nobody is kept who is out of reach
	clear(l.all[n:])
	if l.all = l.all[i:n]; len(l.all) > 64 && len(l.all) > 2*l.live {
		l.all = slices.DeleteFunc(l.all, func(w W) bool { return w.place().left })
	}
}

// Len returns how many wait.
func (l *Line[W]) Len() int { return l.live }

// Owed returns what those who wait cost.
func (l *Line[W]) Owed() (cost, tokens int) { return l.owed, l.owedTokens }

// Crowded reports whether more have come than can be served in time, as [Line.Next]
// found. It stays so until no call in line need wait for longer than it is fresh.
func (l *Line[W]) Crowded() bool { return l.crowded }

// All returns those who wait, the one whose call began first before the others. The
// line must not change meanwhile.
func (l *Line[W]) All() iter.Seq[W] {
	return func(yield func(W) bool) {
		for _, w := range l.all {
			if !w.place().left && !yield(w) {
				return
			}
		}
	}
}

// Oldest returns the one whose call began first, nil if nobody waits.
func (l *Line[W]) Oldest() (w W) {
	if len(l.all) > 0 {
		w = l.all[0]
	}
	return w
}

// Latest returns the one whose call began last, nil if nobody waits.
func (l *Line[W]) Latest() (w W) {
	if n := len(l.all); n > 0 {
		w = l.all[n-1]
	}
	return w
}

// FreshFor is for how long a call counts as fresh: about as long as somebody who
// waits for an answer takes it for a slow one and not for none.
const FreshFor = 2 * time.Second

// Next returns the one whose turn it is, nil if nobody waits: the oldest, as long
// as the whole line can be served in time at perSecond, where an answer needs need.
// Beyond that some calls will not be answered whatever the order; then the fresh
// ones go first, since that is the order in which they are least.
func (l *Line[W]) Next(now time.Time, perSecond float64, need time.Duration) (w W) {
	takes := float64(l.live) / perSecond
	l.crowded = l.crowded && takes > FreshFor.Seconds()
	if len(l.all) == 0 {
		return w
	}
	first := l.Oldest()
	if now.Sub(l.began(0)) < FreshFor {
		return first
	}
	until := l.Latest().place().Until
	if until.IsZero() || takes < (until.Sub(now)-need).Seconds() {
		return first
	}
	l.crowded = true
	from := now.Add(-FreshFor)
	i := sort.Search(len(l.all), func(k int) bool { return !l.began(k).Before(from) })
	for ; i < len(l.all); i++ {
		if !l.left(i) {
			return l.all[i]
		}
	}
	return first
}
