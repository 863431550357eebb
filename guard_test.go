package steady_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/steadyhttp/steady"
	"github.com/steadyhttp/steady/internal/fakeserver"
)

// The guard of bodies, attacked.

const chat = "/v1/chat/completions"

// asked sends a request for a stream over a stack of its own and returns the
// response and what is heard of it.
func asked(t *testing.T, ctx context.Context, base http.RoundTripper, opts ...steady.Option) (*http.Response, *events) {
	t.Helper()
	heard := &events{}
	rt := must(t)(steady.New(append([]steady.Option{steady.WithBase(base), steady.WithObserver(heard), steady.WithRetry(steady.PlusMinus(0), steady.Delays(time.Second, time.Second))}, opts...)...))
	resp, err := rt.RoundTrip(streamRequest(t, ctx, "https://llm.test", chat))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return resp, heard
}

// wantEnd checks that one attempt ended, and as what.
func wantEnd(t *testing.T, heard *events, outcome string) steady.AttemptEnded {
	t.Helper()
	ends := of[steady.AttemptEnded](heard)
	if len(ends) != 1 || ends[0].Outcome != outcome {
		t.Fatalf("ended as %+v, want one %s", ends, outcome)
	}
	return ends[0]
}

// readers read a body to its end in their own ways.
var readers = []struct {
	name string
	read func(io.Reader) ([]byte, error)
}{
	{"1 byte", func(r io.Reader) ([]byte, error) { return readBy(r, 1) }},
	{"512 bytes", func(r io.Reader) ([]byte, error) { return readBy(r, 512) }},
	{"64 KiB", func(r io.Reader) ([]byte, error) { return readBy(r, 64<<10) }},
	{"io.Copy", func(r io.Reader) ([]byte, error) {
		var b bytes.Buffer
		_, err := io.Copy(&b, r)
		return b.Bytes(), err
	}},
}

func readBy(r io.Reader, size int) (all []byte, err error) {
	buf := make([]byte, size)
	for {
		n, err := r.Read(buf)
		all = append(all, buf[:n]...)
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return all, err
		}
	}
}

func TestABodyMayBeCutIntoPiecesAnywhereAndReadInAny(t *testing.T) {
	cutShort := roleEvent + wordEvent + wordEvent[:len(wordEvent)-30]
	for _, reader := range readers {
		t.Run(reader.name, func(t *testing.T) {
			for _, body := range []string{wholeChat, cutShort, roleEvent + wordEvent + overloadedEvent} {
				for cut := range len(body) + 1 {
					synctest.Test(t, func(t *testing.T) {
						base := &feeding{pieces: []piece{{data: body[:cut]}, {at: time.Second, data: body[cut:]}, {at: time.Second, err: io.EOF}}}
						resp, heard := asked(t, t.Context(), base)
						got, err := reader.read(resp.Body)
						if string(got) != body {
							t.Fatalf("cut at %d: got %q, want %q", cut, got, body)
						}
						outcome := "ok"
						switch _, failed := errors.AsType[*steady.AnswerError](err); {
						case body == cutShort:
							if outcome = "truncated"; !errors.Is(err, steady.ErrStreamTruncated) {
								t.Fatalf("cut at %d: ends in %v", cut, err)
							}
						case body != wholeChat:
							if outcome = "overloaded"; !failed {
								t.Fatalf("cut at %d: ends in %v", cut, err)
							}
						case err != nil:
							t.Fatalf("cut at %d: ends in %v", cut, err)
						}
						wantEnd(t, heard, outcome)
					})
				}
			}
		})
	}
}

func TestCloseInTheMiddleIsNeutralAndTellsTheUsageSoFar(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const start = `data: {"type":"message_start","message":{"id":"m","type":"message","role":"assistant","content":[],"usage":{"input_tokens":25,"output_tokens":1}}}` + "\n\n" +
			`data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}}` + "\n\n"
		base := &feeding{pieces: []piece{{data: start}}}
		resp, heard := asked(t, t.Context(), base)
		if _, err := io.ReadFull(resp.Body, make([]byte, len(start))); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		resp.Body.Close()
		if e := wantEnd(t, heard, "cancelled"); e.Input != 25 || e.Took != time.Second || e.Err != nil {
			t.Errorf("ended as %+v, want 25 tokens of input after 1s", e)
		}
		if at, n := base.last().closedAt(); n == 0 || at != time.Second {
			t.Errorf("the base's body was closed %d times, first after %v", n, at)
		}
		resp.Body.Close()
		wantEnd(t, heard, "cancelled")
	})
}

// What a caller has had when he closes decides how the attempt ended.
func TestWhatCloseMeansDependsOnWhatHasPassed(t *testing.T) {
	for _, test := range []struct {
		passed, outcome string
	}{
		{roleEvent + wordEvent, "cancelled"},
		{roleEvent + wordEvent + stopEvent, "ok"},
		{roleEvent + wordEvent + stopEvent + usageEvent + doneEvent, "ok"},
		{roleEvent + wordEvent + doneEvent, "ok"},
		{roleEvent + wordEvent + overloadedEvent, "overloaded"},
		{roleEvent + wordEvent + overloadedEvent + doneEvent, "overloaded"},
		{roleEvent + wordEvent + invalidEvent, "declined"},
	} {
		for _, cancels := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				resp, heard := asked(t, ctx, &feeding{pieces: []piece{{data: test.passed}}})
				reaches := strings.TrimSuffix(test.passed, overloadedEvent+doneEvent)
				if reaches != test.passed {
					reaches += overloadedEvent // and no [DONE]
				}
				if _, err := io.ReadFull(resp.Body, make([]byte, len(reaches))); err != nil {
					t.Fatal(err)
				}
				if cancels {
					cancel()
				} else {
					resp.Body.Close()
				}
				synctest.Wait()
				e := wantEnd(t, heard, test.outcome)
				if strings.Contains(test.passed, usageEvent) && (e.Input != 7 || e.Output != 2) {
					t.Errorf("usage %d and %d, want 7 and 2", e.Input, e.Output)
				}
			})
		}
	}
}

func TestTheCallersCancelIsNoTruncationAndNoStall(t *testing.T) {
	for _, deaf := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			gone := errors.New("the user closed the tab")
			ctx, cancel := context.WithCancelCause(t.Context())
			base := &feeding{pieces: []piece{{data: roleEvent + wordEvent}}, deaf: deaf}
			resp, heard := asked(t, ctx, base)
			time.AfterFunc(5*time.Second, func() { cancel(gone) })
			if deaf { // such a base hears of Close only
				time.AfterFunc(7*time.Second, func() { resp.Body.Close() })
			}
			got, err := io.ReadAll(resp.Body)
			if string(got) != roleEvent+wordEvent || err == nil || errors.Is(err, steady.ErrStreamTruncated) || errors.Is(err, steady.ErrStreamStalled) {
				t.Errorf("got %q and %v, want what came and an error that is the cancel's", got, err)
			}
			if !deaf && !errors.Is(err, gone) && !errors.Is(err, context.Canceled) {
				t.Errorf("ends in %v, want the cancel", err)
			}
			synctest.Wait() // what the cancel ends, it also reports
			if e := wantEnd(t, heard, "cancelled"); e.Took != 5*time.Second {
				t.Errorf("ended after %v, want 5s", e.Took)
			}
		})
	}
}

func TestTheCallersDeadlineInTheMiddleSpeaksAgainstTheProvider(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		resp, heard := asked(t, ctx, &feeding{pieces: []piece{{data: roleEvent + wordEvent}}})
		if _, err := io.ReadAll(resp.Body); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, steady.ErrStreamTruncated) {
			t.Errorf("ends in %v, want the deadline", err)
		}
		synctest.Wait() // what the deadline ends, it also reports
		wantEnd(t, heard, "unknown")
	})
}

func TestASlowReaderIsNoStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := fakeserver.New()
		defer srv.Close()
		resp, heard := asked(t, t.Context(), srv.Transport(), steady.WithTimeouts(steady.Idle(time.Second), steady.FirstContent(time.Second)))
		buf := make([]byte, 100)
		for {
			time.Sleep(10 * time.Minute)
			if _, err := resp.Body.Read(buf); err == io.EOF {
				break
			} else if err != nil {
				t.Fatal(err)
			}
		}
		wantEnd(t, heard, "ok")
	})
}

func TestTheTwoClocks(t *testing.T) {
	const s = time.Second
	type timeouts = []steady.TimeoutOption
	for _, test := range []struct {
		name    string
		pieces  []piece
		options timeouts
		end     time.Duration // of the reading
		stalled bool
	}{
		{"first content in time", []piece{{at: 9 * s, data: wordEvent}, {at: 9 * s, data: stopEvent, err: io.EOF}}, timeouts{steady.FirstContent(10 * s), steady.Idle(s)}, 9 * s, false},
		{"first content in the last instant but one", []piece{{at: 10*s - 1, data: wordEvent}, {at: 10*s - 1, data: stopEvent, err: io.EOF}}, timeouts{steady.FirstContent(10 * s), steady.Idle(s)}, 10*s - 1, false},
		{"no content", []piece{{data: roleEvent}}, timeouts{steady.FirstContent(10 * s), steady.Idle(s)}, 10 * s, true},
		{"keep-alives only", []piece{{at: 3 * s, data: pingComment}, {at: 6 * s, data: pingComment}, {at: 9 * s, data: pingComment}}, timeouts{steady.FirstContent(10 * s), steady.Idle(s)}, 10 * s, true},
		{"first content sooner than the hold", nil, timeouts{steady.FirstContent(s / 2)}, s / 2, true},
		{"first content as long as the hold", nil, timeouts{steady.FirstContent(2 * s)}, 2 * s, true},
		{"no hold", nil, timeouts{steady.FirstContent(5 * s), steady.FirstEvent(0)}, 5 * s, true},
		{"a longer hold", []piece{{at: 5 * s, data: pingComment}}, timeouts{steady.FirstContent(10 * s), steady.FirstEvent(8 * s)}, 10 * s, true},
		{"idle after content", []piece{{at: s, data: wordEvent}, {at: 3 * s, data: wordEvent}, {at: 5 * s, data: pingComment}}, timeouts{steady.FirstContent(time.Hour), steady.Idle(3 * s)}, 6 * s, true},
		{"idle after content that was held", []piece{{data: wordEvent}}, timeouts{steady.FirstContent(time.Hour), steady.Idle(3 * s)}, 3 * s, true},
		{"idle longer than first", []piece{{at: s, data: wordEvent}, {at: 20 * s, data: stopEvent, err: io.EOF}}, timeouts{steady.FirstContent(2 * s), steady.Idle(30 * s)}, 20 * s, false},
		{"in the middle of a character", []piece{{data: wordEvent[:strings.Index(wordEvent, "ü")+1]}}, timeouts{steady.FirstContent(4 * s), steady.Idle(s)}, 4 * s, true},
		{"in the middle of a character after content", []piece{{data: wordEvent + wordEvent[:strings.Index(wordEvent, "ß")+1]}}, timeouts{steady.FirstContent(4 * s), steady.Idle(s)}, s, true},
		{"no limit for the first", []piece{{at: 24 * time.Hour, data: wordEvent}}, timeouts{steady.FirstContent(0), steady.Idle(3 * s)}, 24*time.Hour + 3*s, true},
		{"no limit between", []piece{{at: s, data: wordEvent}, {at: 24 * time.Hour, data: stopEvent, err: io.EOF}}, timeouts{steady.FirstContent(10 * s), steady.Idle(0)}, 24 * time.Hour, false},
		{"no clock", []piece{{at: 24 * time.Hour, data: wordEvent}, {at: 48 * time.Hour, data: stopEvent, err: io.EOF}}, timeouts{steady.FirstContent(0), steady.Idle(0)}, 48 * time.Hour, false},
		{"no guard", []piece{{data: roleEvent}, {at: 24 * time.Hour, err: io.EOF}}, timeouts{steady.FirstContent(s), steady.Idle(s), steady.StreamGuard(false)}, 24 * time.Hour, false},
		{"whole and left open", []piece{{data: wordEvent + stopEvent}}, timeouts{steady.Idle(3 * s)}, 3 * s, false},
		{"whole to its last event and left open", []piece{{data: wholeChat}}, timeouts{steady.Idle(3 * s)}, 3 * s, false},
	} {
		for _, deaf := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, deaf %v", test.name, deaf), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					start := time.Now()
					base := &feeding{pieces: test.pieces, deaf: deaf}
					resp, heard := asked(t, t.Context(), base, steady.WithTimeouts(test.options...))
					_, err := io.ReadAll(resp.Body)
					if got := time.Since(start); got != test.end || errors.Is(err, steady.ErrStreamStalled) != test.stalled || !test.stalled && err != nil {
						t.Errorf("ends in %v after %v, want a stall: %v, after %v", err, got, test.stalled, test.end)
					}
					outcome := "ok"
					if test.stalled {
						outcome = "stalled"
					}
					wantEnd(t, heard, outcome)
				})
			})
		}
	}
}

// A stall is no reason to wait for ever for a body that blocks, and the clock
// counts what reads wait and not what lies between them.
func TestTheClockAddsUpWhatReadsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := &feeding{pieces: []piece{{data: wordEvent}, {at: 2 * time.Second, data: pingComment}, {at: 12 * time.Second, data: pingComment}}}
		resp, _ := asked(t, t.Context(), base, steady.WithTimeouts(steady.Idle(5*time.Second)))
		buf := make([]byte, 1024)
		for range 2 { // the second waits 2s
			if _, err := resp.Body.Read(buf); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(8 * time.Second) // of the reader's own
		start := time.Now()
		if _, err := resp.Body.Read(buf); err != nil || time.Since(start) != 2*time.Second { // 4s by now
			t.Fatalf("%v after %v, want the comment after 2s", err, time.Since(start))
		}
		if _, err := resp.Body.Read(buf); !errors.Is(err, steady.ErrStreamStalled) || time.Since(start) != 3*time.Second {
			t.Errorf("%v after %v, want a stall after 3s", err, time.Since(start))
		}
	})
}

func TestTheFirstEventIsWaitedForAndNoLonger(t *testing.T) {
	for _, test := range []struct {
		name     string
		at       time.Duration
		event    string
		back     time.Duration // when the response came back
		attempts int
		status   int
	}{
		{"content before", 1900 * time.Millisecond, wordEvent, 1900 * time.Millisecond, 1, 200},
		{"content after", 2100 * time.Millisecond, wordEvent, 2 * time.Second, 1, 200},
		{"an error before", 1900 * time.Millisecond, overloadedEvent, 4800 * time.Millisecond, 2, 529},
		{"an error after", 2100 * time.Millisecond, overloadedEvent, 2 * time.Second, 1, 200},
		{"an error of the request's before", 1900 * time.Millisecond, invalidEvent, 1900 * time.Millisecond, 1, 400},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				base := &feeding{pieces: []piece{{data: roleEvent}, {at: test.at, data: test.event}, {at: 3 * time.Second, err: io.EOF}}}
				start := time.Now()
				resp, heard := asked(t, t.Context(), base, steady.WithRetry(steady.MaxAttempts(2)))
				back := time.Since(start)
				if test.attempts == 2 {
					if r := of[steady.RetryScheduled](heard); len(r) != 1 || r[0].Class != "overloaded" || r[0].Status != 529 {
						t.Errorf("retries %+v, want one of class overloaded", r)
					}
				}
				if back != test.back || base.attempts() != test.attempts || resp.StatusCode != test.status {
					t.Errorf("status %d after %v and %d attempts, want %d after %v and %d", resp.StatusCode, back, base.attempts(), test.status, test.back, test.attempts)
				}
				_, err := io.ReadAll(resp.Body)
				_, failed := errors.AsType[*steady.AnswerError](err)
				if test.status == 200 && failed != (test.event == overloadedEvent) || test.status == 200 && err == nil {
					t.Errorf("ends in %v", err)
				}
			})
		})
	}
}

func TestBodiesThatReadInOddWays(t *testing.T) {
	last := wholeChat[len(wholeChat)-20:]
	for _, test := range []struct {
		name   string
		pieces []piece
	}{
		{"the end with the last bytes", []piece{{data: wholeChat[:len(wholeChat)-20]}, {data: last, err: io.EOF}}},
		{"the end with all bytes", []piece{{data: wholeChat, err: io.EOF}}},
		{"reads of nothing", []piece{{}, {data: wholeChat[:100]}, {}, {}, {data: wholeChat[100:]}, {}, {err: io.EOF}}},
	} {
		for _, deaf := range []bool{false, true} {
			for _, opts := range [][]steady.TimeoutOption{nil, {steady.FirstEvent(0)}} {
				synctest.Test(t, func(t *testing.T) {
					resp, heard := asked(t, t.Context(), &feeding{pieces: test.pieces, deaf: deaf}, steady.WithTimeouts(opts...))
					if got := read(t, resp); got != wholeChat {
						t.Errorf("%s: got %q", test.name, got)
					}
					if e := wantEnd(t, heard, "ok"); e.Input != 7 || e.Output != 2 {
						t.Errorf("%s: usage %d and %d, want 7 and 2", test.name, e.Input, e.Output)
					}
				})
			}
		}
	}
}

// Nothing but what says that it is a model's answer is judged.
func TestBodiesThatAreNotJudged(t *testing.T) {
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	_, _ = z.Write([]byte(roleEvent + overloadedEvent))
	z.Close()
	for _, test := range []struct {
		name, method, path string
		status             int
		header             http.Header
		body               string
		length             int64
	}{
		{"HEAD", http.MethodHead, "/v1/models", 200, jsonType, "", 1234},
		{"HEAD of a stream", http.MethodHead, chat, 200, eventStream, "", -1},
		{"204", http.MethodPost, chat, 204, eventStream, "", 0},
		{"compressed as the caller asked", http.MethodPost, chat, 200, http.Header{"Content-Type": {"text/event-stream"}, "Content-Encoding": {"gzip"}}, zipped.String(), -1},
		{"plain text", http.MethodPost, chat, 200, http.Header{"Content-Type": {"text/plain; charset=utf-8"}}, "hello", 5},
		{"text that speaks of data", http.MethodPost, "/v1/audio/transcriptions", 200, http.Header{"Content-Type": {"text/plain"}}, "data: nothing", 13},
		{"no type", http.MethodPost, chat, 200, http.Header{}, roleEvent, -1},
		{"a picture", http.MethodPost, "/v1/images/generations", 200, http.Header{"Content-Type": {"image/png"}}, "\x89PNG", 4},
		{"a file", http.MethodGet, "/v1/files/f/content", 200, http.Header{"Content-Type": {"application/octet-stream"}}, `{"error":{"type":"overloaded_error"}}`, -1},
		{"a redirect", http.MethodPost, chat, 307, http.Header{"Content-Type": {"text/html"}, "Location": {"/elsewhere"}}, "<html>", 6},
		{"a page elsewhere", http.MethodGet, "/", 200, http.Header{"Content-Type": {"text/html"}}, "<html></html>", -1},
		{"a document elsewhere", http.MethodGet, "/v1/models", 200, jsonType, `{"object":"list","data":[]}`, -1},
		{"events of something else", http.MethodGet, "/events", 200, eventStream, "event: tick\ndata: now\n\n", -1},
		{"no events of something else", http.MethodGet, "/events", 200, eventStream, ": welcome\n\n", -1},
		{"nothing elsewhere", http.MethodDelete, "/v1/files/f", 200, jsonType, "", -1},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				heard := &events{}
				rt := must(t)(steady.New(steady.WithObserver(heard), steady.WithBase(roundTripFunc(func(req *http.Request) (*http.Response, error) {
					resp := respond(req, test.status, test.header, io.NopCloser(strings.NewReader(test.body)))
					if test.body == "" && test.length != -1 {
						resp.Body = http.NoBody
					}
					resp.ContentLength = test.length
					return resp, nil
				}))))
				resp, err := rt.RoundTrip(request(t, test.method, test.path, ""))
				if err != nil {
					t.Fatal(err)
				}
				if got := read(t, resp); got != test.body || resp.StatusCode != test.status || resp.ContentLength != test.length {
					t.Errorf("status %d, length %d, body %q; want %d, %d, %q", resp.StatusCode, resp.ContentLength, got, test.status, test.length, test.body)
				}
				for name := range test.header {
					if resp.Header.Get(name) != test.header.Get(name) {
						t.Errorf("%s: %q, want %q", name, resp.Header.Get(name), test.header.Get(name))
					}
				}
				wantEnd(t, heard, "ok")
			})
		})
	}
}

// Simple fakes leave ContentLength 0 and have a body all the same.
func TestAFakeThatLeavesTheContentLengthAtZero(t *testing.T) {
	for body, want := range map[string]error{wholeChat: nil, roleEvent + wordEvent: steady.ErrStreamTruncated} {
		resp, _ := asked(t, t.Context(), roundTripFunc(func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Header: eventStream, Body: io.NopCloser(strings.NewReader(body))}, nil
		}))
		got, err := io.ReadAll(resp.Body)
		if string(got) != body || !errors.Is(err, want) || want == nil && err != nil {
			t.Errorf("got %d bytes and %v, want %d and %v", len(got), err, len(body), want)
		}
	}
}

func TestStreamGuardOffPassesEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, body := range []string{overloadedEvent, roleEvent + wordEvent, "", "<html>"} {
			base := &feeding{pieces: all(io.EOF, body)}
			resp, heard := asked(t, t.Context(), base, steady.WithTimeouts(steady.StreamGuard(false)))
			if got := read(t, resp); got != body || resp.StatusCode != 200 || base.attempts() != 1 {
				t.Errorf("status %d, body %q of %d attempts, want 200, %q of 1", resp.StatusCode, got, base.attempts(), body)
			}
			wantEnd(t, heard, "ok")
		}
	})
}

// The trailers of a stream arrive with its end, guarded or not, and as much of it
// as has been flushed can be read before.
func TestSocketsWithTrailersAndCompression(t *testing.T) {
	more := make(chan struct{})
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Trailer", "X-Sum")
		w.Header().Set("Content-Type", "text/event-stream")
		out := io.Writer(w)
		if r.Header.Get("Accept-Encoding") == "gzip" && r.URL.Query().Get("zip") != "" {
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			defer z.Close()
			out = z
		} else {
			_, _ = io.WriteString(out, roleEvent+wordEvent)
			_ = http.NewResponseController(w).Flush()
			<-more
		}
		_, _ = io.WriteString(out, wordEvent+stopEvent+doneEvent)
		w.Header().Set("X-Sum", "42")
	})
	for _, http2 := range []bool{false, true} {
		ts := httptest.NewUnstartedServer(handler)
		if ts.EnableHTTP2 = http2; http2 {
			ts.StartTLS()
		} else {
			ts.Start()
		}
		rt := must(t)(steady.New(steady.WithBase(ts.Client().Transport)))
		resp, err := rt.RoundTrip(streamRequest(t, t.Context(), ts.URL, chat))
		if err != nil {
			t.Fatal(err)
		}
		head := make([]byte, len(roleEvent+wordEvent))
		if _, err := io.ReadFull(resp.Body, head); err != nil { // the server is still waiting
			t.Fatal(err)
		}
		more <- struct{}{}
		if got := string(head) + read(t, resp); got != roleEvent+wordEvent+wordEvent+stopEvent+doneEvent || resp.Trailer.Get("X-Sum") != "42" || resp.ProtoMajor == 2 != http2 {
			t.Errorf("HTTP/2 %v: got %q with trailers %v over %s", http2, got, resp.Trailer, resp.Proto)
		}
		for _, own := range []bool{false, true} { // the transport's gzip is undone and judged, the caller's is neither
			req := streamRequest(t, t.Context(), ts.URL, chat+"?zip=1")
			if own {
				req.Header.Set("Accept-Encoding", "gzip")
			}
			resp, err := rt.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			got := read(t, resp)
			if own != strings.HasPrefix(got, "\x1f\x8b") || own == resp.Uncompressed {
				t.Errorf("HTTP/2 %v, own encoding %v: got %q, uncompressed %v", http2, own, got, resp.Uncompressed)
			}
		}
		ts.Close()
		rt.CloseIdleConnections()
	}
}

// The terminal event ends the attempt, whether or not the server closes; what has
// been read ahead has not passed before the caller has it.
func TestTheTerminalEventEndsTheAttempt(t *testing.T) {
	for _, pieces := range [][]piece{
		{{data: wholeChat}},
		{{data: wholeChat[:300]}, {at: time.Second, data: wholeChat[300:]}},
	} {
		synctest.Test(t, func(t *testing.T) {
			heard := &events{}
			rt := must(t)(steady.New(steady.WithBase(&feeding{pieces: pieces}), steady.WithObserver(heard)))
			resp, err := rt.RoundTrip(streamRequest(t, t.Context(), "https://llm.test", chat))
			if err != nil {
				t.Fatal(err)
			}
			for i := range len(wholeChat) {
				if got := len(of[steady.AttemptEnded](heard)); got != 0 || rt.State()[0].InFlight != 1 {
					t.Fatalf("after %d of %d bytes %d attempts are over: %+v", i, len(wholeChat), got, rt.State())
				}
				if _, err := io.ReadFull(resp.Body, make([]byte, 1)); err != nil {
					t.Fatal(err)
				}
			}
			if e := wantEnd(t, heard, "ok"); e.Input != 7 || rt.State()[0].InFlight != 0 {
				t.Errorf("ended as %+v, state %+v, want the usage and nothing in flight", e, rt.State())
			}
			resp.Body.Close()
			wantEnd(t, heard, "ok")
		})
	}
}

// A body that says that it is JSON and is not has no content to wait for: bytes
// are enough.
func TestABodyThatIsSomethingElseDoesNotStallWhileItComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var pieces []piece
		for i := range 20 {
			pieces = append(pieces, piece{at: time.Duration(i) * 3 * time.Second, data: "\x1f\x8b"})
		}
		base := &feeding{header: jsonType, pieces: append(pieces, piece{at: time.Minute, err: io.EOF})}
		rt := must(t)(steady.New(steady.WithBase(base), steady.WithTimeouts(steady.FirstContent(4*time.Second), steady.Idle(4*time.Second))))
		resp, err := rt.RoundTrip(request(t, http.MethodGet, "/v1/files/f/content", ""))
		if err != nil {
			t.Fatal(err)
		}
		if got := read(t, resp); len(got) != 40 {
			t.Errorf("got %d bytes, want 40", len(got))
		}
	})
}

// Without a look at its beginning a page is told at its end.
func TestAPageThatIsNotLookedAtFirst(t *testing.T) {
	base := &feeding{pieces: all(io.EOF, "<html>sorry</html>")}
	resp, heard := asked(t, t.Context(), base, steady.WithTimeouts(steady.FirstEvent(0)))
	got, err := io.ReadAll(resp.Body)
	if answer, ok := errors.AsType[*steady.AnswerError](err); !ok || answer.Class != "gateway" || string(got) != "<html>sorry</html>" || base.attempts() != 1 {
		t.Errorf("got %q and %v after %d attempts, want the page and an AnswerError of class gateway", got, err, base.attempts())
	}
	wantEnd(t, heard, "failed")
}

// An end to nothing is no answer however late it comes.
func TestAnEndToNothingThatComesLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := &feeding{pieces: []piece{{data: roleEvent}, {at: 5 * time.Second, data: doneEvent}, {at: 6 * time.Second, err: io.EOF}}}
		resp, heard := asked(t, t.Context(), base)
		if _, err := io.ReadAll(resp.Body); !errors.Is(err, steady.ErrStreamTruncated) {
			t.Errorf("ends in %v, want ErrStreamTruncated", err)
		}
		wantEnd(t, heard, "truncated")
	})
}

// A model may end without a word, and that is its answer: it is not waited for,
// not asked again and no failure.
func TestAnAnswerWithoutContentThatSaysHowItEnded(t *testing.T) {
	for _, test := range []struct {
		name   string
		pieces []piece
	}{
		{"left open", []piece{{data: roleEvent + stopEvent}, {at: time.Minute, err: io.EOF}}},
		{"ended", []piece{{data: roleEvent + stopEvent, err: io.EOF}}},
	} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			base := &feeding{pieces: test.pieces}
			resp, heard := asked(t, t.Context(), base)
			if back := time.Since(start); back != 0 || base.attempts() != 1 {
				t.Errorf("%s: the response came after %v and %d attempts, want at once and 1", test.name, back, base.attempts())
			}
			if got := read(t, resp); got != roleEvent+stopEvent {
				t.Errorf("%s: got %q", test.name, got)
			}
			wantEnd(t, heard, "ok")
		})
	}
}
