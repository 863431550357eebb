package steady_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/steadyhttp/steady"
	"github.com/steadyhttp/steady/internal/fakeserver"
)

// RC2: a 429 for an empty purse is not retried, and looking inside does not spoil
// the body.

func TestRC2_AnEmptyPurseIsNotRetriedAndTheBodyIsNotSpoilt(t *testing.T) {
	const purse = `{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`
	const plain = `{"error":{"message":"Rate limit reached for requests","type":"requests","param":null,"code":"rate_limit_exceeded"}}`
	const looked = 64<<10 + 4<<10 // how much of a body is read ahead at most
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, _ = z.Write([]byte(purse))
	z.Close()
	late := `{"error":{"message":"` + strings.Repeat("x", 5<<20) + `","code":"insufficient_quota"}}`
	for _, test := range []struct {
		name, contentType, body string
		encoding                string
		chunked                 bool
		attempts                int
		class                   string
	}{
		{"an empty purse", "application/json", purse, "", false, 1, "quota_exhausted"},
		{"chunked", "application/json", purse, "", true, 1, "quota_exhausted"},
		{"compressed as the caller asked", "application/json", zipped.String(), "gzip", false, 1, "quota_exhausted"},
		{"the code after 5 MiB", "application/json", late, "", false, 2, "rate_limit"},
		{"the code after 5 MiB, chunked", "application/json", late, "", true, 2, "rate_limit"},
		{"not JSON", "text/plain", "insufficient funds? no: too many requests", "", false, 2, "rate_limit"},
		{"a quote of the phrase", "application/json", `{"error":{"message":"No, this is not \"insufficient_quota\"","type":"requests","code":"rate_limit_exceeded"}}`, "", false, 2, "rate_limit"},
		{"a plain rate limit", "application/json", plain, "", false, 2, "rate_limit"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var body *readCounter
				attempts := 0
				heard := &events{}
				rt := must(t)(steady.New(steady.WithObserver(heard), steady.WithRetry(steady.MaxAttempts(2)), steady.WithBase(roundTripFunc(func(req *http.Request) (*http.Response, error) {
					attempts++
					body = &readCounter{Reader: strings.NewReader(test.body)}
					header := http.Header{"Content-Type": {test.contentType}}
					if test.encoding != "" {
						header.Set("Content-Encoding", test.encoding)
					}
					resp := respond(req, 429, header, body)
					if !test.chunked {
						resp.ContentLength = int64(len(test.body))
						resp.Header.Set("Content-Length", strconv.Itoa(len(test.body)))
					}
					return resp, nil
				}))))
				req := request(t, http.MethodPost, chat, "{}")
				req.Header.Set("Accept-Encoding", "gzip")
				resp, err := rt.RoundTrip(req)
				if err != nil {
					t.Fatal(err)
				}
				if body.n > looked {
					t.Errorf("%d bytes read ahead, want at most %d", body.n, looked)
				}
				got := read(t, resp)
				if got != test.body || attempts != test.attempts {
					t.Errorf("%d bytes after %d attempts, want all %d unchanged after %d", len(got), attempts, len(test.body), test.attempts)
				}
				length := int64(len(test.body))
				if test.chunked {
					length = -1
				}
				if resp.ContentLength != length || resp.Header.Get("Content-Encoding") != test.encoding || resp.StatusCode != 429 {
					t.Errorf("status %d, length %d, encoding %q", resp.StatusCode, resp.ContentLength, resp.Header.Get("Content-Encoding"))
				}
				for _, e := range of[steady.AttemptEnded](heard) {
					if e.Class != test.class {
						t.Errorf("ended as %+v, want class %s", e, test.class)
					}
				}
			})
		})
	}
}

// The look inside gives up after 250 ms, which count as a part of the wait.
func TestRC2_ABodyThatStallsIsAPlain429(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const some = `{"error":{"message":`
		srv := fakeserver.New(fakeserver.Sequence(
			fakeserver.Play(429, "application/json", nil, []byte(some), fakeserver.Stalled),
			fakeserver.Play(200, "text/event-stream", nil, []byte(wholeChat), fakeserver.Clean)))
		defer srv.Close()
		start := time.Now()
		resp, heard := asked(t, t.Context(), srv.Transport())
		if got := read(t, resp); got != wholeChat || time.Since(start) != time.Second {
			t.Errorf("got %q after %v, want the second answer after 1s", got, time.Since(start))
		}
		if r := of[steady.RetryScheduled](heard); len(r) != 1 || r[0].Class != "rate_limit" || r[0].Status != 429 {
			t.Errorf("retries %+v, want one of a plain 429", r)
		}

		srv.Script(fakeserver.Play(429, "application/json", nil, []byte(some), fakeserver.Stalled))
		start = time.Now()
		resp, _ = asked(t, t.Context(), srv.Transport(), steady.WithRetry(steady.MaxAttempts(1)))
		if time.Since(start) != 250*time.Millisecond {
			t.Errorf("the last response came after %v, want 250ms", time.Since(start))
		}
		got := make([]byte, len(some))
		if _, err := io.ReadFull(resp.Body, got); err != nil || string(got) != some {
			t.Errorf("got %q, %v, want what there was", got, err)
		}
	})
}

// RA4: rate-limit reset headers of four kinds.

func TestRA4_ResetHeaders(t *testing.T) {
	const s = time.Second
	in40 := recordedAt.Add(40 * s)
	one := func(name, value string) http.Header { h := http.Header{}; h.Set(name, value); return h }
	requests := func(value string) http.Header {
		h := one("X-Ratelimit-Reset-Requests", value)
		h.Set("X-Ratelimit-Remaining-Requests", "0")
		return h
	}
	both := func(more ...string) http.Header {
		h := requests("2s")
		h.Set("X-Ratelimit-Reset-Tokens", "20s")
		h.Set("X-Ratelimit-Remaining-Tokens", "0")
		for i := 0; i < len(more); i += 2 {
			h.Set(more[i], more[i+1])
		}
		return h
	}
	anthropic := one("Anthropic-Ratelimit-Requests-Reset", in40.Format(time.RFC3339))
	anthropic.Set("Anthropic-Ratelimit-Requests-Remaining", "0")
	for _, test := range []struct {
		name   string
		header http.Header
		wait   time.Duration // -1 for a backoff of our own
		longer bool          // than what is waited for
	}{
		{"17ms", requests("17ms"), 17 * time.Millisecond, false},
		{"1m30s", requests("1m30s"), 90 * s, false},
		{"6m0s", requests("6m0s"), 6 * time.Minute, false},
		{"a number of seconds", requests("42"), 42 * s, false},
		{"seconds since 1970", requests(fmt.Sprint(in40.Unix())), 40 * s, false},
		{"milliseconds since 1970", requests(fmt.Sprint(in40.UnixMilli())), 40 * s, false},
		{"a time", anthropic, 40 * s, false},
		{"1d", requests("1d"), 24 * time.Hour, true},
		{"-1s", requests("-1s"), -1, false},
		{"nothing", requests(""), -1, false},
		{"no form that is known", requests("soon"), -1, false},
		{"the later of two that are used up", both(), 20 * s, false},
		{"one that is left", both("X-Ratelimit-Remaining-Tokens", "700"), 2 * s, false},
		{"Retry-After beside them", both("Retry-After", "1"), s, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(time.Until(recordedAt))
				heard := &events{}
				rt := must(t)(steady.New(steady.WithObserver(heard), steady.WithBase(play(step{status: 429, header: test.header}, step{status: 204})),
					steady.WithRetry(steady.PlusMinus(0), steady.Delays(5*s, 5*s), steady.MaxRetryAfter(10*time.Minute), steady.Within(time.Hour))))
				resp, err := rt.RoundTrip(post(t, t.Context(), "{}"))
				if err != nil {
					t.Fatal(err)
				}
				resp.Body.Close()
				retries := of[steady.RetryScheduled](heard)
				if test.longer {
					if len(retries) != 0 || resp.StatusCode != 429 {
						t.Errorf("status %d after %+v, want the 429 at once", resp.StatusCode, retries)
					}
					return
				}
				if len(retries) != 1 || retries[0].Hinted != (test.wait >= 0) {
					t.Fatalf("retries %+v, want one, hinted %v", retries, test.wait >= 0)
				}
				least, most := test.wait, test.wait+max(test.wait/4, 50*time.Millisecond)
				if test.wait < 0 {
					least, most = 5*s, 5*s
				}
				if got := retries[0].Wait; got < least || got > most {
					t.Errorf("waited %v, want %v to %v", got, least, most)
				}
			})
		})
	}
}
