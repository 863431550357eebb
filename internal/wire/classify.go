package wire

import (
	"net/http"
	"strings"
	"time"
)

// Response is a failed answer as far as it has to be known.
type Response struct {
	Status int
	Header http.Header
	Body   []byte    // decoded; the first few KiB are enough, cut anywhere
	Now    time.Time // for dates, if the response has no Date header
}

// Verdict is what an answer means.
type Verdict struct {
	Class          Class
	Retry          bool          // another attempt makes sense: the server's word, or else the class
	Wait           time.Duration // at least this long, if WaitSource is set
	WaitSource     string        // the header or place that says so, as "retry-after" or "body.message"; empty if the answer names no wait
	Fallback       bool          // another model or provider could serve the request
	BreakerFailure bool          // the answer says that the target is unwell
	Type, Code     string        // the error's own, as on the wire
	Rule           string        // the rule that decided
	Partial        bool          // the body broke off and what was left of it decided
}

// answer is an error with all that the rules look at.
type answer struct {
	*envelope
	status int
	header http.Header
	now    time.Time

	asked          hint // Retry-After and its kin
	window, refill hint // resets of what is used up
	body           hint
}

func newAnswer(status int, h http.Header, now time.Time, e *envelope) *answer {
	a := &answer{envelope: e, status: status, header: h, now: serverTime(h, now)}
	a.asked.wait, a.asked.source, a.asked.ok = RetryAfter(h, now)
	a.window, a.refill = resets(status, h, now)
	a.body = e.bodyWait(a.now)
	return a
}

// Classify says what a response means. A status below 400 is an error only if
// the body is one, as for [ClassifyFrame]; the verdict on a good answer is the
// zero Verdict. Words of the body never make a status retryable that is not.
func Classify(r Response) Verdict {
	limit := maxBody
	if r.Status < 400 {
		limit = maxFrame
	}
	e := openEnvelope(r.Body, limit)
	if name := r.Header.Get("X-Amzn-Errortype"); name != "" {
		e.nameHeader(name)
	}
	status := r.Status
	if status < 400 {
		if !hasError(e.root) {
			return Verdict{}
		}
		status = e.innerStatus()
	}
	return newAnswer(status, r.Header, r.Now, e).decide()
}

// ClassifyFrame says what one JSON value means that came with the status of a
// whole answer: the body, or an event of its stream. It reports whether the
// value is an error; content that speaks of errors is not. The class follows
// from the value's own code and type if the status is a good one, and
// [Class.Status] is the status that it deserves.
func ClassifyFrame(status int, raw []byte) (v Verdict, isError bool) {
	if !mayHoldError(raw) {
		return Verdict{}, false
	}
	e := openEnvelope(raw, maxFrame)
	if !hasError(e.root) {
		return Verdict{}, false
	}
	if status < 400 {
		status = e.innerStatus()
	}
	return newAnswer(status, nil, time.Now(), e).decide(), true
}

// ClassifyNamed says what an error means whose name came apart from its body:
// the exception type of an event-stream frame, or a finish reason that is a
// failure, as "insufficient_system_resource". The body may be empty.
func ClassifyNamed(name string, raw []byte) Verdict {
	e := openEnvelope(raw, maxBody)
	e.code = ""
	e.note(&e.code, awsName(name))
	return newAnswer(e.innerStatus(), nil, time.Now(), e).decide()
}

// decide goes through the table.
func (a *answer) decide() Verdict {
	v := Verdict{Type: a.typ, Code: a.code, Partial: a.partial}
	for _, r := range rules {
		if r.matches(a) {
			v.Class, v.Rule = r.class, r.row
			v.Retry = r.class.Retryable() && !r.final
			break
		}
	}
	if retry, ok := shouldRetry(a.header); ok {
		v.Retry = retry
	}
	v.Fallback, v.BreakerFailure = v.Class.Fallback(), v.Class.BreakerFailure()
	if v.Retry {
		v.Wait, v.WaitSource = a.wait()
	}
	return v
}

// wait returns the first wait that the answer names. The time to a full bucket
// comes last, because a sentence of the same answer knows better.
func (a *answer) wait() (time.Duration, string) {
	for _, h := range [...]hint{a.asked, a.window, a.body, a.refill} {
		if h.ok {
			return h.wait, h.source
		}
	}
	return 0, ""
}

// shouldRetry reads x-should-retry, the server's own word, which overrides
// everything else. No wins over yes.
func shouldRetry(h http.Header) (retry, ok bool) {
	for _, line := range h.Values("X-Should-Retry") {
		switch strings.ToLower(strings.TrimSpace(line)) {
		case "false":
			return false, true
		case "true":
			retry, ok = true, true
		}
	}
	return retry, ok
}
