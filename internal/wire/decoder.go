package wire

import "time"

// A Decoder looks at the body of a 200 as it passes by and says what it was.
// It keeps nothing of it but the event that is not finished, up to 64 KiB; of
// a longer one it goes on reading the structure, in flat memory. Feed it with
// Write, poll what Write returns, and close it with End. It never fails: what
// it cannot read is malformed, and the bytes are the caller's business.
//
// The bytes must be those of the body itself: undo a Content-Encoding first,
// or do without a decoder.
//
// A Decoder is not safe for concurrent use.
type Decoder struct {
	form     Form
	declared Form // what the content type promises
	strict   bool // an answer of a model is due: the path says so, or nothing does
	bom      int  // how much of a byte order mark has passed

	scan     scanner
	ev       event
	template *template // nil before there was content
	rawRef   []byte    // the data of the current event, when it lies in what Write was given
	raw      []byte    // else a copy of it, up to keep
	keep     int       // how much of a line or an event is kept: keepFrame
	partial  int64     // bytes of the event that is not finished

	sse    sseState
	json   jsonState
	frame  frameState
	p      Progress
	totals totals
}

// totals are what a stream has shown so far.
type totals struct {
	dialect   Dialect
	events    int
	content   int
	keepalive int
	malformed int
	opened    indexSet // choices and candidates that have begun
	finished  indexSet // those that have said how they ended
	terminal  string   // the strong terminal event
	finish    string
	sentinel  bool // [DONE]
	streaming bool // more than one event is due, whatever the form
	counts    counts
	failure   failure
	text      []byte
}

// Progress is what one call of Write found. Offsets are places in the bytes
// it was given, right after the event in question; zero means that there was
// none.
type Progress struct {
	Events     int // events that ended here, keep-alives and errors not counted
	Content    int // of them, those with text, reasoning or tool calls
	Keepalives int // comments, pings, empty events, blank lines before a body

	// Partial is the size so far of the event that had not ended when the
	// bytes did. It grows while a large event arrives, and is zero or small
	// while only keep-alives do.
	Partial int64

	AfterContent  int // after the first event with content
	AfterFinish   int // after the event that made the answer whole
	AfterTerminal int // after the event that nothing is due after; Gemini's SSE has none
	AfterError    int // after the first error
}

// Strength says how sure it is that an answer is complete.
type Strength uint8

const (
	StrengthNone   Strength = iota
	StrengthWeak            // a bare [DONE], which relays forge, or some of the frames were malformed
	StrengthStrong          // the dialect's own word for the end
)

func (s Strength) String() string { return [...]string{"", "weak", "strong"}[s] }

// A Result is the verdict on a body. Exactly one of Complete, Truncated and
// Error.Position is set for a body that is a model's answer; none is for one
// that is something else, see Form.
type Result struct {
	Form      Form
	Dialect   Dialect
	Complete  bool // it is whole, even if the connection was cut after that
	Truncated bool // it ended too early
	Strength  Strength
	Terminal  string // what ended it: an event or field of the dialect, done_sentinel, error, finish_reason_failure, none
	Usage     Usage
	Error     StreamError

	ContentEvents int

	Retryable bool // asking again may help
	Wait      time.Duration

	// What led to the verdict. No layer acts on these: they are for the tests that
	// hold recorded bodies to what is known of them, where a right verdict for a
	// wrong reason would not show.
	Finish          string // why the model stopped, in its own word
	Keepalives      int
	MalformedFrames int
	Text            string // the answer, only of a decoder that collects it
}

// A StreamError is an error that came under a 200.
type StreamError struct {
	Position string // first (before any content), mid, or empty for no error
	Class    Class
	Code     string
	Type     string
}

// NewDecoder returns a decoder for a body of the given Content-Type. The path
// of the request only tells whether an answer of a model is due; it may be
// empty.
func NewDecoder(contentType, path string) *Decoder {
	d := &Decoder{}
	d.Reset(contentType, path)
	return d
}

// Reset makes d a decoder for another body, as NewDecoder does, and keeps its
// buffers.
func (d *Decoder) Reset(contentType, path string) {
	*d = Decoder{
		declared: Declared(contentType), strict: path == "" || Inference(path), keep: keepFrame, raw: d.raw[:0],
		scan: scanner{stack: d.scan.stack[:0], val: d.scan.val[:0]}, ev: event{choices: d.ev.choices[:0], inner: d.ev.inner[:0]},
		sse: sseState{line: d.sse.line[:0]},
	}
	d.scan.ev = &d.ev
	d.scan.reset()
	if d.declared == FormOpaque {
		d.form = FormOpaque
	}
}

// Write looks at the next bytes of the body, which may end anywhere. It
// neither changes nor keeps p.
func (d *Decoder) Write(p []byte) Progress {
	d.p = Progress{}
	i := 0
	if d.form == FormUnknown {
		i = d.sniff(p)
	}
	if i < len(p) {
		d.read(p, i)
	}
	d.keepRaw()
	d.p.Partial = d.partial + d.sse.held(d)
	return d.p
}

// read hands p[i:] to the reader of the form.
func (d *Decoder) read(p []byte, i int) {
	switch d.form {
	case FormSSE:
		d.readSSE(p, i)
	case FormJSON, FormNDJSON, FormArray:
		if i = d.readJSON(p, i); i < len(p) {
			d.form, d.json, d.template = FormSSE, jsonState{}, nil
			d.readSSE(p, i)
		}
	case FormBedrock:
		d.readFrames(p, i)
	}
}

// Failure returns the first error that passed by: its frame, cut at 64 KiB,
// and the verdict on it. ok is false when there was none.
func (d *Decoder) Failure() (frame []byte, v Verdict, ok bool) {
	f := &d.totals.failure
	return f.frame, f.verdict, f.position != ""
}

// Usage returns what the body has said about its cost so far.
func (d *Decoder) Usage() Usage { return d.totals.counts.usage() }

// Form returns how the body is framed, as far as that is known.
func (d *Decoder) Form() Form { return d.form }

// Dialect returns the dialect, as soon as an event has shown it.
func (d *Decoder) Dialect() Dialect { return d.totals.dialect }

// refRaw makes data, a part of what Write was given, the raw event.
func (d *Decoder) refRaw(data []byte) {
	d.raw = d.raw[:0]
	d.rawRef = data
}

// keepRaw copies the raw event, for what Write was given is going away.
func (d *Decoder) keepRaw() {
	if d.rawRef != nil {
		d.raw = append(d.raw[:0], d.rawRef[:min(len(d.rawRef), d.keep)]...)
		d.rawRef = nil
	}
}

func (d *Decoder) addRaw(data []byte) {
	d.keepRaw()
	if room := d.keep - len(d.raw); room > 0 {
		d.raw = append(d.raw, data[:min(room, len(data))]...)
	}
}

func (d *Decoder) rawEvent() []byte {
	if d.rawRef != nil {
		return d.rawRef
	}
	return d.raw
}

// nextEvent forgets the event that has been dealt with.
func (d *Decoder) nextEvent() {
	d.scan.reset()
	d.ev.reset()
	d.raw, d.rawRef, d.partial = d.raw[:0], nil, 0
}
