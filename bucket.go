package steady

import (
	"math"
	"time"

	"golang.org/x/time/rate"
)

// bucket is a token bucket that fills by perSecond up to most, and may be left in
// debt. A nil one is no limit. The mu of its queue guards it.
type bucket struct {
	tokens    *rate.Limiter
	perSecond float64
	most      int
	sure      int // there are at least as many, by the last look, for time only adds to them; -1 if not known
}

func newBucket(perSecond float64, most int) *bucket {
	return &bucket{tokens: rate.NewLimiter(rate.Limit(perSecond), most), perSecond: perSecond, most: most}
}

// wait returns how long until n can be paid for when ahead are paid for before:
// what is heavier than the bucket asks for a full one.
func (b *bucket) wait(ahead, n int, now time.Time) time.Duration {
	if b == nil {
		return 0
	}
	n = min(n, b.most)
	if ahead <= b.sure-n {
		return 0
	}
	const hair = 1e-6 // of a token: float64's rounding, not a wait
	there := b.tokens.TokensAt(now)
	b.sure = max(-1, int(math.Floor(there)))
	short := float64(ahead) + float64(n) - there
	if short <= hair {
		return 0
	}
	return time.Duration(min(math.Round(short/b.perSecond*float64(time.Second)), math.MaxInt64/2))
}

// pay takes n, and leaves a debt where there are fewer.
func (b *bucket) pay(n int, now time.Time) {
	if b == nil {
		return
	}
	if n > b.most { // ReserveN takes no more than the burst
		b.tokens.SetBurstAt(now, n)
		defer b.tokens.SetBurstAt(now, b.most)
	}
	b.sure = max(-1, b.sure-n)
	b.tokens.ReserveN(now, n)
}

// believed is how many times the bucket an answer may put it in debt for what it says
// that it has cost. More of a minute's limit than that is a slip or a lie, and must
// not shut the key for years.
const believed = 4

// add takes n more for what has been paid for, as far as it is believed.
func (b *bucket) add(n int, now time.Time) {
	if b == nil {
		return
	}
	if room := b.tokens.TokensAt(now) + believed*float64(b.most); room > 0 {
		b.pay(min(n, int(room)), now)
	}
}

// credit gives n back. TestUpstreamCredit pins that it does, and that AllowN would
// not where a debt is left.
func (b *bucket) credit(n int, now time.Time) {
	if b != nil {
		b.tokens.ReserveN(now, -n)
	}
}

// full reports whether b is no different from a new one.
func (b *bucket) full(now time.Time) bool {
	return b == nil || b.tokens.TokensAt(now) >= float64(b.most)
}
