package pace

import "time"

// instant is a moment as a pace counts them: in nanoseconds, from long before its owner
// first told it the time, so that what never was is long ago. A [time.Time] takes three
// times the room in the books, which every attempt changes, and a pointer among it.
type instant int64

const longAgo instant = 1 << 62 // 146 years

// at returns now as an instant.
func (p *Pace) at(now time.Time) instant {
	if p.epoch.IsZero() {
		p.epoch = now
	}
	return longAgo + instant(now.Sub(p.epoch))
}

func (t instant) IsZero() bool                { return t == 0 }
func (t instant) After(u instant) bool        { return t > u }
func (t instant) Before(u instant) bool       { return t < u }
func (t instant) Add(d time.Duration) instant { return t + instant(d) }
func (t instant) Sub(u instant) time.Duration { return time.Duration(t - u) }
