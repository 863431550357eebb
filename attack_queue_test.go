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
