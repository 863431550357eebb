package wire

import (
	"encoding/json"
	"net/http"
	"strings"
)

// A failure is the first error of a stream.
type failure struct {
	position string // first or mid; empty for none
	frame    []byte
	verdict  Verdict
	code     string
	typ      string
	finish   string
	byFinish bool // a finish reason said so, no error did
}

// fail notes the error that raw holds, unless there was one before.
func (d *Decoder) fail(raw []byte, place slot, end int) {
	code, typ, frame := describe(raw, place)
	f := failure{verdict: judge(frame), code: code, typ: typ}
	d.note(f, raw, end)
}

// failFinish notes that a finish reason says failure.
func (d *Decoder) failFinish(reason string, end int) {
	f := failure{verdict: ClassifyNamed(reason, nil), code: reason, finish: reason, byFinish: true}
	d.note(f, d.rawEvent(), end)
}

// failFrame notes an exception of Bedrock.
func (d *Decoder) failFrame(name string, raw []byte, end int) {
	d.note(failure{verdict: ClassifyNamed(name, raw), code: name}, raw, end)
}

func (d *Decoder) note(f failure, raw []byte, end int) {
	t := &d.totals
	if t.failure.position != "" {
		return
	}
	f.position = "mid"
	if t.content == 0 {
		f.position = "first"
	}
	f.frame = append([]byte(nil), raw[:min(len(raw), d.keep)]...)
	t.failure = f
	d.p.AfterError = end
}

func (f *failure) report(r *Result) {
	r.Terminal, r.Finish = terminalError, f.finish
	if f.byFinish {
		r.Terminal = terminalFailure
	}
	r.Error = StreamError{Position: f.position, Class: f.verdict.Class, Code: f.code, Type: f.typ}
	r.Retryable, r.Wait = f.verdict.Retry, f.verdict.Wait
}

// judge classifies what is known to be an error. Where the name of the event
// says so and its data does not, it is the server's.
func judge(frame []byte) Verdict {
	if v, isError := ClassifyFrame(http.StatusOK, frame); isError {
		return v
	}
	return ClassifyNamed("", frame)
}

// describe returns code and type of the error in raw, and the frame to
// classify: raw itself, or the error alone when it is not at the top, where a
// classifier looks for it.
func describe(raw []byte, place slot) (code, typ string, frame []byte) {
	root := object(raw)
	failed := root["error"]
	switch place {
	case slotGroqError:
		failed = object(root["x_groq"])["error"]
	case slotResponseError:
		failed = object(root["response"])["error"]
	case slotChoiceError:
		failed = choiceError(root["choices"])
	}
	frame = raw
	if place != slotError && len(failed) > 0 && string(failed) != "null" {
		frame = append(append([]byte(`{"error":`), failed...), '}')
	}
	inner := object(failed)
	if inner == nil {
		if typ = scalar(root["type"]); typ == "error" || strings.HasPrefix(typ, "response.") {
			typ = ""
		}
		return scalar(root["code"]), typ, frame
	}
	if typ = scalar(inner["type"]); typ == "" {
		typ = scalar(inner["status"])
	}
	return scalar(inner["code"]), typ, frame
}

// object returns the members of the object in raw, or in the array in raw.
func object(raw []byte) map[string]json.RawMessage {
	var members map[string]json.RawMessage
	if text := trimSpace(raw); len(text) > 0 && text[0] == '[' {
		var list []map[string]json.RawMessage
		if json.Unmarshal(text, &list) == nil && len(list) > 0 {
			return list[0]
		}
	}
	if json.Unmarshal(raw, &members) != nil {
		return nil
	}
	return members
}

func choiceError(choices json.RawMessage) json.RawMessage {
	var list []map[string]json.RawMessage
	if json.Unmarshal(choices, &list) == nil {
		for _, c := range list {
			if e := c["error"]; len(e) > 0 && string(e) != "null" {
				return e
			}
		}
	}
	return nil
}

// scalar returns a string, a number or true as text, and nothing else.
func scalar(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var n json.Number
	if json.Unmarshal(raw, &n) == nil {
		return n.String()
	}
	return ""
}
