package steady

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// retryAfter returns how long the headers of a failed response ask to wait as of
// now. It reports false if they ask for nothing, or for something unreadable.
//
// Retry-After-Ms and X-Ms-Retry-After-Ms, which OpenAI and Azure send, are the
// more precise and come first. Of several headers of a name the longest counts.
func retryAfter(h http.Header, now time.Time) (time.Duration, bool) {
	for _, name := range [...]string{"Retry-After-Ms", "X-Ms-Retry-After-Ms"} {
		if d, ok := longest(h[name], func(v string) (time.Duration, bool) { return parseCount(v, time.Millisecond) }); ok {
			return d, true
		}
	}
	return longest(h["Retry-After"], func(v string) (time.Duration, bool) {
		if d, ok := parseCount(v, time.Second); ok {
			return d, true
		}
		return untilDate(v, h.Get("Date"), now)
	})
}

func longest(values []string, parse func(string) (time.Duration, bool)) (most time.Duration, found bool) {
	for _, v := range values {
		if d, ok := parse(strings.Trim(v, " \t")); ok {
			most, found = max(most, d), true
		}
	}
	return most, found
}

// parseCount parses a count of unit: digits, and perhaps a fraction. RFC 9110
// knows whole seconds only, but fractions are sent. A count that no Duration can
// hold is the longest Duration, never a short or a negative one.
func parseCount(s string, unit time.Duration) (time.Duration, bool) {
	whole, fraction, _ := strings.Cut(s, ".")
	if whole == "" || !digits(whole) || !digits(fraction) || strings.HasSuffix(s, ".") {
		return 0, false
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil && !math.IsInf(f, 1) { // out of range: as long as can be
		return 0, false
	}
	if ns := math.Ceil(f * float64(unit)); ns < math.MaxInt64 {
		return time.Duration(ns), true
	}
	return math.MaxInt64, true
}

func digits(s string) bool {
	for _, r := range s {
		if r < '0' || r > '9' {
			return false
		}
	}
	return true
}

// untilDate returns the wait until the HTTP date v, in any of the three forms of
// RFC 9110. The server's own Date header, where there is one, says what its
// clock shows; a client's clock may be minutes off. A date that has passed asks
// for no wait.
func untilDate(v, serverDate string, now time.Time) (time.Duration, bool) {
	t, err := http.ParseTime(v)
	if err != nil {
		return 0, false
	}
	if d, err := http.ParseTime(serverDate); err == nil {
		now = d
	}
	return max(0, t.Sub(now)), true
}
