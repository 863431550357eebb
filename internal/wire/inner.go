package wire

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// mayHoldError is a cheap look at a value that is nearly always a piece of
// content: false means that no rule of hasError can hold.
func mayHoldError(raw []byte) bool {
	return bytes.Contains(raw, []byte(`"error`)) || bytes.Contains(raw, []byte(`failed"`)) ||
		bytes.Contains(raw, []byte(`xception`)) ||
		bytes.Contains(raw, []byte(`"code"`)) && (bytes.Contains(raw, []byte(`"message"`)) || bytes.Contains(raw, []byte(`"msg"`)))
}

// hasError reports whether an object that came under status 200 is an error.
func hasError(m map[string]any) bool {
	if m == nil {
		return false
	}
	typ, object := label(m["type"]), label(m["object"])
	switch {
	case carriesError(m["error"]), typ == "error", typ == "response.failed", object == "error":
		return true
	case object == "response" && label(m["status"]) == "failed":
		return true
	case strings.HasSuffix(label(m["__type"]), "Exception"):
		return true
	case m["success"] == false && carriesError(m["errors"]):
		return true
	}
	for _, holder := range [...]string{"response", "x_groq"} {
		if carriesError(asMap(m[holder])["error"]) {
			return true
		}
	}
	for _, choice := range asList(m["choices"]) {
		if carriesError(asMap(choice)["error"]) {
			return true
		}
	}
	return isException(m) || isFlatError(m)
}

// carriesError reports whether the value of an error key says anything. Hosts
// send null, and relays an object whose members are all empty, with good answers.
func carriesError(v any) bool {
	switch t := v.(type) {
	case bool:
		return t
	case map[string]any:
		for _, member := range t {
			if carriesError(member) {
				return true
			}
		}
		return false
	case []any:
		return slices.ContainsFunc(t, carriesError)
	case cutString:
		return t != ""
	case string:
		return len(t) > maxLabel || label(t) != ""
	}
	n, _ := v.(json.Number)
	return n != "" && n != "0"
}

// isException reports whether m is the one member of an AWS event union that
// holds an exception.
func isException(m map[string]any) bool {
	for key, v := range m {
		return len(m) == 1 && strings.HasSuffix(key, "Exception") && asMap(v) != nil
	}
	return false
}

// isFlatError reports whether m is a code with a message and nothing that an
// answer would hold. Some hosts send a code of success with good answers.
func isFlatError(m map[string]any) bool {
	for _, key := range [...]string{"choices", "candidates", "output", "content", "embedding", "embeddings", "results"} {
		if m[key] != nil {
			return false
		}
	}
	if isSuccess([]byte(label(m["code"]))) {
		return false
	}
	return prose(m["message"]) != "" || prose(m["msg"]) != ""
}

// isSuccess reports whether a code is one by which some hosts spell success, whether
// it is a number or a string, or none at all.
func isSuccess(code []byte) bool {
	if v, ok := parseCount(code); ok {
		return v < 300 || v == 20000
	}
	for _, word := range [...]string{"", "ok", "success"} {
		if strings.EqualFold(string(code), word) {
			return true
		}
	}
	return meansNothing(code)
}

// statusNames gives the status that a name stands for, for errors that came
// under another. The order matters where the fields of one error disagree: what
// tells more comes first, and invalid_request_error, which DeepSeek puts into
// the code of every error, last.
var statusNames = []struct {
	status int
	names  []string
}{
	{401, []string{"authentication_error", "invalid_authentication_error", "unauthenticated", "invalid_api_key", "authentication", "unauthorized"}},
	{403, []string{"permission_error", "permission_denied", "permission_denied_error", "accessdeniedexception", "access_denied", "forbidden"}},
	{404, []string{"not_found_error", "not_found", "resource_not_found_error", "model_not_found", "resourcenotfoundexception"}},
	{413, []string{"request_too_large", "payload_too_large"}},
	{409, []string{"conflict_error", "aborted", "conflictexception"}},
	{499, []string{"cancelled"}},
	{429, []string{
		"rate_limit_error", "rate_limit_exceeded", "rate_limited", "rate_limit", "requests", "tokens", "tokens_usage_based", "too_many_requests",
		"rate_limit_reached_error", "dynamic_request_limited", "dynamic_token_limited", "throttling_error", "slow_down",
		"resource_exhausted", "some_resource_has_been_exhausted", "throttlingexception", "modelnotreadyexception",
	}},
	{503, overloadNames},
	{504, []string{"timeout_error", "timeout", "deadline_exceeded", "modeltimeoutexception", "gateway_timeout"}},
	{500, []string{
		"server_error", "internal_server_error", "api_error", "internal", "internal_error", "unknown", "upstream_error", "network_error",
		"provider_unavailable", "modelerrorexception", "modelstreamerrorexception", "internalserverexception",
	}},
	{400, []string{
		"invalid_request_error", "invalid_request", "bad_request", "invalid_argument", "failed_precondition", "validationexception",
		"client_specified_an_invalid_argument",
	}},
}

// statusWords does so for names that no host has been seen to use, by their words.
var statusWords = []struct {
	status int
	groups [][]string
}{
	{429, [][]string{{"throttling"}, {"throttled"}, {"rate", "limit"}, {"rate", "limited"}, {"ratelimit"}}},
	{503, busyNames},
	{504, [][]string{{"timeout"}, {"timed", "out"}}},
	{400, [][]string{{"invalid", "parameter"}, {"invalid", "argument"}, {"invalid", "request"}, {"invalid", "input"}, {"bad", "request"}}},
}

// innerStatus is the status that an error would have had, had it not come
// under another: its own number, or what its names, its number space and at
// last its words say. An error that says nothing is a server error.
func (e *envelope) innerStatus() int {
	if e.codeHTTP != 0 {
		return e.codeHTTP
	}
	for _, row := range statusNames {
		for _, name := range row.names {
			if e.names[name] {
				return row.status
			}
		}
	}
	for _, row := range statusWords {
		if e.wordedIn(row.groups) {
			return row.status
		}
	}
	for _, status := range [...]int{e.spaceStatus(), e.otherHTTP, e.spokenStatus()} {
		if status != 0 {
			return status
		}
	}
	return 500
}

// spaceStatus knows the number spaces of hosts that count their errors: four
// digits in an error object at Zhipu, five flat digits at SiliconFlow.
func (e *envelope) spaceStatus() int {
	if !allDigits(e.code) {
		return 0
	}
	switch n := digits(e.code); {
	case e.flat && n/10000 == 2, !e.flat && 1210 <= n && n < 1230, !e.flat && n/10 == 130 && n < 1302:
		return 400
	case !e.flat && 1000 <= n && n < 1100:
		return 401
	case e.flat && n/10000 == 3, !e.flat && 1100 <= n && n < 1200:
		return 403
	case !e.flat && 1302 <= n && n < 1320:
		return 429
	}
	return 0
}

// spokenStatus is for errors that are nothing but words.
func (e *envelope) spokenStatus() int {
	switch {
	case len(e.names) > 0:
		return 0
	case e.says("unauthorized", "invalid token", "invalid api key"):
		return 401
	case e.says("not found"):
		return 404
	case e.says("rate limit", "too many requests"):
		return 429
	case e.says("overloaded", "server busy", "over capacity"):
		return 503
	case e.says("timed out", "timeout"):
		return 504
	}
	return 0
}
