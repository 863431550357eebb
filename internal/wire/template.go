package wire

import (
	"bytes"
	"math/bits"
	"slices"
)

// The events of a stream are all but equal: a long envelope around a few
// letters of content. A template is the last event that was content and
// nothing else, with holes where its neighbours differ. What equals it outside
// the holes, and has strings and numbers in them, is such an event too, and
// costs a few comparisons instead of a scan.
//
// That is exact, not a guess: a hole is the inside of a string or a number
// whose value decides nothing, or a count of tokens, which is read. So the
// other is the same JSON document but for those values.
//
// A template also knows the frame that such an event came in, which is all that
// lies between one event and the next. A reader that stands between two events
// makes the same of the same bytes, so events that are in memory as a whole,
// frame and all, need not be cut into lines.
type template struct {
	data    []byte // the document; behind it, with a frame, tail, head, and the document up to its first hole
	doc     int    // the size of the document
	head    [maxHead]byte
	headLen int
	tail    string
	framed  bool // head and tail are known
	holes   [maxHoles]hole
	after   [maxHoles][]byte // the document between a hole and the next; not of the last
	n       int              // how many holes; zero is no template
	counted bool
	counts  counts // of the last match

	volatile [maxHoles]span // of the document, for the next to be held against
	values   int            // how many of them
	differs  uint16         // bit i: volatile[i] has been seen to change
}

// A hole is what lies between two offsets of a document.
type hole struct {
	span
	kind holeKind
	slot slot // of a count
}

type span struct{ from, to int }

type holeKind uint8

const (
	holeContent holeKind = iota // a string that is not empty
	holeAny                     // a string
	holeNumber
	holeCount // a number of tokens
)

const (
	maxHoles    = 10
	maxTemplate = 4 << 10 // longer events are not ordinary
	maxHead     = 96      // the name of an event and of a field
)

// hole notes that the scalar between from and to may differ.
func (e *event) hole(from, to int, kind holeKind, s slot) {
	if e.numHoles < maxHoles {
		e.holes[e.numHoles] = hole{span: span{from, to}, kind: kind, slot: s}
	}
	e.numHoles++
}

// exemplary reports whether doc, which e was read from, may be a template.
func (e *event) exemplary(doc []byte) bool {
	return len(doc) <= maxTemplate && 0 < e.numHoles && e.numHoles <= maxHoles && e.pure()
}

// known reports whether t is a template.
func (t *template) known() bool { return t != nil && t.n > 0 }

// learn makes doc, which e was read from and which is exemplary, the template.
func (t *template) learn(doc []byte, e *event) {
	t.n = 0
	values := 0
	t.counted = false
	for _, h := range e.holes[:e.numHoles] {
		if h.kind == holeAny || h.kind == holeNumber {
			values++
			if !t.changes(values-1, doc, h.span) {
				continue
			}
		}
		t.counted = t.counted || h.kind == holeCount
		t.holes[t.n] = h
		t.n++
	}
	t.values, t.doc = values, len(doc)
	t.data = append(slices.Grow(t.data[:0], 2*len(doc)+maxHead+len("\r\n\r\n")), doc...)
	t.lay()
}

// changes reports whether the value in s, the i-th of doc that decides nothing,
// is one that changes. One that never has, like the time at which the stream
// began, is no hole: it is cheaper to compare.
func (t *template) changes(i int, doc []byte, s span) bool {
	if last := t.volatile[i]; i < t.values && !bytes.Equal(doc[s.from:s.to], t.data[last.from:last.to]) {
		t.differs |= 1 << i
	}
	t.volatile[i] = s
	return t.differs>>i&1 != 0
}

// frame notes that doc came in event, which is all there is of one. Anything
// unusual around it is no frame.
func (t *template) frame(event, doc []byte) {
	if !t.known() {
		return
	}
	at := bytes.Index(event[:min(len(event), maxHead+len(doc))], doc)
	if at < 0 {
		return
	}
	switch string(event[at+len(doc):]) {
	case "\n\n":
		t.setFrame(event[:at], "\n\n")
	case "\r\n\r\n":
		t.setFrame(event[:at], "\r\n\r\n")
	}
}

func (t *template) setFrame(head []byte, tail string) {
	if !t.known() || t.framed && t.tail == tail && bytes.Equal(t.head[:t.headLen], head) {
		return
	}
	t.headLen, t.tail, t.framed = copy(t.head[:], head), tail, true
	t.lay()
}

// lay puts behind the document what comes between the last hole of one event and
// the first of the next, so that a single comparison takes it all.
func (t *template) lay() {
	t.data = t.data[:t.doc]
	if t.framed {
		t.data = append(append(append(t.data, t.tail...), t.head[:t.headLen]...), t.data[:t.holes[0].from]...)
	}
	for i := range t.n - 1 {
		t.after[i] = t.data[t.holes[i].to:t.holes[i+1].from]
	}
}

// match reports whether doc differs from the template in its holes only.
func (t *template) match(doc []byte) bool {
	if !t.known() || !startsWith(doc, t.data[:t.holes[0].from]) {
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
	between := t.data[t.holes[t.n-1].to:]
	border := len(between) - t.headLen - t.holes[0].from
	last, first := between[:border], between[border:]
	if !startsWith(p[i:], first) {
		return i
	}
	n, end := 0, 0
	single := t.n == 1 && t.holes[0].kind == holeContent
	for at := i + len(first); ; at += len(between) {
		if n > 0 && single {
			more, size := repeats(p[at:], between)
			n, at = n+more, at+size
			i = at - len(first)
		}
		if at = t.fill(p, at); at < 0 {
			break
		}
		more := startsWith(p[at:], between)
		if !more && !startsWith(p[at:], last) {
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
	if n > 0 {
		d.matched(n, end)
	}
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
		if end == size || !startsWith(b[end:], between) {
			break
		}
		end += len(between)
		n, size = n+1, end
	}
	return n, size
}

func startsWith(b, prefix []byte) bool {
	return len(b) >= len(prefix) && string(b[:len(prefix)]) == string(prefix)
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
		if !startsWith(b[at:], t.after[i]) {
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

// escapeLen returns the length of the escape that b begins with, zero if it
// is none.
func escapeLen(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if len(b) >= 6 && isHex(b[2]) && isHex(b[3]) && isHex(b[4]) && isHex(b[5]) {
			return 6
		}
	}
	return 0
}
