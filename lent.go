package steady

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptrace"
	"reflect"
	"strings"
	"sync/atomic"
)

// lentBody is a request body that lies in memory, as net/http likes to see it: it
// sends the headers in one write with what it knows to be there, and in a write of
// their own before anything else. So such a body goes down as it is, and not as a
// sentBody, and what became of it net/http tells by its traces.
//
// It shares the bytes of the caller's reader and not its cursor. Whoever still
// reads it when another attempt is under way takes nothing from that.
type lentBody struct {
	io.ReadCloser
	asked  atomic.Int32 // times that net/http wanted a connection,
	got    atomic.Int32 // had one,
	broken atomic.Int32 // and could not write all of the request
}

// lentMost is how large a lent body may be: as much as net/http reads of any body
// before it begins to write. Of a larger one a sentBody can tell how far it went.
const lentMost = 32 << 10

// lend has net/http see b's body as what it is, if that is in memory. It returns
// the context of the attempt, from ctx.
func (b *sentBody) lend(ctx context.Context, length int64) context.Context {
	if length <= 0 || length > lentMost {
		return ctx
	}
	own := ownReader(b.rc, length)
	if own == nil {
		return ctx
	}
	l := &lentBody{ReadCloser: own}
	b.lent = l
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { l.asked.Add(1) },
		GotConn: func(httptrace.GotConnInfo) { l.got.Add(1) },
		WroteRequest: func(info httptrace.WroteRequestInfo) {
			if info.Err != nil {
				l.broken.Add(1)
			}
		},
	})
}

// extent is how much of it was read. What is not known to be a part is the whole:
// no trace says when the last byte goes out.
func (l *lentBody) extent() extent {
	got := l.got.Load()
	if got == 0 && l.asked.Load() > 0 || got > 0 && got == l.broken.Load() {
		return extentPart
	}
	return extentWhole
}

// lends reports whether next is one that a body may be lent to for req: net/http's
// own Transport, and without TLS, behind which there may be other protocols.
func lends(next http.RoundTripper, req *http.Request) bool {
	_, ok := next.(*http.Transport)
	return ok && req.URL != nil && req.URL.Scheme == "http"
}

// ownReader returns what is left to read of rc, which is length bytes, as a body
// that net/http knows to be in memory. It is nil if rc is not, or is not as long.
func ownReader(rc io.ReadCloser, length int64) io.ReadCloser {
	switch r := inMemory(rc).(type) {
	case *bytes.Reader:
		if own := *r; int64(own.Len()) == length {
			return io.NopCloser(&own)
		}
	case *strings.Reader:
		if own := *r; int64(own.Len()) == length {
			return io.NopCloser(&own)
		}
	case *bytes.Buffer:
		if int64(r.Len()) == length {
			return io.NopCloser(bytes.NewReader(r.Bytes()))
		}
	}
	return nil
}

// inMemory returns what rc reads from, if that lies in memory, or nil. rc must be of one
// of the types that io.NopCloser returns: nobody can hear that one of those is closed,
// and so nobody misses it.
func inMemory(rc io.ReadCloser) io.WriterTo {
	if !unclosable(rc) {
		return nil
	}
	switch r := reflect.ValueOf(rc).Field(0).Interface().(type) { // as net/http does
	case *bytes.Reader, *strings.Reader, *bytes.Buffer:
		return r.(io.WriterTo)
	}
	return nil
}

// unclosable reports whether rc is of a type that io.NopCloser returns.
func unclosable(rc io.ReadCloser) bool {
	switch reflect.TypeOf(rc) {
	case reflect.TypeOf(io.NopCloser(nil)), reflect.TypeOf(io.NopCloser((*bytes.Reader)(nil))):
		return true
	}
	return false
}
