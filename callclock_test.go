package steady

import (
	"testing"
	"testing/synctest"
	"time"
)

// It tells what time.Now tells, also in a bubble of synctest, after it, and when it has not
// been asked for long.
func TestACallClockTellsTheTime(t *testing.T) {
	var c callClock
	right := func(t *testing.T) {
		t.Helper()
		before, got, after := time.Now(), c.now(), time.Now()
		if got.Before(before) || got.After(after) {
			t.Errorf("it is %v, want from %v to %v", got, before, after)
		}
		if got := got.Round(0); got.Before(before.Round(0)) || got.After(after.Round(0)) {
			t.Errorf("the time of day is %v, want from %v to %v", got, before, after)
		}
	}
	right(t)
	synctest.Test(t, func(t *testing.T) {
		for _, pause := range []time.Duration{0, time.Nanosecond, dayReadEvery - 1, time.Nanosecond, time.Hour} {
			time.Sleep(pause)
			right(t)
		}
	})
	right(t)
}

func TestACallClockThatIsAskedOftenReadsTheDaySeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c callClock
		c.now()
		first := c.last.Load()
		time.Sleep(dayReadEvery - 1)
		if c.now(); c.last.Load() != first {
			t.Errorf("the time of day was read again within %v", dayReadEvery)
		}
		time.Sleep(time.Nanosecond)
		if c.now(); c.last.Load() == first {
			t.Errorf("the time of day was not read again after %v", dayReadEvery)
		}
	})
}
