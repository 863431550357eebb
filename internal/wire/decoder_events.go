package wire

import "cmp"

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
		d.terminate("response.completed", cmp.Or(e.status, "completed"), end)
	case e.kind == kindResponseIncomplete:
		d.terminate("response.incomplete", cmp.Or(e.status, "incomplete"), end)
	case e.kind == kindResponseCancelled:
		d.terminate("response.cancelled", cmp.Or(e.status, "cancelled"), end)
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
