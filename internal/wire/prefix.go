package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
)

const maxDepth = 32

// cutString is the beginning of a string whose end was not read. It is good
// enough for prose and never for a name.
type cutString string

var errTooMuch = errors.New("wire: too deep or too many values")

// prefixParser reads one JSON value from input that may end anywhere.
type prefixParser struct {
	src   []byte
	dec   *json.Decoder
	nodes int // that may still be read
	err   error
}

// parsePrefix returns what can be read of the first JSON value in b: maps,
// slices, strings, [json.Number], bool, nil and [cutString]. It reports whether
// that value was whole. Input that is not JSON yields nil. At most one value for
// every four bytes is built, so that memory stays in proportion.
func parsePrefix(b []byte) (v any, whole bool) {
	// Raw control characters are only legal between values, where a space means
	// the same; inside a string some hosts send them unescaped.
	src := bytes.Map(func(r rune) rune {
		if r < 0x20 {
			return ' '
		}
		return r
	}, b)
	p := &prefixParser{src: src, dec: json.NewDecoder(bytes.NewReader(src)), nodes: 64 + len(b)/4}
	p.dec.UseNumber()
	v, _ = p.value(0)
	return v, p.err == nil
}

// value reads the next value. It returns false if nothing of it is usable.
func (p *prefixParser) value(depth int) (any, bool) {
	tok, err := p.dec.Token()
	if err != nil {
		p.err = err
		return p.cut()
	}
	if p.nodes--; p.nodes < 0 || depth > maxDepth {
		p.err = errTooMuch
		return nil, false
	}
	switch tok {
	case json.Delim('{'):
		return p.object(depth), true
	case json.Delim('['):
		return p.array(depth), true
	}
	if _, ok := tok.(json.Number); ok && depth > 0 && p.dec.InputOffset() == int64(len(p.src)) {
		return nil, false // its last digits may be missing
	}
	return tok, true
}

func (p *prefixParser) object(depth int) map[string]any {
	m := map[string]any{}
	for p.err == nil && p.dec.More() {
		key, err := p.dec.Token()
		if err != nil {
			p.err = err
			return m
		}
		if v, ok := p.value(depth + 1); ok {
			name, _ := key.(string)
			m[name] = v
		}
	}
	p.end()
	return m
}

func (p *prefixParser) array(depth int) []any {
	a := []any{}
	for p.err == nil && p.dec.More() {
		if v, ok := p.value(depth + 1); ok {
			a = append(a, v)
		}
	}
	p.end()
	return a
}

// end reads the closing bracket.
func (p *prefixParser) end() {
	if p.err == nil {
		_, p.err = p.dec.Token()
	}
}

// cut returns the beginning of a string that the input breaks off in.
func (p *prefixParser) cut() (any, bool) {
	rest := bytes.TrimLeft(p.src[p.dec.InputOffset():], " :,[{")
	if len(rest) < 2 || rest[0] != '"' {
		return nil, false
	}
	rest = rest[1:]
	// The cut may fall into an escape, of which a surrogate pair is the longest.
	for range 12 {
		var s string
		if json.Unmarshal([]byte(`"`+string(rest)+`"`), &s) == nil {
			return cutString(s), true
		}
		if len(rest) == 0 {
			break
		}
		rest = rest[:len(rest)-1]
	}
	return nil, false
}

// The accessors below take any value and return nothing for a value of another
// kind, so that no foreign body can surprise them.

func asMap(v any) map[string]any { m, _ := v.(map[string]any); return m }

func asList(v any) []any { l, _ := v.([]any); return l }

// prose returns the text of a string, whole or cut.
func prose(v any) string {
	switch s := v.(type) {
	case string:
		return s
	case cutString:
		return string(s)
	}
	return ""
}

// text returns a string or number that is short enough to name something.
func text(v any) string {
	s := ""
	switch t := v.(type) {
	case string:
		s = strings.TrimSpace(t)
	case json.Number:
		s = t.String()
	}
	if len(s) > maxLabel {
		return ""
	}
	return s
}

// label is text, but nothing for the words by which hosts print a missing value.
func label(v any) string {
	s := text(v)
	if strings.EqualFold(s, "none") || strings.EqualFold(s, "null") {
		return ""
	}
	return s
}

const maxLabel = 128
