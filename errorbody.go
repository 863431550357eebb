package steady

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/steadyhttp/steady/internal/wire"
)

// errorDetail is an error as all SDKs read it from the body of an error answer.
type errorDetail struct {
	Type    string `json:"type"`
	Code    string `json:"code"`
	Param   string `json:"param"`
	Message string `json:"message"`
}

// body returns the body of an error answer with d in it.
func (d errorDetail) body() []byte {
	inner, _ := json.Marshal(d) // of strings alone, so it cannot fail
	return aroundError(inner)
}

// aroundError returns the body of an error answer around an error, in JSON, that a
// provider has made.
func aroundError(inner json.RawMessage) []byte {
	body, _ := json.Marshal(struct { // inner is JSON, so it cannot fail
		Type  string          `json:"type"`
		Error json.RawMessage `json:"error"`
	}{"error", inner})
	return body
}

// errorBody returns frame if it is an error in the form that SDKs read from the
// body of an error answer, and else one made of the verdict and what message the
// frame has.
func errorBody(frame []byte, v wire.Verdict) []byte {
	var known struct {
		Error    json.RawMessage `json:"error"`
		Message  any             `json:"message"`
		Response struct {
			Error json.RawMessage `json:"error"`
		} `json:"response"`
	}
	if json.Unmarshal(frame, &known) == nil && isObject(known.Error) {
		return frame
	}
	if inner := known.Response.Error; isObject(inner) {
		return aroundError(inner)
	}
	class := v.Class.String()
	return errorDetail{
		Type: cmp.Or(v.Type, class), Code: v.Code,
		Message: cmp.Or(messageOf(known.Message, known.Error), "the answer is an error: "+class),
	}.body()
}

func isObject(raw json.RawMessage) bool { return strings.HasPrefix(string(raw), "{") }

// messageOf returns the text of a flat error: its message, or an error that is a
// string itself.
func messageOf(message any, failed json.RawMessage) string {
	if text, ok := message.(string); ok {
		return text
	}
	var text string
	_ = json.Unmarshal(failed, &text)
	return text
}
