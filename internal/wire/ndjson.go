package wire

// jsonState is where the reader of JSON stands: one document (a plain body),
// one per line (Ollama), or one per element of an array (Gemini without SSE).
type jsonState struct {
	depth   int  // 1 inside the array whose elements are events
	values  int  // documents that are whole, elements aside
	comma   bool // an element is due
	element bool // an element is whole, and nothing came after it
	skip    bool // the rest of this line is nobody's
	broken  bool // what came is not JSON
	inside  bool // in a document
	lineHas bool // the current line has more than white space
	lf      int  // the next line end in what Write was given
}

// lineEnd returns the place of the next line end in p[i:], or len(p).
func (j *jsonState) lineEnd(p []byte, i int) int {
	if j.lf < i {
		j.lf = find(p, i, '\n')
	}
	return j.lf
}

// open reports whether a document has begun and has not ended.
func (j *jsonState) open() bool {
	return j.inside || j.depth > 0 || j.broken
}

// whole reports whether the body is a whole document.
func (j *jsonState) whole() bool { return j.values > 0 && !j.open() }

// space takes white space between documents. Lines without anything else are
// how DeepSeek says that it still works on a plain answer.
func (j *jsonState) space(d *Decoder, c byte) {
	if c != '\n' {
		return
	}
	if !j.lineHas && (j.values == 0 || d.form == FormNDJSON) {
		d.keepalive()
	}
	j.lineHas, j.skip = false, false
}

// readJSON reads p[i:] and returns how far it got, which is all the way
// unless an event stream begins there.
func (d *Decoder) readJSON(p []byte, i int) int {
	j := &d.json
	j.lf = i - 1
	for i < len(p) {
		c := p[i]
		switch {
		case j.broken:
			return len(p)
		case j.inside:
			i = d.readDocument(p, i)
		case isSpace(c):
			j.space(d, c)
			i++
		case j.skip:
			i = j.lineEnd(p, i)
		case j.depth > 0:
			i = d.readArray(p, i)
		case c == '[' && d.form == FormJSON && j.values == 0:
			d.form, j.depth, j.lineHas = FormArray, 1, true
			i++
		case c != '{' && c != '[' && j.values > 0 && d.declared == FormSSE:
			return i
		default:
			if c != '{' && c != '[' && j.values > 0 {
				d.spoil()
				continue
			}
			if n := d.matchLines(p, i); n > i {
				i = n
				continue
			}
			d.beginDocument()
		}
	}
	return i
}

// matchLines takes the lines that p[i:] begins with as long as they match the
// template, and returns where the first begins that does not.
func (d *Decoder) matchLines(p []byte, i int) int {
	if d.form != FormNDJSON {
		return i
	}
	before := d.p.Events
	next := d.matchEvents(p, i, len("\n"))
	if next > i {
		d.json.values += d.p.Events - before
		d.json.lineHas, d.json.skip = false, false
	}
	return next
}

func (d *Decoder) beginDocument() {
	j := &d.json
	if j.values > 0 && d.form == FormJSON {
		d.form, d.totals.streaming = FormNDJSON, true
	}
	j.inside, j.lineHas, j.element, j.comma = true, true, false, false
	d.nextEvent()
}

// readArray takes one byte between the elements of an array.
func (d *Decoder) readArray(p []byte, i int) int {
	j := &d.json
	j.lineHas = true
	switch c := p[i]; {
	case c == ',' && j.element:
		j.element, j.comma = false, true
		return i + 1
	case c == ']' && !j.comma:
		j.depth = 0
		j.values++
		d.p.AfterTerminal = i + 1
		return i + 1
	case c == ',' || c == ']' || j.element:
		d.spoil()
		return i
	}
	d.beginDocument()
	return i
}

// readDocument reads more of the document that p[i:] goes on with.
func (d *Decoder) readDocument(p []byte, i int) int {
	j := &d.json
	end := len(p)
	if d.form == FormNDJSON {
		end = j.lineEnd(p, i)
	}
	n := d.scan.feed(p[i:end])
	d.partial += int64(n)
	d.documentRaw(p[i : i+n])
	lineOver := i+n == end && end < len(p)
	if lineOver {
		d.scan.finish() // a line end ends a number
	}
	switch {
	case d.scan.state == docDone:
		j.inside, j.lineHas = false, true
		d.endDocument(i + n)
	case d.scan.state == docBad, lineOver:
		d.spoil()
	}
	return i + n
}

// documentRaw keeps what the current document has so far.
func (d *Decoder) documentRaw(part []byte) {
	if d.rawRef == nil && len(d.raw) == 0 {
		d.refRaw(part)
		return
	}
	d.addRaw(part)
}

func (d *Decoder) endDocument(end int) {
	j := &d.json
	if j.depth > 0 {
		j.element = true
	} else {
		j.values++
	}
	d.apply(end)
	if d.form == FormNDJSON {
		d.learn()
		d.template.setFrame(nil, "\n")
	}
	d.nextEvent()
	if d.form == FormJSON && !d.totals.streaming && d.p.AfterTerminal == 0 {
		d.p.AfterTerminal = end
	}
}

// spoil gives up what is not JSON: the line where every line counts for
// itself, else the body.
func (d *Decoder) spoil() {
	j := &d.json
	d.malformed()
	d.nextEvent()
	j.inside, j.skip = false, true
	j.broken = d.form != FormNDJSON
}

// endJSON takes the end of the body: a last line needs no line end.
func (d *Decoder) endJSON() {
	j := &d.json
	if j.inside && d.scan.finish() {
		j.inside = false
		d.endDocument(0)
	}
	if d.form == FormNDJSON && j.inside {
		j.inside = false // the cut line; the lines before it are the verdict
	}
	if d.form == FormJSON && j.broken && j.values == 0 && d.totals.events == d.totals.malformed && d.totals.malformed > 0 {
		d.form = FormText
	}
}
