package wire

import "strings"

// findDetails collects the google.rpc details of the error, also of the
// provider's own error that a relay quotes whole in its message or metadata.
func (e *envelope) findDetails() {
	e.addDetails(e.err)
	for _, quoted := range [...]string{e.message, prose(asMap(e.err["metadata"])["raw"])} {
		if i := strings.IndexAny(quoted, "{["); i >= 0 && strings.Contains(quoted[i:], "google.rpc") {
			v, _ := parsePrefix([]byte(quoted[i:]))
			e.addDetails(findError(firstObject(v, 0)))
		}
	}
}

func (e *envelope) addDetails(m map[string]any) {
	for _, d := range asList(m["details"]) {
		if detail := asMap(d); detail != nil {
			e.details = append(e.details, detail)
			e.note(nil, detail["reason"])
		}
	}
}

// detailIs reports whether kind, as "RetryInfo", is the type of d.
func detailIs(d map[string]any, kind string) bool {
	return strings.HasSuffix(prose(d["@type"]), "google.rpc."+kind)
}

// violates reports whether the error names a violated quota of that kind.
func (e *envelope) violates(quota func(id string) bool) bool {
	for _, d := range e.details {
		if !detailIs(d, "QuotaFailure") {
			continue
		}
		for _, v := range asList(d["violations"]) {
			if quota(prose(asMap(v)["quotaId"])) {
				return true
			}
		}
	}
	return false
}

// quote takes in the provider's own error, which a relay hands on beside one of its
// own that says no more than that, and returns the message of both. What the
// provider calls the error counts where it speaks of the request; what account of
// the relay's is out of money there is not the caller's.
func (e *envelope) quote(message string, quoted map[string]any) string {
	switch e.codeHTTP {
	case 400, 413, 422:
		e.nameFields(quoted)
	case 429:
		e.quoted = strings.ToLower(unquoted(firstProse(quoted, 0)))
		return message
	default:
		return message
	}
	return message + "\n" + firstProse(quoted, 0)
}

// quotedObject returns the object that a text is, or nothing.
func quotedObject(s string) map[string]any {
	if s = strings.TrimSpace(s); !strings.HasPrefix(s, "{") && !strings.HasPrefix(s, "[") {
		return nil
	}
	v, _ := parsePrefix([]byte(s))
	return firstObject(v, 0)
}
