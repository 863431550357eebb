package pace

// Pool is the adaptive pool that an article on rate limits of LLM providers gives as
// code: it knows of nothing but the share of attempts that were answered with 429,
// and of that the latest ones count most. It is there for who wants exactly that:
// within [Config] it takes the place of what a pace learns by itself.
//
// The prose of the article speaks of workers, its code of a token bucket, as deep as
// the pool is large and refilled as often a second. A pace keeps both: no more in
// flight than Capacity, and no more a second than PerSecond.
type Pool struct {
	capacity  int
	perSecond int
	share     float64 // of attempts that were rejected, moving
}

// The numbers of the article.
const (
	poolStart = 16
	poolMin   = 4
	poolMax   = 64
	poolOld   = 0.7  // weight of the share so far
	poolNew   = 0.3  // weight of the latest attempt
	poolMany  = 0.05 // shrink by poolShrink above this share
	poolFew   = 0.01 // grow by one below this share

	poolShrink = 2
)

// NewPool returns a pool of 16.
func NewPool() *Pool { return &Pool{capacity: poolStart, perSecond: poolStart} }

// Capacity is how many attempts may be in flight, and how many may go out at once.
func (p *Pool) Capacity() int { return p.capacity }

// PerSecond is how many attempts may go out in a second.
func (p *Pool) PerSecond() int { return p.perSecond }

// Feedback takes note of an attempt that was answered, with 429 or not.
func (p *Pool) Feedback(rejected bool) {
	p.share *= poolOld
	if rejected {
		p.share += poolNew
	}
	switch {
	case p.share > poolMany && p.capacity > poolMin:
		p.capacity = max(poolMin, p.capacity-poolShrink)
		p.perSecond = min(p.perSecond, p.capacity)
	case p.share < poolFew && p.capacity < poolMax:
		p.capacity++
		p.perSecond = p.capacity
	}
}

// learned is the rate that was learned, or that the pool says.
func (p *Pace) learned() float64 {
	if p.cfg.Pool != nil {
		return float64(p.cfg.Pool.PerSecond())
	}
	return p.rate.value()
}
