package wire

import "bytes"

// sseState is where the reader of an event stream stands. Framing is that of
// the WHATWG, plus JSON without a data field, which Gemini and others fall
// back to when they fail.
type sseState struct {
	line   []byte // the beginning of a line that has not ended, up to Decoder.keep
	mode   lineMode
	skipLF bool   // the last byte was a CR: an LF belongs to it
	in     []byte // what Write was given
	lf     int    // the next line end in it
	begin  int    // where the current event begins in it; -1 for earlier, or behind a comment

	name   eventName
	fields int  // fields of the current event other than data
	lines  int  // data fields of the current event
	blank  bool // all of them were empty
	fast   bool // the data matches the template
	done   bool // the data is [DONE]
	bare   bool // reading JSON without a data field
}

type lineMode uint8

const (
	lineHeld  lineMode = iota // in line, as a whole
	lineData                  // too long: goes to the scanner as it comes
	lineExtra                 // too long, and nobody's
)

type eventName uint8

const (
	nameOther eventName = iota
	nameError
	namePing
)

// readSSE reads p[i:].
func (d *Decoder) readSSE(p []byte, i int) {
	s := &d.sse
	s.in, s.lf = p, i-1
	if s.skipLF && p[i] == '\n' {
		i++
	}
	s.skipLF = false
	s.begin = -1
	if s.idle() {
		s.begin = i
	}
	for i < len(p) {
		if i == s.begin {
			if i = d.matchEvents(p, i, 0); i == len(p) {
				break
			}
			s.begin = i
		}
		end := s.lineEnd(p, i)
		if end == len(p) {
			d.holdLine(p[i:])
			break
		}
		next := end + 1
		if p[end] == '\r' {
			if next == len(p) {
				s.skipLF = true
			} else if p[next] == '\n' {
				next++
			}
		}
		d.endLine(p[i:end], next)
		i = next
	}
	s.in = nil
}

// idle reports whether nothing of the next event has passed.
func (s *sseState) idle() bool {
	return s.lines == 0 && s.fields == 0 && len(s.line) == 0 && s.mode == lineHeld && !s.bare
}

// lineEnd returns the place of the next line end in p[i:], or len(p).
func (s *sseState) lineEnd(p []byte, i int) int {
	if p[i] == '\n' {
		return i // every event has one such line
	}
	if s.lf < i {
		s.lf = find(p, i, '\n')
	}
	return find(p[:s.lf], i, '\r')
}

func find(p []byte, i int, c byte) int {
	if n := bytes.IndexByte(p[i:], c); n >= 0 {
		return i + n
	}
	return len(p)
}

// holdLine takes the beginning of a line, or more of one.
func (d *Decoder) holdLine(part []byte) {
	s := &d.sse
	switch s.mode {
	case lineData:
		d.piece(part)
		return
	case lineExtra:
		return
	}
	d.keepRaw() // it may lie in s.line
	room := d.keep - len(s.line)
	if len(part) <= room {
		s.line = append(s.line, part...)
		return
	}
	s.line = append(s.line, part[:room]...)
	s.mode = lineExtra
	if data, ok := dataField(s.line); ok {
		s.mode = lineData
		d.leaveBare()
		d.nextField()
		d.piece(data)
	} else if d.isBare(s.line) {
		s.mode, s.bare = lineData, true
		d.piece(s.line)
	}
	s.line = s.line[:0]
	d.holdLine(part[room:])
}

// held is how much of an event is in a line that has not ended.
func (s *sseState) held(d *Decoder) int64 {
	if data, ok := dataField(s.line); ok {
		return int64(len(data))
	}
	if d.isBare(s.line) {
		return int64(len(s.line))
	}
	return 0
}

// endLine takes the rest of a line, which ends before offset end.
func (d *Decoder) endLine(rest []byte, end int) {
	s := &d.sse
	if len(s.line) > 0 && len(s.line)+len(rest) > d.keep {
		d.holdLine(rest)
		rest = nil
	}
	mode := s.mode
	s.mode = lineHeld
	switch {
	case mode == lineData:
		d.piece(rest)
		if s.bare {
			d.endBareLine(end)
		}
	case mode == lineExtra:
		s.fields++
	case len(s.line) > 0:
		s.line = append(s.line, rest...)
		d.field(s.line, end)
		s.line = s.line[:0]
	default:
		d.field(rest, end)
	}
}

// field takes a whole line.
func (d *Decoder) field(line []byte, end int) {
	s := &d.sse
	if len(line) == 0 {
		d.dispatch(end)
		return
	}
	if data, ok := dataField(line); ok {
		d.leaveBare()
		d.data(data)
		return
	}
	switch {
	case hasPrefix(line, "event:"):
		d.leaveBare()
		s.fields++
		s.name = nameOf(line[len("event:"):])
	case d.isBare(line):
		s.bare = true
		d.piece(line)
		d.endBareLine(end)
	case line[0] == ':':
		d.keepalive()
		s.begin = -1
	default:
		s.fields++
	}
}

// dataField returns the value of a line that is a data field.
func dataField(line []byte) ([]byte, bool) {
	if !hasPrefix(line, "data") {
		return nil, false
	}
	line = line[len("data"):]
	if len(line) == 0 {
		return line, true
	}
	if line[0] != ':' {
		return nil, false
	}
	if line = line[1:]; len(line) > 0 && line[0] == ' ' {
		line = line[1:]
	}
	return line, true
}

func nameOf(name []byte) eventName {
	switch name = trimSpace(name); {
	case string(name) == "error":
		return nameError
	case kindOf(name) == kindPing:
		return namePing
	}
	return nameOther
}

// isBare reports whether line begins or goes on with JSON outside of any field.
func (d *Decoder) isBare(line []byte) bool {
	if d.sse.bare {
		return true
	}
	return d.sse.lines == 0 && len(line) > 0 && (line[0] == '{' || line[0] == '[')
}
