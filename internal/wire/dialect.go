package wire

import "bytes"

// An event is what one frame of a stream, or one plain body, turned out to
// hold. A scanner fills it; a Decoder takes note of it when the frame counts.
type event struct {
	kind      eventKind
	place     slot // the error slot that is filled, zero for none
	content   bool // text, reasoning, tool call or media
	delta     bool // a delta of the root has such content
	whole     bool // content that deltas have brought already, as a rule
	isError   bool // "object": "error", or an AWS exception
	errors    bool // a list of errors that is not empty
	declined  bool // "success": false
	exception bool // an AWS exception as a member
	members   int  // of the root
	isBody    bool // "object": "response"
	code      bool
	message   bool // a message that is a string
	choiceKey bool
	bodied    bool // an answer where Bedrock, Qwen or Anthropic have it
	candKey   bool
	done      doneState
	stop      string
	status    string
	block     string
	reason    string // done_reason
	choices   []choice
	cur       choice
	counts    counts
	inner     []byte // slotBytes

	// How the document differs from its neighbours, for the template.
	holes    [maxHoles]hole
	numHoles int

	collect bool // keep text
	text    []byte
	mark    int  // where the part or choice being read begins in text
	thought bool // the part being read is not part of the answer
}

type choice struct {
	index  int
	finish string
	legacy bool // has a text beside its delta
	textAt int  // where that text is kept
	said   bool // has content in its delta or message
}

type doneState uint8

const (
	doneAbsent doneState = iota
	doneFalse
	doneTrue
)

const (
	maxChoices = 256
	keepScalar = 128
	keepFrame  = 64 << 10 // how much of an unfinished or failed event is kept
)

func (e *event) reset() {
	*e = event{choices: e.choices[:0], inner: e.inner[:0], collect: e.collect, text: e.text[:0]}
}

// limit says how much of a scalar in slot s is worth keeping.
func (e *event) limit(s slot) int {
	switch {
	case s == slotBytes:
		return keepFrame
	case s >= slotCount, s >= slotType && s <= slotCode, s == slotException:
		return keepScalar
	case s >= slotError && s <= slotErrors:
		return len("none") + 1 // enough to tell a word that means nothing
	case e.collect && (s == slotText || s == slotDelta || s == slotChoiceText || s == slotPart || s == slotParts || s == slotResponse):
		return int(^uint(0) >> 1)
	}
	return 0
}

// open is called when a container begins in slot s.
func (e *event) open(s slot, array bool) {
	switch s {
	case slotChoices:
		e.choiceKey = true
	case slotCandidates:
		e.candKey = true
	case slotChoice, slotCandidate:
		if !array {
			e.cur = choice{}
		}
	case slotUnion:
		e.exception = e.exception || !array
	case slotOutput, slotParts:
		e.bodied = true
	case slotPart:
		if !array {
			e.thought = false
			e.mark = len(e.text)
		}
	}
}

// close is called when the container in slot s ends.
func (e *event) close(s slot) {
	switch s {
	case slotChoice, slotCandidate:
		if len(e.choices) < maxChoices {
			e.choices = append(e.choices, e.cur)
		}
	case slotPart:
		if e.thought {
			e.text = e.text[:e.mark]
			e.thought = false
		}
	}
}

func (e *event) fault(s slot) {
	if e.place == 0 {
		e.place = s
	}
}

// key is called for every key of an object in slot s.
func (e *event) key(s slot) {
	if s == slotRoot {
		e.members++
	}
}

// str takes the string that the scanner has read up to end.
func (e *event) str(s *scanner, end int) {
	if s.slot == slotSkip || s.n == 0 && s.slot != slotVolatile {
		return
	}
	switch s.slot {
	case slotVolatile:
		e.hole(s.start, end, holeAny, 0)
	case slotText, slotSub, slotPart, slotParts, slotResponse:
		e.content = true
		e.hole(s.start, end, holeContent, 0)
		if s.slot != slotSub {
			e.answerText(s)
		}
	case slotChoiceText:
		e.content = true
		e.hole(s.start, end, holeContent, 0)
		e.legacyText(s)
	case slotDelta:
		e.delta = true
		e.hole(s.start, end, holeContent, 0)
		e.keepText(s)
	case slotWhole:
		e.whole = true
	case slotMessage:
		e.message = true
	case slotCode:
		e.code = !isSuccess(s.val)
	case slotError, slotGroqError, slotChoiceError, slotResponseError:
		if !meansNothing(s.val) {
			e.fault(s.slot)
		}
	case slotErrors:
		e.errors = e.errors || !meansNothing(s.val)
	case slotBytes:
		e.inner = append(e.inner[:0], s.val...)
	default:
		e.word(s)
	}
}

// word takes one of the strings whose value matters.
func (e *event) word(s *scanner) {
	val := s.val
	if s.escaped {
		val = unescape(val)
	}
	switch s.slot {
	case slotType:
		e.kind = kindOf(val)
	case slotObject:
		e.isError = e.isError || string(val) == "error"
		e.isBody = string(val) == "response"
	case slotStatus:
		e.status = intern(val)
	case slotException:
		e.isError = e.isError || bytes.HasSuffix(val, []byte("Exception"))
	case slotStop:
		e.stop = reason(val)
	case slotFinish:
		e.cur.finish = reason(val)
	case slotBlock:
		e.block = reason(val)
	case slotDoneReason:
		e.reason = intern(val)
	}
}

// number takes the number that the scanner has read up to end.
func (e *event) number(s *scanner, end int) {
	switch {
	case s.slot == slotVolatile:
		e.hole(s.start, end, holeNumber, 0)
	case s.slot >= slotCount:
		e.hole(s.start, end, holeCount, s.slot)
		e.counts.set(s.slot, s.val)
	case s.slot == slotIndex:
		if v, ok := parseCount(s.val); ok && v < maxChoices {
			e.cur.index = int(v)
		} else {
			e.cur.index = maxChoices - 1
		}
	case s.slot == slotFinish:
		if v, ok := parseCount(s.val); ok && v != 0 {
			e.cur.finish = string(s.val) // an enum by its number; zero is for not yet
		}
	case s.slot == slotCode:
		e.code = !isSuccess(s.val)
	case s.slot == slotErrors:
		v, ok := parseCount(s.val)
		e.errors = e.errors || !ok || v != 0
	case s.slot >= slotError && s.slot <= slotResponseError:
		if v, ok := parseCount(s.val); !ok || v != 0 {
			e.fault(s.slot)
		}
	}
}

// literal takes a true (t), false (f) or null (n).
func (e *event) literal(s slot, kind byte) {
	switch {
	case kind == 't' && s == slotDone:
		e.done = doneTrue
	case kind == 'f' && s == slotDone:
		e.done = doneFalse
	case kind == 'f' && s == slotSuccess:
		e.declined = true
	case kind == 't' && s == slotErrors:
		e.errors = true
	case kind == 't' && s == slotThought:
		e.thought = true
	case kind == 't' && s >= slotError && s <= slotResponseError:
		e.fault(s)
	}
}

func (e *event) keepText(s *scanner) {
	if !e.collect {
		return
	}
	if !s.escaped {
		e.text = append(e.text, s.val...)
		return
	}
	e.text = append(e.text, unescape(s.val)...)
}

func (e *event) answerText(s *scanner) {
	if e.cur.legacy {
		e.text, e.cur.legacy = e.text[:e.cur.textAt], false
	}
	e.cur.said = true
	e.keepText(s)
}

// legacyText keeps the text of the older completions API, which some hosts
// repeat beside the delta.
func (e *event) legacyText(s *scanner) {
	if !e.cur.said {
		e.cur.legacy, e.cur.textAt = true, len(e.text)
		e.keepText(s)
	}
}
