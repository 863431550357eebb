package steady

import (
	"sync/atomic"
	"time"
)

// period is the time from one change of a breaker's state to the next. A result of
// an earlier period is void.
//
// It counts the successes of a closed one, which is what nearly all results are,
// without a lock and without gobreaker: gobreaker asks for its verdict only when
// there is a failure, and trips adds them then. They stand in buckets like those in
// which gobreaker counts the failures, so that both leave the window together.
type period struct {
	b       *breaker
	began   time.Time
	bucket  time.Duration // length of one
	failing atomic.Bool   // a success would end a run of failures. Written with b.mu held

	// Of each bucket the upper half is its age, in buckets since the beginning, and
	// the lower half what it counts, so that one that is too old is emptied by the
	// first success that needs its place.
	buckets [windowBuckets]atomic.Uint64

	failures [windowBuckets]tally // guarded by b.mu
}

// tally counts the failures of one bucket.
type tally struct {
	age uint64
	n   int
}

// windowBuckets is into how many parts the window of a breaker is divided.
const windowBuckets = 10

func (p *period) age(now time.Time) uint64 { return uint64(max(0, now.Sub(p.began)) / p.bucket) }

// passed counts a success.
func (p *period) passed(now time.Time) {
	age := p.age(now)
	at := &p.buckets[age%windowBuckets]
	for {
		old := at.Load()
		next := old + 1
		switch then := old >> 32; {
		case then > age: // another one was faster, by a whole window
			return
		case then < age:
			next = age<<32 | 1
		}
		if at.CompareAndSwap(old, next) {
			return
		}
	}
}

// successes returns how many are in the window.
func (p *period) successes() (n uint64) {
	age := p.age(time.Now())
	for i := range p.buckets {
		if b := p.buckets[i].Load(); b>>32+windowBuckets > age {
			n += b & (1<<32 - 1)
		}
	}
	return n
}

// failed counts a failure. b.mu must be held.
func (p *period) failed(now time.Time) {
	age := p.age(now)
	at := &p.failures[age%windowBuckets]
	if at.age != age {
		*at = tally{age: age}
	}
	at.n++
}

// lately returns how many have passed and failed in this bucket and the one
// before. b.mu must be held.
func (p *period) lately(now time.Time) (passed, failed int) {
	age := p.age(now)
	for i := range p.buckets {
		if b := p.buckets[i].Load(); b>>32+2 > age {
			passed += int(b & (1<<32 - 1))
		}
		if f := p.failures[i]; f.age+2 > age {
			failed += f.n
		}
	}
	return passed, failed
}
