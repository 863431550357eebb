package steady_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/steadyhttp/steady"
	"github.com/steadyhttp/steady/internal/fakeserver"
)

// The recordings of internal/wire, played through the whole stack. What wire
// makes of them is tested there; here it is what the caller, the wire and the
// breaker see of it.

// recording is a row of internal/wire/testdata/manifest.json.
type recording struct {
	Name        string
	Kind        string // error, stream or response
	Dialect     string
	File        string
	Status      int
	ContentType string `json:"content_type"`
	Headers     map[string]string
	After       string `json:"after_bytes"`
	Expect      struct {
		// Of errors.
		Class          string
		BreakerFailure bool `json:"breaker_failure"`
		// Of all.
		Retryable bool
		WaitMs    *float64 `json:"wait_ms"`
		// Of answers.
		Complete  bool
		Truncated bool
		Safe      bool `json:"replay_safe"`
		Content   int  `json:"content_events"`
		Usage     *struct{ Input, Output int64 }
		Error     *struct {
			Position, Class string
			Type, Code      any // a string, a number or null
		}
	}

	body []byte
}

// recordings returns the rows of the manifest. They are about the present of
// theirs, which recordedAt is.
func recordings(t *testing.T) []recording {
	t.Helper()
	const dir = "internal/wire/testdata"
	read := func(file string, v any) {
		b, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b, v); err != nil {
			t.Fatal(err)
		}
	}
	var all, streams []recording
	read("manifest.json", &all)
	read("stream_manifest.json", &streams)
	for _, s := range streams {
		if !slices.ContainsFunc(all, func(r recording) bool { return r.Name == s.Name }) {
			all = append(all, s)
		}
	}
	for i, r := range all {
		var err error
		if all[i].body, err = os.ReadFile(filepath.Join(dir, r.File)); err != nil {
			t.Fatal(err)
		}
	}
	if len(all) < 281 {
		t.Fatalf("%d rows, want at least 281", len(all))
	}
	return all
}

var recordedAt = time.Date(2026, 10, 20, 12, 0, 0, 0, time.UTC)

func (r *recording) path() string {
	switch r.Dialect {
	case "anthropic":
		return "/v1/messages"
	case "openai-responses":
		return "/v1/responses"
	case "gemini", "gemini-sse", "gemini-array":
		return "/v1beta/models/x:streamGenerateContent"
	case "ollama":
		return "/api/chat"
	case "bedrock", "bedrock-eventstream":
		return "/model/x/converse-stream"
	}
	return "/v1/chat/completions"
}

func (r *recording) effect(with ...fakeserver.Effect) fakeserver.Effect {
	header := http.Header{}
	for name, value := range r.Headers {
		header.Set(name, value)
	}
	after := map[string]fakeserver.Ending{"": fakeserver.Clean, "stall": fakeserver.Stalled, "reset": fakeserver.Reset}[r.After]
	return fakeserver.Play(r.Status, r.ContentType, header, r.body, after, with...)
}

// shown is what the caller of a recording saw.
type shown struct {
	status   int
	header   http.Header
	chunked  bool
	body     []byte
	err      error // what the body ended in
	took     time.Duration
	requests int
	ended    []steady.AttemptEnded
	retries  []steady.RetryScheduled
	breaker  string
}

// show plays a recording to a call, or to as many as are asked for; what it
// returns is of the last one.
func (r *recording) show(t *testing.T, calls int, opts ...steady.Option) (s shown) {
	t.Helper()
	time.Sleep(time.Until(recordedAt))
	srv := fakeserver.New(r.effect())
	defer srv.Close()
	heard := &events{}
	retry := steady.WithRetry(steady.MaxAttempts(2), steady.PlusMinus(0), steady.Delays(time.Second, time.Second), steady.Within(1000*time.Hour), steady.MaxRetryAfter(1000*time.Hour))
	rt := must(t)(steady.New(append([]steady.Option{retry, steady.WithBase(srv.Transport()), steady.WithObserver(heard)}, opts...)...))
	for range calls {
		start := time.Now()
		resp, err := rt.RoundTrip(request(t, http.MethodPost, r.path(), `{"stream":true}`))
		if err != nil {
			t.Fatal(err)
		}
		s.status, s.header, s.chunked = resp.StatusCode, resp.Header, len(resp.TransferEncoding) > 0
		s.body, s.err = io.ReadAll(resp.Body)
		if again, err := resp.Body.Read(make([]byte, 1)); again != 0 || (err == io.EOF) != (s.err == nil) {
			t.Errorf("after its end the body yields %d bytes and %v", again, err)
		}
		resp.Body.Close()
		s.took = time.Since(start)
	}
	synctest.Wait()
	s.requests, s.ended, s.retries = srv.Counts().Requests, of[steady.AttemptEnded](heard), of[steady.RetryScheduled](heard)
	for _, state := range rt.State() {
		s.breaker = state.Breaker
		if state.InFlight != 0 {
			t.Errorf("%d in flight after the end", state.InFlight)
		}
	}
	return s
}

// eachRecording runs a test for each row of these kinds in a bubble of its own.
func eachRecording(t *testing.T, kinds string, test func(*testing.T, *recording)) {
	for _, r := range recordings(t) {
		if strings.Contains(kinds, r.Kind) {
			t.Run(r.Name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { test(t, &r) }) })
		}
	}
}

// wantAttempts checks how often a recording was asked for, and the wait between.
func (s *shown) wantAttempts(t *testing.T, r *recording, retried bool, class string) {
	t.Helper()
	want := 1
	if retried {
		want = 2
	}
	if s.requests != want || len(s.ended) != want || len(s.retries) != want-1 {
		t.Fatalf("%d requests, %d ends, %d retries, want %d, %d and %d", s.requests, len(s.ended), len(s.retries), want, want, want-1)
	}
	for _, e := range s.retries {
		least, most := time.Duration(0), 2*time.Second
		if r.Expect.WaitMs != nil {
			least = time.Duration(*r.Expect.WaitMs * float64(time.Millisecond))
			most = least + max(least/4, 50*time.Millisecond)
		}
		if e.Hinted != (r.Expect.WaitMs != nil) || e.Wait < least || e.Wait > most {
			t.Errorf("retry after %v, hinted %v, want %v to %v", e.Wait, e.Hinted, least, most)
		}
		if e.Class != class {
			t.Errorf("retry of class %q, want %q", e.Class, class)
		}
	}
}

// bad are the outcomes that speak against the provider.
var bad = []string{"overloaded", "failed", "unknown", "truncated", "stalled"}

func TestRC1_RC2_RA4_EveryRecordedErrorIsRetriedAndCountedByItsClass(t *testing.T) {
	eachRecording(t, "error", func(t *testing.T, r *recording) {
		s := r.show(t, 1)
		s.wantAttempts(t, r, r.Expect.Retryable, r.Expect.Class)
		if r.Status == http.StatusOK {
			s.wantErrorAnswer(t, classStatus[r.Expect.Class], r.Expect.Class)
			return
		}
		if s.status != r.Status || !bytes.Equal(s.body, r.body) || s.err != nil {
			t.Errorf("got status %d, %d bytes, %v; want %d, all %d and no error", s.status, len(s.body), s.err, r.Status, len(r.body))
		}
		for name, value := range r.Headers {
			if got := s.header.Get(name); got != value {
				t.Errorf("%s: %q, want %q", name, got, value)
			}
		}
		for _, e := range s.ended {
			if e.Class != r.Expect.Class || e.Status != r.Status || slices.Contains(bad, e.Outcome) != r.Expect.BreakerFailure {
				t.Errorf("ended as %+v, want class %s, breaker failure %v", e, r.Expect.Class, r.Expect.BreakerFailure)
			}
		}
	})
}

func TestRC2_EveryRecordedErrorTripsTheBreakerIfItSpeaksAgainstTheProvider(t *testing.T) {
	eachRecording(t, "error", func(t *testing.T, r *recording) {
		s := r.show(t, 2, steady.WithRetry(steady.MaxAttempts(1)), steady.WithBreaker(steady.TripAfter(2)))
		if got := s.breaker == "open"; got != r.Expect.BreakerFailure {
			t.Errorf("the breaker is %s after two of them, want open: %v", s.breaker, r.Expect.BreakerFailure)
		}
	})
}

// classStatus is the status that an error under 200 deserves, where the class
// alone decides.
var classStatus = map[string]int{
	"overloaded": 529, "rate_limit": 429, "server_error": 500, "quota_exhausted": 402, "content_policy": 400, "gateway": 502,
}

func TestSG1_SG3_EveryRecordedStreamEndsAsItDeserves(t *testing.T) {
	eachRecording(t, "stream", func(t *testing.T, r *recording) {
		s, want := r.show(t, 1), r.Expect
		switch {
		case want.Error != nil && want.Error.Position == "first":
			s.wantAttempts(t, r, want.Retryable, want.Error.Class)
			s.wantErrorAnswer(t, classStatus[want.Error.Class], want.Error.Class)
		case want.Error != nil:
			s.wantAttempts(t, r, false, "")
			r.body = bytes.TrimSuffix(r.body, []byte(doneEvent))
			s.wantBytes(t, r)
			answer, ok := errors.AsType[*steady.AnswerError](s.err)
			if !ok || answer.Class != want.Error.Class || s.ended[0].Class != want.Error.Class || s.ended[0].Err == nil || s.ended[0].Err.Error() != s.err.Error() {
				t.Errorf("ends in %v and %+v, want an AnswerError of class %s", s.err, s.ended[0], want.Error.Class)
			}
			if answer != nil && (answer.Type != word(want.Error.Type) || answer.Code != word(want.Error.Code)) {
				t.Errorf("type %q and code %q, want %v and %v", answer.Type, answer.Code, want.Error.Type, want.Error.Code)
			}
			if failure := want.Error.Class != "rate_limit"; slices.Contains(bad, s.ended[0].Outcome) != failure {
				t.Errorf("outcome %s, want a failure: %v", s.ended[0].Outcome, failure)
			}
		case len(r.body) == 0:
			s.wantAttempts(t, r, true, "gateway")
			s.wantErrorAnswer(t, http.StatusBadGateway, "gateway")
		case want.Truncated:
			s.wantAttempts(t, r, want.Safe, "")
			s.wantBytes(t, r)
			s.wantBroken(t, r)
		default:
			s.wantAttempts(t, r, false, "")
			s.wantWhole(t, r)
		}
	})
}

// word is a word of the manifest in the provider's words.
func word(v any) string {
	if v == nil {
		return ""
	}
	return fmt.Sprint(v)
}

// wantBytes checks that all bytes came under the status 200.
func (s *shown) wantBytes(t *testing.T, r *recording) {
	t.Helper()
	if s.status != 200 || !bytes.Equal(s.body, r.body) {
		t.Errorf("status %d with %d bytes, want 200 with all %d", s.status, len(s.body), len(r.body))
	}
}

func (s *shown) wantBroken(t *testing.T, r *recording) {
	t.Helper()
	last := s.ended[len(s.ended)-1]
	if r.After == "stall" {
		if !errors.Is(s.err, steady.ErrStreamStalled) || errors.Is(s.err, steady.ErrStreamTruncated) || last.Outcome != "stalled" || s.took != 2*time.Minute {
			t.Errorf("ends in %v and %s after %v, want a stall after 2m", s.err, last.Outcome, s.took)
		}
		return
	}
	if !errors.Is(s.err, steady.ErrStreamTruncated) || !errors.Is(s.err, io.ErrUnexpectedEOF) || last.Outcome != "truncated" || !errors.Is(last.Err, steady.ErrStreamTruncated) {
		t.Errorf("ends in %v and %+v, want a truncation", s.err, last)
	}
	if r.After == "reset" != errors.Is(s.err, syscall.ECONNRESET) {
		t.Errorf("ends in %v, reset: %v", s.err, r.After == "reset")
	}
}

func (s *shown) wantWhole(t *testing.T, r *recording) {
	t.Helper()
	s.wantBytes(t, r)
	end := s.ended[0]
	if s.err != nil || end.Outcome != "ok" || end.Class != "" || end.Err != nil {
		t.Errorf("ends in %v and %+v, want the end of a whole answer", s.err, end)
	}
	if u := r.Expect.Usage; u != nil && (end.Input != u.Input || end.Output != u.Output) {
		t.Errorf("usage %d and %d, want %d and %d", end.Input, end.Output, u.Input, u.Output)
	}
}

// wantErrorAnswer checks that the caller got an error answer in the form that all
// SDKs read.
func (s *shown) wantErrorAnswer(t *testing.T, status int, class string) {
	t.Helper()
	var body struct{ Error map[string]any }
	if err := json.Unmarshal(s.body, &body); err != nil || body.Error == nil || s.err != nil {
		t.Errorf("body %q, %v, want a JSON error", s.body, s.err)
	}
	if s.chunked || s.status != status || s.header.Get("Content-Type") != "application/json" || s.header.Get("Content-Length") != fmt.Sprint(len(s.body)) {
		t.Errorf("status %d, header %v, want %d with a JSON error", s.status, s.header, status)
	}
	failure := class != "rate_limit" && class != "quota_exhausted" && class != "content_policy"
	for _, e := range s.ended {
		if e.Class != class || e.Status != status || slices.Contains(bad, e.Outcome) != failure {
			t.Errorf("ended as %+v, want class %s, failure %v", e, class, failure)
		}
	}
}

func TestSG1_SG3_EveryRecordedPlainAnswerEndsAsItDeserves(t *testing.T) {
	eachRecording(t, "response", func(t *testing.T, r *recording) {
		switch s := r.show(t, 1); r.Name {
		case "response/deepseek_blank_lines_only_then_close":
			s.wantAttempts(t, r, true, "gateway")
			s.wantErrorAnswer(t, http.StatusBadGateway, "gateway")
		case "response/openai-chat_truncated_json":
			s.wantAttempts(t, r, true, "")
			s.wantBytes(t, r)
			s.wantBroken(t, r)
		case "response/openai-responses_failed_under_200":
			s.wantAttempts(t, r, true, "server_error")
			s.wantErrorAnswer(t, http.StatusInternalServerError, "server_error")
		default:
			if !r.Expect.Complete {
				t.Fatal("a row that this test does not know")
			}
			s.wantAttempts(t, r, false, "")
			s.wantWhole(t, r)
		}
	})
}
