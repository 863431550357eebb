package pace

// bucket is a token bucket as that of golang.org/x/time/rate, and does the same sums.
// It has no lock, since its pace has none, and its time does not go back: that makes
// it a fifth as dear, and a pace asks it several times for each attempt.
type bucket struct {
	perSecond float64
	burst     float64
	tokens    float64 // at last
	last      instant
}

func newBucket(perSecond float64, burst int) bucket {
	return bucket{perSecond: perSecond, burst: float64(burst), tokens: float64(burst)}
}

// level is how many tokens there are.
func (b *bucket) level(now instant) float64 {
	return min(b.burst, b.tokens+now.Sub(b.last).Seconds()*b.perSecond)
}

// take takes n tokens if they are there. If n is negative it puts some back.
func (b *bucket) take(now instant, n float64) {
	tokens := b.level(now) - n
	if tokens < 0 && -tokens*1e9 >= b.perSecond { // what a nanosecond brings is not missing
		return
	}
	b.tokens, b.last = tokens, now
}

// set changes the speed at which b fills, and its size.
func (b *bucket) set(now instant, perSecond float64, burst int) {
	if size := float64(burst); perSecond != b.perSecond || size != b.burst {
		b.tokens, b.last = b.level(now), now
		b.perSecond, b.burst = perSecond, size
	}
}
