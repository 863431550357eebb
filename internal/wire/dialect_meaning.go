package wire

import "strings"

// failed reports whether the event is an error in any of the shapes that are
// in use. A null, empty or nested error is none.
func (e *event) failed() bool {
	switch {
	case e.place != 0, e.isError, e.kind == kindError, e.kind == kindResponseFailed:
		return true
	case e.isBody && e.status == "failed", e.declined && e.errors, e.exception && e.members == 1:
		return true
	}
	return e.code && e.message && !e.choiceKey && !e.candKey && !e.bodied && e.kind <= kindOther
}

// finish is the word with which the event itself ends an answer.
func (e *event) finish() string {
	for i := range e.choices {
		if e.choices[i].finish != "" {
			return e.choices[i].finish
		}
	}
	switch {
	case e.isBody && e.kind == kindNone:
		return e.status
	case e.block != "":
		return e.block
	}
	return e.stop
}

// pure reports whether the event is content and nothing else but counts, so
// that another one of the same form means the same.
func (e *event) pure() bool {
	for i := range e.choices {
		if e.choices[i].finish != "" {
			return false
		}
	}
	says := e.content || e.delta
	switch e.kind {
	case kindNone, kindOther, kindBlock, kindCohere:
	case kindResponseText, kindResponseDelta:
		says = e.delta
	default:
		return false
	}
	return says && !e.failed() && !e.isBody && e.stop == "" && e.block == "" &&
		e.done != doneTrue && len(e.inner) == 0
}

// failureFinish reports whether a finish reason says that the answer failed.
func failureFinish(reason string) bool {
	for _, failed := range [...]string{"error", "network_error", "insufficient_system_resource"} {
		if strings.EqualFold(reason, failed) {
			return true
		}
	}
	return false
}

// meansNothing reports whether text is a word by which hosts print a missing value.
func meansNothing(text []byte) bool {
	return len(text) == len("none") && (strings.EqualFold(string(text), "none") || strings.EqualFold(string(text), "null"))
}

// dialect says what the event shows of the dialect.
func (e *event) dialect() Dialect {
	switch {
	case e.kind.dialect() != DialectUnknown:
		return e.kind.dialect()
	case e.choiceKey:
		return DialectChat
	case e.candKey, e.block != "":
		return DialectGemini
	case e.done != doneAbsent:
		return DialectOllama
	case e.isBody:
		return DialectResponses
	}
	return DialectUnknown
}
