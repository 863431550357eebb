package wire

// The estimate of a text is a sum over its bytes: what a byte adds depends on
// its own kind and on that of the byte before, because a tokenizer begins a token
// about where letters give way to something else. Nothing is ever taken off again,
// so more text never comes to less.
//
// The weights were fitted to o200k_base, a little above it because the tokenizers
// of other makers cut finer. As a rule of thumb they come to 4 bytes a token for
// English prose and for source code, 3.6 for German and French, 3 for JSON, to a
// token for 1.3 characters of Chinese, Japanese or Korean, and one for 2.5 of
// Russian. 700 pieces of man pages, fortunes, licences and sources of 1.5 KB were
// estimated at 0.6 to 1.5 times their count, and each of those languages at 0.94
// to 1.13 times in the mean.

// A glyph is the kind of character that a byte of UTF-8 belongs to. The first byte
// of a longer sequence tells the script, the others nothing.
type glyph uint8

const (
	glyphLower glyph = iota
	glyphUpper
	glyphDigit
	glyphSpace
	glyphBreak // a line break
	glyphPunct
	glyphRest  // within a character
	glyphLatin // letters with accents
	glyphGreek // and Cyrillic
	glyphSemitic
	glyphIndic  // and other scripts that have three bytes a letter
	glyphSymbol // dashes, quotes, arrows, boxes
	glyphHan
	glyphKana
	glyphHangul
	glyphAstral // emoji and what else has four bytes
	glyphs
	glyphQuote = glyphs // a quote or a backslash, which end a run of text
)

// unit is what the weights are counted in: 64 of them are a token.
const unit = 64

var glyphOfByte = func() (table [256]glyph) {
	for c := range table {
		table[c] = glyphAt(byte(c))
	}
	return table
}()

func glyphAt(c byte) glyph {
	switch {
	case c == '"' || c == '\\':
		return glyphQuote
	case 'a' <= c && c <= 'z':
		return glyphLower
	case 'A' <= c && c <= 'Z':
		return glyphUpper
	case '0' <= c && c <= '9':
		return glyphDigit
	case c == ' ' || c == '\t':
		return glyphSpace
	case c == '\n' || c == '\r':
		return glyphBreak
	case c < 0x80:
		return glyphPunct
	case c < 0xC0:
		return glyphRest
	}
	return scriptOf(c)
}

// scriptOf takes the first byte of a sequence.
func scriptOf(c byte) glyph {
	switch {
	case c < 0xCD:
		return glyphLatin
	case c < 0xD5:
		return glyphGreek
	case c < 0xE0:
		return glyphSemitic
	case c < 0xE2:
		return glyphIndic
	case c == 0xE2:
		return glyphSymbol
	case c == 0xE3:
		return glyphKana
	case c < 0xEA || c == 0xEF: // with the full-width forms
		return glyphHan
	case c < 0xEF:
		return glyphHangul
	}
	return glyphAstral
}

// weights has what a byte of one glyph adds after one of another.
var weights = func() (table [glyphs][glyphs]uint8) {
	first := [glyphs]uint8{
		glyphLower: 18, glyphUpper: 18, glyphDigit: 60, glyphSpace: 22, glyphBreak: 72, glyphPunct: 40, glyphRest: 0, glyphLatin: 96, glyphGreek: 22,
		glyphSemitic: 30, glyphIndic: 28, glyphSymbol: 64, glyphHan: 54, glyphKana: 48, glyphHangul: 48, glyphAstral: 150,
	}
	for before := range table {
		table[before] = first
	}
	after := func(before, k glyph, weight uint8) { table[before][k] = weight }
	after(glyphLower, glyphLower, 10)
	after(glyphUpper, glyphLower, 10)
	after(glyphRest, glyphLower, 8)
	after(glyphRest, glyphUpper, 8)
	after(glyphLower, glyphUpper, 40) // camelCase
	after(glyphUpper, glyphUpper, 14)
	after(glyphDigit, glyphDigit, 26)
	after(glyphSpace, glyphSpace, 3) // indentation
	after(glyphBreak, glyphSpace, 3)
	after(glyphBreak, glyphBreak, 2)
	after(glyphPunct, glyphPunct, 16)
	return table
}()

// A meter adds up the weights of a text that lies in the strings of a JSON
// document.
type meter struct {
	units uint64
	last  glyph
}

// text reads the inside of a string up to the quote that ends it, or to the end
// of b, and returns how long it is. Escapes count as what they stand for.
func (m *meter) text(b []byte) int {
	m.last = glyphPunct
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
		k := glyphOfByte[c]
		if k >= glyphs {
			m.units, m.last = m.units+sum, last
			return i
		}
		sum += uint64(weights[last%glyphs][k]) // which it is below: so no bounds are checked
		last = k
	}
	m.units, m.last = m.units+sum, last
	return len(b)
}

func (m *meter) add(k glyph) {
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
		m.add(glyphBreak)
	case 't':
		m.add(glyphSpace)
	case 'u':
		return m.unicode(b)
	default:
		m.add(glyphPunct)
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
		m.add(glyphAstral)
	case r >= 0x800:
		m.wide(0xE0 | byte(r>>12))
	case r >= 0x80:
		m.wide(0xC0 | byte(r>>6))
	case r == '"', r == '\\':
		m.add(glyphPunct)
	default:
		m.add(glyphOfByte[r])
	}
	return len(b)
}

// wide adds the character whose first byte is c.
func (m *meter) wide(c byte) {
	m.add(scriptOf(c))
	m.last = glyphRest
}
