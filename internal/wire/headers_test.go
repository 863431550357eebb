package wire

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// headerRows is headers.json: one list of rows for each question to headers.
type headerRows struct {
	Retry []struct {
		headerRow
		Want json.RawMessage `json:"expect_wait_ms"`
	}
	ShouldRetry []struct {
		headerRow
		Want string `json:"expect"`
	} `json:"should_retry"`
	Pacing []struct {
		headerRow
		Want map[string]json.RawMessage `json:"expect"`
	}
	Durations []struct {
		In string
		Ms *int64
	}
	BodyHints []struct {
		Name string
		Body string
		Want *int64 `json:"expect_wait_ms"`
	} `json:"body_hints"`
}

type headerRow struct {
	Name    string
	Status  int
	Headers [][2]string
}

func (r headerRow) header() http.Header {
	h := http.Header{}
	for _, line := range r.Headers {
		h.Add(line[0], line[1])
	}
	return h
}

func readHeaderRows(t *testing.T) (rows headerRows) {
	t.Helper()
	readJSON(t, "headers.json", &rows)
	for name, n := range map[string]int{
		"retry": len(rows.Retry), "should_retry": len(rows.ShouldRetry), "pacing": len(rows.Pacing),
		"durations": len(rows.Durations), "body_hints": len(rows.BodyHints),
	} {
		if n == 0 {
			t.Fatalf("headers.json has no section %s", name)
		}
	}
	return rows
}

// wantWait reads an expected wait: null, milliseconds, or "saturate".
func wantWait(t *testing.T, raw json.RawMessage) (wait time.Duration, ok bool) {
	t.Helper()
	switch string(raw) {
	case "null":
		return 0, false
	case `"saturate"`:
		return math.MaxInt64, true
	}
	var ms int64
	if err := json.Unmarshal(raw, &ms); err != nil {
		t.Fatal(err)
	}
	return time.Duration(ms) * time.Millisecond, true
}

func TestHeadersNameTheWait(t *testing.T) {
	for _, r := range readHeaderRows(t).Retry {
		t.Run(r.Name, func(t *testing.T) {
			want, wantOK := wantWait(t, r.Want)
			got, source, ok := HeaderWait(r.Status, r.header(), fixtureTime)
			if got != want || ok != wantOK || ok != (source != "") {
				t.Errorf("got %v, %v from %q, want %v, %v", got, ok, source, want, wantOK)
			}
		})
	}
}

func TestShouldRetryOverridesTheClassBothWays(t *testing.T) {
	for _, r := range readHeaderRows(t).ShouldRetry {
		t.Run(r.Name, func(t *testing.T) {
			want, ok := map[string]bool{"retry": true, "no_retry": false, "by_status": r.Status == 429}[r.Want]
			if !ok {
				t.Fatalf("unknown expectation %q", r.Want)
			}
			if v := Classify(Response{Status: r.Status, Header: r.header(), Now: fixtureTime}); v.Retry != want {
				t.Errorf("got retry=%v, want %v", v.Retry, want)
			}
		})
	}
}

func TestPacingReadsTheHeadersOfAllProviders(t *testing.T) {
	for _, r := range readHeaderRows(t).Pacing {
		t.Run(r.Name, func(t *testing.T) {
			got := Pacing(r.header(), fixtureTime)
			seen := 0
			for name, raw := range r.Want {
				if name == "query_cost" {
					if want := string(raw); fmt.Sprint(got.QueryCost) != want {
						t.Errorf("got query cost %d, want %s", got.QueryCost, want)
					}
					continue
				}
				seen++
				checkLimit(t, got, name, raw)
			}
			if len(got.Limits) != seen {
				t.Errorf("got %d limits, want %d: %+v", len(got.Limits), seen, got.Limits)
			}
		})
	}
}

// A host whose headers Pacing reads must not be passed over unread.
func TestPacedKnowsTheHeadersThatPacingReads(t *testing.T) {
	paced := 0
	for _, r := range readHeaderRows(t).Pacing {
		s := Pacing(r.header(), fixtureTime)
		limited := slices.ContainsFunc(s.Limits, func(l Limit) bool { return l.Remaining >= 0 && l.HasReset })
		if got := Paced(r.header()); limited && !got {
			t.Errorf("%s: Paced is %v, but Pacing reads %+v", r.Name, got, s.Limits)
		}
		if limited {
			paced++
		}
	}
	if paced < 5 {
		t.Errorf("only %d rows have a limit to look for", paced)
	}
	if Paced(http.Header{"Content-Type": {"application/json"}, "Anthropic-Organization-Id": {"x"}}) {
		t.Error("Paced is true of headers without a limit")
	}
}

func checkLimit(t *testing.T, s Snapshot, name string, raw json.RawMessage) {
	t.Helper()
	var want struct {
		Limit, Remaining *int64
		Reset            *int64 `json:"reset_ms"`
		Window, Unit     string
		WindowMs         int64 `json:"window_ms"`
	}
	if err := json.Unmarshal(raw, &want); err != nil {
		t.Fatal(err)
	}
	or := func(n *int64) int64 {
		if n == nil {
			return -1
		}
		return *n
	}
	window := map[string]time.Duration{"minute": time.Minute, "month": 30 * 24 * time.Hour}[want.Window]
	if want.WindowMs > 0 {
		window = time.Duration(want.WindowMs) * time.Millisecond
	}
	got, ok := s.Get(name)
	if !ok || got.Limit != or(want.Limit) || got.Remaining != or(want.Remaining) || got.Unit != want.Unit || got.Window != window {
		t.Errorf("%s: got %+v, want %s", name, got, raw)
	}
	if got.HasReset != (want.Reset != nil) || got.HasReset && got.Reset != time.Duration(*want.Reset)*time.Millisecond {
		t.Errorf("%s: got reset %v (%v), want %s", name, got.Reset, got.HasReset, raw)
	}
}

func TestDurationsAreReadStrictly(t *testing.T) {
	for _, r := range readHeaderRows(t).Durations {
		got, ok := ParseDuration(r.In)
		if r.Ms == nil && ok || r.Ms != nil && (!ok || got != time.Duration(*r.Ms)*time.Millisecond) {
			t.Errorf("%q: got %v, %v", r.In, got, ok)
		}
	}
}

func TestBodiesNameTheWait(t *testing.T) {
	for _, r := range readHeaderRows(t).BodyHints {
		t.Run(r.Name, func(t *testing.T) {
			status := http.StatusTooManyRequests
			if strings.Contains(r.Body, `"invalid_request_error"`) {
				status = http.StatusBadRequest
			}
			v := Classify(Response{Status: status, Body: []byte(r.Body), Now: fixtureTime})
			if r.Want == nil && v.WaitSource != "" {
				t.Errorf("got %v from %q, want no wait", v.Wait, v.WaitSource)
			}
			if r.Want != nil && (v.WaitSource == "" || v.Wait != time.Duration(*r.Want)*time.Millisecond) {
				t.Errorf("got %v from %q, want %d ms", v.Wait, v.WaitSource, *r.Want)
			}
		})
	}
}

func TestPacingKeepsLimitsApart(t *testing.T) {
	tests := []struct {
		name  string
		lines []string
		want  []Limit // with only what matters
	}{
		{"a day and a minute", []string{
			"x-ratelimit-remaining-requests-day: 9", "x-ratelimit-reset-requests-day: 33011.382867097855", "x-ratelimit-limit-tokens-minute: 60000",
		}, []Limit{
			{Name: "requests_day", Limit: -1, Remaining: 9, Used: -1, Window: 24 * time.Hour, HasReset: true, Refill: true, Reset: 33011382867098},
			{Name: "tokens", Limit: 60000, Remaining: -1, Used: -1, Window: time.Minute},
		}},
		{"a subscription", []string{
			"anthropic-ratelimit-unified-5h-status: allowed", "anthropic-ratelimit-unified-5h-utilization: 0.25",
			"anthropic-ratelimit-unified-representative-claim: five_hour", "anthropic-organization-id: x", "anthropic-version: 5",
		}, []Limit{{Name: "unified_5h", Limit: -1, Remaining: -1, Used: 0.25, Status: "allowed"}}},
		{"priority and fast tokens", []string{
			"anthropic-priority-input-tokens-limit: 10", "anthropic-fast-output-tokens-remaining: 0",
		}, []Limit{
			{Name: "fast_output_tokens", Limit: -1, Remaining: 0, Used: -1},
			{Name: "priority_input_tokens", Limit: 10, Remaining: -1, Used: -1},
		}},
		{"drafts 03 to 06", []string{"RateLimit-Limit: 100, 100;w=60", "RateLimit-Remaining: 4", "RateLimit-Reset: 5"}, []Limit{
			{Name: "default", Limit: 100, Remaining: 4, Used: -1, HasReset: true, Reset: 5 * time.Second},
		}},
		{"a placeholder voids its limit alone", []string{
			"x-ratelimit-limit-tokens: -1", "x-ratelimit-reset-tokens: 0", "x-ratelimit-remaining-requests: 2",
		}, []Limit{{Name: "requests", Limit: -1, Remaining: 2, Used: -1}}},
		{"one bad item voids the field", []string{`RateLimit: "a";r=0;t=5, "b";t=5`}, nil},
		{"a trailing comma", []string{`RateLimit: "a";r=0;t=5,`}, nil},
		{"a string that does not end", []string{`RateLimit: "a;r=0;t=5`}, nil},
		{"a negative figure", []string{`RateLimit: "a";r=-1;t=5`}, nil},
		{"a quoted figure", []string{`RateLimit: "a";r="1";t=5`}, nil},
		{"escapes in a name", []string{`RateLimit: "a\"b\\";r=1`}, []Limit{{Name: `a"b\`, Limit: -1, Remaining: 1, Used: -1}}},
		{"a flag", []string{`RateLimit: "a";r=1;flag`}, []Limit{{Name: "a", Limit: -1, Remaining: 1, Used: -1}}},
		{"a parameter without a name", []string{`RateLimit: "a";r=1;`}, nil},
		{"a name that is not ASCII", []string{`RateLimit: "é";r=1`}, nil},
		{"a dictionary of other things", []string{"RateLimit: a=1, b=2"}, nil},
		{"junk", []string{"x-ratelimit-remaining: many", "x-ratelimit-limit-: 5x", "x-ratelimit-reset: soon", "x-tokenlimit-limit: None"}, nil},
		{"more than fits", []string{"x-ratelimit-limit: 99999999999999999999"}, []Limit{{Name: "requests", Limit: math.MaxInt64, Remaining: -1, Used: -1}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := Pacing(headerOf(tt.lines...), fixtureTime).Limits
			for i := range got {
				got[i].source = ""
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}
