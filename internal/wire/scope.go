package wire

import "strings"

// scope says what a rate limit counts: "requests", "tokens", "concurrency",
// "requests_day", "tokens_day" or "in_flight_spend", or nothing if it does not
// tell. A day is told by words only, and they stand above the type, which is
// the same for a minute.
func (a *answer) scope() string {
	switch {
	case a.status == 402:
		return "in_flight_spend"
	case a.names["1302"] && !a.flat, a.names["invalid_request_error"] && a.names["rate_limit_error"]:
		return "concurrency" // DeepSeek's one limit, whatever its words
	case a.says("concurren"), a.limitType() == "max_parallel_requests":
		return "concurrency"
	case a.says("(tpd)", "tpd rate limit", "tokens per day"):
		return "tokens_day"
	case a.says("(rpd)", "rpd rate limit", "requests per day"):
		return "requests_day"
	case a.names["tokens"], a.names["tokens_usage_based"], a.names["dynamic_token_limited"], a.limitType() == "tokens":
		return "tokens"
	case a.names["requests"], a.names["dynamic_request_limited"], a.limitType() == "requests":
		return "requests"
	}
	return a.lesserScope()
}

// lesserScope asks what is less sure: quota ids, words, and what is used up.
func (a *answer) lesserScope() string {
	switch {
	case a.violates(contains("Token")):
		return "tokens"
	case a.violates(contains("Request")):
		return "requests"
	case a.says("token rate limit", "tpm", "tokens per min"):
		return "tokens"
	case a.says("call rate limit", "rpm", "requests per min"):
		return "requests"
	}
	tokens, requests := false, false
	for _, l := range Pacing(a.header, a.now).Limits {
		switch {
		case !l.Exhausted():
		case l.Name == "requests":
			requests = true
		case l.Name == "tokens", l.Name == "input_tokens", l.Name == "output_tokens", l.Name == "project_tokens":
			tokens = true
		}
	}
	switch {
	case tokens && !requests:
		return "tokens"
	case requests && !tokens:
		return "requests"
	}
	return ""
}

// limitType is LiteLLM's word for the limit that was hit.
func (a *answer) limitType() string { return fold(a.header.Get("rate_limit_type")) }

func contains(part string) func(string) bool {
	return func(s string) bool { return strings.Contains(s, part) }
}
