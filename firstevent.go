package steady

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/steadyhttp/steady/internal/wire"
)

// guard returns the guard for the body of resp, or nil if there is nothing to
// guard. Before that it looks at how the answer begins: an error, a page or
// nothing at all in place of content becomes the response that it should have
// been, so that Retry and the breaker judge it, and SDKs raise their own errors.
func (c *attemptConfig) guard(req *http.Request, resp *http.Response, stalled func()) *guard {
	if resp.StatusCode >= 400 && !c.noGuard && c.idle > 0 {
		return &guard{clock: bodyClock{first: c.idle, idle: c.idle, stall: stalled}} // or a body that stalls hangs its reader
	}
	contentType := headerOf(resp, "Content-Type")
	if c.noGuard || contentType == "" || resp.StatusCode/100 != 2 || resp.StatusCode == http.StatusNoContent ||
		encoded(resp) && !resp.Uncompressed {
		return nil
	}
	declared, due := wire.Declared(contentType), inference(req)
	look := due && c.firstEvent > 0
	switch {
	case declared == wire.FormOpaque, declared == wire.FormText && !look:
		return nil // not an answer of a model, or not to be told from one
	case bodyless(resp):
		if look && declared != wire.FormText {
			recast(resp, nil, http.StatusBadGateway, errorBody(nil, notAnAnswer()), notAnAnswer())
		}
		return nil
	}
	g := &guard{due: due, dec: wire.NewDecoder(contentType, pathOf(req))}
	g.clock.first, g.clock.idle, g.clock.stall = c.firstContent, c.idle, stalled
	if look && !g.begins(req, resp, c.firstEvent, declared == wire.FormText) {
		return nil
	}
	return g
}

// begins reads ahead, for as long as within, how the answer of resp begins, and
// reports whether g is to guard the rest of it. isText tells that it says of itself
// to be plain text.
func (g *guard) begins(req *http.Request, resp *http.Response, within time.Duration, isText bool) bool {
	if g.clock.first > 0 {
		within = min(within, g.clock.first)
	}
	began := time.Now()
	ahead := readAhead(req.Context(), resp.Body, aheadBytes, within, g.enough)
	resp.Body, g.skip = ahead, ahead.seenAhead()
	if isText && !answers(ahead.soFar()) || g.rejects(resp, ahead) {
		return false
	}
	if !g.opened {
		g.clock.waited = time.Since(began)
	}
	return true
}

// encoded reports whether the body of resp is compressed, or whatever else: its bytes
// are not those of the answer.
func encoded(resp *http.Response) bool {
	encoding := headerOf(resp, "Content-Encoding")
	return encoding != "" && !strings.EqualFold(encoding, "identity")
}

// answers reports whether text, which says of itself that it is just that, may
// be a model's answer, mislabelled by a relay, or a page in its place.
func answers(text []byte) bool {
	text = bytes.TrimLeft(text, "\xEF\xBB\xBF \t\r\n")
	for _, s := range [...]string{"{", "data:", "event:", ":", "<!doctype html", "<html"} {
		n := len(s)
		if s[0] == '<' && len(text) > 0 {
			n = min(n, len(text)) // a page may drip
		}
		if len(text) >= n && strings.EqualFold(string(text[:n]), s[:n]) {
			return true
		}
	}
	return false
}

// enough looks at what is read ahead, and reports whether it tells how the answer
// begins.
func (g *guard) enough(p []byte) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	pr := g.dec.Write(p)
	g.note(p, pr)
	g.opened = g.opened || pr.Content > 0
	return g.opened || g.finished || pr.AfterError > 0
}

// rejects turns resp into what its beginning says that it is, if that is no
// answer. It reports whether the response is to be taken as it is now.
func (g *guard) rejects(resp *http.Response, ahead *aheadBody) bool {
	frame, v, failed := g.dec.Failure()
	if failed && !g.opened {
		recast(resp, ahead, v.Class.Status(), errorBody(frame, v), v)
		return true
	}
	switch form := g.dec.Form(); {
	case form == wire.FormHTML, form == wire.FormText:
		ahead.judge(relabel(resp, http.StatusBadGateway, notAnAnswer()))
		return true
	case ahead.ended() == nil:
	case form == wire.FormUnknown && ahead.ended() == io.EOF: //nolint:errorlint // Read's contract: io.EOF itself
		recast(resp, ahead, http.StatusBadGateway, errorBody(nil, notAnAnswer()), notAnAnswer())
		return true
	case !g.opened && !g.finished:
		// It ended before there was any content. The bytes stay what they
		// are, for the guard to end them in an error, but Retry may ask again.
		ahead.judge(verdict{outcome: outcomeTruncated, status: resp.StatusCode, retry: true, err: ErrStreamTruncated})
	}
	return false
}
