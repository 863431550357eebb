package wire

// The estimate of a text is a sum over its bytes: what a byte adds depends on
// its kind and on the kind of the byte before it, for a tokenizer begins a token
// about where the kind of character changes. Nothing is ever taken off again, so
// more text never comes to less.
//
// The weights were fitted to o200k_base, a little above it because the tokenizers
// of other makers cut finer. As a rule of thumb they come to 4 bytes a token for
// English prose and source code, 3.6 for German and French, 3 for JSON, to 1 token
// for 1.3 characters of Chinese, Japanese or Korean, and 1 for 3 of Cyrillic or
// Greek. Chunks of 1.5 KB of man pages, fortunes, licences and sources of these
// were estimated at 0.7 to 1.5 times their count, and at 0.9 to 1.1 in the mean.

// A kind is what a byte of UTF-8 says about its character. The first byte of a
// longer sequence tells the script, the others nothing.
type kind uint8

const (
	kindLower kind = iota
	kindUpper
	kindDigit
	kindSpace
	kindBreak // a line break
	kindPunct
	kindRest  // within a character
	kindLatin // letters with accents
	kindGreek // and Cyrillic
	kindSemitic
	kindIndic  // and other scripts that have three bytes a letter
	kindSymbol // dashes, quotes, arrows, boxes
	kindHan
	kindKana
	kindHangul
	kindAstral // emoji and what else has four bytes
	kinds
	kindQuote = kinds // a quote or a backslash, which end a run of text
)

// unit is what the weights are counted in: 64 of them are a token.
const unit = 64

var kindOfByte = func() (table [256]kind) {
	for c := range table {
		table[c] = kindAt(byte(c))
	}
	return table
}()

func kindAt(c byte) kind {
	switch {
	case c == '"' || c == '\\':
		return kindQuote
	case 'a' <= c && c <= 'z':
		return kindLower
	case 'A' <= c && c <= 'Z':
		return kindUpper
	case '0' <= c && c <= '9':
		return kindDigit
	case c == ' ' || c == '\t':
		return kindSpace
	case c == '\n' || c == '\r':
		return kindBreak
	case c < 0x80:
		return kindPunct
	case c < 0xC0:
		return kindRest
	}
	return scriptOf(c)
}

// scriptOf takes the first byte of a sequence.
func scriptOf(c byte) kind {
	switch {
	case c < 0xCD:
		return kindLatin
	case c < 0xD5:
		return kindGreek
	case c < 0xE0:
		return kindSemitic
	case c < 0xE2:
		return kindIndic
	case c == 0xE2:
		return kindSymbol
	case c == 0xE3:
		return kindKana
	case c < 0xEA || c == 0xEF: // with the full-width forms
		return kindHan
	case c < 0xEF:
		return kindHangul
	}
	return kindAstral
}

// weights has what a byte of one kind adds after one of another.
var weights = func() (table [kinds][kinds]uint8) {
	first := [kinds]uint8{
		kindLower: 18, kindUpper: 18, kindDigit: 60, kindSpace: 22, kindBreak: 72, kindPunct: 40, kindRest: 0, kindLatin: 96, kindGreek: 22,
		kindSemitic: 30, kindIndic: 28, kindSymbol: 64, kindHan: 54, kindKana: 48, kindHangul: 48, kindAstral: 150,
	}
	for before := range table {
		table[before] = first
	}
	after := func(before, k kind, weight uint8) { table[before][k] = weight }
	after(kindLower, kindLower, 10)
	after(kindUpper, kindLower, 10)
	after(kindRest, kindLower, 8)
	after(kindRest, kindUpper, 8)
	after(kindLower, kindUpper, 40) // camelCase
	after(kindUpper, kindUpper, 14)
	after(kindDigit, kindDigit, 26)
	after(kindSpace, kindSpace, 3) // indentation
	after(kindBreak, kindSpace, 3)
	after(kindBreak, kindBreak, 2)
	after(kindPunct, kindPunct, 16)
	return table
}()

// A meter adds up the weights of a text that lies in the strings of a JSON
// document.
type meter struct {
	units uint64
	last  kind
}

// text reads the inside of a string up to the quote that ends it, or to the end
// of b, and returns how long it is. Escapes count as what they stand for.
func (m *meter) text(b []byte) int {
	m.last = kindPunct
	for i := 0; i < len(b); {
		i += m.run(b[i:])
		if i == len(b) || b[i] == '"' {
			return i
		}
		i += m.escape(b[i:])
	}
	return len(b)
}

// run reads b up to a quote or backslash.
func (m *meter) run(b []byte) int {
	sum, last := uint64(0), m.last
	for i, c := range b {
		k := kindOfByte[c]
		if k >= kinds {
			m.units, m.last = m.units+sum, last
			return i
		}
		sum += uint64(weights[last&15][k])
		last = k
	}
	m.units, m.last = m.units+sum, last
	return len(b)
}

func (m *meter) add(k kind) {
	m.units += uint64(weights[m.last][k])
	m.last = k
}

// escape reads the escape that b begins with, and less if b ends before it does.
func (m *meter) escape(b []byte) int {
	if len(b) < 2 {
		return len(b)
	}
	switch b[1] {
	case 'n', 'r':
		m.add(kindBreak)
	case 't':
		m.add(kindSpace)
	case 'u':
		return m.unicode(b)
	default:
		m.add(kindPunct)
	}
	return 2
}

// unicode reads a \uXXXX, as clients send that keep to ASCII.
func (m *meter) unicode(b []byte) int {
	b = b[:min(len(b), 6)]
	var r uint32
	for _, c := range b[2:] {
		if !isHex(c) {
			return 2
		}
		r = r<<4 | uint32(c&15)
		if c >= 'A' {
			r += 9
		}
	}
	switch {
	case len(b) < 6, 0xDC00 <= r && r < 0xE000: // the second half of a pair
	case 0xD800 <= r && r < 0xDC00:
		m.add(kindAstral)
	case r >= 0x800:
		m.wide(0xE0 | byte(r>>12))
	case r >= 0x80:
		m.wide(0xC0 | byte(r>>6))
	case r == '"', r == '\\':
		m.add(kindPunct)
	default:
		m.add(kindOfByte[r])
	}
	return len(b)
}

// wide adds the character whose first byte is c.
func (m *meter) wide(c byte) {
	m.add(scriptOf(c))
	m.last = kindRest
}
