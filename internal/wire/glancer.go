package wire

import (
	"bytes"
	"math/bits"
	"sync/atomic"
)

// A Glancer is [Glance] for the answers of one provider, which are all but equal:
// the same keys in the same order, around other text and other numbers. It keeps
// the form of one good answer, without what was said in it. An answer of the same
// form is as good, and costs a few comparisons instead of a reading.
//
// Its zero value is ready for use, by several goroutines at once.
type Glancer struct {
	form   atomic.Pointer[form]
	misses atomic.Uint32 // since the form was learned
}

// learnAfter is after how many answers of other forms one of them is learned, so
// that answers of many forms are not learned one after the other.
const learnAfter = 16

// Glance reports what [Glance] reports of p.
func (g *Glancer) Glance(p []byte) (Usage, bool) {
	if f := g.form.Load(); f != nil {
		var c counts
		if f.match(p, &c) {
			return c.usage(), true
		}
		if g.misses.Add(1)%learnAfter != 0 {
			return Glance(p)
		}
	}
	return g.learn(p)
}

// learn is [Glance], and keeps the form of p if that is good. Like that it stays out of
// the frame of its caller: with the kilobytes of a reading in it every new goroutine
// would grow its stack once more, for a match that does not need them.
//
//go:noinline
func (g *Glancer) learn(p []byte) (Usage, bool) {
	gl := glance{b: p, form: &form{}}
	u, ok := gl.judge()
	if ok && gl.form.finish(p) {
		g.form.Store(gl.form)
	}
	return u, ok
}

// A form is a good answer with gaps where others may differ from it: the insides
// of strings and numbers that decide nothing, and counts of tokens, which are read.
// What equals it outside the gaps is therefore the same document but for those
// values, and as good. It is not changed once it is finished.
type form struct {
	gaps []gap
	tail []byte // behind the last gap
	from int    // where in the answer that is learned the next text begins
	size int    // of all the text
	wide bool   // it has too many gaps, or too much text
}

type gap struct {
	before []byte // the text between the gap before it and this one
	kind   holeKind
	slot   slot // of a count
}

const (
	maxGaps = 64
	maxForm = 4 << 10
)

// gap notes that what is between from and to in p may differ. f may be nil.
func (f *form) gap(p []byte, from, to int, kind holeKind, s slot) {
	if f == nil || f.wide {
		return
	}
	f.gaps = append(f.gaps, gap{bytes.Clone(p[f.from:from]), kind, s})
	f.size += from - f.from
	f.from = to
	f.wide = f.size > maxForm || len(f.gaps) > maxGaps
}

// finish takes the end of p, and reports whether f may be used.
func (f *form) finish(p []byte) bool {
	if f.wide || len(p)-f.from > maxForm {
		return false
	}
	f.tail = bytes.Clone(p[f.from:])
	return true
}

// match reports whether p has the form. It adds to c the counts that p has.
func (f *form) match(p []byte, c *counts) bool {
	for i := range f.gaps {
		g := &f.gaps[i]
		if !bytes.HasPrefix(p, g.before) {
			return false
		}
		p = p[len(g.before):]
		n := 0
		if g.kind == holeAny {
			n = inside(p)
		} else if n = fillNumber(p); n > keepScalar {
			return false
		}
		if n < 0 {
			return false
		}
		if g.kind == holeCount {
			c.set(g.slot, p[:n])
		}
		p = p[n:]
	}
	return bytes.Equal(p, f.tail)
}

// inside returns how much of the beginning of b is inside of a string that a quote
// ends, or -1.
func inside(b []byte) int {
	if len(b) >= 8 { // most are short, and need no call
		if found := special(b); found != 0 {
			if n := bits.TrailingZeros64(found) >> 3; b[n] == '"' {
				return n
			}
		}
	}
	n := bytes.IndexByte(b, '"')
	if n <= 0 || bytes.IndexByte(b[:n], '\\') < 0 {
		return n
	}
	for n = 0; n < len(b); {
		run, c := plainRun(b[n:])
		switch n += run; c {
		case '"':
			return n
		case '\\':
			e := escapeLen(b[n:])
			if e == 0 {
				return -1
			}
			n += e
		}
	}
	return -1
}
