package wire

import (
	"bytes"
	"math/bits"
)

// match reports whether doc differs from the template in its holes only.
func (t *template) match(doc []byte) bool {
	if !t.known() || !bytes.HasPrefix(doc, t.data[:t.holes[0].from]) {
		return false
	}
	at := t.fill(doc, t.holes[0].from)
	return at >= 0 && string(doc[at:]) == string(t.data[t.holes[t.n-1].to:t.doc])
}

// matchEvents takes the events that p[i:] begins with as long as they differ from
// the template and its frame in the holes only, and returns where the first begins
// that does not. The last rest bytes of each come behind its end.
func (d *Decoder) matchEvents(p []byte, i, rest int) int {
	t := d.template
	if !t.known() || !t.framed {
		return i
	}
	between, last, first := t.seam()
	if !bytes.HasPrefix(p[i:], first) {
		return i
	}
	n, end := 0, 0
	for at := i + len(first); ; at += len(between) {
		if n > 0 && t.n == 1 && t.holes[0].kind == holeContent {
			more, size := repeats(p[at:], between)
			n, at = n+more, at+size
			i = at - len(first)
		}
		if at = t.fill(p, at); at < 0 {
			break
		}
		more := bytes.HasPrefix(p[at:], between)
		if !more && !bytes.HasPrefix(p[at:], last) {
			break
		}
		if i = at + len(last); n == 0 {
			end = i - rest
		}
		n++
		if t.counted {
			d.totals.counts.merge(&t.counts)
		}
		if !more {
			break
		}
	}
	d.matched(n, end)
	return i
}

// repeats returns how often b goes on with the inside of a string that is not
// empty and has nothing unusual in it, and then between, which begins with a
// quote; and how much of b that is. It is the loop in which most of the time goes.
func repeats(b, between []byte) (n, size int) {
	for end := 0; len(b)-end >= 8; {
		found := special(b[end:])
		if found == 0 {
			end += 8
			continue
		}
		end += bits.TrailingZeros64(found) >> 3
		if end == size || !bytes.HasPrefix(b[end:], between) {
			break
		}
		end += len(between)
		n, size = n+1, end
	}
	return n, size
}

// fill returns where the last hole ends if the first begins at b[at], or -1 if
// they, or what is between them, do not fit.
func (t *template) fill(b []byte, at int) int {
	if t.counted {
		t.counts.clear()
	}
	for i := 0; ; i++ {
		h := &t.holes[i]
		n := 0
		if h.kind >= holeNumber {
			n = fillNumber(b[at:])
		} else {
			n = ordinary(b[at:])
			if at+n < len(b) && b[at+n] != '"' {
				n = fillString(b[at:], n)
			}
			if n == 0 && h.kind == holeContent {
				return -1
			}
		}
		if n < 0 {
			return -1
		}
		if h.kind == holeCount {
			t.counts.set(h.slot, b[at:at+min(n, keepScalar)])
		}
		if at += n; i == t.n-1 {
			return at
		}
		if !bytes.HasPrefix(b[at:], t.after[i]) {
			return -1
		}
		at += len(t.after[i])
	}
}

// fillNumber returns how much of the beginning of b is a number, or -1.
func fillNumber(b []byte) int {
	n := 0
	for n < len(b) && b[n]-'0' < 10 {
		n++ // most have nothing else
	}
	for n < len(b) && isNumberByte(b[n]) {
		n++
	}
	if n == 0 || b[0] != '-' && (b[0] < '0' || b[0] > '9') {
		return -1
	}
	return n
}

// fillString returns how much of the beginning of b is inside of a string that
// a quote ends, or -1. The first n bytes are ordinary, and that is all.
func fillString(b []byte, n int) int {
	for n < len(b) && b[n] == '\\' {
		e := escapeLen(b[n:])
		if e == 0 {
			return -1
		}
		n += e
		n += ordinary(b[n:])
	}
	if n == len(b) || b[n] != '"' {
		return -1 // cut, or a control character: perhaps a line end
	}
	return n
}
