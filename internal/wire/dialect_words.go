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
)

func (d Dialect) String() string {
	names := [...]string{"unknown", "chat", "responses", "anthropic", "gemini", "ollama", "converse"}
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
	kindMessage // a plain Anthropic body
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
	case "message":
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
	if !hasPrefix(typ, "response.") {
		return kindOther
	}
	return responseKind(string(typ[len("response."):]))
}

func responseKind(typ string) eventKind {
	switch typ {
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
