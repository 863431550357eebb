package wire

import (
	"bytes"
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

// seam returns what comes between the last hole of one event and the first of the
// next, and the part of it that is each one's own.
func (t *template) seam() (between, last, first []byte) {
	between = t.data[t.holes[t.n-1].to:]
	border := len(between) - t.headLen - t.holes[0].from
	return between, between[:border], between[border:]
}
