package steady

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"

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

// errorBody returns frame if it is an error in the form that SDKs read from the
// body of an error answer, and else one made of the verdict and what message the
// frame has.
func errorBody(frame []byte, v wire.Verdict) []byte {
	var known struct {
		Error    json.RawMessage `json:"error"`
		Message  any             `json:"message"`
		Response struct {
			Error json.RawMessage `json:"error"`
		} `json:"response"`
	}
	if json.Unmarshal(frame, &known) == nil && isObject(known.Error) {
		return frame
	}
	inner := known.Response.Error
	if !isObject(inner) {
		type detail struct {
			Type    string `json:"type"`
			Code    string `json:"code"`
			Message string `json:"message"`
		}
		d := detail{Type: v.Type, Code: v.Code, Message: "the answer is an error: " + v.Class.String()}
		if d.Type == "" {
			d.Type = v.Class.String()
		}
		if text := messageOf(known.Message, known.Error); text != "" {
			d.Message = text
		}
		inner, _ = json.Marshal(d) // of strings alone, so it cannot fail
	}
	body, _ := json.Marshal(map[string]any{"type": "error", "error": inner}) // inner is JSON
	return body
}

func isObject(raw json.RawMessage) bool { return strings.HasPrefix(string(raw), "{") }

// messageOf returns the text of a flat error: its message, or an error that is a
// string itself.
func messageOf(message any, failed json.RawMessage) string {
	if text, ok := message.(string); ok {
		return text
	}
	var text string
	_ = json.Unmarshal(failed, &text)
	return text
}
