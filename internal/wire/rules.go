package wire

import "slices"

// rule is one line of the table: an answer with one of these statuses, for which
// the test holds, is of this class.
type rule struct {
	row   string // what the rule is about; a [Verdict] names the rule that decided
	class Class
	on    []int              // statuses; none means all
	when  func(*answer) bool // nil holds always
	final bool               // not retried, although the class is
}

func (r rule) matches(a *answer) bool {
	return (len(r.on) == 0 || slices.Contains(r.on, a.status)) && (r.when == nil || r.when(a))
}

// The statuses under which some rules hold. Words, and names that promise that
// a later attempt will do, count only where the status does not rule it out.
var (
	refusals  = []int{400, 403, 422}
	tooBig    = []int{400, 403, 413, 422, 500}
	limits    = []int{429}
	transient = []int{429, 498, 500, 502, 503, 504, 529}
	faults    = []int{500, 502, 503}
)

// rules decide what an error answer means. They are read from top to bottom and
// the first that matches decides. What waiting cannot mend stands above what it
// can, because the providers use one status for both; fields stand above words.
var rules = []rule{
	// 1: no money and no allowance.
	{row: "quota name", class: ClassQuotaExhausted, when: anyOf(named(quotaNames...), coded("1113", "1309"), namedIn(moneyNames))},
	{row: "quota words", class: ClassQuotaExhausted, when: below500(anyOf(says(quotaWords...), sentence(purseEmpty), sentence(accountSuspended)))},
	// 2: payment required, for ever or until calls in flight have settled.
	{row: "in-flight budget", class: ClassRateLimit, on: []int{402}, when: inFlightBudget},
	{row: "status 402", class: ClassQuotaExhausted, on: []int{402}},
	// 3: an allowance of nothing, or nothing left of a month.
	{row: "allowance header", class: ClassQuotaExhausted, on: limits, when: noAllowance},
	// 4: a quota that comes back by itself, but not within a call.
	{row: "daily quota violation", class: ClassQuotaDaily, when: longQuota},
	{row: "daily quota name", class: ClassQuotaDaily, when: anyOf(named("quota_exceeded", "usage_limit_reached"), coded("1304", "1308", "1310"))},
	{row: "daily quota words", class: ClassQuotaDaily, on: limits, when: says("free-models-per-day", "session usage limit", "weekly usage limit", "too many tokens per day")},
	{row: "long window", class: ClassQuotaDaily, on: limits, when: longWait},
	// 5: a request that no window is wide enough for, under the name of a rate limit.
	{row: "larger than the limit", class: ClassRequestExceedsLimit, on: []int{413, 429}, when: exceedsLimit},
	// 6: a prompt that the model cannot hold.
	{row: "context name", class: ClassContextLength, when: anyOf(named(contextNames...), coded("1261"))},
	{row: "context words", class: ClassContextLength, on: tooBig, when: says(contextWords...)},
	{row: "prompt too long", class: ClassContextLength, on: []int{400, 403, 413, 422}, when: sentence(promptTooLong)},
	// 7: growth, not size.
	{row: "ramp name", class: ClassRamp, on: transient, when: named("slow_down", "slowdown")},
	{row: "ramp words", class: ClassRamp, on: limits, when: says("acceleration limit")},
	// 8: what was said.
	{row: "content name", class: ClassContentPolicy, when: anyOf(named(contentNames...), coded("1301"))},
	{row: "content words", class: ClassContentPolicy, on: refusals, when: says(contentWords...)},
	// 9: who asks.
	{row: "auth name", class: ClassAuth, when: named(authNames...)},
	{row: "auth words", class: ClassAuth, on: refusals, when: says("incorrect api key", "invalid api key", "api key not valid")},
	{row: "account locked", class: ClassPermission, when: coded("1110", "1111", "1112", "1121", "1220")},
	{row: "precondition", class: ClassPermission, on: []int{400}, when: named("failed_precondition")},
	// 11: 5xx that speak of the request. They stand above row 10, whose 503 would hide them.
	{row: "invalid request under 5xx", class: ClassInvalidRequest, on: faults, when: named("invalid_request", "bad_request_body")},
	{row: "model name", class: ClassNotFound, when: anyOf(named(modelNames...), coded("1211", "1311"))},
	{row: "no channel", class: ClassNotFound, on: []int{503}, when: says("no available channel", "无可用渠道")},
	{row: "model words", class: ClassNotFound, on: refusals, when: says(modelWords...)},
	// 10: too much for the host, whatever the caller's own rate.
	{row: "overload name", class: ClassOverloaded, on: transient, when: anyOf(named(overloadNames...), coded("1305", "1312"), namedIn(busyNames))},
	{row: "overload name", class: ClassOverloaded, on: limits, when: spelled("too_many_requests")},
	{row: "overload words", class: ClassOverloaded, on: limits, when: busy},
	{row: "status", class: ClassOverloaded, on: []int{498, 503, 529}},
	// 12: what the status alone says.
	{row: "quota words without a time", class: ClassQuotaExhausted, on: limits, when: bareQuota},
	{row: "failed dependency", class: ClassServerError, on: []int{424}, when: named("modelerrorexception", "modelstreamerrorexception")},
	{row: "failed dependency", class: ClassServerError, on: []int{424}, final: true}, // a tool of the caller's, not the model
	{row: "gateway page", class: ClassGateway, on: []int{502}, when: notJSON},
	{row: "status", class: ClassRateLimit, on: limits},
	{row: "status", class: ClassAuth, on: []int{401, 407}},
	{row: "status", class: ClassPermission, on: []int{403, 451}},
	{row: "status", class: ClassNotFound, on: []int{404, 410}},
	{row: "status", class: ClassTimeout, on: []int{408, 504, 522, 524}},
	{row: "status", class: ClassConflict, on: []int{409}},
	{row: "status", class: ClassTooLarge, on: []int{413}},
	{row: "status", class: ClassCancelled, on: []int{499}},
	{row: "status", class: ClassGateway, on: []int{425, 520, 521, 523, 525, 526, 527, 530}},
	{row: "status", class: ClassInvalidRequest, when: requestStatus},
	{row: "status", class: ClassServerError, on: []int{500, 502}},
	{row: "unknown status", class: ClassServerError, final: true}, // 507 and the like: nobody promises that they pass
}

// The names below stand in the form that fold gives: lower case, with
// underscores.
var (
	quotaNames = []string{
		"insufficient_quota", "billing_error", "exceeded_current_quota_error", "budget_exceeded", "credit_limit",
		"credit_balance_exhausted", "organization_spend_limit_exceeded", "project_spend_limit_exceeded", "organization_usage_limit_exceeded",
		"insufficient_user_quota", "pre_consume_token_quota_failed", "30001", "enforced_spend_limit_reached", "servicequotaexceededexception", "openrouter_key_limit",
	}
	contextNames = []string{"context_length_exceeded", "exceed_context_size_error", "context_window_exceeded", "model_context_window_exceeded"}
	contentNames = []string{
		"content_filter", "content_policy_violation", "responsibleaipolicyviolation", "invalid_prompt", "moderation_blocked",
		"sensitive_words_detected", "prompt_blocked", "prohibited_content", "data_inspection_failed",
	}
	authNames = []string{
		"api_key_invalid", "invalid_api_key", "authentication_error", "invalid_authentication_error", "unauthenticated",
		"expiredtokenexception", "unrecognizedclientexception",
	}
	modelNames    = []string{"model_not_found", "invalid_model", "model_decommissioned", "20012"}
	overloadNames = []string{
		"overloaded_error", "overloaded", "engine_overloaded_error", "server_is_overloaded", "service_unavailable_error", "service_unavailable",
		"serviceunavailable", "serviceunavailableexception", "unavailable", "over_capacity", "capacity_exceeded", "service_tier_capacity_exceeded",
		"provider_overloaded", "modelnotreadyexception", "model_capacity_exhausted", "insufficient_system_resource", "3505", "50505", "1305", "1312",
	}
)

// The phrases below are for hosts that say it in words only.
var (
	quotaWords = []string{
		"credit balance is too low", "specified api usage limits", "workspace api usage limits", "reached your api usage limits",
		"insufficient balance", "insufficient credits", "out of credits", "used all available credits", "monthly spending limit",
		"key limit exceeded", "user quota is not enough", "insufficient user quota", "budget has been exceeded", "out of call volume quota", "余额不足", "欠费",
	}
	contextWords = []string{
		"context length", "context window", "contextwindowexceedederror", "exceed context limit", "available context size",
		"prompt is too long", "input is too long", "maximum prompt length", "exceeded model token limit",
		"exceeds the maximum number of tokens", "max_seq_len", "超长",
	}
	contentWords = []string{"content filtering policy", "contentpolicyviolationerror", "content violates usage guidelines", "content exists risk"}
	modelWords   = []string{"model does not exist", "model not exist", "is not a valid model id", "model not found"}
)
