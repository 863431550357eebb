package wire

import (
	"bytes"
	"strings"
)

// envelope is what the rules look at, whatever shape the body had: the error
// object if there is one, the names found in the fields that name an error, and
// the prose. Hosts put one and the same name into type, code, status, reason
// or a header, so the rules ask for the name and not for the field.
type envelope struct {
	typ, code string          // as on the wire, for the reader
	names     map[string]bool // folded
	codeHTTP  int             // a code that is an HTTP status, else 0
	otherHTTP int             // a status in a lesser field, else 0
	message   string          // as on the wire
	words     string          // the message in lower case without what it quotes
	root, err map[string]any  // the object of the body, and the error object in it
	details   []map[string]any
	json      bool // the body was an object
	flat      bool // the error had no object of its own
	partial   bool // the body broke off
}

const (
	maxBody    = 64 << 10 // of a failed answer
	maxFrame   = 4 << 20  // of a good one, whose error may come last
	maxMessage = 8 << 10
)

// openEnvelope takes up to limit bytes of a body apart. It never fails: what
// cannot be read is prose, and the prose of an HTML page is left alone.
func openEnvelope(body []byte, limit int) *envelope {
	e := &envelope{names: map[string]bool{}}
	if len(body) > limit {
		body, e.partial = body[:limit], true
	}
	body = payload(body)
	if len(body) == 0 || body[0] == '<' {
		return e
	}
	v, whole := parsePrefix(body)
	e.partial = e.partial || !whole && v != nil
	if s, ok := v.(string); ok && strings.HasPrefix(strings.TrimSpace(s), "{") {
		v, _ = parsePrefix([]byte(s)) // JSON in a JSON string
	}
	if root := firstObject(v, 0); root != nil {
		e.open(root)
	} else if v == nil {
		e.say(string(body))
	} else {
		e.say(prose(v))
	}
	return e
}

// payload strips a byte order mark and the framing of a server-sent event.
func payload(body []byte) []byte {
	body = bytes.TrimSpace(bytes.TrimPrefix(body, []byte(byteOrderMark)))
	if bytes.HasPrefix(body, []byte("event:")) || bytes.HasPrefix(body, []byte("data:")) {
		if _, after, ok := bytes.Cut(body, []byte("data:")); ok {
			return bytes.TrimSpace(after)
		}
	}
	return body
}

// firstObject returns v or the first object in it that carries an error, if v
// is an array, or its first object.
func firstObject(v any, depth int) map[string]any {
	if m := asMap(v); m != nil {
		return m
	}
	var first map[string]any
	for _, each := range asList(v) {
		m := asMap(each)
		if m == nil && depth < 3 {
			m = firstObject(each, depth+1)
		}
		if hasError(m) {
			return m
		}
		if first == nil {
			first = m
		}
	}
	return first
}

func (e *envelope) open(root map[string]any) {
	e.json, e.root = true, root
	e.err = findError(root)
	if e.flat = e.err == nil; e.flat {
		e.err = root
	}
	e.nameFields(e.err)
	if !e.flat {
		e.nameFields(root)
	}
	e.nameException(root)
	e.say(e.findMessage())
	e.findDetails()
}

// findError returns the object in which the error lies, or nil if its fields
// lie flat in the root, or there is none.
func findError(root map[string]any) map[string]any {
	for _, holder := range holders(root) {
		for range 3 {
			inner := asMap(holder)
			if len(inner) == 0 {
				break
			}
			if asMap(inner["error"]) == nil {
				return inner
			}
			holder = inner["error"]
		}
	}
	return nil
}

// holders are the places where hosts put an error object, or its text.
func holders(root map[string]any) []any {
	places := []any{root["error"]}
	if s := prose(root["error"]); strings.HasPrefix(strings.TrimSpace(s), "{") {
		v, _ := parsePrefix([]byte(s))
		places = append(places, v)
	}
	places = append(places, asMap(root["response"])["error"], asMap(root["x_groq"])["error"])
	for _, choice := range asList(root["choices"]) {
		places = append(places, asMap(choice)["error"])
	}
	if list := asList(root["errors"]); len(list) > 0 {
		places = append(places, list[0])
	}
	if detail := asMap(root["detail"]); detail != nil {
		places = append(places, detail)
	}
	if _, exception := unionException(root); exception != nil {
		places = append(places, exception)
	}
	return places
}

// nameFields notes the names in the fields of m that name an error.
func (e *envelope) nameFields(m map[string]any) {
	e.note(&e.code, m["code"])
	e.note(&e.typ, m["type"])
	e.note(&e.typ, m["status"])
	e.note(nil, m["error_type"])
	e.note(nil, m["error_code"])
	e.note(nil, m["reason"])
	e.note(&e.code, m["__type"])
	e.note(nil, asMap(m["innererror"])["code"])
	e.note(nil, asMap(m["details"])["error_code"])
	e.note(nil, asMap(m["details"])["type"])
	meta := asMap(m["metadata"])
	for _, key := range [...]string{"error_type", "reason", "limit_source"} {
		e.note(nil, meta[key])
	}
	if len(asList(meta["reasons"])) > 0 || meta["flagged_input"] != nil {
		e.names["content_filter"] = true
	}
	if e.codeHTTP == 0 {
		e.codeHTTP = httpStatus(m["code"])
	}
	for _, key := range [...]string{"status", "raw_status_code", "statusCode", "status_code"} {
		if e.otherHTTP == 0 {
			e.otherHTTP = httpStatus(m[key])
		}
	}
}

// note adds one name, and keeps it in dst for the reader if nothing is there
// yet. The frame types that say no more than "an error" are no names.
func (e *envelope) note(dst *string, v any) {
	s := text(v)
	if s == "" || s == "error" || s == "response.failed" {
		return
	}
	if dst == &e.typ && allDigits(s) {
		return // a status beside the error, and no type
	}
	if dst != nil && *dst == "" {
		*dst = s
	}
	if label(v) != "" {
		e.names[fold(s)] = true
	}
}

// nameException notes the name that AWS gives to a member of an event union.
func (e *envelope) nameException(root map[string]any) {
	if name, _ := unionException(root); name != "" {
		e.note(&e.code, name)
	}
}

// nameHeader notes the name in x-amzn-errortype.
func (e *envelope) nameHeader(value string) { e.note(&e.code, awsName(value)) }

// fold brings a name into the form that the tables are written in.
func fold(s string) string {
	return strings.NewReplacer("-", "_", " ", "_").Replace(strings.ToLower(awsName(s)))
}

// awsName strips what AWS puts before and after the name of an exception:
// "com.amazon.coral#ThrottlingException", "ThrottlingException:http://...".
func awsName(s string) string {
	if _, after, ok := strings.Cut(s, "#"); ok && strings.HasSuffix(after, "Exception") {
		return after
	}
	if before, _, ok := strings.Cut(s, ":"); ok && strings.HasSuffix(before, "Exception") {
		return before
	}
	return s
}

// httpStatus returns a number, or a string of digits, that is the status of an
// error, and 0 for any other value.
func httpStatus(v any) int {
	if _, ok := v.(bool); ok {
		return 0
	}
	s := label(v)
	if len(s) != 3 || !allDigits(s) {
		return 0
	}
	if n := int(digits(s)); n >= 400 && n < 600 {
		return n
	}
	return 0
}

// findMessage returns the prose of the error.
func (e *envelope) findMessage() string {
	for _, m := range [...]map[string]any{e.err, e.root} {
		for _, key := range [...]string{
			"message", "Message", "error", "msg", "detail", "title", "error_description", "error_msg",
		} {
			if s := firstProse(m[key], 0); s != "" {
				return s
			}
		}
	}
	return ""
}

// firstProse returns the text of v, or of the message in it where a host puts
// an object or a list of them in the place of text.
func firstProse(v any, depth int) string {
	if s := prose(v); s != "" || depth > 4 {
		return s
	}
	for _, key := range [...]string{"message", "msg", "detail", "error"} {
		if s := firstProse(asMap(v)[key], depth+1); s != "" {
			return s
		}
	}
	if list := asList(v); len(list) > 0 {
		return firstProse(list[0], depth+1)
	}
	return ""
}
