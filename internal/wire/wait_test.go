package wire

import (
	"math"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestRetryAfterIsReadAsTheServerMeantIt(t *testing.T) {
	const none = time.Duration(-1)
	in3s := fixtureTime.Add(3 * time.Second)
	tests := []struct {
		name  string
		lines []string // "Name: value"
		want  time.Duration
	}{
		{"seconds", []string{"Retry-After: 3"}, 3 * time.Second},
		{"padded seconds", []string{"Retry-After:   3 "}, 3 * time.Second},
		{"leading zeros", []string{"Retry-After: 003"}, 3 * time.Second},
		{"zero is a wait", []string{"Retry-After: 0"}, 0},
		{"a fraction", []string{"Retry-After: 1.5"}, 1500 * time.Millisecond},
		{"a fraction of a millisecond is rounded up", []string{"Retry-After: 0.0000000001"}, time.Millisecond},
		{"a fraction with many digits", []string{"Retry-After: 1.0000000000000000000000000001"}, time.Second},
		{"a negative number", []string{"Retry-After: -5"}, none},
		{"a sign", []string{"Retry-After: +5"}, none},
		{"hexadecimal", []string{"Retry-After: 0x10"}, none},
		{"an underscore", []string{"Retry-After: 1_000"}, none},
		{"junk after the number", []string{"Retry-After: 120junk"}, none},
		{"a unit", []string{"Retry-After: 5s"}, none},
		{"digits that are not ASCII", []string{"Retry-After: ٥"}, none},
		{"not a number", []string{"Retry-After: NaN"}, none},
		{"infinity", []string{"Retry-After: Inf"}, none},
		{"an exponent", []string{"Retry-After: 1e400"}, none},
		{"empty", []string{"Retry-After: "}, none},
		{"a comma", []string{"Retry-After: ,"}, none},
		{"a dot", []string{"Retry-After: ."}, none},
		{"no digit before the dot", []string{"Retry-After: .5"}, none},
		{"no digit after the dot", []string{"Retry-After: 5."}, none},
		{"three centuries", []string{"Retry-After: 9223372037"}, math.MaxInt64},
		{"one more than an int64", []string{"Retry-After: 9223372036854775808"}, math.MaxInt64},
		{"forty digits", []string{"Retry-After: " + strings.Repeat("9", 40)}, math.MaxInt64},
		{"the largest that fits", []string{"Retry-After: 9223372036"}, 9223372036 * time.Second},
		{"IMF-fixdate", []string{"Retry-After: " + in3s.Format(http.TimeFormat)}, 3 * time.Second},
		{"RFC 850", []string{"Retry-After: Tuesday, 20-Oct-26 12:00:03 GMT"}, 3 * time.Second},
		{"asctime", []string{"Retry-After: " + in3s.Format(time.ANSIC)}, 3 * time.Second},
		{"RFC 850 in another zone", []string{"Retry-After: Tuesday, 20-Oct-26 12:00:03 EST"}, none},
		{"a date that has passed", []string{"Retry-After: Tue, 20 Oct 2026 11:00:00 GMT"}, 0},
		{"the year 1", []string{"Retry-After: Mon, 01 Jan 0001 00:00:00 GMT"}, 0},
		{"the year 9999", []string{"Retry-After: Fri, 31 Dec 9999 23:59:59 GMT"}, math.MaxInt64},
		{"the 31st of February", []string{"Retry-After: Wed, 31 Feb 2027 12:00:00 GMT"}, none},
		{"a date by the server's clock", []string{"Date: Tue, 20 Oct 2026 13:00:00 GMT", "Retry-After: Tue, 20 Oct 2026 13:00:03 GMT"}, 3 * time.Second},
		{"a bad Date", []string{"Date: yesterday", "Retry-After: " + in3s.Format(http.TimeFormat)}, 3 * time.Second},
		{"milliseconds stand above seconds", []string{"Retry-After: 5", "retry-after-ms: 250"}, 250 * time.Millisecond},
		{"Azure's milliseconds stand above seconds", []string{"Retry-After: 5", "x-ms-retry-after-ms: 250"}, 250 * time.Millisecond},
		{"OpenAI's milliseconds stand above Azure's", []string{"x-ms-retry-after-ms: 9", "retry-after-ms: 250"}, 250 * time.Millisecond},
		{"bad milliseconds are passed over", []string{"retry-after-ms: NaN", "Retry-After: 1"}, time.Second},
		{"the longest of several", []string{"Retry-After: 1", "Retry-After: 30", "Retry-After: 2"}, 30 * time.Second},
		{"the longest of a number and a date", []string{"Retry-After: 1", "Retry-After: " + in3s.Format(http.TimeFormat)}, 3 * time.Second},
		{"a bad one among several", []string{"Retry-After: -1", "Retry-After: 30"}, 30 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, source, ok := RetryAfter(headerOf(tt.lines...), fixtureTime)
			if ok != (tt.want != none) || ok && got != tt.want || ok != (source != "") {
				t.Errorf("got %v, %v from %q, want %v", got, ok, source, tt.want)
			}
		})
	}
}

func headerOf(lines ...string) http.Header {
	h := http.Header{}
	for _, line := range lines {
		name, value, _ := strings.Cut(line, ": ")
		h.Add(name, value)
	}
	return h
}

func TestResetHeadersOfFourKinds(t *testing.T) {
	tests := []struct {
		reset string
		want  time.Duration
		ok    bool
	}{
		{"17ms", 17 * time.Millisecond, true},
		{"6m0s", 6 * time.Minute, true},
		{"1m30s", 90 * time.Second, true},
		{"23h47m36.648s", 23*time.Hour + 47*time.Minute + 36648*time.Millisecond, true},
		{"1d", 24 * time.Hour, true},
		{"42", 42 * time.Second, true},
		{"1792497640", 40 * time.Second, true},
		{"1792497640.25", 41 * time.Second, true},
		{"1792497640000", 40 * time.Second, true},
		{"2026-10-20T12:00:40Z", 40 * time.Second, true},
		{"2026-10-20T14:00:40.5+02:00", 40500 * time.Millisecond, true},
		{"2026-10-20 12:00:40 UTC", 40 * time.Second, true},
		{"2026-10-20 12:00:40.25+00:00", 40250 * time.Millisecond, true},
		{"2026-10-20 12:00:40", 0, false},
		{"Tue, 20 Oct 2026 12:00:40 GMT", 40 * time.Second, true},
		{"999999999999999999999d", math.MaxInt64, true},
		{"-1s", 0, false},
		{"", 0, false},
		{"soon", 0, false},
		{strings.Repeat("1s", 100), 0, false},
	}
	for _, tt := range tests {
		t.Run(tt.reset, func(t *testing.T) {
			h := http.Header{"X-Ratelimit-Reset-Requests": {tt.reset}}
			got, _, ok := HeaderWait(429, h, fixtureTime)
			if got != tt.want || ok != tt.ok {
				t.Errorf("got %v, %v, want %v, %v", got, ok, tt.want, tt.ok)
			}
			h.Set("Retry-After", "1")
			if got, _, _ := HeaderWait(429, h, fixtureTime); got != time.Second {
				t.Errorf("got %v beside Retry-After: 1, want 1s", got)
			}
		})
	}
}

func TestWaitsForWhatIsUsedUp(t *testing.T) {
	tests := []struct {
		name   string
		status int
		lines  []string
		want   time.Duration
		source string
	}{
		{"the later of two", 429, []string{
			"x-ratelimit-remaining-requests: 0", "x-ratelimit-reset-requests: 2s",
			"x-ratelimit-remaining-tokens: 0", "x-ratelimit-reset-tokens: 20s",
		}, 20 * time.Second, "x-ratelimit-reset-tokens"},
		{"nothing is used up", 429, []string{"x-ratelimit-remaining-requests: 3", "x-ratelimit-reset-requests: 2s"}, 0, ""},
		{"a reset alone, under 503", 503, []string{"x-ratelimit-reset-requests: 2s"}, 0, ""},
		{"a window stands above a refill", 429, []string{
			"RateLimit: \"default\";r=0;t=3", "x-ratelimit-remaining-tokens: 0", "x-ratelimit-reset-tokens: 20s",
		}, 3 * time.Second, "ratelimit"},
		{"priority capacity is not needed", 429, []string{
			"anthropic-priority-input-tokens-remaining: 0", "anthropic-priority-input-tokens-reset: 2026-10-20T12:01:00Z",
		}, 0, ""},
		{"the window of a subscription that is rejected", 429, []string{
			"anthropic-ratelimit-unified-status: rejected", "anthropic-ratelimit-unified-5h-status: rejected",
			"anthropic-ratelimit-unified-5h-reset: 1792497660", "anthropic-ratelimit-unified-7d-status: allowed",
			"anthropic-ratelimit-unified-7d-reset: 1793000000",
		}, time.Minute, "anthropic-ratelimit-unified-5h-reset"},
		{"drafts 03 to 06", 429, []string{"RateLimit-Limit: 100, 100;w=60", "RateLimit-Remaining: 0", "RateLimit-Reset: 7"}, 7 * time.Second, "ratelimit-reset"},
		{"a status that no wait mends", 404, []string{"Retry-After: 5"}, 0, ""},
		{"a good answer", 200, []string{"Retry-After: 5"}, 0, ""},
		{"not implemented", 501, []string{"Retry-After: 5"}, 0, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, source, ok := HeaderWait(tt.status, headerOf(tt.lines...), fixtureTime)
			if got != tt.want || source != tt.source || ok != (source != "") {
				t.Errorf("got %v, %v from %q, want %v from %q", got, ok, source, tt.want, tt.source)
			}
		})
	}
}

func FuzzRetryAfter(f *testing.F) {
	for _, s := range []string{"3", "1.5", "-1", "99999999999999999999", "Tue, 20 Oct 2026 12:00:03 GMT", "1d2h", "1792497640000", "\"a\";r=0;t=30"} {
		f.Add(429, s, s, s)
	}
	f.Fuzz(func(t *testing.T, status int, after, reset, date string) {
		h := http.Header{
			"Retry-After": {after, reset}, "Retry-After-Ms": {date}, "Date": {date},
			"X-Ratelimit-Remaining": {"0"}, "X-Ratelimit-Reset": {reset}, "Ratelimit": {after},
		}
		if wait, source, ok := RetryAfter(h, fixtureTime); wait < 0 || ok != (source != "") || !ok && wait != 0 {
			t.Errorf("RetryAfter: %v, %q, %v", wait, source, ok)
		}
		if wait, source, ok := HeaderWait(status, h, fixtureTime); wait < 0 || ok != (source != "") || !ok && wait != 0 {
			t.Errorf("HeaderWait: %v, %q, %v", wait, source, ok)
		}
	})
}

func FuzzPacing(f *testing.F) {
	f.Add("X-Ratelimit-Remaining-Requests", "0", "X-Ratelimit-Reset-Requests", "6m0s")
	f.Add("Ratelimit", `"burst";r=0;t=5, "daily";r=0;t=3600`, "Ratelimit-Policy", `"burst";q=8;qu="concurrent-requests";pk=:AA==:`)
	f.Add("Anthropic-Ratelimit-Unified-Status", "rejected", "Anthropic-Ratelimit-Unified-Reset", "1792501200")
	f.Add("X-Ratelimit-Limit-Tokens-Month", "99999999999999999999", "X-Tokenlimit-Remaining", "None")
	f.Fuzz(func(t *testing.T, name1, value1, name2, value2 string) {
		s := Pacing(http.Header{name1: {value1, value2}, name2: {value2}}, fixtureTime)
		if len(s.Limits) > maxLimits || s.QueryCost < -1 {
			t.Errorf("got %d limits, cost %d", len(s.Limits), s.QueryCost)
		}
		for _, l := range s.Limits {
			if l.Limit < -1 || l.Remaining < -1 || l.Reset < 0 || l.Window < 0 || !l.HasReset && l.Reset != 0 {
				t.Errorf("%+v", l)
			}
		}
	})
}
