package wire

// A scanner reads one JSON document as it passes by, in pieces of any size.
// It builds nothing: every value has a [slot] that says what it is for, and
// the few that matter are noted in ev. Memory is the nesting depth plus the
// longest scalar that a slot keeps, whatever the size of the document.
//
// It is strict about structure and about escapes, and lenient about what no
// verdict depends on: control characters in strings and the inside of numbers.
type scanner struct {
	state   scanState
	slot    slot   // what the value being read is for
	esc     uint8  // inside an escape: afterBackslash, then the hex digits to come
	escaped bool   // the string being read has escapes
	lit     string // what must still come of true, false or null
	litKind byte   // its first letter
	keep    int    // how many bytes of the scalar being read are kept in val
	n       int    // how many bytes the scalar being read has so far
	pos     int    // bytes of the document before this call of feed
	start   int    // where in the document the scalar being read begins
	stack   []byte // the slots of the open containers, arrays with inArray set
	val     []byte
	ev      *event
}

type scanState uint8

const (
	wantValue scanState = iota
	wantValueOrEnd
	wantKeyOrEnd
	wantKey
	wantColon
	wantComma
	inString
	inKey
	inNumber
	inLiteral
	docDone
	docBad
)

const (
	inArray = 0x80
	deepest = 10_000 // as encoding/json
	maxKey  = 48     // longer keys are nobody's

	afterBackslash = 5
)

func (s *scanner) reset() {
	s.state, s.slot, s.esc, s.pos = wantValue, slotRoot, 0, 0
	s.stack = s.stack[:0]
}

// idle reports whether no byte of a document has been seen.
func (s *scanner) idle() bool { return s.state == wantValue && len(s.stack) == 0 }

// feed reads b up to the end of the document and returns how much it read.
func (s *scanner) feed(b []byte) int {
	i := 0
	for i < len(b) && s.state < docDone {
		switch s.state {
		case inString, inKey:
			i += s.readString(b[i:])
			if s.state == wantComma {
				s.endString(s.pos + i - 1)
			}
		case inNumber:
			i += s.readNumber(b[i:], i)
		case inLiteral:
			i += s.readLiteral(b[i:])
		default:
			c := b[i]
			i++
			if c != ' ' && c != '\n' && c != '\r' && c != '\t' {
				s.step(c, s.pos+i)
			}
		}
	}
	s.pos += i
	return i
}

// finish says that no more comes and reports whether the document is whole.
func (s *scanner) finish() bool {
	if s.state == inNumber && len(s.stack) == 0 {
		s.endNumber(s.pos)
	}
	return s.state == docDone
}

// step takes one byte of structure. next is the place after it.
func (s *scanner) step(c byte, next int) {
	switch s.state {
	case wantValueOrEnd:
		if c == ']' {
			s.pop(c)
			return
		}
		s.value(c, next)
	case wantValue:
		s.value(c, next)
	case wantKeyOrEnd, wantKey:
		switch {
		case c == '"':
			s.begin(inKey, maxKey, next)
		case c == '}' && s.state == wantKeyOrEnd:
			s.pop(c)
		default:
			s.state = docBad
		}
	case wantColon:
		s.state = wantValue
		if c != ':' {
			s.state = docBad
		}
	case wantComma:
		s.comma(c)
	}
}

func (s *scanner) comma(c byte) {
	switch top := s.stack[len(s.stack)-1]; {
	case c != ',':
		s.pop(c)
	case top&inArray != 0:
		s.slot, s.state = element(slot(top&^inArray)), wantValue
	default:
		s.state = wantKey
	}
}

func (s *scanner) value(c byte, next int) {
	switch {
	case c == '"':
		s.begin(inString, s.ev.limit(s.slot), next)
	case c == '{':
		s.push(0, wantKeyOrEnd)
	case c == '[':
		s.push(inArray, wantValueOrEnd)
	case c == '-' || '0' <= c && c <= '9':
		s.begin(inNumber, s.ev.limit(s.slot), next-1)
		if s.keep > 0 {
			s.val = append(s.val, c)
		}
	case c == 't':
		s.state, s.litKind, s.lit = inLiteral, c, "rue"
	case c == 'f':
		s.state, s.litKind, s.lit = inLiteral, c, "alse"
	case c == 'n':
		s.state, s.litKind, s.lit = inLiteral, c, "ull"
	default:
		s.state = docBad
	}
}

func (s *scanner) begin(state scanState, keep, start int) {
	s.state, s.keep, s.start = state, keep, start
	s.n, s.escaped, s.val = 0, false, s.val[:0]
}

func (s *scanner) push(kind byte, state scanState) {
	if len(s.stack) == deepest {
		s.state = docBad
		return
	}
	s.ev.open(s.slot, kind != 0)
	s.stack = append(s.stack, byte(s.slot)|kind)
	s.state = state
	if kind != 0 {
		s.slot = element(s.slot)
	}
}

func (s *scanner) pop(c byte) {
	top := s.stack[len(s.stack)-1]
	if c != '}' && c != ']' || (c == ']') != (top&inArray != 0) {
		s.state = docBad
		return
	}
	s.stack = s.stack[:len(s.stack)-1]
	s.ev.close(slot(top &^ inArray))
	s.ended()
}

// ended is called when a value is whole.
func (s *scanner) ended() {
	s.state = wantComma
	if len(s.stack) == 0 {
		s.state = docDone
	}
}
