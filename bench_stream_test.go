package steady_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/steadyhttp/steady"
)

// A round of BenchmarkStream reads this much bare and as much guarded, so that
// -benchtime 32x reads a gibibyte of each, and what a call costs at its beginning
// does not show.
const roundBytes = 32 << 20

// smallEvents returns events of about 185 bytes as a chat stream has them, for 64
// KiB or a little less.
func smallEvents() (events [][]byte) {
	for size := 0; size < 64<<10-200; size += len(events[len(events)-1]) {
		events = append(events, fmt.Appendf(nil, `data: {"id":"chatcmpl-9","object":"chat.completion.chunk","created":1760000000,"model":"m","choices":[{"index":0,"delta":{"content":" word%d"},"logprobs":null,"finish_reason":null}]}`+"\n\n", len(events)*7919%1000))
	}
	return events
}

// streamServer sends streams of small events in one of three ways: flushed, each
// as it is made, which is what a provider does; packed, each written by itself
// and sent as the buffers of the server fill; or in blocks of 64 KiB, as nobody
// does who makes events, but as fast as a socket goes.
func streamServer(b *testing.B, shape string) (ts *httptest.Server, size int64, events int) {
	b.Helper()
	writes, flush := smallEvents(), shape == "flushed"
	block := bytes.Join(writes, nil)
	if shape == "blocks" {
		writes = [][]byte{block}
	}
	blocks := roundBytes / len(block)
	ts = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		rc := http.NewResponseController(w)
		for range blocks {
			for _, e := range writes {
				if _, err := w.Write(e); err != nil {
					return
				}
				if flush {
					_ = rc.Flush()
				}
			}
		}
		_, _ = io.WriteString(w, stopEvent+doneEvent)
	}))
	b.Cleanup(ts.Close)
	return ts, int64(blocks*len(block) + len(stopEvent+doneEvent)), blocks*len(smallEvents()) + 2
}

// BenchmarkStream copies streams over a loopback connection, one bare and one
// through the whole stack in turn, and reports how much longer the latter takes.
// On the same base that is what the stack costs, with the read buffer of net/http
// and with the larger one that [steady.New] gives its own base; on its own base,
// beside [http.DefaultTransport], it is what its user gets.
func BenchmarkStream(b *testing.B) {
	for _, shape := range []string{"flushed", "packed", "blocks"} {
		b.Run(shape+"/same base", func(b *testing.B) {
			bare := &http.Transport{}
			rt := must(b)(steady.New(steady.WithBase(bare)))
			benchmarkStream(b, shape, bare, rt)
		})
		b.Run(shape+"/same base, 16 KiB", func(b *testing.B) {
			bare := &http.Transport{ReadBufferSize: 16 << 10}
			rt := must(b)(steady.New(steady.WithBase(bare)))
			benchmarkStream(b, shape, bare, rt)
		})
		b.Run(shape+"/own base", func(b *testing.B) {
			benchmarkStream(b, shape, http.DefaultTransport, must(b)(steady.New()))
		})
	}
}

// benchmarkStream compares over all rounds, in the median round, and in the best
// round of each, which other work on the machine disturbs least.
func benchmarkStream(b *testing.B, shape string, bare, guarded http.RoundTripper) {
	ts, size, events := streamServer(b, shape)
	buf := make([]byte, 32<<10) // io.Copy's
	copied := func(rt http.RoundTripper) time.Duration {
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
	var without, with []float64
	var ratios []float64
	b.SetBytes(2 * size)
	for i := 0; b.Loop(); i++ {
		var n, g time.Duration
		if i%2 == 0 { // neither always comes first
			n, g = copied(bare), copied(guarded)
		} else {
			g, n = copied(guarded), copied(bare)
		}
		without, with = append(without, float64(n)), append(with, float64(g))
		ratios = append(ratios, float64(g)/float64(n))
	}
	slices.Sort(ratios)
	best := slices.Min(without)
	b.ReportMetric(sum(with)/sum(without), "guarded/bare")
	b.ReportMetric(ratios[len(ratios)/2], "median-ratio")
	b.ReportMetric(slices.Min(with)/best, "best-ratio")
	b.ReportMetric(best/float64(events), "best-ns-bare/event")
	b.ReportMetric((slices.Min(with)-best)/float64(events), "best-ns-more/event")
}

func sum(all []float64) (total float64) {
	for _, v := range all {
		total += v
	}
	return total
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
