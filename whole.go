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
// Nobody can do anything with a part of such an answer, so that waiting for all of
// it here costs no time; the wait is bounded as that for the first content is.
func (a *attempt) whole(req *http.Request, resp *http.Response) bool {
	c := &a.t.cfg
	if c.noGuard || c.firstEvent == 0 || resp.StatusCode != http.StatusOK || resp.ContentLength <= 0 || resp.ContentLength > heldBytes ||
		bodyless(resp) || resp.Header.Get("Content-Encoding") != "" || !inference(req) {
		return false
	}
	contentType := resp.Header.Get("Content-Type")
	if wire.Declared(contentType) != wire.FormJSON || contentType == "" {
		return false
	}
	h := &a.held
	h.rc = resp.Body
	a.readWhole(h, resp.ContentLength)
	resp.Body = h
	if h.err != io.EOF { //nolint:errorlint // Read's contract: io.EOF itself
		return false
	}
	h.closeBase()
	dec, _ := a.t.decoders.Get().(*wire.Decoder)
	if dec == nil {
		dec = new(wire.Decoder)
	}
	defer a.t.decoders.Put(dec)
	dec.Reset(contentType, req.URL.Path)
	dec.Write(h.buf)
	if _, _, failed := dec.Failure(); failed {
		return false
	}
	r := dec.End(true)
	if !r.Complete {
		return false
	}
	h.verdict, h.judged = verdict{outcome: outcomeOK, status: resp.StatusCode, usage: r.Usage}, true
	return true
}

// readWhole reads n bytes of h's base and sees whether they are all.
func (a *attempt) readWhole(h *heldBody, n int64) {
	limit := a.t.cfg.firstContent
	switch {
	case limit <= 0:
	case a.timer != nil:
		a.timer.Reset(limit)
	default:
		a.timer = time.AfterFunc(limit, a.interrupt)
	}
	buf := make([]byte, n+1)
	read, err := io.ReadFull(h.rc, buf)
	if err == io.ErrUnexpectedEOF { //nolint:errorlint // io.ReadFull's contract: the whole, as the room is for a byte more
		err = io.EOF
	}
	if int64(read) < n && err == io.EOF { //nolint:errorlint // as above
		err = io.ErrUnexpectedEOF
	}
	if limit > 0 && !a.timer.Stop() && a.caller.Err() == nil {
		err = ErrStreamStalled
	}
	h.buf, h.err = buf[:read:read], err
}
