package wire

import "strings"

// A Dialect is the way a provider spells its answers. It is found from what
// an event has, not from who sent it.
type Dialect uint8

const (
	DialectUnknown   Dialect = iota
	DialectChat              // choices: OpenAI chat, its relatives, and the older completions
	DialectResponses         // OpenAI Responses: types that begin with "response."
	DialectAnthropic         // Anthropic Messages: message_start and so on
	DialectGemini            // candidates
	DialectOllama            // done: true or false
	DialectConverse          // Bedrock Converse
	DialectCohere            // message-start and so on
)

func (d Dialect) String() string {
	names := [...]string{"unknown", "chat", "responses", "anthropic", "gemini", "ollama", "converse", "cohere"}
	if int(d) < len(names) {
		return names[d]
	}
	return names[0]
}

// An eventKind is the type that an event gives itself.
type eventKind uint8

const (
	kindNone  eventKind = iota // it has none
	kindOther                  // one that is not known: such events are ignored
	kindPing
	kindError
	kindCohere    // any of Cohere's but the last
	kindCohereEnd // which says why
	kindMessage   // a plain Anthropic body, or an event of its older completions
	kindMessageStart
	kindBlock // content_block_start, _delta and _stop
	kindMessageDelta
	kindMessageStop
	kindResponse // any of Responses that is not below
	kindResponseText
	kindResponseDelta
	kindResponseDone
	kindResponseCompleted
	kindResponseIncomplete
	kindResponseCancelled
	kindResponseFailed
)

func kindOf(typ []byte) eventKind {
	switch string(typ) {
	case "ping", "keepalive", "keep-alive", "keep_alive", "heartbeat":
		return kindPing
	case "error":
		return kindError
	case "message", "completion":
		return kindMessage
	case "message_start":
		return kindMessageStart
	case "content_block_start", "content_block_delta", "content_block_stop":
		return kindBlock
	case "message_delta":
		return kindMessageDelta
	case "message_stop":
		return kindMessageStop
	}
	if hasPrefix(typ, "response.") {
		return responseKind(string(typ[len("response."):]))
	}
	return rareKind(string(typ))
}

// rareKind knows Cohere's events, and those of the media of OpenAI, whose last one
// is called done where the kind of medium stands before it.
func rareKind(typ string) eventKind {
	switch typ {
	case "message-start", "content-start", "content-delta", "content-end", "tool-plan-delta", "tool-call-start", "tool-call-delta", "tool-call-end",
		"citation-start", "citation-end":
		return kindCohere
	case "message-end":
		return kindCohereEnd
	case "transcript.text.done", "speech.audio.done":
		return kindResponseCompleted
	}
	for _, medium := range [...]string{"image_generation.", "image_edit.", "transcript.text.", "speech.audio."} {
		if after, ok := strings.CutPrefix(typ, medium); ok {
			return responseKind("." + after)
		}
	}
	return kindOther
}

func responseKind(typ string) eventKind {
	switch strings.TrimPrefix(typ, ".") {
	case "output_text.delta":
		return kindResponseText
	case "completed":
		return kindResponseCompleted
	case "incomplete":
		return kindResponseIncomplete
	case "cancelled":
		return kindResponseCancelled
	case "failed":
		return kindResponseFailed
	}
	switch {
	case strings.HasSuffix(typ, ".delta"):
		return kindResponseDelta
	case strings.HasSuffix(typ, ".done"), strings.HasSuffix(typ, ".partial_image"):
		return kindResponseDone
	}
	return kindResponse
}

func (k eventKind) dialect() Dialect {
	switch {
	case k >= kindResponse:
		return DialectResponses
	case k >= kindMessage:
		return DialectAnthropic
	case k >= kindCohere:
		return DialectCohere
	}
	return DialectUnknown
}

// reason returns the word for why an answer ended, and nothing for the words
// that mean nothing.
func reason(word []byte) string {
	switch string(word) {
	case "null", "FINISH_REASON_UNSPECIFIED", "BLOCK_REASON_UNSPECIFIED":
		return ""
	}
	return intern(word)
}

// intern returns the string of a word that ends answers, without an
// allocation for the usual ones.
func intern(word []byte) string {
	for _, known := range [...]string{
		"stop", "length", "tool_calls", "content_filter", "function_call", "eos", "error",
		"end_turn", "max_tokens", "tool_use", "stop_sequence", "STOP", "MAX_TOKENS", "SAFETY",
		"completed", "in_progress", "incomplete", "failed",
	} {
		if string(word) == known {
			return known
		}
	}
	return string(word)
}
