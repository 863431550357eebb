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
	_, exception := unionException(m)
	return asMap(exception) != nil || isFlatError(m)
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

// unionException returns the exception that an event of AWS is, and its name: such
// an event is a union, of which only the member that is meant is there.
func unionException(m map[string]any) (name string, exception any) {
	for key, v := range m {
		if len(m) == 1 && strings.HasSuffix(key, "Exception") {
			return key, v
		}
	}
	return "", nil
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

// numberSpaces are those of the hosts that count their errors: four digits in an
// error object at Zhipu, five flat digits at SiliconFlow.
var numberSpaces = [...]struct {
	flat     bool // no error object around the number
	from, to uint64
	status   int
}{
	{false, 1000, 1099, 401},
	{false, 1100, 1199, 403},
	{false, 1210, 1229, 400},
	{false, 1300, 1301, 400},
	{false, 1302, 1319, 429},
	{true, 20000, 29999, 400},
	{true, 30000, 39999, 403},
}

// spaceStatus is the status that the number of an error stands for, or 0.
func (e *envelope) spaceStatus() int {
	if !allDigits(e.code) {
		return 0
	}
	n := digits(e.code)
	for _, space := range numberSpaces {
		if space.flat == e.flat && space.from <= n && n <= space.to {
			return space.status
		}
	}
	return 0
}

// statusPhrases are for errors that are nothing but words.
var statusPhrases = [...]struct {
	status  int
	phrases []string
}{
	{401, []string{"unauthorized", "invalid token", "invalid api key"}},
	{404, []string{"not found"}},
	{429, []string{"rate limit", "too many requests"}},
	{503, []string{"overloaded", "server busy", "over capacity"}},
	{504, []string{"timed out", "timeout"}},
}

// spokenStatus is the status that the words of an error without a name stand for,
// or 0.
func (e *envelope) spokenStatus() int {
	if len(e.names) > 0 {
		return 0
	}
	for _, row := range statusPhrases {
		if e.says(row.phrases...) {
			return row.status
		}
	}
	return 0
}
