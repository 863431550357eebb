package wire

import (
	"strings"
	"time"
)

// structured reads RateLimit and RateLimit-Policy of
// draft-ietf-httpapi-ratelimit-headers-10, and RateLimit as the dictionary of
// draft 07. Several lines are one list, and one bad item voids it all.
func (p *pacer) structured(header, field string) {
	if len(field) > maxField {
		return
	}
	items, ok := parseItems(field)
	if !ok {
		p.dictionary(header, field)
		return
	}
	for _, it := range items {
		if _, ok := it.int(requiredKey(header)); !ok {
			return
		}
	}
	for _, it := range items[:min(len(items), maxLimits)] {
		p.item(header, it)
	}
}

const maxField = 4096

func requiredKey(header string) string {
	if header == "ratelimit" {
		return "r"
	}
	return "q"
}

func (p *pacer) item(header string, it item) {
	l := p.limit(it.name)
	if header == "ratelimit-policy" {
		l.Limit, _ = it.int("q")
		if w, ok := it.int("w"); ok {
			l.Window = seconds(w)
		}
		l.Unit = it.params["qu"]
		return
	}
	l.Remaining, _ = it.int("r")
	if t, ok := it.int("t"); ok {
		l.Reset, l.HasReset, l.source = seconds(t), true, header
	}
}

// dictionary reads "limit=100, remaining=0, reset=20".
func (p *pacer) dictionary(header, field string) {
	if header != "ratelimit" {
		return
	}
	found := map[string]int64{}
	for member := range strings.SplitSeq(field, ",") {
		key, value, _ := strings.Cut(strings.TrimSpace(member), "=")
		n, ok := count(value)
		if !ok || strings.Contains(value, ".") {
			return
		}
		found[key] = n
	}
	if _, ok := found["remaining"]; !ok {
		return
	}
	l := p.limit("default")
	if n, ok := found["limit"]; ok {
		l.Limit = n
	}
	l.Remaining = found["remaining"]
	if n, ok := found["reset"]; ok {
		l.Reset, l.HasReset, l.source = seconds(n), true, header
	}
}

func seconds(n int64) time.Duration {
	if n > int64(maxWait/time.Second) {
		return maxWait
	}
	return time.Duration(n) * time.Second
}

// item is a string with parameters, the only kind of list member (RFC 9651)
// that the drafts use. Parameters keep their text: an Integer as it stands, a
// String without its quotes.
type item struct {
	name    string
	params  map[string]string
	integer map[string]bool
}

func (it item) int(key string) (int64, bool) {
	if !it.integer[key] {
		return -1, false
	}
	return count(it.params[key])
}

// parseItems reads a list of strings with parameters.
func parseItems(s string) ([]item, bool) {
	var items []item
	for s = strings.TrimLeft(s, " "); ; {
		it := item{params: map[string]string{}, integer: map[string]bool{}}
		var ok bool
		if it.name, s, ok = cutQuoted(s); !ok || len(it.name) > maxLabel {
			return nil, false
		}
		if s, ok = it.parameters(s); !ok {
			return nil, false
		}
		items = append(items, it)
		if s = strings.TrimLeft(s, " \t"); s == "" {
			return items, true
		}
		if s[0] != ',' {
			return nil, false
		}
		s = strings.TrimLeft(s[1:], " \t")
	}
}

// parameters reads ";key=value" and ";key" as often as they come.
func (it item) parameters(s string) (rest string, ok bool) {
	for strings.HasPrefix(s, ";") {
		s = strings.TrimLeft(s[1:], " ")
		n := strings.IndexAny(s, "=;, \t")
		if n < 0 {
			n = len(s)
		}
		key := s[:n]
		if s = s[n:]; key == "" || strings.Contains(key, `"`) {
			return "", false
		}
		if !strings.HasPrefix(s, "=") {
			continue // a flag
		}
		value, rest, ok := cutBare(s[1:])
		if !ok {
			return "", false
		}
		it.params[key], it.integer[key] = value, allDigits(value) && s[1] != '"'
		s = rest
	}
	return s, true
}

// cutBare cuts a bare item off: a string, bytes between colons, or a number,
// token or boolean, which are taken as they stand.
func cutBare(s string) (value, rest string, ok bool) {
	switch {
	case strings.HasPrefix(s, `"`):
		return cutQuoted(s)
	case strings.HasPrefix(s, ":"):
		value, rest, ok = strings.Cut(s[1:], ":")
		return value, rest, ok
	}
	n := strings.IndexAny(s, `;, "`)
	if n < 0 {
		n = len(s)
	}
	return s[:n], s[n:], n > 0
}

// cutQuoted cuts a quoted string off, in which only \" and \\ are escapes.
func cutQuoted(s string) (value, rest string, ok bool) {
	if !strings.HasPrefix(s, `"`) {
		return "", "", false
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			return b.String(), s[i+1:], true
		case c == '\\':
			if i++; i == len(s) || s[i] != '"' && s[i] != '\\' {
				return "", "", false
			}
			b.WriteByte(s[i])
		case c < 0x20 || c > 0x7e:
			return "", "", false
		default:
			b.WriteByte(c)
		}
	}
	return "", "", false
}
