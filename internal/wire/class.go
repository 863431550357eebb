// Package wire knows what LLM providers put on the wire: what an error answer
// means, how long it asks the caller to wait, and what the pacing headers tell
// about the capacity that is left. It does no I/O and keeps no state.
package wire

import "strconv"

// Class says what kind of failure an answer is. It decides whether another
// attempt makes sense, which the HTTP status alone does not: a 429 may be a
// full minute, an empty purse or an overloaded host.
type Class uint8

// The classes. ClassNone, the zero value, means that the answer is no error.
const (
	ClassNone Class = iota
	ClassInvalidRequest
	ClassContextLength       // the prompt does not fit this model
	ClassContentPolicy       // refused for what it says
	ClassTooLarge            // the request body is too big
	ClassRequestExceedsLimit // this one request is larger than the rate allows
	ClassAuth
	ClassPermission
	ClassNotFound
	ClassConflict
	ClassCancelled
	ClassQuotaExhausted // no money or no allowance: waiting does not help
	ClassQuotaDaily     // comes back by itself, after hours
	ClassRateLimit
	ClassRamp // the rate grew too fast: slow down for minutes
	ClassOverloaded
	ClassTimeout
	ClassServerError
	ClassGateway // a hop in front of the provider failed
)

// policy is what follows from a class, whoever sent it.
type policy struct {
	name     string
	status   int
	retry    bool // the same request to the same target may succeed later
	fallback bool // another model or provider could serve it now
	failure  bool // the target itself is unwell
}

var policies = [...]policy{
	ClassNone:                {"none", 200, false, false, false},
	ClassInvalidRequest:      {"invalid_request", 400, false, false, false},
	ClassContextLength:       {"context_length", 400, false, true, false},
	ClassContentPolicy:       {"content_policy", 400, false, false, false},
	ClassTooLarge:            {"too_large", 413, false, false, false},
	ClassRequestExceedsLimit: {"request_exceeds_limit", 413, false, true, false},
	ClassAuth:                {"auth", 401, false, false, false},
	ClassPermission:          {"permission", 403, false, false, false},
	ClassNotFound:            {"not_found", 404, false, true, false},
	ClassConflict:            {"conflict", 409, true, false, false},
	ClassCancelled:           {"cancelled", 499, false, false, false},
	ClassQuotaExhausted:      {"quota_exhausted", 402, false, true, false},
	ClassQuotaDaily:          {"quota_daily", 429, false, true, false},
	ClassRateLimit:           {"rate_limit", 429, true, true, false},
	ClassRamp:                {"ramp", 429, true, true, false},
	ClassOverloaded:          {"overloaded", 529, true, true, true},
	ClassTimeout:             {"timeout", 504, true, true, true},
	ClassServerError:         {"server_error", 500, true, true, true},
	ClassGateway:             {"gateway", 502, true, true, true},
}

func (c Class) policy() policy {
	if int(c) < len(policies) {
		return policies[c]
	}
	return policy{name: "class(" + strconv.Itoa(int(c)) + ")", status: 500}
}

// String returns the name of the class, as "rate_limit".
func (c Class) String() string { return c.policy().name }

// Retryable reports whether the same request to the same target may succeed
// later. A [Verdict] may say otherwise, where the server has a word of its own.
func (c Class) Retryable() bool { return c.policy().retry }

// Fallback reports whether another model or provider could serve the request.
func (c Class) Fallback() bool { return c.policy().fallback }

// BreakerFailure reports whether the answer says that the target is unwell. A
// full rate limit is not: the target answers, as it should.
func (c Class) BreakerFailure() bool { return c.policy().failure }

// Status is the HTTP status that an answer of this class deserves, for an error
// that came inside a 200 and has to be handed up as one. The status is never
// one that an SDK retries where the class is not retryable, except for
// [ClassQuotaDaily], which callers look for under 429.
func (c Class) Status() int { return c.policy().status }
