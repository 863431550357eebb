package wire

import (
	"math"
	"math/bits"
	"strings"
	"time"
)

const maxWait = time.Duration(math.MaxInt64)

// maxNumber bounds the text of a number or time that is looked at.
const maxNumber = 64

// ParseDuration reads the reset strings of rate limit headers: Go's form with
// days in addition, as "6m0s", "2m59.56s", "17ms" or "1d2h", and a bare decimal
// number of seconds. There is no sign, no space and no exponent. A value that
// does not fit is the largest duration there is.
func ParseDuration(s string) (time.Duration, bool) {
	if d, ok := decimal(s, time.Second); ok {
		return d, true
	}
	if s == "" || len(s) > maxNumber {
		return 0, false
	}
	var sum time.Duration
	for s != "" {
		n := numberLen(s)
		unit, size := unitOf(s[n:])
		d, ok := decimal(s[:n], unit)
		if !ok || size == 0 {
			return 0, false
		}
		sum, s = addWait(sum, d), s[n+size:]
	}
	return sum, true
}

// unitOf returns the unit that s begins with and its length in bytes.
func unitOf(s string) (time.Duration, int) {
	switch {
	case strings.HasPrefix(s, "ms"):
		return time.Millisecond, 2
	case strings.HasPrefix(s, "us"):
		return time.Microsecond, 2
	case strings.HasPrefix(s, "µs"), strings.HasPrefix(s, "μs"):
		return time.Microsecond, 3
	case strings.HasPrefix(s, "ns"):
		return time.Nanosecond, 2
	case strings.HasPrefix(s, "s"):
		return time.Second, 1
	case strings.HasPrefix(s, "m"):
		return time.Minute, 1
	case strings.HasPrefix(s, "h"):
		return time.Hour, 1
	case strings.HasPrefix(s, "d"):
		return 24 * time.Hour, 1
	}
	return 0, 0
}

// numberLen returns the length of the digits and dots that s begins with.
func numberLen(s string) int {
	n := 0
	for n < len(s) && (s[n] == '.' || '0' <= s[n] && s[n] <= '9') {
		n++
	}
	return n
}

// decimal reads digits with an optional fraction as so many units, rounded up
// to the nanosecond. Floats are not used: they would take "1e3", "0x1p4",
// "1_000" and "NaN", and overflow without a word.
func decimal(s string, unit time.Duration) (time.Duration, bool) {
	whole, frac, dot := strings.Cut(s, ".")
	if !allDigits(whole) || dot && !allDigits(frac) {
		return 0, false
	}
	hi, lo := bits.Mul64(digits(whole), uint64(unit))
	if hi != 0 || lo > math.MaxInt64 {
		return maxWait, true
	}
	return addWait(time.Duration(lo), fraction(frac, unit)), true
}

// fraction returns 0.frac of unit, rounded up.
func fraction(frac string, unit time.Duration) time.Duration {
	frac = frac[:min(len(frac), 18)]
	scale := uint64(1)
	for range frac {
		scale *= 10
	}
	hi, lo := bits.Mul64(digits(frac), uint64(unit))
	quo, rem := bits.Div64(hi, lo, scale)
	if rem > 0 {
		quo++
	}
	return time.Duration(quo)
}

func allDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || '9' < s[i] {
			return false
		}
	}
	return s != ""
}

// digits returns the value of a string of digits, or the largest one.
func digits(s string) uint64 {
	n := uint64(0)
	for i := range len(s) {
		hi, lo := bits.Mul64(n, 10)
		next, carry := bits.Add64(lo, uint64(s[i]-'0'), 0)
		if hi != 0 || carry != 0 {
			return math.MaxUint64
		}
		n = next
	}
	return n
}

// addWait adds two durations that are not negative.
func addWait(a, b time.Duration) time.Duration {
	if a > maxWait-b {
		return maxWait
	}
	return a + b
}

// upToMilli rounds up to the millisecond, because a wait is a minimum.
func upToMilli(d time.Duration) time.Duration {
	if rem := d % time.Millisecond; rem > 0 {
		return addWait(d-rem, time.Millisecond)
	}
	return d
}

// until returns the time from base to t, and none if t has passed.
func until(t, base time.Time) time.Duration { return max(t.Sub(base), 0) }

// resetIn reads a reset value of any provider: epoch milliseconds, epoch
// seconds, a timestamp, or a duration as in [ParseDuration].
func resetIn(s string, base time.Time) (time.Duration, bool) {
	s = strings.TrimSpace(s)
	if s == "" || len(s) > maxNumber {
		return 0, false
	}
	if d, ok := decimal(s, time.Second); ok {
		whole, _, dot := strings.Cut(s, ".")
		switch n := digits(whole); {
		case n > 1e14: // centuries from now in either unit: not an epoch
			return maxWait, true
		case n > 1e11:
			return until(time.UnixMilli(int64(n)), base), true
		case n > 1e8:
			at := time.Unix(int64(n), 0)
			if dot {
				at = at.Add(time.Second) // a wait is a minimum
			}
			return until(at, base), true
		}
		return d, true
	}
	if d, ok := ParseDuration(s); ok {
		return d, true
	}
	return stampIn(s, base)
}

// stampIn reads the timestamps seen in reset headers and bodies. A stamp
// without a zone is not read: some hosts mean Beijing time.
func stampIn(s string, base time.Time) (time.Duration, bool) {
	for _, layout := range [...]string{
		time.RFC3339Nano, "2006-01-02 15:04:05 UTC", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05 -0700",
	} {
		if t, err := time.Parse(layout, s); err == nil {
			return until(t, base), true
		}
	}
	return httpDateIn(s, base)
}
