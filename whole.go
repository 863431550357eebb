package steady

import (
	"bytes"
	"io"
	"net/http"

	"github.com/steadyhttp/steady/internal/wire"
)

// whole reads and judges the usual answer at once: a good one in JSON whose length
// is known and short, which is all there when its headers are. It needs neither a
// goroutine nor a guard, and its attempt is over. It reports false if that is not
// how the answer turns out; what it has read then stands before the rest of resp's
// body.
//
// It waits for the first bytes as long as for the first content. When they are not
// all, the answer goes the way of all others.
func (a *attempt) whole(req *http.Request, resp *http.Response) (verdict, bool) {
	c := &a.t.cfg
	if c.noGuard || c.firstEvent == 0 || resp.StatusCode != http.StatusOK ||
		resp.ContentLength <= 0 || resp.ContentLength > aheadBytes || bodyless(resp) ||
		headerOf(resp, "Content-Encoding") != "" || !inference(req) {
		return verdict{}, false
	}
	contentType := headerOf(resp, "Content-Type")
	if wire.Declared(contentType) != wire.FormJSON || contentType == "" {
		return verdict{}, false
	}
	text, err := a.readWhole(resp.Body, resp.ContentLength)
	if err == io.EOF { //nolint:errorlint // Read's contract: io.EOF itself
		resp.Body.Close()
		if usage, good := wire.Glance(text); good {
			resp.Body = newWholeBody(text)
			return verdict{outcome: outcomeOK, status: resp.StatusCode, usage: usage}, true
		}
	}
	resp.Body = &aheadBody{rc: resp.Body, buf: text, err: err, closed: err == io.EOF} //nolint:errorlint // the same
	return verdict{}, false
}

// readWhole sees whether n bytes are there at the first read, and no more.
func (a *attempt) readWhole(rc io.Reader, n int64) ([]byte, error) {
	a.allow(a.t.cfg.firstContent)
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
	if !a.inTime() && a.caller.Err() == nil {
		err = ErrStreamStalled
	}
	return buf[:read:read], err
}

// wholeBody is the body of an answer that is all there, and good. There is nothing
// to be watched about it any more.
type wholeBody struct{ text bytes.Reader }

func newWholeBody(text []byte) *wholeBody {
	b := new(wholeBody)
	b.text.Reset(text)
	return b
}

func (b *wholeBody) Read(p []byte) (int, error)         { return b.text.Read(p) }
func (b *wholeBody) WriteTo(w io.Writer) (int64, error) { return b.text.WriteTo(w) }
func (b *wholeBody) Close() error                       { return nil }
