package steady_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/steadyhttp/steady"
)

// eventsPerStream makes one stream about half a mebibyte, so that what a call
// costs at its beginning does not show.
const eventsPerStream = 3000

// streamServer sends streams of small events, each as it is made, as a provider
// does, or as many at a time as the server's buffers hold.
func streamServer(b *testing.B, flushed bool) (ts *httptest.Server, size int64) {
	b.Helper()
	var whole [][]byte
	for i := range eventsPerStream {
		whole = append(whole, fmt.Appendf(nil, `data: {"id":"chatcmpl-9","object":"chat.completion.chunk","created":1760000000,"model":"m","choices":[{"index":0,"delta":{"content":" word%d"},"logprobs":null,"finish_reason":null}]}`+"\n\n", i%1000))
	}
	whole = append(whole, []byte(stopEvent), []byte(doneEvent))
	ts = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		rc := http.NewResponseController(w)
		for _, e := range whole {
			_, _ = w.Write(e)
			if flushed {
				_ = rc.Flush()
			}
		}
	}))
	b.Cleanup(ts.Close)
	return ts, int64(len(bytes.Join(whole, nil)))
}

// BenchmarkStream reads streams over a loopback connection, one bare and one
// through the whole stack in turn, and reports how much longer the latter takes.
func BenchmarkStream(b *testing.B) {
	for _, flushed := range []bool{true, false} {
		name := "packed"
		if flushed {
			name = "flushed"
		}
		b.Run(name, func(b *testing.B) {
			ts, size := streamServer(b, flushed)
			base := ts.Client().Transport
			rt, err := steady.New(steady.WithBase(base))
			if err != nil {
				b.Fatal(err)
			}
			buf := make([]byte, 32<<10)
			stream := func(rt http.RoundTripper) time.Duration {
				start := time.Now()
				resp, err := rt.RoundTrip(streamRequest(b, b.Context(), ts.URL, chat))
				if err != nil {
					b.Fatal(err)
				}
				n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{resp.Body}, buf)
				resp.Body.Close()
				if n != size || err != nil {
					b.Fatalf("%d bytes and %v, want %d", n, err, size)
				}
				return time.Since(start)
			}
			var bare, guarded time.Duration
			b.SetBytes(2 * size)
			for i := 0; b.Loop(); i++ {
				if i%2 == 0 { // neither always comes first
					bare += stream(base)
					guarded += stream(rt)
				} else {
					guarded += stream(rt)
					bare += stream(base)
				}
			}
			b.ReportMetric(float64(guarded)/float64(bare), "guarded/bare")
			b.ReportMetric(float64(guarded-bare)/float64(b.N*eventsPerStream), "ns-more/event")
		})
	}
}

// BenchmarkStreamRead reads from memory, an event in each read, so that the
// guard's own cost shows and nothing else.
func BenchmarkStreamRead(b *testing.B) {
	event := []byte(`data: {"id":"chatcmpl-9","object":"chat.completion.chunk","created":1760000000,"model":"m","choices":[{"index":0,"delta":{"content":" word"},"logprobs":null,"finish_reason":null}]}` + "\n\n")
	for _, on := range []bool{false, true} {
		b.Run(fmt.Sprintf("guard=%v", on), func(b *testing.B) {
			body := guardedForever(b, event, on)
			buf := make([]byte, 4<<10)
			b.SetBytes(int64(len(event)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := body.Read(buf); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// guardedForever returns the body of an answer that repeats an event for ever.
func guardedForever(tb testing.TB, event []byte, on bool) io.Reader {
	tb.Helper()
	rt := must(tb)(steady.New(steady.WithTimeouts(steady.StreamGuard(on)), steady.WithBase(roundTripFunc(func(req *http.Request) (*http.Response, error) {
		return respond(req, 200, eventStream, io.NopCloser(repeating(event))), nil
	}))))
	resp, err := rt.RoundTrip(streamRequest(tb, tb.Context(), "https://llm.test", chat))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { resp.Body.Close() })
	return resp.Body
}

type repeating []byte

func (r repeating) Read(p []byte) (int, error) { return copy(p, r), nil }

func TestAnEventThatPassesAllocatesNothing(t *testing.T) {
	body := guardedForever(t, []byte(wordEvent), true)
	buf := make([]byte, 4<<10)
	if n := testing.AllocsPerRun(1000, func() { _, _ = body.Read(buf) }); n != 0 {
		t.Errorf("%v allocations for each event, want none", n)
	}
}
