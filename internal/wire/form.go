package wire

import "strings"

// A Form is how a body is framed.
type Form uint8

const (
	FormUnknown Form = iota // an empty body, or nothing but white space
	FormSSE                 // text/event-stream
	FormJSON                // one JSON document
	FormNDJSON              // a JSON document per line
	FormArray               // a JSON array whose elements are events
	FormBedrock             // application/vnd.amazon.eventstream
	FormHTML                // a page, mostly of a proxy
	FormText                // text that is none of the above
	FormOpaque              // binary, or of a type that no answer of a model has: not looked at
)

func (f Form) String() string {
	names := [...]string{"empty", "sse", "json", "ndjson", "array", "bedrock", "html", "text", "opaque"}
	if int(f) < len(names) {
		return names[f]
	}
	return names[0]
}

// Declared returns the form that a Content-Type promises. The body has the last
// word: relays label everything as anything.
func Declared(contentType string) Form {
	if contentType == "application/json" { // as most are
		return FormJSON
	}
	typ, _, _ := strings.Cut(contentType, ";")
	typ = strings.ToLower(strings.TrimSpace(typ)) // which costs nothing where it changes nothing
	switch {
	case typ == "":
		return FormUnknown
	case typ == "text/event-stream":
		return FormSSE
	case strings.HasSuffix(typ, "amazon.eventstream"):
		return FormBedrock
	case strings.Contains(typ, "ndjson"), strings.Contains(typ, "jsonl"), strings.Contains(typ, "json-lines"), strings.Contains(typ, "stream+json"):
		return FormNDJSON
	case strings.HasSuffix(typ, "json"):
		return FormJSON
	case strings.HasPrefix(typ, "text/"):
		return FormText
	}
	return FormOpaque
}

const byteOrderMark = "\xEF\xBB\xBF"

// sniff looks for the first byte that tells the form, and returns its offset,
// or the length of p if there is none.
func (d *Decoder) sniff(p []byte) int {
	for i, c := range p {
		if d.bom < len(byteOrderMark) && c == byteOrderMark[d.bom] {
			d.bom++
			continue
		}
		switch {
		case d.declared == FormBedrock && c != '{':
			d.form = FormBedrock
		case isSpace(c):
			d.json.space(d, c)
			continue
		case c == '<':
			d.form = FormHTML
		case c == '{' || c == '[':
			d.form = FormJSON
			if d.declared == FormNDJSON {
				d.form = FormNDJSON
			}
		case d.declared == FormSSE, strings.IndexByte(":deir", c) >= 0:
			d.form = FormSSE
			d.totals.keepalive = 0 // blank lines mean nothing here
		case d.declared == FormJSON && strings.IndexByte(`"-0123456789tfn`, c) >= 0:
			d.form = FormJSON
		case c < ' ':
			d.form = FormOpaque // compressed, most likely
		default:
			d.form = FormText
		}
		return i
	}
	return len(p)
}
