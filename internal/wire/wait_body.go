package wire

import (
	"cmp"
	"net/http"
	"strings"
	"time"
)

// bodyWait returns the wait that an error body asks for: a field of its own
// first, then the sentence by which many hosts say it.
func (e *envelope) bodyWait(now time.Time) hint {
	for _, d := range e.details {
		if !detailIs(d, "RetryInfo") {
			continue
		}
		if wait, ok := ParseDuration(protoDuration(d["retryDelay"])); ok {
			return hint{upToMilli(wait), "body.RetryInfo", true}
		}
	}
	for _, m := range [...]map[string]any{e.err, e.root, asMap(e.err["details"])} {
		if h := fieldWait(asMap(m["metadata"]), now); h.ok {
			return hint{h.wait, "body.metadata", true}
		}
		if h := fieldWait(m, now); h.ok {
			return h
		}
	}
	for _, words := range [...]string{e.words, e.quoted} {
		if wait, ok := spokenWait(words); ok {
			return hint{upToMilli(wait), "body.message", true}
		}
	}
	return hint{}
}

// waitFields are the names of fields that hold a wait, the finer one first.
var waitFields = []struct {
	name string
	read func(s string, now time.Time) (time.Duration, bool)
}{
	{"retry_after_ms", func(s string, _ time.Time) (time.Duration, bool) { return decimal(s, time.Millisecond) }},
	{"retry_after_seconds", readSeconds},
	{"retry_after", readSeconds},
	{"resets_in_seconds", readSeconds},
	{"reset_at", resetIn},
	{"resets_at", resetIn},
}

func readSeconds(s string, _ time.Time) (time.Duration, bool) { return ParseDuration(s) }

// protoDuration returns the text of a google.protobuf.Duration, which some gateways
// print as the message that it is.
func protoDuration(v any) string {
	m := asMap(v)
	if m == nil {
		return prose(v)
	}
	seconds, nanos := cmp.Or(label(m["seconds"]), "0"), cmp.Or(label(m["nanos"]), "0")
	if !allDigits(nanos) || len(nanos) > 9 {
		nanos = "0"
	}
	return seconds + "." + strings.Repeat("0", 9-len(nanos)) + nanos + "s"
}

// field returns the member of m of that name, in whatever case it is written.
func field(m map[string]any, name string) any {
	if v, ok := m[name]; ok {
		return v
	}
	found := ""
	for key := range m {
		if len(key) <= maxLabel && snake(key) == name && key > found {
			found = key
		}
	}
	return m[found]
}

func fieldWait(m map[string]any, now time.Time) hint {
	for _, f := range waitFields {
		if wait, ok := f.read(label(field(m, f.name)), now); ok {
			return hint{upToMilli(wait), "body." + f.name, true}
		}
	}
	return headersWait(asMap(m["headers"]), now)
}

// headersWait reads headers that a relay repeats in the body.
func headersWait(m map[string]any, now time.Time) hint {
	h := http.Header{}
	for key, v := range m {
		if s := label(v); s != "" && len(h) < maxLimits {
			h.Add(key, s)
		}
	}
	wait, _, ok := HeaderWait(http.StatusTooManyRequests, h, now)
	return hint{wait, "body.headers", ok}
}

// spokenWait reads sentences such as "Please try again in 6m0s." and "retry
// after 60 seconds". Words are in lower case.
func spokenWait(words string) (time.Duration, bool) {
	for _, lead := range [...]string{
		"try again in ", "try again after ", "retry in ", "retry after ", "retrying in ", "wait for ", "wait ", "resets in ", "reset after ", "请在", "请",
	} {
		rest := words
		for range maxLines {
			_, after, ok := strings.Cut(rest, lead)
			if !ok {
				break
			}
			if d, ok := spokenDuration(after); ok {
				return d, true
			}
			rest = after
		}
	}
	return 0, false
}

// spokenDuration reads the duration that s begins with: "11.054s", "60
// seconds", "1 minute and 20 seconds". A number without a unit is none.
func spokenDuration(s string) (sum time.Duration, found bool) {
	for _, word := range [...]string{"about ", "approximately ", "at least ", "another "} {
		s = strings.TrimPrefix(s, word)
	}
	for {
		s = strings.TrimLeft(s, " ")
		n := numberLen(s)
		number := strings.TrimSuffix(s[:n], ".")
		unit, size := spokenUnit(strings.TrimLeft(s[n:], " "))
		d, ok := decimal(number, unit)
		if !ok || size == 0 || n > maxNumber {
			return sum, found
		}
		sum, found = addWait(sum, d), true
		s = strings.TrimLeft(s[n:], " ")[size:]
		s = strings.TrimPrefix(strings.TrimPrefix(s, ","), " and ")
	}
}

// spokenUnits are the units of prose, the longer spelling first.
var spokenUnits = []struct {
	word string
	unit time.Duration
}{
	{"milliseconds", time.Millisecond},
	{"millisecond", time.Millisecond},
	{"seconds", time.Second},
	{"second", time.Second},
	{"secs", time.Second},
	{"sec", time.Second},
	{"minutes", time.Minute},
	{"minute", time.Minute},
	{"mins", time.Minute},
	{"min", time.Minute},
	{"hours", time.Hour},
	{"hour", time.Hour},
	{"days", 24 * time.Hour},
	{"day", 24 * time.Hour},
	{"秒", time.Second},
	{"分钟", time.Minute},
	{"小时", time.Hour},
}

func spokenUnit(s string) (time.Duration, int) {
	for _, u := range spokenUnits {
		if strings.HasPrefix(s, u.word) {
			return u.unit, len(u.word)
		}
	}
	unit, size := unitOf(s)
	if size > 0 && size < len(s) && 'a' <= s[size] && s[size] <= 'z' {
		return 0, 0 // the beginning of a word
	}
	return unit, size
}
