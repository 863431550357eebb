package fakeserver

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// openAI is the dialect of chat completions: OpenAI, DeepSeek, and every relay that is compatible with them.
type openAI struct{}

type object = map[string]any

func (openAI) whole(g generation) []byte {
	return marshal(object{
		"id": chatID(g.n), "object": "chat.completion", "created": g.created, "model": g.model,
		"system_fingerprint": "fp_fake",
		"choices": []object{{
			"index": 0, "logprobs": nil, "finish_reason": "stop",
			"message": object{"role": "assistant", "content": g.Text, "refusal": nil},
		}},
		"usage": chatUsage(g),
	})
}

// stream sends usage in a chunk of its own before [DONE], if the request asks for it, or unasked as DeepSeek does.
func (openAI) stream(g generation) []event {
	withUsage := g.withUsage || strings.HasPrefix(g.model, "deepseek")
	chunk := func(finish bool, choices []object, usage any) event {
		o := object{
			"id": chatID(g.n), "object": "chat.completion.chunk", "created": g.created, "model": g.model,
			"system_fingerprint": "fp_fake", "choices": choices,
		}
		if withUsage {
			o["usage"] = usage
		}
		return event{fmt.Appendf(nil, "data: %s\n\n", marshal(o)), finish}
	}
	choice := func(delta object, reason any) []object {
		return []object{{"index": 0, "delta": delta, "logprobs": nil, "finish_reason": reason}}
	}
	events := []event{chunk(false, choice(object{"role": "assistant", "content": ""}, nil), nil)}
	for _, token := range g.tokens() {
		events = append(events, chunk(false, choice(object{"content": token}, nil), nil))
	}
	events = append(events, chunk(true, choice(object{}, "stop"), nil))
	if withUsage {
		events = append(events, chunk(true, []object{}, chatUsage(g)))
	}
	return append(events, event{[]byte("data: [DONE]\n\n"), true})
}

func (openAI) mediaType() string { return "text/event-stream; charset=utf-8" }

func chatUsage(g generation) object {
	u := object{
		"prompt_tokens": g.InputTokens, "completion_tokens": g.OutputTokens,
		"total_tokens": g.InputTokens + g.OutputTokens,
	}
	if strings.HasPrefix(g.model, "deepseek") {
		u["prompt_cache_hit_tokens"], u["prompt_cache_miss_tokens"] = 0, g.InputTokens
	}
	return u
}

func (openAI) fault(p problem) []byte {
	return marshal(object{"error": object{"message": p.message, "type": p.kind, "param": nil, "code": nullable(p.code)}})
}

func (o openAI) frame(p problem) []byte { return fmt.Appendf(nil, "data: %s\n\n", o.fault(p)) }

func (openAI) keepAlive() []byte { return []byte(": keep-alive\n\n") }

func (openAI) identify(h http.Header, n int) { h.Set("X-Request-Id", requestID(n)) }

func (openAI) pacing(h http.Header, limit, remaining int, now, full time.Time) {
	h.Set("X-Ratelimit-Limit-Requests", strconv.Itoa(limit))
	h.Set("X-Ratelimit-Remaining-Requests", strconv.Itoa(remaining))
	h.Set("X-Ratelimit-Reset-Requests", full.Sub(now).Truncate(time.Millisecond).String())
}

func (openAI) errorType(status int) string {
	switch status {
	case 429:
		return "requests"
	case 503, 529:
		return "service_unavailable_error"
	}
	if status >= 500 {
		return "server_error"
	}
	return "invalid_request_error"
}

func (openAI) errorCode(status int) string {
	switch status {
	case 401:
		return "invalid_api_key"
	case 404:
		return "model_not_found"
	case 429:
		return "rate_limit_exceeded"
	case 503, 529:
		return "server_is_overloaded"
	}
	return ""
}

func nullable(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func chatID(n int) string { return fmt.Sprintf("chatcmpl-%06d", n) }

func requestID(n int) string { return fmt.Sprintf("req_%06d", n) }
