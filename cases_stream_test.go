package steady_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/steadyhttp/steady"
	"github.com/steadyhttp/steady/internal/fakeserver"
)

// streamRequest makes a request for a stream.
func streamRequest(tb testing.TB, ctx context.Context, base, path string) *http.Request {
	tb.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+path, strings.NewReader(`{"model":"m","stream":true}`))
	if err != nil {
		tb.Fatal(err)
	}
	return req
}

// SG1: a stream that ends too early is an error.

func TestSG1_AStreamThatEndsTooEarlyIsAnError(t *testing.T) {
	for _, dialect := range []struct {
		path      string
		content   int  // the events before and with the first content
		beforeEnd bool // whole before its last event
	}{
		{"/v1/chat/completions", 2, true},
		{"/v1/messages", 3, true},
		{"/v1/responses", 5, false},
		{"/v1beta/models/m:streamGenerateContent?alt=sse", 1, false},
		{"/v1beta/models/m:streamGenerateContent", 1, false},
	} {
		for _, cut := range []struct {
			name     string
			at       fakeserver.Point
			whole    bool
			requests int
		}{
			{"after two content events", fakeserver.AfterEvents(dialect.content + 1), false, 1},
			{"inside a line", fakeserver.Inside(dialect.content + 1), false, 1},
			{"before the last event", fakeserver.BeforeDone(), dialect.beforeEnd, 1},
			{"before any event", fakeserver.AfterBytes(0), false, 2},
		} {
			for _, ending := range []fakeserver.Ending{fakeserver.Clean, fakeserver.FIN, fakeserver.Reset} {
				t.Run(fmt.Sprintf("%s %s by %v", dialect.path, cut.name, ending), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						srv := fakeserver.New()
						defer srv.Close()
						heard := &events{}
						rt := must(t)(steady.New(steady.WithBase(srv.Transport()), steady.WithObserver(heard)))
						resp, err := rt.RoundTrip(streamRequest(t, t.Context(), "https://llm.test", dialect.path))
						if err != nil {
							t.Fatal(err)
						}
						all := read(t, resp)
						srv.Script(fakeserver.Cut(cut.at, ending))
						resp, err = rt.RoundTrip(streamRequest(t, t.Context(), "https://llm.test", dialect.path))
						if err != nil {
							t.Fatal(err)
						}
						got, err := io.ReadAll(resp.Body)
						resp.Body.Close()
						ends := of[steady.AttemptEnded](heard)
						end := ends[len(ends)-1]
						if n := srv.Counts().Requests - 1; n != cut.requests {
							t.Errorf("%d requests, want %d", n, cut.requests)
						}
						if cut.requests == 2 && ending == fakeserver.Clean {
							if resp.StatusCode != http.StatusBadGateway || err != nil || end.Class != "gateway" || end.Outcome != "unknown" {
								t.Errorf("nothing at all: status %d, %v, %+v, want 502 and class gateway", resp.StatusCode, err, end)
							}
							return
						}
						if !plausible(string(got), all, cut.requests == 1) {
							t.Errorf("got %q, want the beginning of %q", got, all)
						}
						if cut.whole {
							if err != nil || end.Outcome != "ok" {
								t.Errorf("ends in %v and %+v, want a whole answer", err, end)
							}
							return
						}
						if !errors.Is(err, steady.ErrStreamTruncated) || !errors.Is(err, io.ErrUnexpectedEOF) || end.Outcome != "truncated" {
							t.Errorf("ends in %v and %+v, want ErrStreamTruncated", err, end)
						}
						if errors.Is(err, syscall.ECONNRESET) != (ending == fakeserver.Reset) {
							t.Errorf("ends in %v, want a reset to stay reachable", err)
						}
					})
				})
			}
		}
	}
}

var numbers = regexp.MustCompile(`[_-]\d*`)

// plausible reports whether got begins as whole does. The two differ in the
// number of their request.
func plausible(got, whole string, some bool) bool {
	return strings.HasPrefix(numbers.ReplaceAllString(whole, ""), numbers.ReplaceAllString(got, "")) && (got != "") == some && len(got) < len(whole)
}

func TestSG1_OverSockets(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		for _, ending := range []fakeserver.Ending{fakeserver.Clean, fakeserver.FIN, fakeserver.Reset} {
			srv := fakeserver.New(fakeserver.Play(200, "text/event-stream", nil, []byte(roleEvent+wordEvent+wordEvent[:40]), ending))
			ts := srv.Start()
			if http2 {
				ts = srv.StartTLS()
			}
			rt := must(t)(steady.New(steady.WithBase(ts.Client().Transport)))
			resp, err := rt.RoundTrip(streamRequest(t, t.Context(), ts.URL, "/v1/chat/completions"))
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if !strings.HasPrefix(roleEvent+wordEvent+wordEvent[:40], string(got)) || len(got) == 0 || !errors.Is(err, steady.ErrStreamTruncated) {
				t.Errorf("HTTP/2 %v, %v: got %d bytes and %v, want ErrStreamTruncated", http2, ending, len(got), err)
			}
			if reset := ending == fakeserver.Reset && !http2; reset && !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("%v, want the reset to stay reachable", err)
			}
			if n := srv.Counts().Requests; n != 1 {
				t.Errorf("HTTP/2 %v, %v: %d requests, want 1", http2, ending, n)
			}
			srv.Close()
		}
	}
}

// An incomplete response is whole: it says so itself.
func TestSG1_ResponsesThatEndIncompleteOrInToolCalls(t *testing.T) {
	const begun = `data: {"type":"response.created","response":{"id":"r","object":"response","status":"in_progress"}}` + "\n\n" +
		`data: {"type":"response.function_call_arguments.delta","delta":"{\"city\":\"Ber"}` + "\n\n"
	for _, test := range []struct {
		name, body string
		want       error
	}{
		{"incomplete", begun + `data: {"type":"response.incomplete","response":{"id":"r","object":"response","status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}}}` + "\n\n", nil},
		{"arguments that break off", begun, steady.ErrStreamTruncated},
		{"arguments that break off and a forged event", begun + ": bye\n\n", steady.ErrStreamTruncated},
	} {
		base := &feeding{pieces: all(io.EOF, test.body)}
		rt := must(t)(steady.New(steady.WithBase(base)))
		resp, err := rt.RoundTrip(streamRequest(t, t.Context(), "https://llm.test", "/v1/responses"))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(resp.Body)
		if string(got) != test.body || !errors.Is(err, test.want) || test.want == nil && err != nil {
			t.Errorf("%s: %d bytes and %v, want all %d and %v", test.name, len(got), err, len(test.body), test.want)
		}
	}
}

// SG3: 200 that is not a success.

func TestSG3_A200ThatIsNoSuccess(t *testing.T) {
	const page = "<!DOCTYPE html><html><body>Bad gateway</body></html>"
	for _, test := range []struct {
		name, contentType, body string
		pieces                  fakeserver.Effect
		first                   time.Duration
		requests, status        int
		err                     error
		outcome, class          string
		bytes                   bool // the caller gets the body as it was
	}{
		{name: "a: overloaded as the first event", contentType: "text/event-stream", body: roleEvent + overloadedEvent, requests: 2, status: 529, outcome: "overloaded", class: "overloaded"},
		{name: "b: an invalid request as the first event", contentType: "text/event-stream", body: invalidEvent, requests: 1, status: 400, outcome: "declined", class: "invalid_request"},
		{name: "c: an error after two content events", contentType: "text/event-stream", body: roleEvent + wordEvent + wordEvent + overloadedEvent + doneEvent, requests: 1, status: 200, err: &steady.AnswerError{}, outcome: "overloaded", class: "overloaded", bytes: true},
		{name: "d: a JSON error in an event stream", contentType: "text/event-stream", body: `{"error":{"type":"overloaded_error","message":"x"}}`, requests: 2, status: 529, outcome: "overloaded", class: "overloaded", bytes: true},
		{name: "e: a JSON error", contentType: "application/json", body: `{"error":{"type":"invalid_request_error","message":"x"}}`, requests: 1, status: 400, outcome: "declined", class: "invalid_request", bytes: true},
		{name: "e: a JSON answer with an error in it", contentType: "application/json", body: `{"choices":[{"index":0,"message":{"role":"assistant","content":"Hel"},"finish_reason":"error"}],"error":{"code":503,"message":"Overloaded"}}`, requests: 2, status: 529, outcome: "overloaded", class: "overloaded", bytes: true},
		{name: "f: a page", contentType: "text/html", body: page, requests: 2, status: 502, outcome: "unknown", class: "gateway", bytes: true},
		{name: "f: a page that calls itself an event stream", contentType: "text/event-stream", body: page, requests: 2, status: 502, outcome: "unknown", class: "gateway", bytes: true},
		{name: "f: text that calls itself JSON", contentType: "application/json", body: "upstream request timeout", requests: 2, status: 502, outcome: "unknown", class: "gateway", bytes: true},
		{name: "g: an empty stream", contentType: "text/event-stream", requests: 2, status: 502, outcome: "unknown", class: "gateway"},
		{name: "g: an empty answer", contentType: "application/json", requests: 2, status: 502, outcome: "unknown", class: "gateway"},
		{name: "g: an end to nothing", contentType: "text/event-stream", body: doneEvent, requests: 2, status: 200, err: steady.ErrStreamTruncated, outcome: "truncated", bytes: true},
		{name: "h: 30 s of blank lines, then JSON", contentType: "application/json", body: strings.Repeat("\n", 30) + `{"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}]}`, pieces: fakeserver.Pieces(1, time.Second), requests: 1, status: 200, outcome: "ok", bytes: true},
		{name: "h: 30 s of blank lines, then nothing", contentType: "application/json", body: strings.Repeat("\n", 30), pieces: fakeserver.Pieces(1, time.Second), requests: 1, status: 200, err: steady.ErrStreamTruncated, outcome: "truncated", bytes: true},
		{name: "i: comments for 10 s, then content", contentType: "text/event-stream", body: strings.Repeat(pingComment, 10) + wholeChat, pieces: fakeserver.Pieces(len(pingComment), time.Second), requests: 1, status: 200, outcome: "ok", bytes: true},
		{name: "a page that drips", contentType: "text/html", body: page, pieces: fakeserver.Pieces(5, time.Second), requests: 2, status: 502, outcome: "unknown", class: "gateway", bytes: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				with := []fakeserver.Effect{fakeserver.OK()}
				if test.pieces != nil {
					with = append(with, test.pieces)
				}
				srv := fakeserver.New(fakeserver.Play(200, test.contentType, nil, []byte(test.body), fakeserver.Clean, with...))
				defer srv.Close()
				heard := &events{}
				rt := must(t)(steady.New(steady.WithBase(srv.Transport()), steady.WithObserver(heard), steady.WithRetry(steady.MaxAttempts(2))))
				resp, err := rt.RoundTrip(streamRequest(t, t.Context(), "https://llm.test", "/v1/chat/completions"))
				if err != nil {
					t.Fatal(err)
				}
				got, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				if n := srv.Counts().Requests; n != test.requests || resp.StatusCode != test.status {
					t.Errorf("%d requests and status %d, want %d and %d", n, resp.StatusCode, test.requests, test.status)
				}
				if _, ok := test.err.(*steady.AnswerError); ok { //nolint:errorlint // of the table
					test.err, _ = errors.AsType[*steady.AnswerError](err)
				}
				if !errors.Is(err, test.err) || test.err == nil && err != nil {
					t.Errorf("ends in %v, want %v", err, test.err)
				}
				if _, failed := test.err.(*steady.AnswerError); failed { //nolint:errorlint // of the table
					test.body = strings.TrimSuffix(test.body, doneEvent) // see TestSG3_NoDONEFollowsAnError
				}
				if test.bytes && string(got) != test.body {
					t.Errorf("got %q, want %q", got, test.body)
				}
				for _, e := range of[steady.AttemptEnded](heard)[test.requests-1:] {
					if e.Outcome != test.outcome || e.Class != test.class || e.Status != test.status {
						t.Errorf("ended as %+v, want %s of class %q", e, test.outcome, test.class)
					}
				}
			})
		})
	}
}

// At [DONE] most SDKs stop, and have never heard of the error before it nor of the
// one that the body ends in. Wherever reads divide the stream, none gets to see it.
func TestSG3_NoDONEFollowsAnError(t *testing.T) {
	failedFinish := strings.Replace(stopEvent, `"stop"`, `"insufficient_system_resource"`, 1)
	for _, failure := range []string{overloadedEvent, failedFinish} {
		body := roleEvent + wordEvent + failure
		whole := body + doneEvent
		for at := 1; at < len(whole); at++ {
			base := &feeding{pieces: []piece{{data: whole[:at]}, {data: whole[at:]}, {err: io.EOF}}}
			for _, look := range []time.Duration{0, 2 * time.Second} {
				resp, heard := asked(t, t.Context(), base, steady.WithTimeouts(steady.FirstEvent(look)))
				got, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				if _, ok := errors.AsType[*steady.AnswerError](err); !ok {
					t.Fatalf("divided at %d: ends in %v, want an AnswerError", at, err)
				}
				rest, passed := strings.CutPrefix(string(got), body)
				if !passed || !strings.HasPrefix("data: [DONE", rest) {
					t.Fatalf("divided at %d: got %q", at, got)
				}
				if e := of[steady.AttemptEnded](heard); len(e) != 1 || e[0].Class != "overloaded" {
					t.Fatalf("divided at %d: ended as %+v", at, e)
				}
			}
		}
	}
}

// No byte of the failed attempt reaches the caller.
func TestSG3_AnOverloadAsTheFirstEventIsRetriedUnseen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := fakeserver.New(fakeserver.Sequence(
			fakeserver.Play(200, "text/event-stream", nil, []byte(roleEvent+overloadedEvent), fakeserver.Stalled),
			fakeserver.Play(200, "text/event-stream", nil, []byte(wholeChat), fakeserver.Clean)))
		defer srv.Close()
		rt := must(t)(steady.New(steady.WithBase(srv.Transport())))
		resp, err := rt.RoundTrip(streamRequest(t, t.Context(), "https://llm.test", "/v1/chat/completions"))
		if err != nil {
			t.Fatal(err)
		}
		if got := read(t, resp); got != wholeChat || srv.Counts().Requests != 2 {
			t.Errorf("got %q after %d requests, want the second answer alone", got, srv.Counts().Requests)
		}
	})
}

// SG4: keep-alives must not hide a stall.

func TestSG4_KeepAlivesDoNotHideAStall(t *testing.T) {
	for _, test := range []struct {
		name, alive string
	}{
		{"a: comments", ": ping\n\n"},
		{"b: pings of Anthropic", "event: ping\ndata: {\"type\": \"ping\"}\n\n"},
		{"b: empty data", "data:\n\n"},
		{"b: ids", "id: 7\n\n"},
		{"b: retry lines", "retry: 1000\n\n"},
		{"b: half a comment at a time", ":"},
		{"c: nothing", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				base := &feeding{pieces: []piece{{data: roleEvent + wordEvent}, {at: time.Second, data: wordEvent}}}
				sent := roleEvent + wordEvent + wordEvent
				for i := range 60 {
					if test.alive != "" {
						base.pieces = append(base.pieces, piece{at: time.Second + time.Duration(i+1)*700*time.Millisecond, data: test.alive})
						if i < 4 {
							sent += test.alive
						}
					}
				}
				heard := &events{}
				rt := must(t)(steady.New(steady.WithBase(base), steady.WithObserver(heard), steady.WithTimeouts(steady.Idle(3*time.Second), steady.FirstContent(30*time.Second))))
				start := time.Now()
				resp, err := rt.RoundTrip(streamRequest(t, t.Context(), "https://llm.test", "/v1/chat/completions"))
				if err != nil {
					t.Fatal(err)
				}
				got, err := io.ReadAll(resp.Body)
				if took := time.Since(start); took != 4*time.Second || string(got) != sent {
					t.Errorf("%q after %v, want %q after 4s: 3s after the last content", got, took, sent)
				}
				if !errors.Is(err, steady.ErrStreamStalled) || errors.Is(err, steady.ErrStreamTruncated) || errors.Is(err, context.Canceled) {
					t.Errorf("ends in %v, want ErrStreamStalled alone", err)
				}
				synctest.Wait() // the clock that ends the read closes the body after it
				if at, n := base.last().closedAt(); n == 0 || at != 4*time.Second || base.attempts() != 1 {
					t.Errorf("the base's body was closed %d times, first after %v, of %d attempts", n, at, base.attempts())
				}
				if ended := base.last().ctx.Err(); !errors.Is(ended, context.DeadlineExceeded) {
					t.Errorf("the attempt's context ended by %v, want that its time is over", ended)
				}
				if _, again := resp.Body.Read(make([]byte, 1)); !errors.Is(again, steady.ErrStreamStalled) {
					t.Errorf("the next read ends in %v, want the same", again)
				}
				resp.Body.Close()
				if e := of[steady.AttemptEnded](heard); len(e) != 1 || e[0].Outcome != "stalled" || !errors.Is(e[0].Err, steady.ErrStreamStalled) {
					t.Errorf("ended as %+v, want stalled", e)
				}
			})
		})
	}
}

func TestSG4_CommentsWhileTheModelThinksAreNoStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := fakeserver.New(fakeserver.FirstToken(fakeserver.Fixed(20*time.Second)), fakeserver.KeepAlive(time.Second, ": ping\n\n"))
		defer srv.Close()
		rt := must(t)(steady.New(steady.WithBase(srv.Transport()), steady.WithTimeouts(steady.Idle(3*time.Second), steady.FirstContent(30*time.Second))))
		start := time.Now()
		resp, err := rt.RoundTrip(streamRequest(t, t.Context(), "https://llm.test", "/v1/chat/completions"))
		if err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(start); waited != 2*time.Second {
			t.Errorf("the response was held back for %v, want 2s", waited)
		}
		if got := read(t, resp); !strings.HasSuffix(got, doneEvent) || strings.Count(got, ": ping") != 19 || time.Since(start) != 20*time.Second {
			t.Errorf("%q after %v, want the whole answer after 20s", got, time.Since(start))
		}
	})
}

// SG6: big lines and prompt delivery.

const (
	lineHead = `data: {"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"`
	lineTail = `"},"finish_reason":"stop"}]}` + "\n\n" + doneEvent
)

func bigLine(n int64) io.Reader {
	return io.MultiReader(strings.NewReader(lineHead), io.LimitReader(letters{}, n-int64(len(lineHead)+len(lineTail))), strings.NewReader(lineTail))
}

type letters struct{}

func (letters) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'a'
	}
	return len(p), nil
}

func TestSG6_BigLinesPassInFlatMemory(t *testing.T) {
	for _, size := range []int64{4 << 20, 64 << 20} {
		heard := &events{}
		rt := must(t)(steady.New(steady.WithObserver(heard), steady.WithBase(roundTripFunc(func(req *http.Request) (*http.Response, error) {
			return respond(req, 200, eventStream, io.NopCloser(bigLine(size))), nil
		}))))
		before := allocated()
		resp, err := rt.RoundTrip(streamRequest(t, t.Context(), "https://llm.test", "/v1/chat/completions"))
		if err != nil {
			t.Fatal(err)
		}
		same := compareWith(bigLine(size))
		n, err := io.CopyBuffer(struct{ io.Writer }{same}, resp.Body, make([]byte, 32<<10))
		resp.Body.Close()
		if used := allocated() - before; used > 1<<20 {
			t.Errorf("%d MiB: %d bytes allocated, want no more than 1 MiB", size>>20, used)
		}
		if n != size || err != nil || same.differs {
			t.Errorf("%d MiB: %d bytes and %v, the same: %v", size>>20, n, err, !same.differs)
		}
		if e := of[steady.AttemptEnded](heard); len(e) != 1 || e[0].Outcome != "ok" {
			t.Errorf("ended as %+v, want ok", e)
		}
	}
}

// comparer is a writer that compares what it is given.
type comparer struct {
	want    io.Reader
	buf     []byte
	differs bool
}

func compareWith(want io.Reader) *comparer { return &comparer{want: want, buf: make([]byte, 64<<10)} }

func (c *comparer) Write(p []byte) (int, error) {
	_, err := io.ReadFull(c.want, c.buf[:len(p)])
	c.differs = c.differs || err != nil || !bytes.Equal(c.buf[:len(p)], p)
	return len(p), nil
}

// A large event that takes long to arrive is content on its way, and no stall.
func TestSG6_ABigLineOnASlowLineIsNoStall(t *testing.T) {
	for _, test := range []struct{ name, head, next, tail string }{
		{"two events", lineHead, `"},"finish_reason":null}]}` + "\n\n" + lineHead, lineTail},
		{"a document", `{"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"`, "", `"},"finish_reason":"stop"}]}`},
	} {
		synctest.Test(t, func(t *testing.T) {
			pieces := []piece{{data: test.head}}
			want := test.head
			for i := range 100 {
				more := strings.Repeat("b", 2048)
				if i == 60 { // the next is smaller
					more += test.next
				}
				pieces = append(pieces, piece{at: time.Duration(i) * 2 * time.Second, data: more})
				want += more
			}
			pieces = append(pieces, piece{at: 200 * time.Second, data: test.tail}, piece{at: 200 * time.Second, err: io.EOF})
			base := &feeding{pieces: pieces}
			rt := must(t)(steady.New(steady.WithBase(base), steady.WithTimeouts(steady.Idle(3*time.Second), steady.FirstContent(5*time.Second))))
			resp, err := rt.RoundTrip(streamRequest(t, t.Context(), "https://llm.test", "/v1/chat/completions"))
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(resp.Body)
			if string(got) != want+test.tail || err != nil {
				t.Errorf("%s: %d bytes and %v, want all %d", test.name, len(got), err, len(want+test.tail))
			}
		})
	}
}

func TestSG6_EachEventCanBeReadAtTheInstantOfItsFlush(t *testing.T) {
	for _, size := range []int{1, 512, 64 << 10} {
		t.Run(fmt.Sprintf("reads of %d", size), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				srv := fakeserver.New(fakeserver.Words(20), fakeserver.Generation(fakeserver.Fixed(2300*time.Millisecond)))
				defer srv.Close()
				rt := must(t)(steady.New(steady.WithBase(srv.Transport())))
				start := time.Now()
				resp, err := rt.RoundTrip(streamRequest(t, t.Context(), "https://llm.test", "/v1/chat/completions"))
				if err != nil {
					t.Fatal(err)
				}
				defer resp.Body.Close()
				var at []time.Duration // when each event was there whole
				var seen []byte
				buf := make([]byte, size)
				for {
					n, err := resp.Body.Read(buf)
					if n == 0 && err == nil {
						t.Fatal("a read of nothing")
					}
					seen = append(seen, buf[:n]...)
					for len(at) < bytes.Count(seen, []byte("\n\n")) {
						at = append(at, time.Since(start))
					}
					if err == io.EOF {
						break
					}
					if err != nil {
						t.Fatal(err)
					}
				}
				var want []time.Duration
				for i := range 24 {
					want = append(want, max(100*time.Millisecond, time.Duration(i)*100*time.Millisecond)) // the role waits for the first word
				}
				if !slices.Equal(at, want) {
					t.Errorf("events at %v, want %v", at, want)
				}
			})
		})
	}
}

// CB6: a stream's outcome is known at its end.

func TestCB6_AStreamIsJudgedAtItsEnd(t *testing.T) {
	for _, test := range []struct {
		name    string
		pieces  []piece
		early   bool
		state   string
		outcome string
	}{
		{"two events, then a reset", all(syscall.ECONNRESET, roleEvent, wordEvent), false, "open", "truncated"},
		{"cut before the final marker", all(io.EOF, roleEvent, wordEvent, wordEvent), false, "open", "truncated"},
		{"complete", all(io.EOF, roleEvent, wordEvent, stopEvent, doneEvent), false, "closed", "ok"},
		{"the caller closes early", all(io.EOF, roleEvent, wordEvent, wordEvent), true, "closed", "cancelled"},
		{"an error in the middle", all(io.EOF, roleEvent, wordEvent, overloadedEvent), false, "open", "overloaded"},
		{"a bad request in the middle", all(io.EOF, roleEvent, wordEvent, invalidEvent), false, "closed", "declined"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				heard := &events{}
				rt := must(t)(steady.New(steady.WithBase(&feeding{pieces: test.pieces}), steady.WithObserver(heard), steady.WithBreaker(steady.TripAfter(5))))
				for i := range 5 {
					if s := rt.State(); i > 0 && s[0].Breaker != "closed" {
						t.Fatalf("%s after %d", s[0].Breaker, i)
					}
					resp, err := rt.RoundTrip(streamRequest(t, t.Context(), "https://llm.test", "/v1/chat/completions"))
					if err != nil {
						t.Fatal(err)
					}
					if test.early {
						_, _ = resp.Body.Read(make([]byte, 10))
					} else {
						_, _ = io.Copy(io.Discard, resp.Body)
					}
					resp.Body.Close()
				}
				if s := rt.State(); s[0].Breaker != test.state || s[0].InFlight != 0 {
					t.Errorf("state %+v after five, want %s", s, test.state)
				}
				for _, e := range of[steady.AttemptEnded](heard) {
					if e.Outcome != test.outcome {
						t.Errorf("ended as %+v, want %s", e, test.outcome)
					}
				}
			})
		})
	}
}

// A success at the headers would wipe out the failures before it.
func TestCB6_TheHeadersOfAStreamDoNotWipeOutFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := all(io.EOF, roleEvent, wordEvent)
		base := &feeding{pieces: broken}
		rt := must(t)(steady.New(steady.WithBase(base), steady.WithBreaker(steady.TripAfter(2))))
		one := func() *http.Response {
			resp, err := rt.RoundTrip(streamRequest(t, t.Context(), "https://llm.test", "/v1/chat/completions"))
			if err != nil {
				t.Fatal(err)
			}
			return resp
		}
		first, second := one(), one()
		_, _ = io.Copy(io.Discard, first.Body)
		third := one()
		if s := rt.State(); s[0].Breaker != "closed" || s[0].InFlight != 2 {
			t.Errorf("state %+v, want closed with two in flight", s)
		}
		_, _ = io.Copy(io.Discard, second.Body)
		if s := rt.State(); s[0].Breaker != "open" {
			t.Errorf("state %+v, want open", s)
		}
		third.Body.Close()
	})
}

// TO4: the attempt's context lives until its stream is done.

func TestTO4_AStreamOutlivesTheHeaderTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := fakeserver.New(fakeserver.Words(10), fakeserver.Sequence(
			fakeserver.Status(503), fakeserver.Play(200, "text/event-stream", nil, []byte(overloadedEvent), fakeserver.Stalled, fakeserver.FirstToken(fakeserver.Fixed(0))), fakeserver.OK()),
			fakeserver.FirstToken(fakeserver.Fixed(5*time.Minute)), fakeserver.Generation(fakeserver.Fixed(10*time.Minute)))
		defer srv.Close()
		rt := must(t)(steady.New(steady.WithBase(srv.Transport()), steady.WithTimeouts(steady.HeaderTimeout(time.Minute), steady.FirstEvent(time.Second))))
		parent := countChildren(t.Context())
		resp, err := rt.RoundTrip(streamRequest(t, parent, "https://llm.test", "/v1/chat/completions"))
		if err != nil {
			t.Fatal(err)
		}
		if parent.children() == 0 {
			t.Error("no child context while the stream is read")
		}
		if got := read(t, resp); !strings.HasSuffix(got, doneEvent) {
			t.Errorf("got %q, want the whole stream", got)
		}
		if n := srv.Counts().Requests; n != 3 || parent.children() != 0 {
			t.Errorf("%d requests, %d child contexts left, want 3 and none", n, parent.children())
		}
	})
}
