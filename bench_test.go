package steady_test

import (
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/sony/gobreaker/v2"
	"golang.org/x/time/rate"

	"github.com/steadyhttp/steady"
)

// canned answers every request with the same 200, and costs what any base costs:
// it reads the request's body and makes a response.
var canned = roundTripFunc(func(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		if _, err := io.Copy(io.Discard, req.Body); err != nil {
			return nil, err
		}
		req.Body.Close()
	}
	return &http.Response{
		Status: "200 OK", StatusCode: 200, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, ContentLength: int64(len(answer)),
		Body: io.NopCloser(strings.NewReader(answer)), Request: req,
	}, nil
})

var (
	question = strings.Repeat("q", 2<<10)
	answer   = `{"id":"c-1","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"` +
		strings.Repeat("word ", 20) + `"},"finish_reason":"stop"}],"usage":{"prompt_tokens":20,"completion_tokens":20,"total_tokens":40}}`
)

// plenty is a limit that is asked and never reached.
const plenty = 1e8

func limits() []steady.Option {
	return []steady.Option{steady.WithBase(canned), steady.WithRateLimit(plenty, plenty), steady.WithConcurrency(1 << 20)}
}

// unguarded takes the answers as they come.
var unguarded = steady.WithTimeouts(steady.StreamGuard(false))

// callOnce makes one call on rt, as an SDK does.
func callOnce(tb testing.TB, rt http.RoundTripper, url string) {
	req, err := http.NewRequestWithContext(tb.Context(), http.MethodPost, url, strings.NewReader(question))
	if err != nil {
		tb.Fatal(err)
	}
	resp, err := rt.RoundTrip(req)
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		tb.Fatal(err)
	}
	resp.Body.Close()
}

const benchURL = "https://llm.test/v1/chat/completions"

// floor is what a team writes that wants only the three libraries' good: a turn
// at the rate limiter, the breaker, and an attempt that ends with its body.
type floor struct {
	limiter *rate.Limiter
	breaker *gobreaker.CircuitBreaker[*http.Response]
	next    http.RoundTripper
}

func newFloor(next http.RoundTripper) *floor {
	return &floor{
		limiter: rate.NewLimiter(plenty, plenty),
		breaker: gobreaker.NewCircuitBreaker[*http.Response](gobreaker.Settings{Interval: 30 * time.Second, BucketPeriod: 3 * time.Second}),
		next:    next,
	}
}

func (f *floor) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := f.limiter.Wait(req.Context()); err != nil {
		return nil, err
	}
	return f.breaker.Execute(func() (*http.Response, error) { return f.attempt(req) })
}

func (f *floor) attempt(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(req.Context(), 10*time.Minute)
	resp, err := f.next.RoundTrip(req.WithContext(ctx))
	if err != nil {
		cancel()
		return nil, err
	}
	resp.Body = &cancelAtEnd{resp.Body, cancel}
	return resp, nil
}

type cancelAtEnd struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (b *cancelAtEnd) Close() error {
	defer b.cancel()
	return b.ReadCloser.Close()
}

func BenchmarkHappyPath(b *testing.B) {
	stacks := []struct {
		name string
		rt   http.RoundTripper
	}{
		{"base", canned},
		{"floor", newFloor(canned)},
		{"SDK", steady.Chain(canned, steady.SDK())},
		{"RateLimit", steady.Chain(canned, steady.RateLimit(plenty, plenty, steady.MaxInFlight(1<<20)))},
		{"Breaker", steady.Chain(canned, steady.Breaker())},
		{"Retry", steady.Chain(canned, steady.Retry())},
		{"Attempt", steady.Chain(canned, steady.Attempt())},
		{"New", must(b)(steady.New(steady.WithBase(canned)))},
		{"NewWithLimits", must(b)(steady.New(limits()...))},
		{"NewWithLimitsUnguarded", must(b)(steady.New(append(limits(), unguarded)...))},
	}
	for _, s := range stacks {
		b.Run(s.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				callOnce(b, s.rt, benchURL)
			}
		})
	}
}

// Many more keys than are kept: each of them is made, used and forgotten.
func BenchmarkTenThousandKeys(b *testing.B) {
	rt := must(b)(steady.New(limits()...))
	urls := make([]string, 10_000)
	for i := range urls {
		urls[i] = fmt.Sprintf("https://llm-%d.test/v1/chat/completions", i)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		callOnce(b, rt, urls[i%len(urls)])
	}
}

func BenchmarkContention(b *testing.B) {
	rt := must(b)(steady.New(limits()...))
	b.SetParallelism(256)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			callOnce(b, rt, benchURL)
		}
	})
}

// The price of the stack is what it allocates, which is the same on any machine.
// The least of many counts is taken: the race detector empties pools at random.
func TestTheStackAllocatesLittleMoreThanTheFloor(t *testing.T) {
	per := func(rt http.RoundTripper) float64 {
		least := math.Inf(1)
		for range 100 {
			least = min(least, testing.AllocsPerRun(1, func() { callOnce(t, rt, benchURL) }))
		}
		return least
	}
	least := per(newFloor(canned))
	tests := []struct {
		name string
		opts []steady.Option
		more float64 // than the floor
	}{
		{"New with limits, without StreamGuard", append(limits(), unguarded), 7},
		{"New with limits", limits(), 3},
	}
	for _, tt := range tests {
		got := per(must(t)(steady.New(tt.opts...)))
		t.Logf("floor %v, %s %v allocations per call", least, tt.name, got)
		if got > least+tt.more {
			t.Errorf("%s makes %v allocations per call, want at most %v, which is the floor's %v and %v", tt.name, got, least+tt.more, least, tt.more)
		}
	}
}

// A body with GetBody is handed on and never copied, nor opened a second time.
func TestNoByteOfABodyIsCopied(t *testing.T) {
	const size, calls = 20 << 20, 4
	big := strings.Repeat("q", size)
	rt := must(t)(steady.New(limits()...))
	opened := 0
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range calls {
		req := post(t, t.Context(), big)
		get := req.GetBody
		req.GetBody = func() (io.ReadCloser, error) { opened++; return get() }
		resp, err := rt.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		read(t, resp)
	}
	runtime.ReadMemStats(&after)
	if got := (after.TotalAlloc - before.TotalAlloc) / calls; got > 64<<10 || opened > 0 {
		t.Errorf("a call with a body of %d bytes allocates %d and opens the body %d times more, want at most 64 KiB and none", size, got, opened)
	}
}
