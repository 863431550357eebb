package fakeserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/steadyhttp/steady/internal/fakeserver"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	chatPath     = "/v1/chat/completions"
	messagesPath = "/v1/messages"
	chatBody     = `{"model":"fake-large","messages":[{"role":"user","content":"hi"}]}`
	streamBody   = `{"model":"fake-large","stream":true,"stream_options":{"include_usage":true},"messages":[]}`
)

// A door is one way to reach a server.
type door struct {
	name string
	open func(*fakeserver.Server) (base string, c *http.Client)
}

var doors = []door{
	{"in process", func(s *fakeserver.Server) (string, *http.Client) {
		return "http://llm.test", &http.Client{Transport: s.Transport()}
	}},
	{"HTTP/1.1", func(s *fakeserver.Server) (string, *http.Client) { ts := s.Start(); return ts.URL, ts.Client() }},
	{"HTTP/2", func(s *fakeserver.Server) (string, *http.Client) { ts := s.StartTLS(); return ts.URL, ts.Client() }},
}

// throughEach runs a test through every door, each with a server of its own.
func throughEach(t *testing.T, test func(t *testing.T, door string, open func(...fakeserver.Option) (*fakeserver.Server, *client))) {
	for _, d := range doors {
		t.Run(d.name, func(t *testing.T) {
			test(t, d.name, func(opts ...fakeserver.Option) (*fakeserver.Server, *client) {
				srv := fakeserver.New(opts...)
				t.Cleanup(srv.Close)
				base, c := d.open(srv)
				return srv, &client{t, base, c}
			})
		})
	}
}

type client struct {
	t    *testing.T
	base string
	*http.Client
}

type reply struct {
	status int
	header http.Header
	body   string
	err    error // of the request or of the body
	doErr  error // of the request alone
}

func (c *client) post(path, body string) reply {
	return c.postContext(c.t.Context(), path, body)
}

func (c *client) postContext(ctx context.Context, path, body string) reply {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	resp, err := c.Do(req)
	if err != nil {
		return reply{err: err, doErr: err}
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return reply{status: resp.StatusCode, header: resp.Header, body: string(b), err: err}
}

func TestPlainAnswersCarryTheTextOfTheirRequestAndItsUsage(t *testing.T) {
	throughEach(t, func(t *testing.T, _ string, open func(...fakeserver.Option) (*fakeserver.Server, *client)) {
		srv, c := open(fakeserver.Words(3))
		want := srv.Answer([]byte(chatBody))

		var chat struct {
			Choices []struct {
				Message struct{ Content string }
				Reason  string `json:"finish_reason"`
			}
			Usage struct {
				Prompt     int `json:"prompt_tokens"`
				Completion int `json:"completion_tokens"`
				Total      int `json:"total_tokens"`
			}
		}
		decode(t, c.post("/any/prefix/chat/completions", chatBody), &chat)
		if got := chat.Choices[0].Message.Content; got != want.Text || chat.Choices[0].Reason != "stop" {
			t.Errorf("chat answer = %q, %q, want %q, stop", got, chat.Choices[0].Reason, want.Text)
		}
		u := chat.Usage
		if u.Prompt != want.InputTokens || u.Completion != want.OutputTokens || u.Total != u.Prompt+u.Completion {
			t.Errorf("chat usage = %+v, want %+v", u, want)
		}

		var message struct {
			Content []struct{ Type, Text string }
			Stop    string `json:"stop_reason"`
			Usage   struct {
				Input  int `json:"input_tokens"`
				Output int `json:"output_tokens"`
			}
		}
		decode(t, c.post(messagesPath, chatBody), &message)
		if got := message.Content[0].Text; got != want.Text || message.Stop != "end_turn" {
			t.Errorf("message = %q, %q, want %q, end_turn", got, message.Stop, want.Text)
		}
		if u := message.Usage; u.Input != want.InputTokens || u.Output != want.OutputTokens || want.OutputTokens != 4 {
			t.Errorf("message usage = %+v, want %+v", u, want)
		}
	})
}

func decode(t *testing.T, r reply, v any) {
	t.Helper()
	if r.err != nil || r.status != http.StatusOK {
		t.Fatalf("status %d, err %v, want 200", r.status, r.err)
	}
	if err := json.Unmarshal([]byte(r.body), v); err != nil {
		t.Fatalf("%v in %s", err, r.body)
	}
}

// data returns the data lines of a stream.
func data(body string) (lines []string) {
	for line := range strings.Lines(body) {
		if d, ok := strings.CutPrefix(line, "data: "); ok {
			lines = append(lines, strings.TrimSpace(d))
		}
	}
	return lines
}

func TestAChatStreamEndsWithReasonUsageAndDone(t *testing.T) {
	throughEach(t, func(t *testing.T, _ string, open func(...fakeserver.Option) (*fakeserver.Server, *client)) {
		srv, c := open()
		r := c.post(chatPath, streamBody)
		lines := data(r.body)
		if r.err != nil || len(lines) != 13 {
			t.Fatalf("%d data lines, err %v, want 13 (role, 9 tokens, reason, usage, done):\n%s", len(lines), r.err, r.body)
		}
		var text, reason string
		var total int
		for _, line := range lines[:len(lines)-1] {
			var chunk struct {
				Choices []struct {
					Delta  struct{ Content string }
					Reason string `json:"finish_reason"`
				}
				Usage struct {
					Total int `json:"total_tokens"`
				}
			}
			if err := json.Unmarshal([]byte(line), &chunk); err != nil {
				t.Fatalf("%v in %s", err, line)
			}
			for _, choice := range chunk.Choices {
				text, reason = text+choice.Delta.Content, reason+choice.Reason
			}
			total += chunk.Usage.Total
		}
		want := srv.Answer([]byte(streamBody))
		if text != want.Text || reason != "stop" || total != want.InputTokens+want.OutputTokens || lines[12] != "[DONE]" {
			t.Errorf("stream = %q, %q, %d tokens, last %q; want %q, stop, %d, [DONE]",
				text, reason, total, lines[12], want.Text, want.InputTokens+want.OutputTokens)
		}
		if got := r.header.Get("Content-Type"); !strings.HasPrefix(got, "text/event-stream") {
			t.Errorf("Content-Type = %q", got)
		}
	})
}

func TestUsageInAChatStreamComesOnlyWhenAskedOrFromDeepSeek(t *testing.T) {
	srv := fakeserver.New()
	defer srv.Close()
	c := &client{t, "http://llm.test", &http.Client{Transport: srv.Transport()}}
	for model, want := range map[string]bool{"fake-large": false, "deepseek-chat": true} {
		r := c.post(chatPath, `{"stream":true,"model":"`+model+`"}`)
		if got := strings.Contains(r.body, `"prompt_tokens"`); got != want {
			t.Errorf("%s: usage %t, want %t", model, got, want)
		}
	}
}

func TestAMessageStreamHasTheEventsOfAnthropic(t *testing.T) {
	srv := fakeserver.New(fakeserver.Words(1))
	defer srv.Close()
	c := &client{t, "http://llm.test", &http.Client{Transport: srv.Transport()}}
	r := c.post(messagesPath, streamBody)
	var types []string
	var text string
	output := 0
	for _, line := range data(r.body) {
		var e struct {
			Type    string
			Delta   struct{ Text string }
			Message struct {
				Usage struct {
					Input int `json:"input_tokens"`
				}
			}
			Usage struct {
				Output int `json:"output_tokens"`
			}
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		types = append(types, e.Type)
		text += e.Delta.Text
		output += e.Usage.Output
		if e.Type == "message_start" && e.Message.Usage.Input != (len(streamBody)+3)/4 {
			t.Errorf("input_tokens = %d", e.Message.Usage.Input)
		}
	}
	want := []string{"message_start", "content_block_start", "content_block_delta", "content_block_delta",
		"content_block_stop", "message_delta", "message_stop"}
	if !slices.Equal(types, want) || text != srv.Answer([]byte(streamBody)).Text || output != 2 {
		t.Errorf("events %v, text %q, %d tokens", types, text, output)
	}
	if n := strings.Count(r.body, "event: "); n != len(want) {
		t.Errorf("%d event lines, want %d", n, len(want))
	}
}

func TestStatusesComeInOrderWithTheErrorBodyOfTheDialect(t *testing.T) {
	throughEach(t, func(t *testing.T, _ string, open func(...fakeserver.Option) (*fakeserver.Server, *client)) {
		srv, c := open(fakeserver.Sequence(
			fakeserver.Status(503, fakeserver.RetryAfter(" 1.5 "), fakeserver.Header("X-A", "1", "2")),
			fakeserver.Status(429, fakeserver.ErrorKind("insufficient_quota", "insufficient_quota")),
			fakeserver.Status(502, fakeserver.Body("text/html", "<html>bad</html>")),
			fakeserver.OK(),
		))
		var got []string
		for range 5 {
			r := c.post(chatPath, chatBody)
			got = append(got, fmt.Sprint(r.status, " ", r.header["X-A"], r.header["Retry-After"]))
			switch r.status {
			case 503:
				if !strings.Contains(r.body, `"code":"server_is_overloaded"`) {
					t.Errorf("body of 503 = %s", r.body)
				}
			case 429:
				if !strings.Contains(r.body, `"type":"insufficient_quota"`) {
					t.Errorf("body of 429 = %s", r.body)
				}
			case 502:
				if r.body != "<html>bad</html>" || r.header.Get("Content-Type") != "text/html" {
					t.Errorf("body of 502 = %s", r.body)
				}
			}
		}
		got[0] = strings.ReplaceAll(got[0], " 1.5 ", "1.5") // HTTP strips blanks around a value, the in-process door does not
		want := []string{"503 [1 2] [1.5]", "429 [] []", "502 [] []", "200 [] []", "200 [] []"}
		if !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
		n := srv.Counts()
		if n.Requests != 5 || n.ByStatus[200] != 2 || n.ByStatus[503] != 1 || n.Billed != 2 || n.BodiesRead != 5 || n.ByPath[chatPath] != 5 || n.InFlight != 0 {
			t.Errorf("counts = %+v", n)
		}
	})
}

func TestFailuresWithoutAnAnswer(t *testing.T) {
	long := strings.Repeat(" ", 1<<20) + chatBody
	for _, tt := range []struct {
		name   string
		effect fakeserver.Effect
		body   string
		is     error // the error over HTTP/1.1 and in process
		read   int
		billed int
	}{
		{"reset before the body", fakeserver.ResetBeforeBody(), chatBody, syscall.ECONNRESET, 0, 0},
		{"reset after the body", fakeserver.ResetAfterBody(), long, syscall.ECONNRESET, 1, 1},
		{"close after the body", fakeserver.CloseAfterBody(), long, io.EOF, 1, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			throughEach(t, func(t *testing.T, door string, open func(...fakeserver.Option) (*fakeserver.Server, *client)) {
				srv, c := open(fakeserver.When(fakeserver.Nth(1), tt.effect))
				r := c.post(chatPath, tt.body)
				if door == "HTTP/2" {
					if r.err == nil || !strings.Contains(r.err.Error(), "stream error") {
						t.Errorf("err = %v, want a stream error", r.err)
					}
				} else if !errors.Is(r.err, tt.is) {
					t.Errorf("err = %v, want %v", r.err, tt.is)
				}
				n := srv.Counts()
				if n.Requests != 1 || n.BodiesRead != tt.read || n.Billed != tt.billed || n.ByStatus[0] != 1 || n.InFlight != 0 {
					t.Errorf("counts = %+v", n)
				}
				if r := c.post(chatPath, chatBody); r.status != http.StatusOK {
					t.Errorf("the next request: %d, %v", r.status, r.err)
				}
			})
		})
	}
}

func TestBodiesThatBreakOff(t *testing.T) {
	for _, tt := range []struct {
		name   string
		effect fakeserver.Effect
		body   string
		is     error
		want   func(whole string) string
	}{
		{"FIN after two events", fakeserver.Cut(fakeserver.AfterEvents(2), fakeserver.FIN), streamBody, io.ErrUnexpectedEOF,
			func(w string) string { return join(w, 2) }},
		{"reset after two events", fakeserver.Cut(fakeserver.AfterEvents(2), fakeserver.Reset), streamBody, syscall.ECONNRESET,
			func(w string) string { return join(w, 2) }},
		{"FIN inside a line", fakeserver.Cut(fakeserver.AfterBytes(10), fakeserver.FIN), streamBody, io.ErrUnexpectedEOF,
			func(w string) string { return w[:10] }},
		{"clean before the reason", fakeserver.Cut(fakeserver.BeforeFinish(), fakeserver.Clean), streamBody, nil,
			func(w string) string { return join(w, 10) }},
		{"clean before DONE", fakeserver.Cut(fakeserver.BeforeDone(), fakeserver.Clean), streamBody, nil,
			func(w string) string { return join(w, 12) }},
		{"FIN in plain JSON", fakeserver.Cut(fakeserver.BeforeFinish(), fakeserver.FIN), chatBody, io.ErrUnexpectedEOF,
			func(w string) string { return w[:len(w)/2] }},
		{"clean in plain JSON", fakeserver.Cut(fakeserver.BeforeDone(), fakeserver.Clean), chatBody, nil,
			func(w string) string { return w[:len(w)-1] }},
		{"FIN before the first byte", fakeserver.Cut(fakeserver.AfterBytes(0), fakeserver.FIN), streamBody, io.ErrUnexpectedEOF,
			func(string) string { return "" }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			throughEach(t, func(t *testing.T, door string, open func(...fakeserver.Option) (*fakeserver.Server, *client)) {
				_, c := open(fakeserver.When(fakeserver.Nth(2), tt.effect))
				whole := strings.ReplaceAll(c.post(chatPath, tt.body).body, "000001", "000002")
				r := c.post(chatPath, tt.body)
				if r.doErr != nil || r.status != http.StatusOK {
					t.Fatalf("status %d, err %v", r.status, r.doErr)
				}
				if want := tt.want(whole); r.body != want {
					t.Errorf("body = %q, want %q", r.body, want)
				}
				if door == "HTTP/2" && tt.is != nil {
					if r.err == nil {
						t.Error("no error, want a stream error")
					}
				} else if !errors.Is(r.err, tt.is) {
					t.Errorf("err = %v, want %v", r.err, tt.is)
				}
			})
		})
	}
}

// join returns the first n events of a stream.
func join(stream string, n int) string {
	return strings.Join(strings.SplitAfter(stream, "\n\n")[:n], "")
}

// hearing closes heard when it has the headers of its one response.
type hearing struct {
	http.RoundTripper
	heard chan struct{}
}

func (h hearing) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := h.RoundTripper.RoundTrip(req)
	close(h.heard)
	return resp, err
}

func TestHangsAndStallsLastUntilTheClientLeaves(t *testing.T) {
	for _, tt := range []struct {
		name    string
		effect  fakeserver.Effect
		body    string
		headers bool
		billed  int
	}{
		{"hang", fakeserver.Hang(), chatBody, false, 1},
		{"stall in a stream", fakeserver.Stall(fakeserver.AfterEvents(2)), streamBody, true, 1},
		{"stall before the first event", fakeserver.Stall(fakeserver.AfterEvents(0)), streamBody, true, 1},
		{"stall in an error body", fakeserver.Status(429, fakeserver.Stall(fakeserver.AfterBytes(20))), chatBody, true, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			throughEach(t, func(t *testing.T, _ string, open func(...fakeserver.Option) (*fakeserver.Server, *client)) {
				srv, c := open(tt.effect)
				ctx, cancel := context.WithCancel(t.Context())
				heard := make(chan struct{}) // the headers, which may still be on their way when the server has counted them
				c.Transport = hearing{c.Transport, heard}
				got := make(chan reply)
				go func() { got <- c.postContext(ctx, chatPath, tt.body) }()
				waitFor(t, func() bool {
					n := srv.Counts()
					return n.InFlight == 1 && n.BodiesRead == 1 && n.Billed == tt.billed && (n.ByStatus[0]+n.ByStatus[200]+n.ByStatus[429] == 1) == tt.headers
				})
				if tt.headers {
					<-heard
				}
				cancel()
				r := <-got
				if !errors.Is(r.err, context.Canceled) || (r.doErr == nil) != tt.headers {
					t.Errorf("err = %v, of the request %v", r.err, r.doErr)
				}
				waitFor(t, func() bool { return srv.Counts().InFlight == 0 })
			})
		})
	}
}

func TestCloseEndsHangsAndRefusesWhatComesAfter(t *testing.T) {
	srv := fakeserver.New(fakeserver.Hang())
	c := &client{t, "http://llm.test", &http.Client{Transport: srv.Transport()}}
	ts := srv.Start()
	viaSocket := &client{t, ts.URL, ts.Client()}
	got := make(chan error, 2)
	go func() { got <- c.post(chatPath, chatBody).err }()
	go func() { got <- viaSocket.post(chatPath, chatBody).err }()
	waitFor(t, func() bool { return srv.Counts().Billed == 2 })
	srv.Close()
	for range 2 {
		if err := <-got; !errors.Is(err, io.EOF) {
			t.Errorf("err = %v, want EOF", err)
		}
	}
	if err := c.post(chatPath, chatBody).err; !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("after Close: %v, want connection refused", err)
	}
}

// waitFor polls for what happens on the far side of a socket.
func waitFor(t *testing.T, cond func() bool) {
	t.Helper()
	for range 2000 {
		if cond() {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatal("waited in vain")
}

func TestEarlyAnswers(t *testing.T) {
	long := strings.Repeat(" ", 4<<20) + chatBody
	t.Run("go on reading", func(t *testing.T) {
		throughEach(t, func(t *testing.T, _ string, open func(...fakeserver.Option) (*fakeserver.Server, *client)) {
			srv, c := open(fakeserver.Sequence(
				fakeserver.Status(429, fakeserver.RetryAfter("0"), fakeserver.EarlyThenRead(4096, time.Millisecond)), fakeserver.OK()),
				fakeserver.ReadBuffer(16<<10))
			if r := c.post(chatPath, long); r.status != 429 || r.err != nil || !strings.Contains(r.body, "rate_limit_exceeded") {
				t.Errorf("status %d, err %v, body %s", r.status, r.err, r.body)
			}
			if n := srv.Counts(); n.BodiesRead != 0 || n.Billed != 0 {
				t.Errorf("counts = %+v", n)
			}
			if r := c.post(chatPath, long); r.status != 200 {
				t.Errorf("the next request: %d, %v", r.status, r.err)
			}
		})
	})
	t.Run("close", func(t *testing.T) {
		throughEach(t, func(t *testing.T, door string, open func(...fakeserver.Option) (*fakeserver.Server, *client)) {
			_, c := open(fakeserver.Status(429, fakeserver.EarlyThenClose()), fakeserver.ReadBuffer(16<<10))
			if r := c.post(chatPath, long); r.status != 429 && (door == "in process" || r.err == nil) {
				t.Errorf("status %d, err %v, want 429 or, on a socket, an error", r.status, r.err)
			}
		})
	})
}

func TestAnEarlyAnswerDoesNotWaitForTheRequest(t *testing.T) {
	throughEach(t, func(t *testing.T, _ string, open func(...fakeserver.Option) (*fakeserver.Server, *client)) {
		_, c := open(fakeserver.Status(429, fakeserver.EarlyThenRead(4096, time.Millisecond)))
		r, w := io.Pipe()
		defer w.Close()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+chatPath, r)
		if err != nil {
			t.Fatal(err)
		}
		go w.Write([]byte("{")) // and no more until the answer is here
		resp, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if resp.StatusCode != 429 {
			t.Errorf("status %d, want 429", resp.StatusCode)
		}
	})
}

func TestConnectionCloseEndsConnections(t *testing.T) {
	for _, d := range doors[1:] {
		t.Run(d.name, func(t *testing.T) {
			srv := fakeserver.New(fakeserver.When(fakeserver.Every(2), fakeserver.ConnectionClose()))
			defer srv.Close()
			base, hc := d.open(srv)
			c := &client{t, base, hc}
			for range 6 {
				if r := c.post(chatPath, chatBody); r.status != 200 {
					t.Fatalf("status %d, err %v", r.status, r.err)
				}
			}
			if got := srv.Counts().Connections; got != 3 {
				t.Errorf("%d connections, want 3", got)
			}
		})
	}
}

func TestTheLogRemembersTheLatestRequests(t *testing.T) {
	throughEach(t, func(t *testing.T, _ string, open func(...fakeserver.Option) (*fakeserver.Server, *client)) {
		srv, c := open(fakeserver.LogLimit(3), fakeserver.Statuses(500, 200))
		for i := range 10 {
			c.post(chatPath, strings.Repeat(" ", i)+chatBody)
		}
		entries := srv.Log()
		if len(entries) != 3 {
			t.Fatalf("%d entries, want 3", len(entries))
		}
		e := entries[2]
		if e.N != 10 || e.BodyLen != len(chatBody)+9 || e.ContentLength != int64(e.BodyLen) || e.Status != 200 || !e.Done ||
			!strings.HasPrefix(srv.Answer([]byte(strings.Repeat(" ", 9)+chatBody)).Text, e.BodyHash[:8]) {
			t.Errorf("last entry = %+v", e)
		}
	})
}

func TestManyClientsAtOnceAllGetTheirOwnAnswers(t *testing.T) {
	throughEach(t, func(t *testing.T, _ string, open func(...fakeserver.Option) (*fakeserver.Server, *client)) {
		srv, c := open(fakeserver.Latency(fakeserver.Uniform(0, 3*time.Millisecond)), fakeserver.InFlight(20, 529))
		var wg sync.WaitGroup
		for i := range 50 {
			wg.Go(func() {
				body := fmt.Sprintf(`{"model":"m","n":%d}`, i)
				r := c.post(chatPath, body)
				if r.status != 529 && !strings.Contains(r.body, srv.Answer([]byte(body)).Text) {
					t.Errorf("status %d, err %v, body %s", r.status, r.err, r.body)
				}
			})
		}
		wg.Wait()
		n := srv.Counts()
		if n.Requests != 50 || n.Billed+n.ByStatus[529] != 50 || n.InFlight != 0 || n.MaxInFlight < 1 {
			t.Errorf("counts = %+v", n)
		}
	})
}

// inBubble runs a test in virtual time.
func inBubble(t *testing.T, test func(t *testing.T, open func(...fakeserver.Option) (*fakeserver.Server, *client))) {
	synctest.Test(t, func(t *testing.T) {
		test(t, func(opts ...fakeserver.Option) (*fakeserver.Server, *client) {
			srv := fakeserver.New(opts...)
			t.Cleanup(srv.Close)
			return srv, &client{t, "http://llm.test", &http.Client{Transport: srv.Transport()}}
		})
	})
}

func TestHooksOfTheTraceAreCalled(t *testing.T) {
	inBubble(t, func(t *testing.T, open func(...fakeserver.Option) (*fakeserver.Server, *client)) {
		_, c := open(fakeserver.Latency(fakeserver.Fixed(time.Second)))
		var got []string
		start := time.Now()
		note := func(s string) { got = append(got, fmt.Sprint(s, " ", time.Since(start))) }
		ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
			GetConn:              func(hostPort string) { note(hostPort) },
			GotConn:              func(i httptrace.GotConnInfo) { note(fmt.Sprint("conn ", i.Reused)) },
			WroteRequest:         func(i httptrace.WroteRequestInfo) { note(fmt.Sprint("wrote ", i.Err)) },
			GotFirstResponseByte: func() { note("first byte") },
		})
		c.postContext(ctx, chatPath, chatBody)
		want := []string{"llm.test 0s", "conn false 0s", "wrote <nil> 0s", "first byte 1s"}
		if !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}
