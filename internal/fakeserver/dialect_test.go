package fakeserver_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/steadyhttp/steady/internal/fakeserver"
)

const (
	responsesPath    = "/v1/responses"
	geminiPath       = "/v1beta/models/gemini-x:generateContent"
	geminiStreamPath = "/v1beta/models/gemini-x:streamGenerateContent"
	geminiBody       = `{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}`
)

func TestResponsesAnswerPlainAndInEventsThatEndWithoutDone(t *testing.T) {
	throughEach(t, func(t *testing.T, _ string, open func(...fakeserver.Option) (*fakeserver.Server, *client)) {
		srv, c := open(fakeserver.Words(1))
		type response struct {
			Status string
			Output []struct{ Content []struct{ Type, Text string } }
			Usage  struct {
				Input  int `json:"input_tokens"`
				Output int `json:"output_tokens"`
			}
		}
		check := func(what, body string, got response) {
			t.Helper()
			want := srv.Answer([]byte(body))
			if got.Status != "completed" || got.Output[0].Content[0].Text != want.Text || got.Usage.Input != want.InputTokens || got.Usage.Output != 2 {
				t.Errorf("%s: %+v, want %+v", what, got, want)
			}
		}
		plain := `{"model":"m","input":"hi"}`
		var whole response
		decode(t, c.post(responsesPath, plain), &whole)
		check("whole", plain, whole)

		streamed := `{"model":"m","input":"hi","stream":true}`
		r := c.post(responsesPath, streamed)
		var text string
		var types []string
		for i, line := range data(r.body) {
			var e struct {
				Type     string
				Number   int `json:"sequence_number"`
				Delta    string
				Response response
			}
			if err := json.Unmarshal([]byte(line), &e); err != nil {
				t.Fatalf("%v in %s", err, line)
			}
			if e.Number != i || !strings.Contains(r.body, "event: "+e.Type+"\ndata: "+line+"\n\n") {
				t.Errorf("event %d: number %d, type %q", i, e.Number, e.Type)
			}
			types, text = append(types, e.Type), text+e.Delta
			if e.Type == "response.completed" {
				check("stream", streamed, e.Response)
			}
		}
		want := []string{
			"response.created", "response.in_progress", "response.output_item.added", "response.content_part.added",
			"response.output_text.delta", "response.output_text.delta", "response.output_text.done",
			"response.content_part.done", "response.output_item.done", "response.completed",
		}
		if !slices.Equal(types, want) || text != srv.Answer([]byte(streamed)).Text {
			t.Errorf("events %q, text %q", types, text)
		}
	})
}

func TestGeminiAnswersPlainInEventsOrInAnArray(t *testing.T) {
	throughEach(t, func(t *testing.T, _ string, open func(...fakeserver.Option) (*fakeserver.Server, *client)) {
		srv, c := open(fakeserver.Words(2))
		type response struct {
			Candidates []struct {
				Content      struct{ Parts []struct{ Text string } }
				FinishReason string
			}
			UsageMetadata struct{ PromptTokenCount, CandidatesTokenCount, TotalTokenCount int }
			ModelVersion  string
		}
		check := func(what string, got []response) {
			t.Helper()
			var text, reasons string
			for _, r := range got {
				text += r.Candidates[0].Content.Parts[0].Text
				reasons += r.Candidates[0].FinishReason
			}
			want, usage := srv.Answer([]byte(geminiBody)), got[len(got)-1].UsageMetadata
			if text != want.Text || reasons != "STOP" || usage.PromptTokenCount != want.InputTokens || usage.CandidatesTokenCount != 3 || usage.TotalTokenCount != want.InputTokens+3 || got[0].ModelVersion != "gemini-x" {
				t.Errorf("%s: %+v, want %+v", what, got, want)
			}
		}
		var whole response
		decode(t, c.post(geminiPath, geminiBody), &whole)
		check("whole", []response{whole})

		var array []response
		r := c.post(geminiStreamPath, geminiBody)
		decode(t, r, &array)
		check("array", array)
		if got := r.header.Get("Content-Type"); !strings.HasPrefix(got, "application/json") || len(array) != 3 {
			t.Errorf("array of %d: Content-Type %q", len(array), got)
		}

		r = c.post(geminiStreamPath+"?alt=sse", geminiBody)
		var events []response
		for part := range strings.SplitSeq(strings.TrimSuffix(r.body, "\r\n\r\n"), "\r\n\r\n") {
			var e response
			if err := json.Unmarshal([]byte(strings.TrimPrefix(part, "data: ")), &e); err != nil {
				t.Fatalf("%v in %q", err, part)
			}
			events = append(events, e)
		}
		check("events", events)
		if got := r.header.Get("Content-Type"); got != "text/event-stream" {
			t.Errorf("events: Content-Type %q", got)
		}
	})
}

func TestTheModelOfGeminiIsInThePath(t *testing.T) {
	srv := fakeserver.New(fakeserver.When(fakeserver.Model("gemini-x"), fakeserver.Status(503)), fakeserver.StreamError(1, "UNAVAILABLE", ""))
	defer srv.Close()
	c := &client{t, "http://llm.test", &http.Client{Transport: srv.Transport()}}
	for _, test := range []struct {
		path   string
		status int
		want   string
	}{
		{geminiStreamPath, 503, `{"error":{"code":503,"message":"Service Unavailable (request 1)","status":"UNAVAILABLE"}}`},
		{"/v1/models/other:streamGenerateContent?alt=sse", 200, `data: {"error":{"code":503,"message":"The server had an error while processing your request","status":"UNAVAILABLE"}}`},
	} {
		r := c.post(test.path, geminiBody)
		if r.status != test.status || !strings.Contains(r.body, test.want) {
			t.Errorf("%s: %d %s, want %d with %s", test.path, r.status, r.body, test.status, test.want)
		}
	}
}

func TestARecordingIsPlayedByteForByte(t *testing.T) {
	body := []byte("data: {\"a\":\"\xe4\xb8\"}\r\n\r\n\x00\xff: no end")
	header := http.Header{"X-Request-Id": {"r1"}, "x-ratelimit-limit-requests": {"7"}, "Content-Length": {"3"}, "Transfer-Encoding": {"gzip"}}
	throughEach(t, func(t *testing.T, door string, open func(...fakeserver.Option) (*fakeserver.Server, *client)) {
		for _, test := range []struct {
			name, contentType string
			status            int
			after             fakeserver.Ending
			with              []fakeserver.Effect
			body              []byte
			length            int64
			err               func(error) bool
		}{
			{"a stream that ends", "text/event-stream", 200, fakeserver.Clean, nil, body, -1, nil},
			{"a plain answer", "application/json", 429, fakeserver.Clean, nil, body, int64(len(body)), nil},
			{"a plain answer in pieces", "application/json", 200, fakeserver.Clean, []fakeserver.Effect{fakeserver.Pieces(1, 0)}, body, int64(len(body)), nil},
			{"a plain answer cut clean", "application/json", 200, fakeserver.Clean, []fakeserver.Effect{fakeserver.Cut(fakeserver.AfterBytes(5), fakeserver.Clean)}, body[:5], 5, nil},
			{"no type", "", 200, fakeserver.Clean, nil, body, int64(len(body)), nil},
			{"nothing", "text/event-stream", 200, fakeserver.Clean, nil, nil, -1, nil},
			{"a reset after all bytes", "application/json", 200, fakeserver.Reset, nil, body, -1, func(err error) bool { return err != nil }},
			{"a FIN after all bytes", "text/event-stream", 200, fakeserver.FIN, []fakeserver.Effect{fakeserver.Pieces(3, 0)}, body, -1, func(err error) bool { return err != nil }},
			{"a stream in pieces", "application/x-ndjson", 200, fakeserver.Clean, []fakeserver.Effect{fakeserver.Pieces(7, 0)}, body, -1, nil},
		} {
			srv, c := open(fakeserver.Play(test.status, test.contentType, header, test.body, test.after, test.with...))
			resp, err := c.Post(c.base+chatPath, "application/json", strings.NewReader(`{"stream":true}`))
			if err != nil {
				t.Fatalf("%s: %v", test.name, err)
			}
			got, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if !bytes.Equal(got, test.body) && !(bytes.HasPrefix(test.body, got) && test.after == fakeserver.Reset && door == "HTTP/2") {
				t.Errorf("%s: %q, want %q", test.name, got, test.body)
			}
			if (err != nil) != (test.err != nil) || err != nil && !test.err(err) {
				t.Errorf("%s: error %v", test.name, err)
			}
			if resp.StatusCode != test.status || resp.ContentLength != test.length && len(test.body) > 0 {
				t.Errorf("%s: status %d, length %d, want %d, %d", test.name, resp.StatusCode, resp.ContentLength, test.status, test.length)
			}
			if h := resp.Header; h.Get("Content-Type") != test.contentType || h.Get("X-Request-Id") != "r1" || h.Get("X-Ratelimit-Limit-Requests") != "7" {
				t.Errorf("%s: header %v", test.name, h)
			}
			srv.Close()
		}
	})
}

func TestARecordingKeepsItsTimesAndStalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := fakeserver.New(fakeserver.Play(200, "text/event-stream", nil, []byte("aabbc"), fakeserver.Stalled,
			fakeserver.Pieces(2, 3*time.Second), fakeserver.FirstToken(fakeserver.Fixed(time.Second)), fakeserver.KeepAlive(2*time.Second, ":\n")))
		defer srv.Close()
		start := time.Now()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://llm.test"+chatPath, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := srv.Transport().RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		buf := make([]byte, 9)
		for len(got) < 7 {
			n, err := resp.Body.Read(buf)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, fmt.Sprintf("%q %v", buf[:n], time.Since(start)))
		}
		resp.Body.Close()
		want := []string{`"aa" 1s`, `":\n" 3s`, `"bb" 4s`, `":\n" 6s`, `"c" 7s`, `":\n" 9s`, `":\n" 11s`}
		if !slices.Equal(got, want) {
			t.Errorf("got  %v\nwant %v", got, want)
		}
	})
}

func TestARecordingThatIsResetEndsInAReset(t *testing.T) {
	srv := fakeserver.New(fakeserver.Play(200, "text/event-stream", nil, []byte("x"), fakeserver.Reset))
	defer srv.Close()
	c := &client{t, "http://llm.test", &http.Client{Transport: srv.Transport()}}
	if r := c.post(chatPath, chatBody); r.body != "x" || !isReset(r.err) {
		t.Errorf("body %q, error %v, want x and a reset", r.body, r.err)
	}
}

func isReset(err error) bool {
	return err != nil && strings.Contains(err.Error(), syscall.ECONNRESET.Error())
}
