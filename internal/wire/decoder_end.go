package wire

import "cmp"

// terminal values that are not a word of the wire.
const (
	terminalNone     = "none"
	terminalError    = "error"
	terminalFailure  = "finish_reason_failure"
	terminalSentinel = "done_sentinel"
	terminalJSON     = "json" // a whole JSON document that ends with no word of its own
	terminalEOF      = "eof"  // a body that cannot be judged, and ended cleanly
)

// End closes the decoder and says what the body was. clean tells an EOF from
// a connection that was cut.
func (d *Decoder) End(clean bool) Result {
	d.p = Progress{}
	d.endForm()
	t := &d.totals
	r := Result{
		Form: d.form, Dialect: t.dialect, Terminal: terminalNone, Usage: t.counts.usage(),
		ContentEvents: t.content, Keepalives: t.keepalive, MalformedFrames: t.malformed,
		Text: string(t.text),
	}
	if t.failure.position != "" {
		t.failure.report(&r)
		return r
	}
	d.judgeEnd(&r, clean)
	r.Retryable = d.worthAnother(&r)
	return r
}

// worthAnother reports whether asking again may help where nobody has said
// that anything failed.
func (d *Decoder) worthAnother(r *Result) bool {
	switch {
	case r.Truncated:
		return true
	case r.Terminal == terminalSentinel:
		return r.ContentEvents == 0 // the sentinel of a relay that got nothing
	}
	return !r.Complete && (d.form == FormHTML || d.form == FormText)
}

// judgeEnd fills in how a body without an error ended.
func (d *Decoder) judgeEnd(r *Result, clean bool) {
	t := &d.totals
	switch {
	case d.form == FormOpaque, !d.strict && (d.form == FormHTML || d.form == FormText):
		r.complete(terminalEOF, "", StrengthWeak)
		r.Complete, r.Truncated = clean, !clean
	case d.form == FormHTML, d.form == FormText:
	case d.json.open():
		r.Truncated = true
	case t.whole():
		r.complete(cmp.Or(t.terminal, t.terminalWord()), t.finish, StrengthStrong)
	case t.sentinel:
		r.complete(terminalSentinel, "", StrengthWeak)
	case d.json.whole() && !t.streaming:
		r.complete(terminalJSON, "", StrengthStrong)
		if t.opened.any() {
			r.Strength = StrengthWeak
		}
	default:
		// Events that nobody knows, on a path that nobody knows: a stream of
		// something else, which ends when it ends.
		r.Truncated = !clean || d.strict || t.dialect != DialectUnknown || t.events == t.malformed
	}
	if r.Complete && t.malformed > 0 {
		r.Strength = StrengthWeak
	}
	if !r.Complete && !r.Truncated {
		r.Strength = StrengthNone
	}
}

func (r *Result) complete(terminal, finish string, s Strength) {
	r.Complete, r.Terminal, r.Finish, r.Strength = true, terminal, finish, s
}

// terminalWord names the field that ended every choice.
func (t *totals) terminalWord() string {
	if t.dialect == DialectGemini {
		return "finishReason"
	}
	return "finish_reason"
}

// endForm takes the end of the body.
func (d *Decoder) endForm() {
	switch d.form {
	case FormSSE:
		d.endSSE()
	case FormJSON, FormNDJSON, FormArray:
		d.endJSON()
	case FormUnknown:
		if d.bom > 0 && d.bom < len(byteOrderMark) {
			d.form = FormText
		}
	}
}
