package wire

import (
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
)

// frameState is where the reader of application/vnd.amazon.eventstream stands:
// a prelude of two lengths and a checksum, headers, a payload and a checksum
// of it all. Payloads are not held, whatever their size.
type frameState struct {
	part      framePart
	buf       []byte // the prelude, the headers or the checksum so far
	crc       uint32
	headerLen int // bytes of headers
	bodyLeft  int // bytes of payload that are still to come

	event     string
	exception string // of an error, the name
	broken    bool   // the framing is lost
	inner     []byte // the event in an event
}

type framePart uint8

const (
	framePrelude framePart = iota
	frameHeaders
	framePayload
	frameChecksum
)

// The sizes of a frame's fixed parts.
const (
	preludeLen  = 12
	checksumLen = 4
)

// readFrames reads p[i:].
func (d *Decoder) readFrames(p []byte, i int) {
	f := &d.frame
	for i < len(p) && !f.broken {
		if f.part == framePayload {
			n := min(f.bodyLeft, len(p)-i)
			d.payload(p[i : i+n])
			i += n
			if f.bodyLeft == 0 {
				f.part = frameChecksum
			}
			continue
		}
		n := min(f.want()-len(f.buf), len(p)-i)
		f.buf = append(f.buf, p[i:i+n]...)
		d.partial += int64(n)
		i += n
		if len(f.buf) == f.want() {
			d.framePart(i)
			f.buf = f.buf[:0]
		}
	}
}

func (f *frameState) want() int {
	switch f.part {
	case framePrelude:
		return preludeLen
	case frameHeaders:
		return f.headerLen
	}
	return checksumLen
}

// framePart takes a part that is whole, which ended before offset end.
func (d *Decoder) framePart(end int) {
	f := &d.frame
	switch f.part {
	case framePrelude:
		total, header := binary.BigEndian.Uint32(f.buf), binary.BigEndian.Uint32(f.buf[4:])
		f.crc = crc32.ChecksumIEEE(f.buf[:8])
		if f.crc != binary.BigEndian.Uint32(f.buf[8:]) || header > keepFrame || total < preludeLen+checksumLen+header {
			d.loseFraming()
			return
		}
		f.crc = crc32.Update(f.crc, crc32.IEEETable, f.buf[8:])
		f.headerLen, f.bodyLeft = int(header), int(total-header)-preludeLen-checksumLen
		f.event, f.exception = "", ""
		f.part = frameHeaders
		if f.headerLen == 0 {
			f.payloadNext()
		}
	case frameHeaders:
		f.crc = crc32.Update(f.crc, crc32.IEEETable, f.buf)
		f.headers(f.buf)
		f.payloadNext()
	case frameChecksum:
		f.part = framePrelude
		if f.crc != binary.BigEndian.Uint32(f.buf) {
			d.loseFraming()
			return
		}
		d.endFrame(end)
	}
}

func (f *frameState) payloadNext() {
	f.part = framePayload
	if f.bodyLeft == 0 {
		f.part = frameChecksum
	}
}

func (d *Decoder) loseFraming() {
	d.frame.broken = true
	d.malformed()
	d.nextEvent()
}

// headerString is the type of a header's value that is a string.
const headerString = 7

// headerSizes are the sizes of the values of headers by their type, from true and
// false to a UUID. A sized one begins with two bytes of length.
var headerSizes = [...]int{0, 0, 1, 2, 4, 8, sized, headerString: sized, 8, 16}

const sized = -1

// headers looks for the headers that matter, and stops at what it cannot read.
func (f *frameState) headers(b []byte) {
	for len(b) > 1 {
		name := int(b[0])
		if len(b) < name+2 {
			return
		}
		key, typ := b[1:1+name], b[1+name]
		val, rest, ok := cutHeader(typ, b[2+name:])
		if !ok {
			return
		}
		if typ == headerString {
			f.header(key, val)
		}
		b = rest
	}
}

// cutHeader cuts the value of a header of that type off b.
func cutHeader(typ byte, b []byte) (val, rest []byte, ok bool) {
	if int(typ) >= len(headerSizes) {
		return nil, nil, false
	}
	size := headerSizes[typ]
	if size == sized {
		if len(b) < 2 {
			return nil, nil, false
		}
		size, b = int(binary.BigEndian.Uint16(b)), b[2:]
	}
	if size > len(b) {
		return nil, nil, false
	}
	return b[:size], b[size:], true
}

// header takes a header whose value is a string.
func (f *frameState) header(key, val []byte) {
	switch string(key) {
	case ":event-type":
		f.event = converseEvent(val)
	case ":exception-type", ":error-code":
		f.exception = string(val)
	case ":message-type":
		if string(val) != "event" && f.exception == "" {
			f.exception = string(val)
		}
	}
}

// converseEvent returns the name of an event without an allocation.
func converseEvent(name []byte) string {
	for _, known := range [...]string{
		"contentBlockDelta", "contentBlockStart", "contentBlockStop", "messageStart", "messageStop", "metadata", "chunk",
	} {
		if string(name) == known {
			return known
		}
	}
	return "other"
}

func (d *Decoder) payload(part []byte) {
	f := &d.frame
	f.crc = crc32.Update(f.crc, crc32.IEEETable, part)
	f.bodyLeft -= len(part)
	d.partial += int64(len(part))
	d.documentRaw(part)
	if n := d.scan.feed(part); d.scan.state == docDone && len(trimSpace(part[n:])) > 0 {
		d.scan.state = docBad
	}
}

// endFrame takes a frame whose checksum is right.
func (d *Decoder) endFrame(end int) {
	f, t := &d.frame, &d.totals
	switch {
	case f.exception != "":
		d.failFrame(f.exception, d.rawEvent(), end)
	case !d.scan.finish():
		if !d.scan.idle() {
			d.malformed()
		}
	case len(d.ev.inner) > 0:
		d.innerEvent(end)
	default:
		if t.dialect == DialectUnknown && f.event != "other" {
			t.dialect = DialectConverse
		}
		if f.event == "messageStop" && d.ev.stop == "" {
			t.terminal = "messageStop"
		}
		d.apply(end)
		if f.event == "metadata" && t.whole() {
			d.p.AfterTerminal = end
		}
	}
	d.nextEvent()
}

// innerEvent takes a chunk of InvokeModelWithResponseStream: the event of
// another dialect in base64. One that was too long to keep is content.
func (d *Decoder) innerEvent(end int) {
	inner, err := base64.StdEncoding.AppendDecode(d.frame.inner[:0], d.ev.inner)
	d.frame.inner = inner
	tooLong := len(d.ev.inner) >= keepFrame
	d.nextEvent()
	if tooLong {
		d.event()
		d.content(end)
		return
	}
	d.refRaw(inner)
	if n := d.scan.feed(inner); err != nil || !d.scan.finish() || n != len(inner) {
		d.malformed()
		return
	}
	d.apply(end)
}
