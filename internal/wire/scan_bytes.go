package wire

import (
	"bytes"
	"encoding/json"
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
