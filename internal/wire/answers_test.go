package wire

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"
)

// The answers below are of the kinds of the fixtures, but none of them is one:
// other words, other shapes, other places for the same field.
func TestAnswersThatNoFixtureHas(t *testing.T) {
	tests := []struct {
		name   string
		status int
		header []string
		body   string
		want   Class
		wait   string // "source wait"; empty is none
	}{
		// Money.
		{name: "quota by type, with an unknown code", status: 429, body: `{"error":{"code":"seat_limit","type":"insufficient_quota","message":"No."}}`, want: ClassQuotaExhausted},
		{name: "quota by code alone, before the message", status: 429, body: `{"error":{"code":"credit_balance_exhausted","message":"Add credits"}}`, want: ClassQuotaExhausted},
		{name: "quota under a 500 of a relay", status: 500, body: `{"error":{"type":"new_api_error","code":"insufficient_user_quota","message":"x"}}`, want: ClassQuotaExhausted},
		{name: "quota beside a Retry-After", status: 429, header: []string{"Retry-After: 2"}, body: `{"error":{"type":"insufficient_quota"}}`, want: ClassQuotaExhausted},
		{name: "a message that quotes the name of a quota error", status: 429, body: `{"error":{"type":"requests","code":"rate_limit_exceeded","message":"Slow down. This is not 'insufficient_quota' and not \"You exceeded your current quota\"."}}`, want: ClassRateLimit},
		{name: "a message that names a quota error without quotes", status: 429, body: `{"error":{"message":"see insufficient_quota in the docs"}}`, want: ClassRateLimit},
		{name: "low balance under 400", status: 400, body: `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the API. Please go to Plans & Billing."}}`, want: ClassQuotaExhausted},
		{name: "credits used up under 403", status: 403, body: `{"code":"permission-denied","error":"Your team x has either used all available credits or reached its monthly spending limit."}`, want: ClassQuotaExhausted},
		{name: "a balance that shrinks the concurrency", status: 429, body: `{"error":{"message":"You have reached the concurrency limit of 39 based on your remaining balance. Please top up.","type":"rate_limit_error","code":"invalid_request_error"}}`, want: ClassRateLimit},
		{name: "a numeric code as a number, flat", status: 403, body: `{"data":null,"message":"Sorry, your account balance is insufficient","code":30001}`, want: ClassQuotaExhausted},
		{name: "the same code as a string", status: 403, body: `{"code":"30001","message":"x"}`, want: ClassQuotaExhausted},
		{name: "an allowance that covers no request, on tokens", status: 429, header: []string{"x-ratelimit-limit-tokens-minute: 0"}, body: `{"object":"error","type":"rate_limited","code":"1300","message":"Rate limit exceeded"}`, want: ClassQuotaExhausted},
		{name: "402 with a time but with a limit of another kind", status: 402, header: []string{"Retry-After: 2"}, body: `{"error":{"code":402,"message":"x","metadata":{"limit_source":"openrouter_guardrail"}}}`, want: ClassQuotaExhausted},
		{name: "402 that weighs more than the budget", status: 402, header: []string{"Retry-After: 2"}, body: `{"error":{"code":402,"message":"x","metadata":{"reason":"weight_exceeds_budget","limit_source":"openrouter_in_flight_budget"}}}`, want: ClassQuotaExhausted},
		{name: "402 whose time is in the body", status: 402, body: `{"error":{"metadata":{"retry_after_seconds":3,"limit_source":"openrouter_in_flight_budget"},"code":402}}`, want: ClassRateLimit, wait: "body.metadata 3s"},
		// Days and windows.
		{name: "a day among violations, listed last, in another order", status: 429, body: `{"error":{"details":[{"retryDelay":"7s","@type":"type.googleapis.com/google.rpc.RetryInfo"},{"violations":[{"quotaId":"GenerateRequestsPerMinutePerProjectPerModel"},{"quotaId":"GenerateRequestsPerDayPerProjectPerModel"}],"@type":"type.googleapis.com/google.rpc.QuotaFailure"}],"status":"RESOURCE_EXHAUSTED","code":429}}`, want: ClassQuotaDaily},
		{name: "a minute, in an array in an array", status: 429, body: `[[{"error":{"code":429,"message":"You exceeded your current quota","details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"GenerateRequestsPerMinutePerProject"}]},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"1.0000001s"}]}}]]`, want: ClassRateLimit, wait: "body.RetryInfo 1.001s"},
		{name: "a minute without a time", status: 429, body: `{"error":{"code":429,"message":"You exceeded your current quota","details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"GenerateRequestsPerMinutePerProject"}]}]}}`, want: ClassRateLimit},
		{name: "a day that a relay quotes", status: 429, body: `{"error":{"message":"litellm.RateLimitError: geminiException - {\n \"error\": {\"code\": 429, \"details\": [{\"@type\": \"type.googleapis.com/google.rpc.QuotaFailure\", \"violations\": [{\"quotaId\": \"GenerateRequestsPerDayPerProject\"}]}]}}","type":"throttling_error","code":"429"}}`, want: ClassQuotaDaily},
		{name: "current quota with a time", status: 429, body: `{"error":{"message":"You exceeded your current quota. Please retry in 12s.","code":429,"status":"RESOURCE_EXHAUSTED"}}`, want: ClassRateLimit, wait: "body.message 12s"},
		{name: "current quota and no more", status: 429, body: `[{"error":{"message":"You exceeded your current quota, please check your plan.","code":429,"status":"RESOURCE_EXHAUSTED"}}]`, want: ClassQuotaExhausted},
		{name: "quota_exceeded of the Interactions API", status: 429, body: `{"error":{"message":"Daily.","code":"quota_exceeded"}}`, want: ClassQuotaDaily},
		{name: "a problem document of that name", status: 429, header: []string{"RateLimit: \"hour\";r=0;t=9"}, body: `{"title":"quota exceeded","type":"https://iana.org/assignments/http-problem-types#quota-exceeded"}`, want: ClassRateLimit, wait: "ratelimit 9s"},
		{name: "tokens per day with a time are waited for", status: 429, body: `{"error":{"type":"rate_limit_reached_error","message":"request reached organization TPD rate limit, current: 9, limit: 8, please try again after 2 minutes"}}`, want: ClassRateLimit, wait: "body.message 2m0s"},
		{name: "a plan window with a time", status: 429, body: `{"error":{"type":"usage_limit_reached","resets_in_seconds":7200,"message":"The usage limit has been reached"}}`, want: ClassQuotaDaily},
		// Size.
		{name: "too large for the minute, under 429, with commas", status: 429, body: `{"error":{"type":"tokens","code":"rate_limit_exceeded","message":"Request too large for gpt-y (TPM): Limit 30,000, Requested 34,100."}}`, want: ClassRequestExceedsLimit},
		{name: "larger than the whole limit although some is used", status: 429, body: `{"error":{"type":"tokens","code":"rate_limit_exceeded","message":"Rate limit reached: Limit 8000, Used 100, Requested 9000. Please try again in 2s."}}`, want: ClassRequestExceedsLimit},
		{name: "413 in the words of a rate limit", status: 413, header: []string{"Retry-After: 5"}, body: `{"error":{"message":"rate limit reached, tokens per minute"}}`, want: ClassTooLarge},
		{name: "413 page of nginx", status: 413, body: `<html><head><title>413 Request Entity Too Large</title></head></html>`, want: ClassTooLarge},
		{name: "context by name in metadata", status: 400, body: `{"error":{"metadata":{"error_type":"context_length_exceeded"},"code":400,"message":"x"}}`, want: ClassContextLength},
		{name: "context in Google's words", status: 400, body: `{"error":{"code":400,"status":"INVALID_ARGUMENT","message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."}}`, want: ClassContextLength},
		{name: "context of llama.cpp", status: 400, body: `{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}`, want: ClassContextLength},
		{name: "too large only beside what is used", status: 429, body: `{"error":{"type":"tokens","message":"Request too large right now: Limit 100, Used 50, Requested 60"}}`, want: ClassRateLimit},
		{name: "commas are part of a figure", status: 429, body: `{"error":{"message":"Rate limit reached: Limit 9,000, Used 8,500, Requested 950."}}`, want: ClassRateLimit},
		{name: "exactly the limit", status: 429, body: `{"error":{"message":"Rate limit reached: Limit 60, Used 50, Requested 60"}}`, want: ClassRateLimit},
		{name: "too large, but how large is not said", status: 429, body: `{"error":{"message":"Request too large. Requested 60"}}`, want: ClassRateLimit},
		{name: "a limit of nothing without a window", status: 429, header: []string{"x-ratelimit-limit-requests: 0"}, want: ClassRateLimit},
		// Ramp, content, auth.
		{name: "slow_down as the type", status: 429, body: `{"error":{"type":"slow_down","message":"x"}}`, want: ClassRamp},
		{name: "slow_down under a status that is not retried", status: 400, body: `{"error":{"code":"slow_down","message":"x"}}`, want: ClassInvalidRequest},
		{name: "content filter of a nested error", status: 400, body: `{"error":{"message":"x","innererror":{"code":"ResponsibleAIPolicyViolation"},"code":null}}`, want: ClassContentPolicy},
		{name: "flagged input", status: 403, body: `{"error":{"code":403,"message":"x","metadata":{"flagged_input":"..."}}}`, want: ClassContentPolicy},
		{name: "bad key by reason, in an array", status: 400, body: `[{"error":{"code":400,"message":"API key expired.","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}]}}]`, want: ClassAuth},
		{name: "bad key as plain text", status: 401, body: `Authentication Fails (governor)`, want: ClassAuth},
		{name: "an unknown signer of AWS", status: 403, header: []string{"x-amzn-errortype: UnrecognizedClientException"}, body: `{"message":"The security token included in the request is invalid."}`, want: ClassAuth},
		// Overload and faults.
		{name: "overload under 500, passed on by a relay", status: 500, body: `{"type":"error","error":{"type":"overloaded_error","message":"x"}}`, want: ClassOverloaded},
		{name: "overload under a status that is not retried", status: 400, body: `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded, try again in 5s"}}`, want: ClassInvalidRequest},
		{name: "capacity of Mistral", status: 429, body: `{"object":"error","message":"x","type":"service_tier_capacity_exceeded","code":"3505"}`, want: ClassOverloaded},
		{name: "Mistral's 1300 is no code of Zhipu's", status: 429, body: `{"object":"error","message":"x","type":null,"code":"1300"}`, want: ClassRateLimit},
		{name: "Zhipu's code as a number", status: 429, body: `{"request_id":"x","error":{"message":"x","code":1305}}`, want: ClassOverloaded},
		{name: "model not found in the format of Claude, under 503", status: 503, body: `{"type":"error","error":{"type":"model_not_found","message":"no available channel"}}`, want: ClassNotFound},
		{name: "a bad request in the format of Claude, under 500", status: 500, body: `{"type":"error","error":{"type":"invalid_request","message":"x"}}`, want: ClassInvalidRequest},
		{name: "no channel in words", status: 503, body: `{"error":{"message":"当前分组 default 下对于模型 x 无可用渠道","type":"one_api_error"}}`, want: ClassNotFound},
		{name: "a key that is used up", status: 403, body: `{"error":{"code":403,"message":"Key limit exceeded (total limit)."}}`, want: ClassQuotaExhausted},
		{name: "DeepSeek's code on a server error", status: 503, body: `{"error":{"message":"x","type":"service_unavailable_error","code":"invalid_request_error"}}`, want: ClassOverloaded},
		{name: "502 of the provider itself", status: 502, body: `{"error":{"code":502,"message":"x"}}`, want: ClassServerError},
		{name: "502 with an empty body", status: 502, want: ClassGateway},
		{name: "an AWS exception in the body", status: 429, body: `{"__type":"com.amazon.coral.service#ModelNotReadyException","message":"x"}`, want: ClassOverloaded},
		{name: "a stream error of AWS under 424", status: 424, header: []string{"x-amzn-errortype: ModelStreamErrorException:http://x/"}, body: `{"message":"x"}`, want: ClassServerError},
		{name: "a status that nobody knows", status: 599, want: ClassServerError},
		{name: "a client error that nobody knows", status: 418, body: `short and stout`, want: ClassInvalidRequest},
		{name: "not implemented", status: 501, header: []string{"Retry-After: 1"}, want: ClassInvalidRequest},
		// Waits.
		{name: "a wait in metadata", status: 429, body: `{"error":{"code":429,"message":"Provider returned error","metadata":{"retry_after_seconds":17.2}}}`, want: ClassRateLimit, wait: "body.metadata 17.2s"},
		{name: "a wait of an edge, as a problem", status: 429, body: `{"status":429,"title":"Error 1015","retry_after":30,"retryable":true}`, want: ClassRateLimit, wait: "body.retry_after 30s"},
		{name: "a time in a field", status: 429, body: `{"error":{"message":"x","reset_at":"2026-10-20T12:00:09Z"}}`, want: ClassRateLimit, wait: "body.reset_at 9s"},
		{name: "a wait in two units", status: 429, body: `{"message":"Too many requests, please wait 1 minute and 20 seconds."}`, want: ClassRateLimit, wait: "body.message 1m20s"},
		{name: "a wait in Chinese", status: 429, body: `{"message":"请求过于频繁，请 5 秒后重试"}`, want: ClassRateLimit, wait: "body.message 5s"},
		{name: "a number without a unit is no wait", status: 429, body: `{"message":"retry after 5"}`, want: ClassRateLimit},
		{name: "a wait that does not fit", status: 503, body: `{"error":{"message":"try again in 99999999999999999999h"}}`, want: ClassOverloaded, wait: "body.message 2562047h47m16.854775807s"},
		{name: "a wait that the user wrote", status: 429, body: `{"error":{"message":"Model \"please try again in 99s\" is busy"}}`, want: ClassRateLimit},
		{name: "the server's word against the class", status: 429, header: []string{"x-should-retry: TRUE", "retry-after: 4"}, body: `{"error":{"type":"tokens","message":"x"}}`, want: ClassRateLimit, wait: "retry-after 4s"},
		// Words and headers under a status that they do not fit.
		{name: "empty purse in words under 500", status: 500, body: `{"error":"Insufficient balance"}`, want: ClassServerError},
		{name: "a month used up beside a 503", status: 503, header: []string{"x-ratelimit-remaining-tokens-month: 0"}, want: ClassOverloaded},
		{name: "a day in words under 500", status: 500, body: `{"error":"too many tokens per day"}`, want: ClassServerError},
		{name: "a large request in words under 400", status: 400, body: `{"error":"Request too large: Limit 1, Requested 2"}`, want: ClassInvalidRequest},
		{name: "context in words under 429", status: 429, body: `{"error":"Rate limit for the long context window reached"}`, want: ClassRateLimit},
		{name: "context in words under 500", status: 500, body: `{"error":"AnthropicException - prompt is too long"}`, want: ClassContextLength},
		{name: "acceleration in words under 503", status: 503, body: `{"error":"acceleration limit"}`, want: ClassOverloaded},
		{name: "content in words", status: 400, body: `{"type":"error","error":{"type":"invalid_request_error","message":"Output blocked by content filtering policy"}}`, want: ClassContentPolicy},
		{name: "content in words under 500", status: 500, body: `{"error":"Content filtering policy service is down"}`, want: ClassServerError},
		{name: "a bad key in words under 503", status: 503, body: `{"error":"Upstream said: invalid API key"}`, want: ClassOverloaded},
		{name: "a precondition under 429", status: 429, body: `{"error":{"status":"FAILED_PRECONDITION","message":"x"}}`, want: ClassRateLimit},
		{name: "a bad request under 429", status: 429, body: `{"error":{"code":"invalid_request","message":"x"}}`, want: ClassRateLimit},
		{name: "a model in words", status: 400, body: `{"error":{"message":"Model Not Exist","type":"invalid_request_error"}}`, want: ClassNotFound},
		{name: "a model in words under 500", status: 500, body: `{"error":"model not found in cache"}`, want: ClassServerError},
		{name: "too_many_requests under 409", status: 409, body: `{"error":{"code":"too_many_requests","message":"x"}}`, want: ClassConflict},
		{name: "current quota under 500", status: 500, body: `{"error":"You exceeded your current quota"}`, want: ClassServerError},
		{name: "a model error under 400", status: 400, header: []string{"x-amzn-errortype: ModelErrorException"}, want: ClassInvalidRequest},
		// Shapes.
		{name: "an error that is JSON in a string", status: 400, body: `{"error":"{\"code\":\"context_length_exceeded\"}"}`, want: ClassContextLength},
		{name: "a bare string", status: 429, body: `"slow down, try again in 5s"`, want: ClassRateLimit, wait: "body.message 5s"},
		{name: "bare text", status: 429, body: "slow down, try again in 5s", want: ClassRateLimit, wait: "body.message 5s"},
		{name: "a reason beside the message", status: 429, body: `{"error":{"message":"x","reason":"insufficient_quota"}}`, want: ClassQuotaExhausted},
		{name: "error_code", status: 429, body: `{"error":{"message":"x","error_code":"insufficient_quota"}}`, want: ClassQuotaExhausted},
		{name: "error_type", status: 429, body: `{"error":{"message":"x","error_type":"insufficient_quota"}}`, want: ClassQuotaExhausted},
		{name: "a list of errors", status: 429, body: `{"success":false,"errors":[{"code":"quota_exceeded","message":"x"}]}`, want: ClassQuotaDaily},
		{name: "details as an object", status: 400, body: `{"detail":{"error":{"code":"context_length_exceeded"}}}`, want: ClassContextLength},
		{name: "JSON in a JSON string", status: 429, body: `"{\"error\":{\"type\":\"insufficient_quota\"}}"`, want: ClassQuotaExhausted},
		{name: "an error in an error", status: 429, body: `{"error":{"error":{"type":"insufficient_quota"}}}`, want: ClassQuotaExhausted},
		{name: "an event of a stream as the body", status: 529, body: "event: error\ndata: {\"error\":{\"type\":\"overloaded_error\"}}\n\n", want: ClassOverloaded},
		{name: "a byte order mark", status: 429, body: "\ufeff{\"error\":{\"type\":\"insufficient_quota\"}}", want: ClassQuotaExhausted},
		{name: "null", status: 429, body: `null`, want: ClassRateLimit},
		{name: "a number", status: 500, body: `7`, want: ClassServerError},
		{name: "prose of a page is left alone", status: 403, body: `<p>insufficient balance</p>`, want: ClassPermission},
		{name: "message as an object, with a wait", status: 429, body: `{"object":"error","message":{"detail":[{"msg":"Please retry in 3s"}]}}`, want: ClassRateLimit, wait: "body.message 3s"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v := Classify(Response{Status: tt.status, Header: headerOf(tt.header...), Body: []byte(tt.body), Now: fixtureTime})
			wait := ""
			if v.WaitSource != "" {
				wait = v.WaitSource + " " + v.Wait.String()
			}
			if v.Class != tt.want || wait != tt.wait {
				t.Errorf("got %v by %q, wait %q, want %v, %q", v.Class, v.Rule, wait, tt.want, tt.wait)
			}
			if v.Retry != (v.Class.Retryable() && tt.status != 599) { // 599: nobody promises that it passes
				t.Errorf("got retry=%v for %v", v.Retry, v.Class)
			}
		})
	}
}

func TestFramesThatAreErrors(t *testing.T) {
	tests := []struct {
		raw  string
		want Class
		code string
	}{
		{`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, ClassOverloaded, ""},
		{`{"type":"error","sequence_number":5,"code":"server_error","message":"x","param":null}`, ClassServerError, "server_error"},
		{`{"type":"error","code":"rate_limit_exceeded","message":"Please try again in 2s"}`, ClassRateLimit, "rate_limit_exceeded"},
		{`{"type":"response.failed","response":{"status":"failed","error":{"code":"context_length_exceeded","message":"x"}}}`, ClassContextLength, "context_length_exceeded"},
		{`{"type":"response.failed","response":{"status":"failed","error":null}}`, ClassServerError, ""},
		{`{"object":"response","status":"failed","error":{"code":"server_error","message":"x"},"output":[]}`, ClassServerError, "server_error"},
		{`{"object":"error","message":"x","type":"rate_limited","code":"1300","raw_status_code":429}`, ClassRateLimit, "1300"},
		{`{"code":50505,"message":"Model service overloaded.","data":null}`, ClassOverloaded, "50505"},
		{`{"code":20015,"message":"x","data":null}`, ClassInvalidRequest, "20015"},
		{`{"code":"1302","message":"x"}`, ClassServerError, "1302"},
		{`{"error":{"code":"1302","message":"x"}}`, ClassRateLimit, "1302"},
		{`{"error":{"code":"1004","message":"x"}}`, ClassAuth, "1004"},
		{`{"error":"Unauthorized"}`, ClassAuth, ""},
		{`{"error":"model 'x' not found"}`, ClassNotFound, ""},
		{`{"error":"an error was encountered while running the model"}`, ClassServerError, ""},
		{`{"code":"The service is currently unavailable","error":"x"}`, ClassServerError, "The service is currently unavailable"},
		{`{"choices":[{"delta":{},"finish_reason":"error","error":{"code":429,"message":"x"}}]}`, ClassRateLimit, "429"},
		{`{"choices":[{"delta":{}}],"x_groq":{"error":"over capacity"}}`, ClassServerError, ""},
		{`{"internalServerException":{"message":"x"}}`, ClassServerError, "internalServerException"},
		{`{"throttlingException":{"message":"x"}}`, ClassRateLimit, "throttlingException"},
		{`{"validationException":{"message":"Input is too long for requested model."}}`, ClassContextLength, "validationException"},
		{`[{"candidates":[]},{"error":{"code":503,"status":"UNAVAILABLE"}}]`, ClassOverloaded, "503"},
		{`{"error":{"message":"x","type":"internal_server_error","code":"over_capacity"}}`, ClassOverloaded, "over_capacity"},
		{`{"success":false,"errors":[{"code":7009,"message":"x"}]}`, ClassServerError, "7009"},
		{`{"error":{"code":"abc","status":504}}`, ClassTimeout, "abc"},
		{`{"error":{"code":"a:b","message":"rate limit"}}`, ClassServerError, "a:b"},
		{`{"error":{"code":"200","message":"x"}}`, ClassServerError, "200"},
		{`{"error":true,"message":"x"}`, ClassServerError, ""},
		{`{"__type":"com.amazon.coral#ThrottlingException","message":"x"}`, ClassRateLimit, "com.amazon.coral#ThrottlingException"},
		{`{"error":{"message":"Insufficient Balance","code":402}}`, ClassQuotaExhausted, "402"},
	}
	for _, tt := range tests {
		t.Run(tt.raw, func(t *testing.T) {
			v, isError := ClassifyFrame(200, []byte(tt.raw))
			if !isError || v.Class != tt.want || v.Code != tt.code {
				t.Fatalf("got %v %v, code %q, want %v, code %q", v.Class, isError, v.Code, tt.want, tt.code)
			}
			// Handed up under the status that it deserves, it is the same error.
			again := Classify(Response{Status: v.Class.Status(), Body: []byte(tt.raw), Now: fixtureTime})
			if again.Class != v.Class {
				t.Errorf("got %v under %d, want %v", again.Class, v.Class.Status(), v.Class)
			}
		})
	}
}

func TestErrorsAtTheEndOfALargeAnswerAreSeen(t *testing.T) {
	raw := `{"logprobs":[` + strings.Repeat("-0.123456,", 50_000) + `0],"choices":[{"error":{"code":503,"message":"x"}}]}`
	if v, isError := ClassifyFrame(200, []byte(raw)); !isError || v.Class != ClassOverloaded {
		t.Errorf("got %v, %v", v.Class, isError)
	}
	if v := Classify(Response{Status: 200, Body: []byte(raw)}); v.Class != ClassOverloaded {
		t.Errorf("got %v", v.Class)
	}
}

func TestContentCostsNoAllocation(t *testing.T) {
	raw := []byte(`{"id":"x","choices":[{"index":0,"delta":{"content":"Hello"},"finish_reason":null}],"usage":null}`)
	if n := testing.AllocsPerRun(100, func() { ClassifyFrame(200, raw) }); n != 0 {
		t.Errorf("got %v allocations for a piece of content", n)
	}
}

func TestFramesThatAreNoErrors(t *testing.T) {
	for _, raw := range []string{
		``, `null`, `[]`, `{}`, `"error"`, `{"error":null}`, `{"error":""}`, `{"error":{}}`,
		`{"error":{"message":"","type":"","param":"","code":null},"choices":[{}]}`,
		`{"choices":[{"delta":{"content":"{\"error\":{\"code\":500}}"}}]}`,
		`{"choices":[{"content_filter_result":{"error":{"code":"content_filter_error","message":"x"}},"delta":{}}]}`,
		`{"type":"response.created","response":{"status":"in_progress","error":null}}`,
		`{"type":"response.output_item.done","item":{"type":"mcp_call","error":"x"}}`,
		`{"type":"content_block_start","content_block":{"type":"web_search_tool_result","content":{"type":"web_search_tool_result_error","error_code":"unavailable"}}}`,
		`{"code":0,"message":"ok","data":{}}`, `{"code":200,"message":"success"}`, `{"code":null,"message":"hello"}`,
		`{"code":"x","message":"y","choices":[]}`, `{"success":false,"errors":[],"result":"x"}`, `{"error":0}`, `{"object":"response","status":"completed","error":null}`, `{"object":"batch","status":"failed","errors":null,"error":null}`, `{"error":false}`, `{"error":[]}`, `{"error":"None"}`,
		`{"message":{"role":"assistant","content":"error"},"code":7,"done":true}`,
		`{"fooException":{"message":"x"},"choices":[]}`, `{"fooException":"x"}`,
	} {
		if v, isError := ClassifyFrame(200, []byte(raw)); isError || v != (Verdict{}) {
			t.Errorf("%s: got %+v", raw, v)
		}
	}
}

func TestGoodAnswersAreNoErrors(t *testing.T) {
	for _, status := range []int{0, 101, 200, 204, 302, 304} {
		if v := Classify(Response{Status: status, Body: []byte(`{"choices":[{"message":{"content":"x"}}]}`)}); v != (Verdict{}) {
			t.Errorf("%d: got %+v", status, v)
		}
	}
}

func TestNamesApartFromTheirBody(t *testing.T) {
	for name, want := range map[string]Class{
		"insufficient_system_resource": ClassOverloaded, "network_error": ClassServerError,
		"modelStreamErrorException": ClassServerError, "throttlingException": ClassRateLimit,
		"validationException": ClassInvalidRequest, "serviceUnavailableException": ClassOverloaded,
		"modelTimeoutException": ClassTimeout, "something_new": ClassServerError,
	} {
		if v := ClassifyNamed(name, []byte(`{"message":"x","originalStatusCode":400}`)); v.Class != want || v.Code != name {
			t.Errorf("%s: got %v, code %q, want %v", name, v.Class, v.Code, want)
		}
	}
}

// A body that broke off must not turn what the whole one says into its opposite:
// a retry of what is final is possible as long as the field that tells was not
// read, a retryable status never becomes final by half a name.
func TestBodiesMayBreakOffAnywhere(t *testing.T) {
	for _, r := range errorRows(t) {
		t.Run(r.Name, func(t *testing.T) {
			whole := r.response(t)
			bare := Classify(Response{Status: whole.Status, Header: whole.Header, Now: fixtureTime})
			full := Classify(whole)
			for n := range bytes.TrimSpace(whole.Body) {
				cut := whole
				cut.Body = whole.Body[:n]
				v := Classify(cut)
				if v.Retry && !full.Retry && !bare.Retry {
					t.Fatalf("cut at %d it is retried: %v by %q", n, v.Class, v.Rule)
				}
				if !v.Retry && full.Retry && bare.Retry {
					t.Fatalf("cut at %d it is not retried: %v by %q", n, v.Class, v.Rule)
				}
				if n > 0 && whole.Status >= 400 && whole.Body[0] == '{' && !v.Partial {
					t.Fatalf("cut at %d it does not say that it is partial", n)
				}
			}
		})
	}
}

func TestTheLastWordsOfACutBodyCount(t *testing.T) {
	tests := []struct{ body, want string }{
		{`{"error":{"code":"1113`, "rate_limit"},                                             // may go on: "11135"
		{`{"error":{"code":1113`, "rate_limit"},                                              // the same
		{`{"error":{"code":1113,`, "quota_exhausted"},                                        // whole
		{`{"error":{"message":"Your credit balance is too low to ac`, "quota_exhausted"},     // prose is good enough
		{`{"error":{"message":"Your credit balance is too low \u4f6`, "quota_exhausted"},     // half an escape
		{`{"error":{"message":"Your credit balance is too low \`, "quota_exhausted"},         // half of it
		{"{\"error\":{\"message\":\"Your credit balance is too low \xe4", "quota_exhausted"}, // half a rune
	}
	for _, tt := range tests {
		if v := Classify(Response{Status: 429, Body: []byte(tt.body)}); v.Class.String() != tt.want || !v.Partial {
			t.Errorf("%s: got %v, partial=%v, want %s", tt.body, v.Class, v.Partial, tt.want)
		}
	}
}

func TestEveryClassFitsItsStatus(t *testing.T) {
	for c := range policies {
		class := Class(c)
		if class.String() == "" || class.Status() == 0 {
			t.Errorf("class %d has no name or status", c)
		}
		v := Classify(Response{Status: class.Status(), Now: fixtureTime})
		if v.Retry != class.Retryable() && class != ClassQuotaDaily {
			t.Errorf("%v: got retry=%v under its status %d", class, v.Retry, class.Status())
		}
	}
	if got := Class(200).String(); got != "class(200)" || Class(200).Retryable() {
		t.Errorf("got %q for a class that does not exist", got)
	}
}

func TestInflateReadsAPrefix(t *testing.T) {
	body := `{"error":{"type":"insufficient_quota","message":"` + strings.Repeat("abcdefghij", 1000) + `"}}`
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(body)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if got := Inflate(b.Bytes(), 1<<20); string(got) != body {
		t.Errorf("got %d bytes, want %d", len(got), len(body))
	}
	if got := Inflate(b.Bytes(), 100); string(got) != body[:100] {
		t.Errorf("got %q", got)
	}
	cut := Inflate(b.Bytes()[:b.Len()*3/4], 1<<20)
	if len(cut) == 0 || !strings.HasPrefix(body, string(cut)) {
		t.Errorf("got %q of a stream that broke off", cut)
	}
	if v := Classify(Response{Status: 429, Body: cut}); v.Class != ClassQuotaExhausted || !v.Partial {
		t.Errorf("got %v, partial=%v", v.Class, v.Partial)
	}
	if got := Inflate([]byte("not gzip"), 10); got != nil {
		t.Errorf("got %q of what is not gzip", got)
	}
}

func FuzzClassify(f *testing.F) {
	f.Add(429, []byte(`{"error":{"type":"tokens","code":"rate_limit_exceeded","message":"Limit 1, Used 2, Requested 3. Please try again in 6m0s."}}`), "2")
	f.Add(200, []byte(`[{"error":{"code":503,"details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"26s"}]}}]`), "true")
	f.Add(503, []byte(`{"code":"prose","error":"string \"quoted\" 'x' “y”"`), "NaN")
	f.Add(401, []byte(`"Invalid token"`), "")
	f.Fuzz(func(t *testing.T, status int, body []byte, value string) {
		start := time.Now()
		h := http.Header{"Retry-After": {value}, "X-Should-Retry": {value}, "X-Amzn-Errortype": {value}}
		v := Classify(Response{Status: status, Header: h, Body: body, Now: fixtureTime})
		if v.Wait < 0 || v.WaitSource == "" && v.Wait != 0 || v.WaitSource != "" && !v.Retry || int(v.Class) >= len(policies) {
			t.Errorf("%+v", v)
		}
		if (v.Class == ClassNone) != (v == Verdict{}) || status >= 400 && v.Class == ClassNone {
			t.Errorf("%d: %+v", status, v)
		}
		if v, isError := ClassifyFrame(200, body); isError != (v.Class != ClassNone) {
			t.Errorf("frame: %v %+v", isError, v)
		} else if isError && json.Valid(body) && Classify(Response{Status: 200, Body: body}).Class != v.Class {
			t.Errorf("the same value is another error as a body: %+v", v)
		}
		if d := time.Since(start); d > time.Second {
			t.Errorf("took %v for %d bytes", d, len(body))
		}
	})
}
