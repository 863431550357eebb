package wire

import "bytes"

// The events of a stream are all but equal: a long envelope around a few
// letters of content. A template is the last event that was content and
// nothing else, with holes where its neighbours differ. A line that equals it
// outside the holes, and has strings and numbers in them, is such an event
// too, and costs a few comparisons instead of a scan.
//
// That is exact, not a guess: a hole is the inside of a string or a number
// whose value decides nothing, or a count of tokens, which is read. So the
// line is the same JSON document but for those values.
type template struct {
	data    []byte
	holes   [maxHoles]hole
	n       int // how many holes; zero is no template
	counted bool
	counts  counts // of the last match
}

// A hole is what lies between two offsets of a document.
type hole struct {
	from, to int
	kind     holeKind
	slot     slot // of a count
}

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
)

// hole notes that the scalar between from and to may differ.
func (e *event) hole(from, to int, kind holeKind, s slot) {
	if e.numHoles < maxHoles {
		e.holes[e.numHoles] = hole{from, to, kind, s}
	}
	e.numHoles++
}

// learn makes data, which e was read from, the template.
func (t *template) learn(data []byte, e *event) {
	t.n = 0
	if len(data) > maxTemplate || e.numHoles > maxHoles || e.numHoles == 0 || !e.pure() {
		return
	}
	t.data = append(t.data[:0], data...)
	t.holes, t.n = e.holes, e.numHoles
	t.counted = e.counts.seen != 0 || e.counts.cost != 0
}

// match reports whether data differs from the template in its holes only.
func (t *template) match(data []byte) bool {
	if t.n == 0 {
		return false
	}
	if t.counted {
		t.counts = counts{}
	}
	from := 0
	for i := range t.n {
		h := &t.holes[i]
		literal := t.data[from:h.from]
		if len(data) < len(literal) || !bytes.Equal(data[:len(literal)], literal) {
			return false
		}
		data = data[len(literal):]
		n := fill(data, h.kind)
		if n < 0 {
			return false
		}
		if h.kind == holeCount {
			t.counts.set(h.slot, data[:n])
		}
		data = data[n:]
		from = h.to
	}
	return bytes.Equal(data, t.data[from:])
}

// fill returns how much of the beginning of data fits into a hole of a kind,
// or -1.
func fill(data []byte, kind holeKind) int {
	n := 0
	if kind >= holeNumber {
		for n < len(data) && isNumberByte(data[n]) {
			n++
		}
		if n == 0 || data[0] != '-' && (data[0] < '0' || data[0] > '9') {
			return -1
		}
		return n
	}
	for n < len(data) {
		run, c := plainRun(data[n:])
		n += run
		switch c {
		case '"':
			if n == 0 && kind == holeContent {
				return -1
			}
			return n
		case '\\':
			e := escapeLen(data[n:])
			if e == 0 {
				return -1
			}
			n += e
		}
	}
	return -1
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
