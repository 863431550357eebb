package wire

import (
	"bytes"
	"regexp"
	"strconv"
	"time"
)

// Class is what an error means.
type Class string

func (c Class) String() string { return string(c) }

// Verdict is what to do about an error.
type Verdict struct {
	Class Class
	Retry bool
	Wait  time.Duration
}

var interimRules = []struct {
	class Class
	retry bool
	words []string
}{
	{"quota_exhausted", false, []string{"insufficient_quota", "billing_error"}},
	{"context_length", false, []string{"context_length_exceeded"}},
	{"content_policy", false, []string{"content_filter", "invalid_prompt"}},
	{"auth", false, []string{"authentication_error", "invalid_api_key"}},
	{"invalid_request", false, []string{"invalid_request_error"}},
	{"overloaded", true, []string{"overloaded", "UNAVAILABLE", "over_capacity", `"1305"`}},
	{"rate_limit", true, []string{"rate_limit", "throttling_error", `"429"`, `:429`}},
}

var interimWait = regexp.MustCompile(`(?:retry after |try again in |retry_after_seconds": ?)([0-9.]+)`)

// ClassifyFrame says what an error frame means, and whether it is one.
func ClassifyFrame(status int, raw []byte) (v Verdict, isError bool) {
	if status < 400 && !bytes.Contains(raw, []byte("error")) && !bytes.Contains(raw, []byte(`"code"`)) {
		return Verdict{}, false
	}
	v = Verdict{Class: "server_error", Retry: true}
	for _, rule := range interimRules {
		for _, word := range rule.words {
			if bytes.Contains(raw, []byte(word)) {
				v.Class, v.Retry = rule.class, rule.retry
				if m := interimWait.FindSubmatch(raw); m != nil && v.Retry {
					s, _ := strconv.ParseFloat(string(m[1]), 64)
					v.Wait = time.Duration(s * float64(time.Second))
				}
				return v, true
			}
		}
	}
	return v, true
}

// ClassifyNamed says what an error means whose name came apart from its body.
func ClassifyNamed(name string, raw []byte) Verdict {
	switch name {
	case "insufficient_system_resource", "serviceUnavailableException":
		return Verdict{Class: "overloaded", Retry: true}
	case "throttlingException":
		return Verdict{Class: "rate_limit", Retry: true}
	case "validationException":
		return Verdict{Class: "invalid_request"}
	}
	return Verdict{Class: "server_error", Retry: true}
}
