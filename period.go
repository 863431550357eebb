package steady

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/steadyhttp/steady/internal/pace"
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

	successes, failures bucketed

	// With b.mu held: the bucket of the first failure for a while and how many had passed
	// in it before, and what counted before the breaker opened, if that was for no outage.
	first        uint64
	passedBefore int
	carried      results

	// Attempts are numbered once one has failed. Of those after from, which were sent since
	// the first failure for a while, so many are over.
	numbered         atomic.Bool
	sent, from, over atomic.Uint32
	presumed         int // to pass; b.mu guards it
}

// results are how many attempts have passed, and how many have failed.
type results struct{ passed, failed int }

// windowBuckets is into how many parts the window of a breaker is divided.
const windowBuckets = 10

// bucket is the length of a part of the window.
func (c *breakerConfig) bucket() time.Duration {
	return min(c.window, math.MaxInt64/2) / windowBuckets // gobreaker adds to it, which must not overflow
}

func (p *period) age(now time.Time) uint64 { return uint64(max(0, now.Sub(p.began)) / p.bucket) }

// passed counts a success.
func (p *period) passed(now time.Time) { p.successes.add(p.age(now)) }

// failed counts a failure. b.mu must be held.
func (p *period) failed(now time.Time) {
	age := p.age(now)
	if p.failures.last(chanceBuckets, age) == 0 {
		p.first, p.passedBefore = age, p.successes.last(1, age)
		p.over.Store(0)
		p.from.Store(p.sent.Load())
		p.numbered.Store(true)
	}
	p.failures.add(age)
}

// next returns the number of an attempt that is sent, or 0 while none has failed.
func (p *period) next() uint32 {
	if !p.numbered.Load() {
		return 0
	}
	return p.sent.Add(1)
}

// ended takes note that the nth is over.
func (p *period) ended(nth uint32) {
	if nth > p.from.Load() {
		p.over.Add(1)
	}
}

// presume counts the attempts that have been out for longer than the nth, which has failed,
// of those sent since the first failure for a while. They pass, presumably: failures are told
// sooner than answers, and so nearly all seem to fail at first. b.mu must be held.
func (p *period) presume(nth uint32) {
	p.presumed = 0
	if from := p.from.Load(); nth > from {
		p.presumed = max(0, int(nth-from)-int(p.over.Load()))
	}
}

// chanceBuckets are this bucket and the one before.
const chanceBuckets = 2

// recent are the results of the last buckets. b.mu must be held.
func (p *period) recent() results { return p.last(chanceBuckets, p.age(time.Now())) }

// troubled are those since the first failure in them, with which what is chance may have
// begun. b.mu must be held.
func (p *period) troubled() results {
	age := p.age(time.Now())
	r := p.last(min(chanceBuckets, age-p.first+1), age)
	if age < p.first+chanceBuckets {
		r.passed -= p.passedBefore
	}
	return r
}

// last are the results of the last buckets, that of the given age included, of which the
// successes are those of the last n, and what was carried over.
func (p *period) last(n, age uint64) results {
	r := results{p.successes.last(n, age), p.failures.last(chanceBuckets, age)}
	if age < chanceBuckets {
		r.passed += p.carried.passed
		r.failed += p.carried.failed
	}
	return r
}

// byChance reports whether so long a run of failures can be chance at the share that
// failed of late. It is 5 in a row if no other failed, 9 after a fifth of 60 and 11 after
// a quarter. b.mu must be held.
func (p *period) byChance(run int) bool {
	r := p.recent()
	return pace.ByChance(run, r.failed, r.passed+r.failed)
}

// bucketed counts by buckets, without a lock. Of each the upper half is its age, in
// buckets since the beginning, and the lower half what it counts, so that one that is
// too old is emptied by the first result that needs its place.
type bucketed [windowBuckets]atomic.Uint64

// add counts one of that age.
func (b *bucketed) add(age uint64) {
	at := &b[age%windowBuckets]
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

// last returns how many there are in the last n buckets, that of the given age included.
func (b *bucketed) last(n, age uint64) (count int) {
	for i := range b {
		if at := b[i].Load(); at>>32+n > age {
			count += int(at & (1<<32 - 1))
		}
	}
	return count
}
