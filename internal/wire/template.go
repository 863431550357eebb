package wire

import (
	"bytes"
	"math/bits"
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
	data    []byte // room for a head, the document, the tail
	head    int    // where the head begins, which ends at maxHead
	tail    string
	framed  bool // head and tail are known
	holes   [maxHoles]hole
	n       int // how many holes; zero is no template
	counted bool
	counts  counts // of the last match

	volatile [maxHoles]span // of the document, for the next to be held against
	values   int            // how many of them
	differs  uint16         // bit i: volatile[i] has been seen to change
}

// A hole is what lies between two offsets of a document.
type hole struct {
	span
	kind  holeKind
	slot  slot   // of a count
	after []byte // the template from here to the next hole
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

// learn makes doc, which e was read from, the template.
func (t *template) learn(doc []byte, e *event) {
	t.n = 0
	if len(doc) > maxTemplate || e.numHoles > maxHoles || e.numHoles == 0 || !e.pure() {
		return
	}
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
	t.values = values
	if t.data == nil {
		t.data = make([]byte, maxHead, maxHead+len(doc)+len("\r\n\r\n"))
	}
	t.data = append(t.data[:maxHead], doc...)
	for i := range t.n - 1 {
		t.holes[i].after = t.data[maxHead+t.holes[i].to : maxHead+t.holes[i+1].from]
	}
	t.data = append(t.data, t.tail...)
}

// changes reports whether the value in s, the i-th of doc that decides nothing,
// is one that changes. One that never has, like the time at which the stream
// began, is no hole: it is cheaper to compare.
func (t *template) changes(i int, doc []byte, s span) bool {
	if last := t.volatile[i]; i < t.values && !bytes.Equal(doc[s.from:s.to], t.data[maxHead+last.from:maxHead+last.to]) {
		t.differs |= 1 << i
	}
	t.volatile[i] = s
	return t.differs>>i&1 != 0
}

// frame notes that doc came in event, which is all there is of one. Anything
// unusual around it is no frame.
func (t *template) frame(event, doc []byte) {
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
	if t.n == 0 {
		return
	}
	t.head = maxHead - len(head)
	copy(t.data[t.head:], head)
	if !t.framed || t.tail != tail {
		t.data = append(t.data[:len(t.data)-len(t.tail)], tail...)
	}
	t.tail, t.framed = tail, true
}

// match reports whether doc differs from the template in its holes only.
func (t *template) match(doc []byte) bool {
	if t.n == 0 {
		return false
	}
	end := len(t.data) - len(t.tail)
	return t.fit(doc, t.data[maxHead:maxHead+t.holes[0].from], t.data[maxHead+t.holes[t.n-1].to:end]) == len(doc)
}

// around returns what of the template comes before the first hole and behind the
// last, with its frame.
func (t *template) around() (first, last []byte) {
	return t.data[t.head : maxHead+t.holes[0].from], t.data[maxHead+t.holes[t.n-1].to:]
}

// fit returns how much of b the template takes up, between first and last, or
// -1 if it does not fit.
func (t *template) fit(b, first, last []byte) int {
	if t.counted {
		t.counts.clear()
	}
	at, literal := 0, first
	for i := range t.holes[:t.n] {
		h := &t.holes[i]
		end := at + len(literal)
		if end > len(b) || string(b[at:end]) != string(literal) {
			return -1
		}
		at, literal = end, h.after
		if h.kind <= holeAny && len(b)-at >= 8 {
			// Most strings end within eight bytes, with nothing unusual in them.
			n := bits.TrailingZeros64(special(b[at:])) / 8
			if n < 8 && b[at+n] == '"' && (n > 0 || h.kind == holeAny) {
				at += n
				continue
			}
		}
		n := fill(b[at:], h.kind)
		if n < 0 {
			return -1
		}
		if h.kind == holeCount {
			t.counts.set(h.slot, b[at:at+n])
		}
		at += n
	}
	if end := at + len(last); end <= len(b) && string(b[at:end]) == string(last) {
		return end
	}
	return -1
}

// fill returns how much of the beginning of b fits into a hole of a kind, or
// -1.
func fill(b []byte, kind holeKind) int {
	n := 0
	if kind >= holeNumber {
		for n < len(b) && isNumberByte(b[n]) {
			n++
		}
		if n == 0 || b[0] != '-' && (b[0] < '0' || b[0] > '9') {
			return -1
		}
		return n
	}
	for {
		n += ordinary(b[n:])
		if n == len(b) {
			return -1
		}
		switch b[n] {
		case '"':
			if n == 0 && kind == holeContent {
				return -1
			}
			return n
		case '\\':
			e := escapeLen(b[n:])
			if e == 0 {
				return -1
			}
			n += e
		default:
			return -1 // a control character: perhaps a line end
		}
	}
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
