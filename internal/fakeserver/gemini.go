package fakeserver

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// gemini is the dialect of generateContent. The path names the model and says whether the answer is a stream; the query
// says whether that is server-sent events or, without alt=sse, one JSON array.
type gemini struct {
	model    string
	streamed bool
	array    bool
}

// routeGemini takes a path apart that ends in {model}:{method}.
func routeGemini(path, query string) (g gemini, ok bool) {
	model, method, _ := strings.Cut(path[strings.LastIndexByte(path, '/')+1:], ":")
	g.model, g.streamed = model, method == "streamGenerateContent"
	values, _ := url.ParseQuery(query)
	g.array = g.streamed && values.Get("alt") != "sse"
	return g, g.streamed || method == "generateContent"
}

// response is a whole answer or a piece of one. Its usage counts what has come so far.
func (gemini) response(g generation, text, reason string, output int) object {
	candidate := object{"content": object{"role": "model", "parts": []object{{"text": text}}}, "index": 0}
	if reason != "" {
		candidate["finishReason"] = reason
	}
	return object{
		"candidates": []object{candidate},
		"usageMetadata": object{
			"promptTokenCount": g.InputTokens, "candidatesTokenCount": output, "totalTokenCount": g.InputTokens + output,
			"promptTokensDetails": []object{{"modality": "TEXT", "tokenCount": g.InputTokens}},
		},
		"modelVersion": g.model, "responseId": fmt.Sprintf("gen_%06d", g.n),
	}
}

func (d gemini) whole(g generation) []byte {
	return marshal(d.response(g, g.Text, "STOP", g.OutputTokens))
}

// stream ends with the piece that has a finishReason: nothing marks the end but that, and the bracket of an array.
func (d gemini) stream(g generation) []event {
	var events []event
	tokens := g.tokens()
	for i, token := range tokens {
		reason, last := "", i == len(tokens)-1
		if last {
			reason = "STOP"
		}
		piece := marshal(d.response(g, token, reason, i+1))
		switch {
		case !d.array:
			piece = fmt.Appendf(nil, "data: %s\r\n\r\n", piece)
		case i == 0:
			piece = append([]byte("["), piece...)
		default:
			piece = append([]byte(",\r\n"), piece...)
		}
		if d.array && last {
			piece = append(piece, ']')
		}
		events = append(events, event{piece, last})
	}
	return events
}

func (d gemini) mediaType() string {
	if d.array {
		return "application/json; charset=UTF-8"
	}
	return "text/event-stream"
}

func (gemini) fault(p problem) []byte {
	code := p.status
	for c, name := range googleStatuses {
		if code == 0 && name == p.kind {
			code = c
		}
	}
	failed := object{"code": code, "message": p.message, "status": p.kind}
	if p.code != "" {
		failed["details"] = []object{{
			"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": p.code, "domain": "googleapis.com",
		}}
	}
	return marshal(object{"error": failed})
}

func (d gemini) frame(p problem) []byte {
	if d.array {
		return fmt.Appendf(nil, ",\r\n%s]", d.fault(p))
	}
	return fmt.Appendf(nil, "data: %s\r\n\r\n", d.fault(p))
}

// keepAlive is what every parser of the form passes over.
func (d gemini) keepAlive() []byte {
	if d.array {
		return []byte("\r\n")
	}
	return []byte(": keep-alive\r\n\r\n")
}

func (gemini) identify(h http.Header, _ int) { h.Set("Server-Timing", "gfet4t7; dur=1") }

// pacing: Gemini tells nothing in headers.
func (gemini) pacing(http.Header, int, int, time.Time, time.Time) {}

var googleStatuses = map[int]string{
	400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND", 409: "ABORTED",
	429: "RESOURCE_EXHAUSTED", 499: "CANCELLED", 500: "INTERNAL", 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED",
}

func (gemini) errorType(status int) string {
	name, ok := googleStatuses[status]
	switch {
	case ok:
		return name
	case status >= 500:
		return "INTERNAL"
	}
	return "INVALID_ARGUMENT"
}

func (gemini) errorCode(int) string { return "" }
