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

// Good reports whether [Glance] finds p good.
func (g *Glancer) Good(p []byte) bool {
	if f := g.form.Load(); f != nil {
		if f.match(p, nil) {
			return true
		}
		if g.misses.Add(1)%learnAfter != 0 {
			_, good := Glance(p)
			return good
		}
	}
	return g.learn(p)
}

// Usage returns what p says of usage, which is good.
func (g *Glancer) Usage(p []byte) Usage {
	var c counts
	if f := g.form.Load(); f != nil && f.match(p, &c) {
		return c.usage()
	}
	u, _ := Glance(p)
	return u
}

// learn is Good, and keeps the form of p if that is good. Like [Glance] it stays out of
// the frame of its caller: with the kilobytes of a reading in it every new goroutine
// would grow its stack once more, for a match that does not need them.
//
//go:noinline
func (g *Glancer) learn(p []byte) bool {
	gl := glance{b: p, form: &form{}}
	_, good := gl.judge()
	if good && gl.form.finish(p) {
		g.form.Store(gl.form)
	}
	return good
}

// A form is a good answer with holes where others may differ from it: the insides
// of strings and numbers that decide nothing, and counts of tokens, which are read.
// What equals it outside the holes is therefore the same document but for those
// values, and as good. It is not changed once it is finished.
type form struct {
	holes []formHole
	tail  []byte // behind the last hole
	from  int    // where in the answer that is learned the next text begins
	size  int    // of all the text
	wide  bool   // it has too many holes, or too much text
}

// formHole is a hole and what comes before it, which is what an answer is held
// against: it may be longer or shorter than the one that was learned.
type formHole struct {
	before []byte // the text between the hole before it and this one
	kind   holeKind
	slot   slot // of a count
}

const (
	maxFormHoles = 64
	maxForm      = 4 << 10
)

// hole notes that what is between from and to in p may differ. f may be nil.
func (f *form) hole(p []byte, from, to int, kind holeKind, s slot) {
	if f == nil || f.wide {
		return
	}
	f.holes = append(f.holes, formHole{bytes.Clone(p[f.from:from]), kind, s})
	f.size += from - f.from
	f.from = to
	f.wide = f.size > maxForm || len(f.holes) > maxFormHoles
}

// finish takes the end of p, and reports whether f may be used.
func (f *form) finish(p []byte) bool {
	if f.wide || len(p)-f.from > maxForm {
		return false
	}
	f.tail = bytes.Clone(p[f.from:])
	return true
}

// match reports whether p has the form. It adds to c, which may be nil, the counts that
// p has.
func (f *form) match(p []byte, c *counts) bool {
	for i := range f.holes {
		h := &f.holes[i]
		if !bytes.HasPrefix(p, h.before) {
			return false
		}
		p = p[len(h.before):]
		n := 0
		if h.kind == holeAny {
			n = inside(p)
		} else if n = fillNumber(p); n > keepScalar {
			return false
		}
		if n < 0 {
			return false
		}
		if h.kind == holeCount && c != nil {
			c.set(h.slot, p[:n])
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
