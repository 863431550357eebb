package wire

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math/bits"
)

// plainRun returns how many bytes of b come before the first quote or
// backslash, and which of the two it is; zero when b has neither.
func plainRun(b []byte) (n int, c byte) {
	// Most strings of an event are a few bytes long: a loop beats a call.
	near := min(len(b), 16)
	for n < near {
		if c = b[n]; c == '"' || c == '\\' {
			return n, c
		}
		n++
	}
	// In windows, so that a string full of escapes is not searched for its
	// end again and again.
	for n < len(b) {
		w := b[n:min(len(b), n+512)]
		q := bytes.IndexByte(w, '"')
		if q < 0 {
			q = len(w)
		}
		if e := bytes.IndexByte(w[:q], '\\'); e >= 0 {
			return n + e, '\\'
		}
		if q < len(w) {
			return n + q, '"'
		}
		n += len(w)
	}
	return n, 0
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

func isNumberByte(c byte) bool {
	return '0' <= c && c <= '9' || c == '.' || c == '-' || c == '+' || c == 'e' || c == 'E'
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// trimSpace is bytes.TrimSpace for the white space of JSON alone.
func trimSpace(b []byte) []byte {
	for len(b) > 0 && isSpace(b[0]) {
		b = b[1:]
	}
	for len(b) > 0 && isSpace(b[len(b)-1]) {
		b = b[:len(b)-1]
	}
	return b
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

// unescape returns the value of the inside of a JSON string. It is for the
// rare scalar that matters and has an escape in it.
func unescape(b []byte) []byte {
	quoted := make([]byte, 0, len(b)+2)
	quoted = append(append(append(quoted, '"'), b...), '"')
	var s string
	if json.Unmarshal(quoted, &s) != nil {
		return b
	}
	return []byte(s)
}

func hasPrefix(b []byte, prefix string) bool {
	return len(b) >= len(prefix) && string(b[:len(prefix)]) == prefix
}

// ordinary returns how many bytes of b come before the first quote, backslash
// or control character: all of them, if there is none.
func ordinary(b []byte) int {
	n := 0
	for ; len(b)-n >= 8; n += 8 {
		if found := special(b[n:]); found != 0 {
			return n + bits.TrailingZeros64(found)>>3
		}
	}
	for n < len(b) && b[n] != '"' && b[n] != '\\' && b[n] >= ' ' {
		n++
	}
	return n
}

// special looks at the first eight bytes of b for quotes, backslashes and
// control characters. The lowest bit that is set is in the byte of the first;
// what is set above it means nothing. A loop over bytes costs more, since where
// it ends is a surprise each time.
func special(b []byte) uint64 {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	x := binary.LittleEndian.Uint64(b)
	quote, escape := x^'"'*ones, x^'\\'*ones
	return ((quote-ones)&^quote | (escape-ones)&^escape | (x-' '*ones)&^x) & tops
}
