package steady_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"runtime"
	"sync"
	"time"
)

// Pieces of a chat completion.
const (
	roleEvent  = `data: {"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}` + "\n\n"
	wordEvent  = `data: {"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"Grüße "},"finish_reason":null}]}` + "\n\n"
	stopEvent  = `data: {"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n"
	usageEvent = `data: {"id":"c","object":"chat.completion.chunk","choices":[],"usage":{"prompt_tokens":7,"completion_tokens":2,"total_tokens":9}}` + "\n\n"
	doneEvent  = "data: [DONE]\n\n"
	wholeChat  = roleEvent + wordEvent + wordEvent + stopEvent + usageEvent + doneEvent

	overloadedEvent = `data: {"error":{"message":"busy","type":"overloaded_error","code":"overloaded"}}` + "\n\n"
	invalidEvent    = `data: {"error":{"message":"no such field","type":"invalid_request_error","code":null}}` + "\n\n"
	pingComment     = ": ping\n\n"
)

var (
	eventStream = http.Header{"Content-Type": {"text/event-stream"}}
	jsonType    = http.Header{"Content-Type": {"application/json"}}
)

// piece is what a read yields from the time at on, counted from the making of
// the feed.
type piece struct {
	at   time.Duration
	data string
	err  error // with the last byte of data, as io.Reader allows
}

// feed is a body whose pieces come at their times, whether or not they are read.
// After the last of them nothing comes any more.
type feed struct {
	ctx    context.Context // whose end ends a read; nil if only Close does
	start  time.Time
	closed chan struct{}

	mu      sync.Mutex // guards the rest
	pieces  []piece
	closes  int
	closeAt time.Time
}

func newFeed(ctx context.Context, pieces ...piece) *feed {
	return &feed{ctx: ctx, start: time.Now(), closed: make(chan struct{}), pieces: pieces}
}

func (f *feed) Read(p []byte) (int, error) {
	f.mu.Lock()
	wait := make(<-chan time.Time)
	if len(f.pieces) > 0 {
		wait = time.After(time.Until(f.start.Add(f.pieces[0].at)))
	}
	f.mu.Unlock()
	var done <-chan struct{}
	if f.ctx != nil {
		done = f.ctx.Done()
	}
	select {
	case <-wait:
	case <-done:
		return 0, context.Cause(f.ctx)
	case <-f.closed:
		return 0, errors.New("feed: read on a closed body")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	next := &f.pieces[0]
	n := copy(p, next.data)
	if next.data = next.data[n:]; next.data != "" {
		return n, nil
	}
	err := next.err
	if err == nil {
		f.pieces = f.pieces[1:]
	}
	return n, err
}

func (f *feed) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closes++; f.closes == 1 {
		f.closeAt = time.Now()
		close(f.closed)
	}
	return nil
}

// closedAt returns when the feed was first closed, counted from its making, and
// how often it was.
func (f *feed) closedAt() (time.Duration, int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.closeAt.Sub(f.start), f.closes
}

// feeding is a base that answers each request with a feed of the same pieces.
type feeding struct {
	header http.Header
	deaf   bool // the feeds do not hear of contexts
	pieces []piece

	mu    sync.Mutex // guards the rest
	feeds []*feed
}

func (b *feeding) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		_, _ = io.Copy(io.Discard, req.Body)
		req.Body.Close()
	}
	ctx := req.Context()
	if b.deaf {
		ctx = nil
	}
	f := newFeed(ctx, append([]piece(nil), b.pieces...)...)
	b.mu.Lock()
	b.feeds = append(b.feeds, f)
	b.mu.Unlock()
	header := b.header
	if header == nil {
		header = eventStream
	}
	return respond(req, 200, header, f), nil
}

func (b *feeding) attempts() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.feeds)
}

func (b *feeding) last() *feed {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.feeds[len(b.feeds)-1]
}

// all makes one piece of each event, all of them there from the start, and ends
// in err.
func all(err error, events ...string) []piece {
	var pieces []piece
	for _, e := range events {
		pieces = append(pieces, piece{data: e})
	}
	return append(pieces, piece{err: err})
}

// allocated returns how much has ever been allocated.
func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}
