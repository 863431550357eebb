package steady

import (
	"bytes"
	"io"
	"net/http"
	"strconv"

	"github.com/steadyhttp/steady/internal/wire"
)

// notAnAnswer is the verdict on a page or nothing where an answer was due. It may
// have been generated and lost on the way.
func notAnAnswer() wire.Verdict {
	return wire.Verdict{Class: wire.ClassGateway, Retry: true, BreakerFailure: true, Type: typeNotAnAnswer}
}

const typeNotAnAnswer = "not_an_answer"

// recast makes resp the error answer that it should have been, and puts the verdict
// on it with it.
func recast(resp *http.Response, ahead *aheadBody, status int, body []byte, w wire.Verdict) {
	if ahead != nil {
		ahead.drop()
	}
	v := relabel(resp, status, w)
	resp.Header.Del("Content-Encoding")
	resp.Header.Set("Content-Type", "application/json")
	resp.Header.Set("Content-Length", strconv.Itoa(len(body)))
	resp.ContentLength, resp.TransferEncoding, resp.Uncompressed = int64(len(body)), nil, false
	resp.Body = &aheadBody{rc: io.NopCloser(bytes.NewReader(nil)), buf: body, err: io.EOF, closed: true, verdict: v, judged: true}
}

// relabel gives resp the status that it deserves and leaves its body alone.
func relabel(resp *http.Response, status int, w wire.Verdict) verdict {
	resp.StatusCode = status
	resp.Status = strconv.Itoa(status) + " " + http.StatusText(status)
	resp.Header = resp.Header.Clone()
	v := verdictOf(w, status)
	if w.Type == typeNotAnAnswer {
		v.outcome = outcomeUnknown
	}
	return v
}
