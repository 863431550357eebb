package steady

import (
	"sync"
	"sync/atomic"
	"time"
)

// budget bounds the re-sends of a key, so that retries cannot multiply the load
// of a provider that is in trouble. Only re-sends pay. The figures are Finagle's: each
// call earns a share of a re-send, and there are some per second besides.
type budget struct {
	ratio     float64 // earned by each call
	perSecond float64

	calls atomic.Int64 // that have not been turned into tokens yet

	mu     sync.Mutex // guards the rest
	tokens float64
	last   time.Time
}

// budgetFor is how long an unused budget is kept, as in Finagle: the most that
// can be saved up is what these many seconds bring, and at least 10.
const budgetFor = 10

func newBudget(ratio, perSecond float64) *budget {
	b := &budget{ratio: ratio, perSecond: perSecond, last: time.Now()}
	b.tokens = b.most()
	return b
}

func (b *budget) most() float64 { return max(10, budgetFor*b.perSecond) }

// earn counts a call.
func (b *budget) earn() { b.calls.Add(1) }

// refund gives back what a re-send has cost that was answered, well or declined, or was
// never sent.
func (b *budget) refund() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fill(b.last)
	b.tokens = min(b.most(), b.tokens+1)
}

// spend pays for a re-send or reports false.
func (b *budget) spend(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fill(now)
	if b.tokens < 1 {
		return false
	}
	b.tokens--
	return true
}

// left returns how many re-sends are in the budget.
func (b *budget) left(now time.Time) float64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fill(now)
	return b.tokens
}

// fill adds what calls and time have brought. b.mu must be held.
func (b *budget) fill(now time.Time) {
	if n := b.calls.Swap(0); n > 0 {
		b.tokens = min(b.most(), b.tokens+float64(n)*b.ratio)
	}
	if d := now.Sub(b.last); d > 0 {
		b.tokens = min(b.most(), b.tokens+d.Seconds()*b.perSecond)
		b.last = now
	}
}
