package steady

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/steadyhttp/steady/internal/wire"
)

// usual reports whether resp may be the usual answer: a good one in JSON whose
// length is known and short, which is all there when its headers are.
func (a *attempt) usual(req *http.Request, resp *http.Response) bool {
	c := &a.t.cfg
	return !c.noGuard && c.firstEvent > 0 && resp.StatusCode == http.StatusOK &&
		resp.ContentLength > 0 && resp.ContentLength <= aheadBytes && !bodyless(resp) &&
		!encoded(resp) && wire.Declared(headerOf(resp, "Content-Type")) == wire.FormJSON && inference(req)
}

// whole reads and judges the usual answer at once. That takes neither a goroutine
// nor a guard, and its attempt is over. It reports false if that is not how the
// answer turns out; what it has read then stands before the rest of resp's body.
//
// It waits for the first bytes as long as for the first content. When they are not
// all, the answer goes the way of all others.
func (a *attempt) whole(resp *http.Response) bool {
	stop := a.closes(resp.Body)
	text, err := readWhole(resp.Body, resp.ContentLength)
	if !stop() && err != nil {
		err = a.Err()
	}
	ended := err == io.EOF //nolint:errorlint // Read's contract: io.EOF itself
	if ended {
		resp.Body.Close()
		if a.t.usual.Good(text) {
			a.text, a.ready = text, time.Since(a.call.began)
			resp.Body = (*wholeBody)(a)
			return true
		}
	}
	if !a.inTime() && a.call.Context.Err() == nil {
		err = ErrStreamStalled
	}
	resp.Body = &aheadBody{rc: resp.Body, buf: text, err: err, closed: ended}
	return false
}

// closes has rc closed at the end of the attempt, until stop, if the base has not
// asked for that end and so cannot end a read by itself.
func (a *attempt) closes(rc io.ReadCloser) (stop func() bool) {
	if a.early || unclosable(rc) {
		return func() bool { return true }
	}
	return context.AfterFunc(a, func() { rc.Close() })
}

// readWhole sees whether n bytes are there at the first read, and no more. Their
// end is io.EOF if so.
func readWhole(rc io.Reader, n int64) ([]byte, error) {
	buf := make([]byte, n+1)
	read, err := rc.Read(buf)
	if err == nil && int64(read) == n {
		var more int
		more, err = rc.Read(buf[n:])
		read += more
	}
	if int64(read) < n && err == io.EOF { //nolint:errorlint // Read's contract: io.EOF itself
		err = io.ErrUnexpectedEOF
	}
	return buf[:read:read], err
}

// wholeBody is the body of an answer that is all there, and good. There is nothing
// to be watched about it any more. It is the attempt itself, with the methods of a body,
// and so takes no room of its own.
type wholeBody attempt

// at is when b was all there.
func (b *wholeBody) at() time.Time { return b.call.began.Add(b.ready) }

// verdict is that on resp, whose body b is.
func (b *wholeBody) verdict(resp *http.Response) verdict {
	return verdict{outcome: outcomeOK, status: resp.StatusCode, usage: b.usage(), header: resp.Header, at: b.at()}
}

// usage is what b says of it, which is looked for only when somebody asks.
func (b *wholeBody) usage() wire.Usage { return b.t.usual.Usage(b.text) }

// rest is what its reader has not had.
func (b *wholeBody) rest() []byte { return b.text[b.read:] }

func (b *wholeBody) Read(p []byte) (int, error) {
	rest := b.rest()
	if len(rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p, rest)
	b.read += uint32(n)
	return n, nil
}

func (b *wholeBody) WriteTo(w io.Writer) (int64, error) {
	rest := b.rest()
	if len(rest) == 0 {
		return 0, nil
	}
	n, err := w.Write(rest)
	b.read += uint32(n)
	if err == nil && n < len(rest) {
		err = io.ErrShortWrite
	}
	return int64(n), err
}

func (b *wholeBody) Close() error { return nil }

// settled reports whether nothing more can become of the attempt that resp answers:
// it has no body, or one that has been judged as a whole.
func settled(resp *http.Response) bool {
	return wholeIn(resp) != nil || bodyless(resp)
}

// wholeIn returns resp's body, if that is an answer that is all there, or nil.
func wholeIn(resp *http.Response) *wholeBody {
	b, _ := resp.Body.(*wholeBody)
	return b
}
