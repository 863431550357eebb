package steady

import (
	"io"
	"net/http"
	"time"

	"github.com/steadyhttp/steady/internal/wire"
)

// whole reads and judges the usual answer at once: a good one in JSON whose length
// is known and short, which is all there when its headers are. It needs neither a
// goroutine nor a guard. It reports false if that is not how the answer turns out;
// what it has read then stands before the rest of resp's body.
//
// It waits for the first bytes as long as for the first content. When they are not
// all, the answer goes the way of all others.
func (a *attempt) whole(req *http.Request, resp *http.Response) bool {
	c := &a.t.cfg
	if c.noGuard || c.firstEvent == 0 || resp.StatusCode != http.StatusOK ||
		resp.ContentLength <= 0 || resp.ContentLength > aheadBytes || bodyless(resp) || resp.Header.Get("Content-Encoding") != "" || !inference(req) {
		return false
	}
	contentType := resp.Header.Get("Content-Type")
	if wire.Declared(contentType) != wire.FormJSON || contentType == "" {
		return false
	}
	b := &a.ahead
	b.rc = resp.Body
	a.readWhole(b, resp.ContentLength)
	resp.Body = b
	if b.err != io.EOF { //nolint:errorlint // Read's contract: io.EOF itself
		return false
	}
	b.closeBase()
	dec, _ := a.t.decoders.Get().(*wire.Decoder)
	if dec == nil {
		dec = new(wire.Decoder)
	}
	defer a.t.decoders.Put(dec)
	dec.Reset(contentType, req.URL.Path)
	dec.Write(b.buf)
	if _, _, failed := dec.Failure(); failed {
		return false
	}
	r := dec.End(true)
	if !r.Complete {
		return false
	}
	b.judge(verdict{outcome: outcomeOK, status: resp.StatusCode, usage: r.Usage})
	return true
}

// readWhole sees whether n bytes are there at the first read, and no more.
func (a *attempt) readWhole(b *aheadBody, n int64) {
	limit := a.t.cfg.firstContent
	switch {
	case limit <= 0:
	case a.timer != nil:
		a.timer.Reset(limit)
	default:
		a.timer = time.AfterFunc(limit, a.interrupt)
	}
	buf := make([]byte, n+1)
	read, err := b.rc.Read(buf)
	if err == nil && int64(read) == n {
		var more int
		more, err = b.rc.Read(buf[n:])
		read += more
	}
	if int64(read) < n && err == io.EOF { //nolint:errorlint // Read's contract: io.EOF itself
		err = io.ErrUnexpectedEOF
	}
	if limit > 0 && !a.timer.Stop() && a.caller.Err() == nil {
		err = ErrStreamStalled
	}
	b.buf, b.err = buf[:read:read], err
}
