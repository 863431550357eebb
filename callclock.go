package steady

import (
	"sync/atomic"
	"time"
)

// callClock tells when a call begins. It is as right as [time.Now] and costs half as much,
// since it reads the monotonic clock alone and the time of day only once in a while.
// When somebody sets the time of day, it tells the old one for up to dayReadEvery more.
//
// Its zero value is ready for use, by several goroutines at once.
type callClock struct {
	last atomic.Pointer[time.Time] // the latest reading of both, or nil
}

// dayReadEvery is for how long the time of day is told from its latest reading.
const dayReadEvery = 50 * time.Millisecond

func (c *callClock) now() time.Time {
	if last := c.last.Load(); last != nil {
		if since := time.Since(*last); since < dayReadEvery {
			return last.Add(since)
		}
	}
	now := time.Now()
	c.last.Store(&now)
	return now
}
