package wire

// data takes a whole data field.
func (d *Decoder) data(data []byte) {
	s := &d.sse
	if s.lines == 0 && s.name == nameOther && d.template.match(data) {
		s.lines, s.fast = 1, true
		d.refRaw(data)
		d.partial += int64(len(data))
		return
	}
	if s.lines == 0 && string(trimSpace(data)) == "[DONE]" {
		s.lines, s.done = 1, true
		return
	}
	d.nextField()
	if s.lines == 1 {
		d.refRaw(data)
	} else {
		d.addRaw(data)
	}
	d.partial += int64(len(data))
	d.readData(data)
}

// nextField begins a data field. Fields of one event are joined by a line end.
func (d *Decoder) nextField() {
	s := &d.sse
	if s.lines++; s.lines > 1 {
		d.addRaw([]byte{'\n'})
		if d.scan.state < docDone {
			d.scan.feed([]byte{'\n'})
		}
		return
	}
	s.blank = true
}

// piece takes part of the data of a line that is not in memory as a whole, or
// a line of JSON outside of a data field.
func (d *Decoder) piece(data []byte) {
	d.addRaw(data)
	d.partial += int64(len(data))
	d.readData(data)
}

// readData feeds the scanner. What comes after the end of the document spoils
// it.
func (d *Decoder) readData(data []byte) {
	s := &d.sse
	rest := trimSpace(data)
	if len(rest) == 0 && d.scan.state != inString && d.scan.state != inKey {
		return
	}
	s.blank = false
	switch {
	case s.fast, s.done:
		s.fast, s.done, d.scan.state = false, false, docBad
	case d.scan.state != docBad:
		if n := d.scan.feed(data); d.scan.state == docDone && len(trimSpace(data[n:])) > 0 {
			d.scan.state = docBad
		}
	}
}

// endBareLine looks whether JSON outside of a data field is whole: it needs
// no blank line.
func (d *Decoder) endBareLine(end int) {
	d.addRaw([]byte{'\n'})
	if d.scan.state < docDone {
		d.scan.feed([]byte{'\n'})
	}
	switch d.scan.state {
	case docDone:
		d.apply(end)
		d.endEvent(end)
	case docBad:
		d.leaveBare()
	}
}

// leaveBare gives up JSON outside of a data field that came to nothing.
func (d *Decoder) leaveBare() {
	if d.sse.bare {
		d.malformed()
		d.endEvent(-1)
	}
}

// dispatch takes the blank line that ends an event before offset end.
func (d *Decoder) dispatch(end int) {
	s := &d.sse
	d.lateName()
	switch {
	case s.bare:
		return
	case s.lines == 0:
		if s.fields > 0 {
			d.keepalive() // an event with no data is not dispatched
		}
	case s.fast:
		d.matched(1, end)
		if d.template.counted {
			d.totals.counts.merge(&d.template.counts)
		}
		d.learnFrame(end)
	case s.done:
		d.totals.sentinel = true
		d.event()
		d.p.AfterTerminal = end
	default:
		d.document(end)
	}
	d.endEvent(end)
}

// lateName scans data that matched the template before its event got a name
// that changes what it means.
func (d *Decoder) lateName() {
	if s := &d.sse; s.fast && s.name != nameOther {
		s.fast = false
		d.scan.feed(d.rawEvent())
	}
}

// document takes the data of a whole event, which the scanner has read.
func (d *Decoder) document(end int) {
	s := &d.sse
	whole := d.scan.finish()
	switch {
	case s.name == nameError:
		d.fail(d.rawEvent(), d.ev.place, end)
	case s.blank:
		d.keepalive()
	case s.name == namePing && !(whole && d.ev.failed()):
		d.keepalive()
	case !whole:
		d.malformed()
	default:
		d.apply(end)
		if s.lines == 1 && s.name == nameOther {
			d.learn()
			d.learnFrame(end)
		}
	}
}

// learnFrame notes in which frame the event came that ends before offset end.
func (d *Decoder) learnFrame(end int) {
	if s := &d.sse; s.begin >= 0 {
		d.template.frame(s.in[s.begin:end], d.rawEvent())
	}
}

// endEvent makes ready for the next event, which begins at offset next, or has
// begun if that is negative.
func (d *Decoder) endEvent(next int) {
	s := &d.sse
	if !s.fast {
		d.nextEvent()
	}
	d.raw, d.rawRef, d.partial = d.raw[:0], nil, 0
	s.begin = next
	s.name, s.fields, s.lines = nameOther, 0, 0
	s.blank, s.fast, s.done, s.bare = false, false, false, false
}

// endSSE takes the end of the stream. An event without its blank line is not
// dispatched, except a bare [DONE], and except an error: nothing can follow
// that would make it less of one.
func (d *Decoder) endSSE() {
	s := &d.sse
	s.skipLF = false
	if s.mode == lineHeld && len(s.line) > 0 {
		d.keepRaw()
		d.field(s.line, 0)
		s.line = nil
	}
	d.lateName()
	switch {
	case s.done:
		d.totals.sentinel = true
	case s.lines == 0 || s.fast || s.bare || !d.scan.finish():
	case s.name == nameError:
		d.fail(d.rawEvent(), d.ev.place, 0)
	case d.ev.failed():
		d.apply(0)
	}
	t := &d.totals
	if t.events == 0 && t.keepalive == 0 && t.failure.position == "" && d.declared != FormSSE {
		d.form = FormText // it only looked like one
	}
}
