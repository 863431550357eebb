package wire

// terminal values that are not a word of the wire.
const (
	terminalNone     = "none"
	terminalError    = "error"
	terminalFailure  = "finish_reason_failure"
	terminalSentinel = "done_sentinel"
	terminalJSON     = "json" // a whole JSON document that ends with no word of its own
	terminalEOF      = "eof"  // a body that cannot be judged, and ended cleanly
)

// apply takes note of the event in d.ev, which ended at offset end of what
// Write was given.
func (d *Decoder) apply(end int) {
	t, e := &d.totals, &d.ev
	if t.dialect == DialectUnknown {
		t.dialect = e.dialect()
	}
	t.counts.merge(&e.counts)
	switch {
	case e.failed():
		d.fail(d.rawEvent(), e.place, end)
		t.failure.finish = e.finish()
		return
	case e.kind == kindPing:
		d.keepalive()
		return
	}
	d.event()
	if d.says() {
		d.content(end)
		t.text = append(t.text, e.text...)
	}
	d.endings(end)
}

// matched takes note of n events that matched the template, the first of which
// ended at offset end.
func (d *Decoder) matched(n, end int) {
	d.totals.events += n
	d.totals.content += n
	d.p.Events += n
	d.p.Content += n
	if d.p.AfterContent == 0 {
		d.p.AfterContent = end
	}
}

// learn makes the event in d.ev the template, if the next is likely to be one
// like it.
func (d *Decoder) learn() {
	raw := d.rawEvent()
	if d.ev.collect || int64(len(raw)) != d.partial || !d.ev.exemplary(raw) {
		return
	}
	if d.template == nil {
		d.template = new(template)
	}
	d.template.learn(raw, &d.ev)
}

// says reports whether the event in d.ev has content.
func (d *Decoder) says() bool {
	e := &d.ev
	switch {
	case e.kind == kindMessageDelta, e.kind == kindMessageStart, e.kind == kindCohereEnd:
		return false
	case e.kind >= kindResponse:
		if e.kind != kindResponseText {
			e.text = e.text[:0]
		}
		// What a done event repeats is news only if nothing came before it.
		return e.delta || e.whole && (e.kind == kindResponseDelta || e.kind == kindResponseDone && d.totals.content == 0)
	}
	return e.content || e.delta
}

// endings looks for what ends an answer in the event in d.ev.
func (d *Decoder) endings(end int) {
	t, e := &d.totals, &d.ev
	before := t.whole()
	for i := range e.choices {
		if d.choice(&e.choices[i], end) {
			return
		}
	}
	switch {
	case e.done == doneTrue:
		d.terminate("done_true", e.reason, end)
	case e.done == doneFalse, d.form == FormArray && e.candKey:
		t.streaming = true
	case e.block != "" && !e.candKey:
		t.terminal, t.finish = "promptFeedback", e.block
	case e.isBody && e.kind == kindNone:
		t.terminal, t.finish = "status", e.status
	case e.kind == kindMessageDelta && e.stop != "":
		t.terminal, t.finish = "message_delta", e.stop
	case e.kind == kindMessageStop:
		d.terminate("message_stop", t.finish, end)
	case e.kind == kindCohereEnd:
		d.cohereEnd(end)
	case e.kind == kindResponseCompleted:
		d.terminate("response.completed", or(e.status, "completed"), end)
	case e.kind == kindResponseIncomplete:
		d.terminate("response.incomplete", or(e.status, "incomplete"), end)
	case e.kind == kindResponseCancelled:
		d.terminate("response.cancelled", or(e.status, "cancelled"), end)
	case e.stop != "" && e.kind == kindMessage:
		t.terminal, t.finish = "stop_reason", e.stop
	case e.stop != "" && e.kind == kindNone:
		t.terminal, t.finish = "messageStop", e.stop
	}
	if !before && t.whole() && d.p.AfterFinish == 0 {
		d.p.AfterFinish = end
	}
}

// cohereEnd takes Cohere's last event, whose reason may be a failure.
func (d *Decoder) cohereEnd(end int) {
	if stop := d.ev.stop; failureFinish(stop) {
		d.failFinish(stop, end)
	} else {
		d.terminate("message-end", stop, end)
	}
}

// choice notes that a choice is open and, if it says so, how it ended. It
// reports whether that was a failure.
func (d *Decoder) choice(c *choice, end int) bool {
	t := &d.totals
	t.opened.add(c.index)
	if c.finish == "" {
		return false
	}
	t.finished.add(c.index)
	t.finish = c.finish
	if !failureFinish(c.finish) || d.ev.candKey {
		return false
	}
	d.failFinish(c.finish, end)
	return true
}

func (d *Decoder) terminate(word, finish string, end int) {
	d.totals.terminal, d.totals.finish = word, finish
	d.p.AfterTerminal = end
}

// whole reports whether the dialect's own word for the end has come.
func (t *totals) whole() bool {
	return t.terminal != "" || t.opened.any() && t.finished.has(t.opened)
}

func (d *Decoder) event() {
	d.totals.events++
	d.p.Events++
}

func (d *Decoder) content(end int) {
	d.totals.content++
	d.p.Content++
	if d.p.AfterContent == 0 {
		d.p.AfterContent = end
	}
}

func (d *Decoder) keepalive() {
	d.totals.keepalive++
	d.p.Keepalives++
}

func (d *Decoder) malformed() {
	d.totals.malformed++
	d.event()
}

// End closes the decoder and says what the body was. clean tells an EOF from
// a connection that was cut.
func (d *Decoder) End(clean bool) Result {
	d.p = Progress{}
	d.endForm()
	t := &d.totals
	r := Result{
		Form: d.form, Dialect: t.dialect, Terminal: terminalNone, Usage: t.counts.usage(),
		ContentEvents: t.content, Keepalives: t.keepalive, MalformedFrames: t.malformed,
		ReplaySafe: t.content == 0, Text: string(t.text),
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
		r.complete(or(t.terminal, t.terminalWord()), t.finish, StrengthStrong)
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

func or(s, otherwise string) string {
	if s != "" {
		return s
	}
	return otherwise
}

// An indexSet is a set of choice indices.
type indexSet [maxChoices / 64]uint64

func (s *indexSet) add(i int) { s[i/64] |= 1 << (i % 64) }

func (s *indexSet) any() bool { return *s != indexSet{} }

// has reports whether s has all of other.
func (s *indexSet) has(other indexSet) bool {
	for i := range s {
		if other[i]&^s[i] != 0 {
			return false
		}
	}
	return true
}
