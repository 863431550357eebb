package steady_test

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/steadyhttp/steady"
)

// headerRow is a row of testdata/headers.json.
type headerRow struct {
	Name     string
	Status   int
	Headers  [][2]string
	Now      time.Time
	Wait     any `json:"expect_wait_ms"` // a number, null or "saturate"
	Expect   string
	Optional bool
}

func (r headerRow) header() http.Header {
	h := http.Header{}
	for _, kv := range r.Headers {
		h.Add(kv[0], kv[1])
	}
	return h
}

func headerRows(t *testing.T) (retry, shouldRetry []headerRow) {
	t.Helper()
	b, err := os.ReadFile("testdata/headers.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Retry       []headerRow
		ShouldRetry []headerRow `json:"should_retry"`
	}
	if err := json.Unmarshal(b, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Retry) != 48 || len(file.ShouldRetry) != 3 {
		t.Fatalf("%d and %d rows, want 48 and 3", len(file.Retry), len(file.ShouldRetry))
	}
	return file.Retry, file.ShouldRetry
}

func TestRetryAfter_HeadersFile(t *testing.T) {
	rows, _ := headerRows(t)
	for _, tc := range rows {
		t.Run(tc.Name, func(t *testing.T) {
			got, ok := steady.RetryAfter(tc.header(), tc.Now)
			var good bool
			switch want := tc.Wait.(type) {
			case nil:
				good = !ok
			case float64:
				up := (got + time.Millisecond - 1) / time.Millisecond // the file rounds up
				good = ok && up == time.Duration(want)
			case string:
				good = want == "saturate" && ok && got == math.MaxInt64
			}
			if !good {
				t.Errorf("got %v, %v, want %v ms", got, ok, tc.Wait)
			}
		})
	}
}

func TestShouldRetry_HeadersFile(t *testing.T) {
	_, rows := headerRows(t)
	for _, tc := range rows {
		t.Run(tc.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				base := play(step{status: tc.Status, header: tc.header()}, step{status: 200})
				resp, err := steady.Retry()(base).RoundTrip(post(t, t.Context(), "q"))
				if err != nil {
					t.Fatal(err)
				}
				read(t, resp)
				want, ok := map[string]int{"retry": 2, "no_retry": 1, "by_status": 2}[tc.Expect]
				if got := base.attempts(); !ok || got != want {
					t.Errorf("%d attempts, want %d (%s)", got, want, tc.Expect)
				}
			})
		})
	}
}

// waitAfter makes a call whose first answer has status and header and returns
// when the second attempt came, or false if there was none.
func waitAfter(t *testing.T, status int, header http.Header, opts ...steady.RetryOption) (time.Duration, bool) {
	t.Helper()
	base, start := play(step{status: status, header: header}, step{status: 200}), time.Now()
	opts = append([]steady.RetryOption{steady.PlusMinus(0), steady.Delays(100*time.Millisecond, time.Minute), steady.Within(time.Hour)}, opts...)
	resp, err := steady.Retry(opts...)(base).RoundTrip(post(t, t.Context(), "q"))
	if err != nil {
		t.Fatal(err)
	}
	read(t, resp)
	times := base.times(start)
	if len(times) > 1 {
		return times[1], true
	}
	if resp.StatusCode != status {
		t.Errorf("status %d, want %d", resp.StatusCode, status)
	}
	if got := resp.Header.Values("Retry-After"); fmt.Sprint(got) != fmt.Sprint(header.Values("Retry-After")) {
		t.Errorf("Retry-After %q, want %q", got, header.Values("Retry-After"))
	}
	if took := time.Since(start); took != 0 {
		t.Errorf("took %v, want no wait", took)
	}
	return 0, false
}

func TestRA1_RetryAfterTable(t *testing.T) {
	const backoff, now = -1, 50 * time.Millisecond // "at once" has up to 50 ms of jitter
	s := time.Second
	// The bubble's clock starts at midnight UTC 2000-01-01.
	for _, tc := range []struct {
		values   []string
		min, max time.Duration // of the wait; backoff for exactly 100 ms
	}{
		{[]string{"3"}, 3 * s, 3 * s * 5 / 4},
		{[]string{" 3 "}, 3 * s, 3 * s * 5 / 4},
		{[]string{"\t3"}, 3 * s, 3 * s * 5 / 4},
		{[]string{"003"}, 3 * s, 3 * s * 5 / 4},
		{[]string{"0"}, 0, now},
		{[]string{"0.0"}, 0, now},
		{[]string{"1.5"}, s * 3 / 2, s * 3 / 2 * 5 / 4},
		{[]string{"0.000000001"}, 1, now},
		{[]string{"Sat, 01 Jan 2000 00:00:03 GMT"}, 3 * s, 3 * s * 5 / 4},
		{[]string{"Saturday, 01-Jan-00 00:00:03 GMT"}, 3 * s, 3 * s * 5 / 4},
		{[]string{"Sat Jan  1 00:00:03 2000"}, 3 * s, 3 * s * 5 / 4},
		{[]string{"Fri, 31 Dec 1999 23:59:59 GMT"}, 0, now},
		{[]string{"Mon, 01 Jan 0001 00:00:00 GMT"}, 0, now},
		{[]string{"1", "30"}, 30 * s, 30 * s * 5 / 4},
		{[]string{"30", "1"}, 30 * s, 30 * s * 5 / 4},
		{[]string{"soon", "3"}, 3 * s, 3 * s * 5 / 4},
		{[]string{"-5"}, backoff, 0},
		{[]string{"-0"}, backoff, 0},
		{[]string{"+5"}, backoff, 0},
		{[]string{"0x10"}, backoff, 0},
		{[]string{"1_000"}, backoff, 0},
		{[]string{"120junk"}, backoff, 0},
		{[]string{"3s"}, backoff, 0},
		{[]string{"3 4"}, backoff, 0},
		{[]string{"٥"}, backoff, 0},
		{[]string{"３"}, backoff, 0},
		{[]string{"\u00a03"}, backoff, 0},
		{[]string{"NaN"}, backoff, 0},
		{[]string{"Inf"}, backoff, 0},
		{[]string{"Infinity"}, backoff, 0},
		{[]string{"1e3"}, backoff, 0},
		{[]string{"1e400"}, backoff, 0},
		{[]string{""}, backoff, 0},
		{[]string{","}, backoff, 0},
		{[]string{"5, 10"}, backoff, 0},
		{[]string{"."}, backoff, 0},
		{[]string{"5."}, backoff, 0},
		{[]string{".5"}, backoff, 0},
		{[]string{"1.5.5"}, backoff, 0},
		{[]string{"Wed, 31 Feb 2000 00:00:00 GMT"}, backoff, 0},
		{[]string{"Sat, 01 Jan 2000 00:00:03 UTC"}, backoff, 0},
		{[]string{"Sat, 01 Jan 2000 00:00:03 +0000"}, backoff, 0},
		{[]string{"2000-01-01T00:00:03Z"}, backoff, 0},
		{[]string{"sat, 01 jan 2000 00:00:03 gmt"}, backoff, 0},
	} {
		for _, status := range []int{429, 503, 529} {
			t.Run(fmt.Sprintf("%q on %d", tc.values, status), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					got, ok := waitAfter(t, status, http.Header{"Retry-After": tc.values})
					low, high := tc.min, tc.max
					if low == backoff {
						low = 100 * time.Millisecond
						if status == 503 {
							low *= 2
						}
						high = low
					}
					if !ok || got < low || got > high {
						t.Errorf("waited %v, %v, want from %v to %v", got, ok, low, high)
					}
				})
			})
		}
	}
}

func TestRA1_OtherHeaders(t *testing.T) {
	for _, tc := range []struct {
		name     string
		header   http.Header
		min, max time.Duration
	}{
		{"milliseconds before seconds", http.Header{"Retry-After-Ms": {"250"}, "Retry-After": {"5"}}, 250 * time.Millisecond, 312500 * time.Microsecond},
		{"Azure's too", http.Header{"X-Ms-Retry-After-Ms": {"250"}, "Retry-After": {"5"}}, 250 * time.Millisecond, 312500 * time.Microsecond},
		{"OpenAI's before Azure's", http.Header{"Retry-After-Ms": {"400"}, "X-Ms-Retry-After-Ms": {"8000"}}, 400 * time.Millisecond, 500 * time.Millisecond},
		{"unreadable milliseconds fall through", http.Header{"Retry-After-Ms": {"NaN"}, "Retry-After": {"1"}}, time.Second, 1250 * time.Millisecond},
		{"negative ones too", http.Header{"Retry-After-Ms": {"-1"}, "Retry-After": {"1"}}, time.Second, 1250 * time.Millisecond},
		{"a date is no count of milliseconds", http.Header{"Retry-After-Ms": {"Sat, 01 Jan 2000 00:01:00 GMT"}, "Retry-After": {"1"}}, time.Second, 1250 * time.Millisecond},
		{
			"a date is counted from the server's own clock",
			http.Header{"Date": {"Sat, 01 Jan 2000 12:00:00 GMT"}, "Retry-After": {"Sat, 01 Jan 2000 12:00:04 GMT"}}, 4 * time.Second, 5 * time.Second,
		},
		{
			"or from ours if that is unreadable",
			http.Header{"Date": {"today"}, "Retry-After": {"Sat, 01 Jan 2000 00:00:04 GMT"}}, 4 * time.Second, 5 * time.Second,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if got, ok := waitAfter(t, 429, tc.header); !ok || got < tc.min || got > tc.max {
					t.Errorf("waited %v, %v, want from %v to %v", got, ok, tc.min, tc.max)
				}
			})
		})
	}
}

func TestRA1_IsIgnoredWhereNothingIsRetried(t *testing.T) {
	for _, status := range []int{200, 301, 400, 404} {
		synctest.Test(t, func(t *testing.T) {
			if got, ok := waitAfter(t, status, after("3")); ok {
				t.Errorf("%d was sent again after %v", status, got)
			}
		})
	}
}

// A server that always says 0 is not hammered for ever, nor without a pause.
func TestRA1_ZeroIsNoHotLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base, start := play(step{status: 429, header: after("0")}), time.Now()
		resp, err := steady.Retry(steady.MaxAttempts(50))(base).RoundTrip(post(t, t.Context(), "q"))
		if err != nil || resp.StatusCode != 429 {
			t.Fatalf("got %v, %v", resp, err)
		}
		read(t, resp)
		if got := base.attempts(); got != 50 {
			t.Errorf("%d attempts, want 50", got)
		}
		if took := time.Since(start); took < 500*time.Millisecond || took > 49*50*time.Millisecond {
			t.Errorf("took %v, want some 25 ms for each retry", took)
		}
	})
}

func TestRA3_LongerThanWeAreReadyToWait(t *testing.T) {
	minute := steady.MaxRetryAfter(time.Minute)
	for _, tc := range []struct {
		name   string
		header http.Header
		opt    steady.RetryOption
		waits  bool
	}{
		{"the limit itself", after("60"), minute, true},
		{"a millisecond more", http.Header{"Retry-After-Ms": {"60001"}}, minute, false},
		{"a nanosecond more", after("60.000000001"), minute, false},
		{"a second more", after("61"), minute, false},
		{"a day", after("86400"), minute, false},
		{"the date a minute ahead", after("Sat, 01 Jan 2000 00:01:00 GMT"), minute, true},
		{"the date a day ahead", after("Sun, 02 Jan 2000 00:00:00 GMT"), minute, false},
		{"more than an int32", after("99999999999"), minute, false},
		{"the largest int64", after("9223372036854775807"), minute, false},
		{"one more", after("9223372036854775808"), minute, false},
		{"forty digits", after(strings.Repeat("9", 40)), minute, false},
		{"four hundred digits", after(strings.Repeat("9", 400)), minute, false},
		{"the largest Duration", after("9223372036.854775807"), minute, false},
		{"milliseconds that overflow", http.Header{"Retry-After-Ms": {"9223372036854775807"}, "Retry-After": {"1"}}, minute, false},
		{"one of two", http.Header{"Retry-After": {"1", "61"}}, minute, false},
		{"anything, with a limit of 0", after("1"), steady.MaxRetryAfter(0), false},
		{"nothing, with a limit of 0", after("0"), steady.MaxRetryAfter(0), true},
		{"anything within an hour, with no limit", after("9223372036854775807"), steady.MaxRetryAfter(math.MaxInt64), false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				got, ok := waitAfter(t, 429, tc.header, tc.opt)
				if ok != tc.waits {
					t.Errorf("sent again after %v (%v), want %v", got, ok, tc.waits)
				}
				if asked, _ := steady.RetryAfter(tc.header, time.Now().Add(-got)); ok && got < asked {
					t.Errorf("sent again after %v, want %v at least", got, asked)
				}
			})
		})
	}
}

// Even with everything at its limit no wait comes out short.
func TestRA3_NothingOverflows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got, ok := waitAfter(t, 429, after("9223372036854775807"), steady.MaxRetryAfter(math.MaxInt64), steady.Within(math.MaxInt64))
		if ok {
			t.Errorf("sent again after %v", got)
		}
	})
}

func TestWithin_NoResendBeginsLater(t *testing.T) {
	const s = time.Second
	for _, tc := range []struct {
		name   string
		within time.Duration
		step   step
		want   []time.Duration // of the attempts
	}{
		{"backoff of 1, 2, 4 s", 8 * s, step{status: 429}, []time.Duration{0, s, 3 * s, 7 * s}},
		{"which would end at the limit", 7 * s, step{status: 429}, []time.Duration{0, s, 3 * s}},
		{"or just before it", 7*s + 1, step{status: 429}, []time.Duration{0, s, 3 * s, 7 * s}},
		{"attempts take time too", 8 * s, step{status: 429, takes: 2 * s}, []time.Duration{0, 3 * s, 7 * s}},
		{"an attempt is not cut", 4 * s, step{status: 429, takes: 9 * s}, []time.Duration{0}},
		{"Retry-After at the limit", 3 * s, step{status: 429, header: after("3")}, []time.Duration{0}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				base, start := play(tc.step), time.Now()
				rt := steady.Retry(append(steadyWaits, steady.MaxAttempts(100), steady.Within(tc.within))...)(base)
				resp, err := rt.RoundTrip(post(t, t.Context(), "q"))
				if err != nil || resp.StatusCode != 429 {
					t.Fatalf("got %v, %v", resp, err)
				}
				read(t, resp)
				if got := base.times(start); fmt.Sprint(got) != fmt.Sprint(tc.want) {
					t.Errorf("attempts at %v, want %v", got, tc.want)
				}
				if took, want := time.Since(start), tc.want[len(tc.want)-1]+tc.step.takes; took != want {
					t.Errorf("took %v, want %v: a wait that cannot help is not begun", took, want)
				}
			})
		})
	}
}

// Retry-After is stretched only so far that it still fits.
func TestWithin_LeavesRoomForWhatTheServerAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range 100 {
			got, ok := waitAfter(t, 429, after("3"), steady.Within(3*time.Second+10))
			if !ok || got < 3*time.Second || got >= 3*time.Second+10 {
				t.Errorf("waited %v, %v, want from 3s to 9 ns more", got, ok)
			}
		}
	})
}

func FuzzRetryAfter(f *testing.F) {
	rows := []string{"3", "0", "-5", "1.5", "1e400", "Sat, 01 Jan 2000 00:00:03 GMT", "99999999999999999999", "٥", "NaN", "1_000", "0x10"}
	for _, v := range rows {
		f.Add(v, "", "")
		f.Add("1", v, "")
		f.Add("Sat, 01 Jan 2000 00:00:03 GMT", "", v)
	}
	now := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, seconds, millis, date string) {
		h := http.Header{"Retry-After": {seconds}, "Retry-After-Ms": {millis}, "Date": {date}}
		got, ok := steady.RetryAfter(h, now)
		if got < 0 || !ok && got != 0 {
			t.Fatalf("got %v, %v", got, ok)
		}
		// Whatever else is taken, a plain number must be, exactly or as too long.
		for _, f := range []struct {
			text string
			unit time.Duration
		}{{millis, time.Millisecond}, {seconds, time.Second}} {
			n, err := strconv.ParseUint(f.text, 10, 63)
			if err != nil {
				if f.text == "" || ok && f.unit == time.Second {
					continue
				}
				if _, again := steady.RetryAfter(http.Header{"Retry-After-Ms": {millis}}, now); again {
					return // not an integer, but a number; it comes first
				}
				continue
			}
			want := time.Duration(math.MaxInt64)
			if n <= uint64(math.MaxInt64/f.unit) {
				want = time.Duration(n) * f.unit
			}
			if n < 1<<22 && got != want || got < want-want>>50 || !ok { // a float64 has 53 bits
				t.Fatalf("got %v, %v, want %v", got, ok, want)
			}
			return
		}
	})
}
