package wire

import "strings"

// say notes the prose of an error.
func (e *envelope) say(s string) {
	e.message = s[:min(len(s), maxMessage)]
	e.words = strings.ToLower(unquoted(e.message))
}

// says reports whether the message has one of these phrases in its own words. A
// phrase is in lower case, and what the message quotes does not count: an error
// may echo what the user wrote.
func (e *envelope) says(phrases ...string) bool {
	for _, p := range phrases {
		if strings.Contains(e.words, p) {
			return true
		}
	}
	return false
}

// unquoted returns s without the text between quotation marks. A mark that has
// no partner, and an apostrophe within a word, are no quotation.
func unquoted(s string) string {
	var b strings.Builder
	alone := map[string]bool{} // marks that have no partner in the rest of s
	for i := 0; i < len(s); {
		open, mark := quoteAt(s, i)
		if open != "" && !alone[mark] {
			if n := closing(s[i+len(open):], mark); n >= 0 {
				b.WriteByte(' ')
				i += len(open) + n
				continue
			}
			alone[mark] = true
		}
		b.WriteByte(s[i])
		i++
	}
	return b.String()
}

// quoteAt returns the mark that opens a quotation at s[i] and the one that
// closes it.
func quoteAt(s string, i int) (open, mark string) {
	switch {
	case s[i] == '"' || s[i] == '`':
		return s[i : i+1], s[i : i+1]
	case s[i] == '\'' && (i == 0 || !isWordByte(s[i-1])):
		return "'", "'"
	case strings.HasPrefix(s[i:], "“"):
		return "“", "”"
	}
	return "", ""
}

// closing returns the length of s up to and with the closing mark, or -1.
func closing(s, mark string) int {
	for from := 0; ; {
		i := strings.Index(s[from:], mark)
		if i < 0 {
			return -1
		}
		from += i + len(mark)
		if mark != "'" || from == len(s) || !isWordByte(s[from]) {
			return from
		}
	}
}

func isWordByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}
