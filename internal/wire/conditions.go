package wire

import "strings"

// The conditions of the rule table.

// named holds for an error with one of these names in any field that names one.
func named(names ...string) func(*answer) bool {
	return func(a *answer) bool {
		for _, n := range names {
			if a.names[n] {
				return true
			}
		}
		return false
	}
}

// spelled holds for a code or type that is written just so, where in another
// spelling it is a name that says nothing.
func spelled(name string) func(*answer) bool {
	return func(a *answer) bool { return a.code == name || a.typ == name }
}

// coded holds for Zhipu's numbers, which always stand in an error object. Flat
// numbers are of other hosts and mean other things: 1300 is Mistral's rate limit.
func coded(codes ...string) func(*answer) bool {
	test := named(codes...)
	return func(a *answer) bool { return !a.flat && test(a) }
}

func says(phrases ...string) func(*answer) bool {
	return func(a *answer) bool { return a.says(phrases...) }
}

func anyOf(tests ...func(*answer) bool) func(*answer) bool {
	return func(a *answer) bool {
		for _, test := range tests {
			if test(a) {
				return true
			}
		}
		return false
	}
}

// notJSON holds for a page, a bare string or nothing: it comes from a hop in
// front of the provider.
func notJSON(a *answer) bool { return !a.json }

// requestStatus holds for statuses that speak of the request.
func requestStatus(a *answer) bool { return a.status < 500 || permanent5xx(a.status) }

// inFlightBudget holds for a 402 that gives a time: the balance is held back by
// calls in flight. A limit of another kind and plain words of an empty purse
// make it final.
func inFlightBudget(a *answer) bool {
	source := label(asMap(a.err["metadata"])["limit_source"])
	switch {
	case source != "" && source != "openrouter_in_flight_budget":
		return false
	case a.names["weight_exceeds_budget"] || a.says(quotaWords...):
		return false
	}
	return a.asked.ok || source != "" && a.body.ok
}

// noAllowance holds for Mistral's limit of 0, which says that the key may not
// use the model at all, and for a month that is used up.
func noAllowance(a *answer) bool {
	for _, l := range Pacing(a.header, a.now).Limits {
		if l.Window > 0 && l.Limit == 0 || l.Remaining == 0 && strings.HasSuffix(l.Name, "_month") {
			return true
		}
	}
	return false
}

// longQuota holds if a violated quota of Google's is one per day or longer. Of
// several the longest counts, and RetryInfo, which names seconds even then, does not.
func longQuota(a *answer) bool {
	return a.violates(func(id string) bool {
		return strings.Contains(id, "PerDay") || strings.Contains(id, "PerWeek") || strings.Contains(id, "PerMonth")
	})
}

// exceedsLimit holds for "Request too large ...: Limit 8000, Requested 32979".
// The same words with "Used" are an ordinary rate limit, unless the request
// alone is more than the limit.
func exceedsLimit(a *answer) bool {
	limit, ok := a.figure("limit ")
	requested, ok2 := a.figure("requested ")
	if !ok || !ok2 {
		return false
	}
	_, used := a.figure("used ")
	return requested > limit || !used && a.says("request too large")
}

// figure returns the number after word, which may have commas in it.
func (e *envelope) figure(word string) (uint64, bool) {
	for rest := e.words; ; {
		_, after, ok := strings.Cut(rest, word)
		if !ok {
			return 0, false
		}
		after = strings.TrimLeft(after, " :")
		n := 0
		for n < len(after) && ('0' <= after[n] && after[n] <= '9' || after[n] == ',' && n+1 < len(after) && after[n+1] != ' ') {
			n++
		}
		if d := strings.ReplaceAll(after[:n], ",", ""); allDigits(d) {
			return digits(d), true
		}
		rest = after
	}
}

// bareQuota holds for "You exceeded your current quota" and no more. With a
// violated quota or a time beside it, Gemini means a minute by the same words,
// and a body that broke off may have had one.
func bareQuota(a *answer) bool {
	return !a.partial && a.says("exceeded your current quota") && !a.violates(func(string) bool { return true }) && !a.timed()
}

// timed reports whether the answer names a time, of whatever kind.
func (a *answer) timed() bool { return a.asked.ok || a.window.ok || a.body.ok || a.refill.ok }
