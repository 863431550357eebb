package sim

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"time"
)

func response(req *http.Request, status int, h http.Header, body io.ReadCloser) *http.Response {
	return &http.Response{
		Status: strconv.Itoa(status) + " " + http.StatusText(status), StatusCode: status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: h, Body: body, ContentLength: -1, Request: req,
	}
}

var okBody = []byte(`{"id":"c","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}]}`)

// genBody delivers the answer when its generation is done.
type genBody struct {
	x        *exchange
	ready    time.Time
	tokens   float64
	off      int
	got      bool
	gone     bool
	finished bool
}

func (b *genBody) Read(p []byte) (int, error) {
	if !b.got {
		if err := sleepCtx(b.x.ctx, time.Until(b.ready)); err != nil {
			b.leave()
			return 0, err
		}
		b.got = true
		b.x.leave()
	}
	if b.off >= len(okBody) {
		return 0, io.EOF
	}
	n := copy(p, okBody[b.off:])
	b.off += n
	return n, nil
}

func (b *genBody) Close() error {
	if !b.got {
		b.leave()
	}
	return nil
}

// leave notes that nobody will read this generation.
func (b *genBody) leave() {
	b.x.leave()
	b.x.s.mu.Lock()
	defer b.x.s.mu.Unlock()
	if b.gone {
		return
	}
	b.gone = true
	if b.finished {
		b.x.s.WastedTokens += b.tokens
	}
}

// sleepCtx sleeps for d or until ctx is done.
func sleepCtx(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(d)
	select {
	case <-ctx.Done():
		t.Stop()
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
