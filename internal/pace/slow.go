package pace

import (
	"math"
	"time"
)

// slowness is the hypothesis that too many attempts in flight slow the provider down.
// It looks at the time to the first byte, which unlike the whole answer hardly
// depends on how long the answer is, of blocks of attempts sent one after the other:
// what comes back first is fast by selection. A block that takes much longer than
// the usual one caps the attempts in flight, and the cap then follows the times. If
// far fewer in flight do not help, or so few are left that they cannot be what is slow,
// the provider is just slow, and the cap goes.
type slowness struct {
	// Every answer changes the first two: see Pace for why they come first.
	got  int     // of the attempts of the block, how many were answered,
	peak int     // the most attempts in flight when one of those was sent,
	lost int     // how many were not answered,
	from uint64  // and the first of them: they are from, from+1, ...
	cap  float64 // 0 = none
	full bool    // it held a call back

	usual float64 // median of a block, drifting

	capFrom, medianFrom float64 // those of when the cap began to fall
	offUntil            instant // until then no cap is tried
	rises               int     // blocks in a row after which the cap rose

	block [blockSize]float64 // seconds to the first byte, of those that have one
}

const (
	blockSize = 128
	blockFew  = 32 // where the cap is so low that a whole one would take minutes
)

// size is how many attempts the block has.
func (s *slowness) size() int {
	if s.cap == 0 {
		return blockSize
	}
	return min(blockSize, max(blockFew, int(4*s.cap)))
}

func (s *slowness) max() float64 {
	if s.cap == 0 {
		return math.Inf(1)
	}
	return math.Floor(s.cap)
}

func (s *slowness) in(a *Pass) bool { return a.seq >= s.from && a.seq < s.from+uint64(s.size()) }

// heard takes the time to the first byte of a, or that there was none.
func (s *slowness) heard(now instant, a *Pass, answered bool, next uint64) {
	if !s.in(a) {
		return
	}
	if answered {
		s.block[s.got] = now.Sub(a.at).Seconds()
		s.got++
		s.peak = max(s.peak, int(a.flying))
	} else {
		s.lost++
	}
	size := s.size()
	if s.got+s.lost < size*9/10 {
		return
	}
	if s.lost < size/2 {
		s.judge(now, median(s.block[:s.got]))
	}
	s.from, s.got, s.lost, s.peak, s.full = next, 0, 0, 0, false
}

// judge compares the median of a block with the usual one, and moves the cap.
func (s *slowness) judge(now instant, median float64) {
	switch {
	case s.usual == 0:
		s.usual = median
	case s.cap > 0: // the times are ours, too: the usual one would follow them up
	case median < s.usual:
		s.usual += 0.1 * (median - s.usual)
	default:
		s.usual *= 1.0005
	}
	slower := median / s.usual
	if median-s.usual <= slowLeast {
		slower = min(slower, 1)
	}
	change := math.Pow(slowTarget/slower, slowPower)
	if s.cap > 0 && slower > slowLow && slower < slowHigh {
		return
	}
	rises := s.rises
	s.rises = 0
	switch {
	case now.Before(s.offUntil):
	case s.cap == 0:
		if slower > slowTooMuch && s.peak >= 2*slowFewest { // else it could not fall far enough to show that it is wrong
			s.cap, s.capFrom, s.medianFrom = max(slowFewest, change*float64(s.peak)), float64(s.peak), median
		}
	case change < 1 && float64(s.peak) > 0.7*s.cap:
		fewest := s.cap <= slowFewest
		s.cap = max(slowFewest, s.cap*max(deepest, change))
		if fewest || s.cap < 0.5*s.capFrom && median > 0.9*s.medianFrom { // half as many, and it has not helped
			*s = slowness{usual: median, offUntil: now.Add(slowOff)}
		}
	case change > 1 && s.full:
		s.rises = rises + 1
		s.cap *= min(1+0.05*math.Exp2(float64(min(rises, 3))), change)
		s.capFrom, s.medianFrom = s.cap, median
	}
}

// slowLeast is by how many seconds a block must be slower to say anything about the
// provider: what is less may be how this machine's own processors were shared.
const slowLeast = 0.01

const (
	slowFewest = 4           // attempts in flight that a cap leaves
	slowOff    = time.Minute // without a cap after one that did not help
)

// In terms of the usual time to the first byte.
const (
	slowTarget = 1.07 // what the cap aims at,
	slowLow    = 1.03 // and from here
	slowHigh   = 1.1  // to here it stays as it is
	slowPower  = 0.6  // how much of what is amiss one block sets right

	slowTooMuch = 1.4 // where a cap begins
)
