package fakeserver

import (
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// anthropic is the dialect of messages.
type anthropic struct{}

func (anthropic) message(g generation, content []object, stop any, output int) object {
	return object{
		"id": fmt.Sprintf("msg_%06d", g.n), "type": "message", "role": "assistant", "model": g.model,
		"content": content, "stop_reason": stop, "stop_sequence": nil,
		"usage": object{
			"input_tokens": g.InputTokens, "output_tokens": output,
			"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
		},
	}
}

func (a anthropic) whole(g generation) []byte {
	return marshal(a.message(g, []object{{"type": "text", "text": g.Text}}, "end_turn", g.OutputTokens))
}

// stream tells the input tokens in message_start and the output tokens in message_delta.
func (a anthropic) stream(g generation) []event {
	events := []event{
		namedEvent("message_start", object{"message": a.message(g, []object{}, nil, 1)}),
		namedEvent("content_block_start", object{"index": 0, "content_block": object{"type": "text", "text": ""}}),
	}
	for _, token := range g.tokens() {
		delta := object{"type": "text_delta", "text": token}
		events = append(events, namedEvent("content_block_delta", object{"index": 0, "delta": delta}))
	}
	end := namedEvent("message_delta", object{
		"delta": object{"stop_reason": "end_turn", "stop_sequence": nil},
		"usage": object{"output_tokens": g.OutputTokens},
	})
	stop := namedEvent("message_stop", object{})
	end.finish, stop.finish = true, true
	return append(events, namedEvent("content_block_stop", object{"index": 0}), end, stop)
}

func (anthropic) mediaType() string { return "text/event-stream; charset=utf-8" }

func namedEvent(name string, data object) event {
	data["type"] = name
	return event{data: fmt.Appendf(nil, "event: %s\ndata: %s\n\n", name, marshal(data))}
}

func (anthropic) fault(p problem) []byte {
	o := object{"type": "error", "error": object{"type": p.kind, "message": p.message}, "request_id": requestID(p.n)}
	if p.code != "" {
		o["error"].(object)["details"] = object{"error_code": p.code}
	}
	return marshal(o)
}

func (anthropic) frame(p problem) []byte {
	return namedEvent("error", object{"error": object{"type": p.kind, "message": p.message}}).data
}

func (anthropic) keepAlive() []byte { return []byte("event: ping\ndata: {\"type\": \"ping\"}\n\n") }

func (anthropic) identify(h http.Header, n int) { h.Set("Request-Id", requestID(n)) }

func (anthropic) pacing(h http.Header, limit, remaining int, _, full time.Time) {
	h.Set("Anthropic-Ratelimit-Requests-Limit", strconv.Itoa(limit))
	h.Set("Anthropic-Ratelimit-Requests-Remaining", strconv.Itoa(remaining))
	h.Set("Anthropic-Ratelimit-Requests-Reset", full.UTC().Format(time.RFC3339))
}

func (anthropic) errorType(status int) string {
	switch status {
	case 401:
		return "authentication_error"
	case 402:
		return "billing_error"
	case 403:
		return "permission_error"
	case 404:
		return "not_found_error"
	case 413:
		return "request_too_large"
	case 429:
		return "rate_limit_error"
	case 504:
		return "timeout_error"
	case 529:
		return "overloaded_error"
	}
	if status >= 500 {
		return "api_error"
	}
	return "invalid_request_error"
}

func (anthropic) errorCode(int) string { return "" }
