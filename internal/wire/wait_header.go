package wire

import (
	"net/http"
	"strings"
	"time"
)

// RetryAfter returns the wait that a response asks for outright, and the header
// that says so: retry-after-ms, x-ms-retry-after-ms or Retry-After, the finer
// one first. Of several lines of one header the longest counts.
//
// Values are decimal numbers or HTTP dates; a date is measured against the
// server's own Date header where there is one, so that a skewed local clock
// does not matter, and against now otherwise. A date that has passed is a wait
// of zero, which is not the same as no wait. Anything else is ignored. The wait
// is rounded up to the millisecond, never negative, and the largest duration if
// it does not fit.
func RetryAfter(h http.Header, now time.Time) (wait time.Duration, source string, ok bool) {
	for _, name := range [...]string{"retry-after-ms", "x-ms-retry-after-ms"} {
		wait, ok := longest(h.Values(name), func(s string) (time.Duration, bool) {
			return decimal(s, time.Millisecond)
		})
		if ok {
			return wait, name, true
		}
	}
	base := serverTime(h, now)
	wait, ok = longest(h.Values("Retry-After"), func(s string) (time.Duration, bool) {
		if d, ok := decimal(s, time.Second); ok {
			return d, true
		}
		return httpDateIn(s, base)
	})
	if !ok {
		return 0, "", false
	}
	return wait, "retry-after", true
}

// maxLines bounds the lines of one header that are looked at.
const maxLines = 16

func longest(lines []string, parse func(string) (time.Duration, bool)) (wait time.Duration, ok bool) {
	for _, line := range lines[:min(len(lines), maxLines)] {
		if d, good := parse(strings.Trim(line, " \t")); good {
			wait, ok = max(wait, d), true
		}
	}
	return upToMilli(wait), ok
}

// serverTime is the time by the server's clock, or now if it does not say.
func serverTime(h http.Header, now time.Time) time.Time {
	if t, ok := httpDate(h.Get("Date")); ok {
		return t
	}
	return now
}

// httpDate reads the three forms of RFC 9110, section 5.6.7. [http.ParseTime]
// would take any zone name in the second form and count it as UTC.
func httpDate(s string) (time.Time, bool) {
	if len(s) > maxNumber {
		return time.Time{}, false
	}
	t, err := http.ParseTime(s)
	if err != nil || strings.Contains(s, "-") && !strings.HasSuffix(s, " GMT") {
		return time.Time{}, false
	}
	return t, true
}

func httpDateIn(s string, base time.Time) (time.Duration, bool) {
	t, ok := httpDate(s)
	return until(t, base), ok
}

// HeaderWait returns the wait that the headers of a failed response ask for:
// [RetryAfter] or else the reset of what is used up, the latest if there are
// several. It returns none for a status that no wait can mend.
func HeaderWait(status int, h http.Header, now time.Time) (wait time.Duration, source string, ok bool) {
	if !mayWait(status) {
		return 0, "", false
	}
	if wait, source, ok = RetryAfter(h, now); ok {
		return wait, source, true
	}
	window, refill := resets(status, h, now)
	if window.ok {
		return window.wait, window.source, true
	}
	return refill.wait, refill.source, refill.ok
}

// mayWait reports whether a later attempt can get another status. 402 is here
// for budgets that calls in flight hold back for a moment.
func mayWait(status int) bool {
	switch status {
	case 402, 408, 409, 425, 429, 498:
		return true
	}
	return status >= 500 && !permanent5xx(status)
}

// permanent5xx reports whether a 5xx speaks of the request and not of the moment.
func permanent5xx(status int) bool {
	switch status {
	case 501, 505, 506, 510, 511:
		return true
	}
	return false
}

// hint is a wait that was found somewhere.
type hint struct {
	wait   time.Duration
	source string
	ok     bool
}

// resets returns the latest reset of what is used up, apart for limits that
// say when they open again, and for those that say when they are full again.
// The latter is longer than the wait that is needed.
func resets(status int, h http.Header, now time.Time) (window, refill hint) {
	for _, l := range Pacing(h, now).Limits {
		lone := status == http.StatusTooManyRequests && l.Remaining < 0 && l.Status == ""
		if !l.HasReset || !l.Exhausted() && !lone || optionalCapacity(l.Name) {
			continue
		}
		kind := &window
		if l.Refill {
			kind = &refill
		}
		if !kind.ok || l.Reset > kind.wait {
			*kind = hint{upToMilli(l.Reset), l.source, true}
		}
	}
	return window, refill
}

// optionalCapacity reports whether a request goes on without the limit of that
// name: Anthropic serves what exceeds it from ordinary capacity.
func optionalCapacity(name string) bool {
	return strings.HasPrefix(name, "priority_") || strings.HasSuffix(name, "_overage")
}
