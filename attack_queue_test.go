package steady

import (
	"testing"
	"time"
)

// x/time/rate's AllowN refuses a credit that leaves the bucket in debt.
func TestACreditCountsInABucketInDebt(t *testing.T) {
	b, now := newBucket(1, 10), time.Now()
	b.pay(100, now)
	b.credit(40, now)
	if got := b.tokens.TokensAt(now); got != -50 {
		t.Errorf("%v tokens, want -50", got)
	}
}

func TestWhatIsAddedLeavesADebtOfSomeBucketsAtMost(t *testing.T) {
	b, now := newBucket(1, 10), time.Now()
	for range 5 {
		b.add(1e12, now)
	}
	if got := b.tokens.TokensAt(now); got != -40 {
		t.Errorf("%v tokens, want -40", got)
	}
	b.pay(20, now)
	b.add(1, now)
	if got := b.tokens.TokensAt(now); got != -60 {
		t.Errorf("%v tokens, want -60", got)
	}
}

// A line whose oldest call stays long keeps nobody who has left behind it.
func TestWhoLeavesTheMiddleOfALineIsForgotten(t *testing.T) {
	var l line
	now := time.Now()
	join := func() *waiter {
		now = now.Add(time.Millisecond)
		w := &waiter{p: &limitPass{c: &call{began: now}, cost: 1}}
		l.add(w)
		return w
	}
	oldest := join()
	for range 10_000 {
		w := join()
		join()
		l.remove(l.latest())
		last := join()
		l.remove(w)
		l.remove(last)
	}
	latest := join()
	for range 10_000 {
		w := &waiter{p: &limitPass{c: &call{began: now.Add(-time.Microsecond)}, cost: 1}}
		l.add(w)
		l.remove(w)
	}
	if got := len(l.all); got > 128 {
		t.Errorf("the line keeps %d waiters for 2 that wait", got)
	}
	if l.live != 2 || l.owed != 2 || l.oldest() != oldest || l.latest() != latest {
		t.Errorf("%d wait, owing %d", l.live, l.owed)
	}
}
