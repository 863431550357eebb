package steady

import (
	"net/http"
	"time"

	"github.com/steadyhttp/steady/internal/wire"
)

// RetryAfter is what the headers of a 429 name as a wait, before it is stretched.
func RetryAfter(h http.Header, now time.Time) (time.Duration, bool) {
	wait, _, ok := wire.HeaderWait(http.StatusTooManyRequests, h, now)
	return wait, ok
}

// Waits returns the backoff after each of the first n attempts of a call under
// opts, or why opts are refused.
func Waits(n int, opts ...RetryOption) ([]time.Duration, error) {
	c := defaultRetryConfig()
	c.apply(opts)
	if err := c.validate(); err != nil {
		return nil, err
	}
	waits := make([]time.Duration, n)
	for i := range waits {
		waits[i] = c.backoff.next(i+1, c.backoff.first, waits[max(i-1, 0)])
	}
	return waits, nil
}

// Line is who waits in a queue, without the queue.
type Line struct {
	line  line
	names map[*waiter]int
}

// Add puts a call in line.
func (l *Line) Add(name int, began, until time.Time, cost, tokens int) {
	if l.names == nil {
		l.names = map[*waiter]int{}
	}
	w := &waiter{p: &limitPass{c: &call{began: began}, cost: cost, charge: &charge{reserved: tokens}}, until: until}
	l.names[w] = name
	l.line.add(w)
}

// Remove takes the call of that name out of line.
func (l *Line) Remove(name int) {
	for w, n := range l.names {
		if n == name {
			delete(l.names, w)
			l.line.remove(w)
		}
	}
}

// Next returns whose turn it is, or -1.
func (l *Line) Next(now time.Time, perSecond float64, need time.Duration) int {
	if w := l.line.next(now, perSecond, need); w != nil {
		return l.names[w]
	}
	return -1
}

// Ends returns who began first and who began last, or -1.
func (l *Line) Ends() (oldest, latest int) {
	if len(l.names) == 0 {
		return -1, -1
	}
	return l.names[l.line.oldest()], l.names[l.line.latest()]
}

// Owed returns how many wait, what they cost, and how many the line still keeps.
func (l *Line) Owed() (live, cost, tokens, kept int) {
	return l.line.live, l.line.owed, l.line.owedTokens, len(l.line.all)
}
