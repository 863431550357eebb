package wire

// A slot says what a JSON value is for, by the path that led to it. One schema
// serves every dialect, since their keys do not collide: the dialect is found
// from what an event has, never chosen beforehand.
type slot uint8

const (
	slotSkip     slot = iota // nobody's, and so is everything below
	slotVolatile             // nobody's scalar that differs from event to event
	slotRoot

	// Scalars.
	slotType
	slotObject
	slotStatus
	slotStop
	slotDone
	slotDoneReason
	slotFinish
	slotBlock
	slotIndex
	slotThought
	slotCode
	slotWhole // what a delta has sent already, said again in one piece
	slotBytes // base64 of an event in an event
	slotSuccess
	slotException // the name of an AWS exception, if that is what it is

	// Content: a string that is not empty, at any depth.
	slotText  // of the answer
	slotSub   // of anything else: reasoning, tool calls, media
	slotDelta // of the root: a string in Responses, an object elsewhere

	// Containers.
	slotChoices
	slotChoice
	slotChoiceDelta
	slotChoiceText
	slotMessage
	slotCandidates
	slotCandidate
	slotCandidateContent
	slotPart
	slotParts
	slotPromptFeedback
	slotContentBlock
	slotOutput
	slotOutputItem
	slotGroq
	slotResponse
	slotUsage
	slotUsageDetails
	slotError
	slotGroqError
	slotChoiceError
	slotResponseError
	slotUnion  // the member of an AWS event union that is an exception
	slotErrors // a list of them, which is one only without success

	// Counts of tokens: slotCount+i is the field i of a usage.
	slotCount
)

// element returns the slot of the elements of an array in slot s.
func element(s slot) slot {
	switch s {
	case slotRoot, slotSub, slotError, slotGroqError, slotChoiceError, slotResponseError, slotErrors:
		return s
	case slotChoices:
		return slotChoice
	case slotCandidates:
		return slotCandidate
	case slotText, slotParts:
		return slotPart
	case slotOutput:
		return slotOutputItem
	}
	return slotSkip
}

// child returns the slot of the value under key in an object in slot s.
func child(s slot, key []byte) slot {
	switch s {
	case slotRoot:
		return rootKey(key)
	case slotDelta:
		return deltaKey(key)
	case slotChoice:
		return choiceKey(key)
	case slotChoiceDelta:
		return choiceDeltaKey(key)
	case slotMessage:
		return messageKey(key)
	case slotSub:
		return subKey(key)
	case slotError, slotGroqError, slotChoiceError, slotResponseError, slotErrors:
		return s // an error is one if anything in it says something
	case slotText, slotPart:
		return partKey(key)
	case slotUsage, slotUsageDetails:
		return usageKey(key)
	}
	return innerKey(s, key)
}

func rootKey(key []byte) slot {
	switch string(key) {
	case "choices":
		return slotChoices
	case "type":
		return slotType
	case "delta":
		return slotDelta
	case "usage", "usageMetadata":
		return slotUsage
	case "candidates":
		return slotCandidates
	case "error":
		return slotError
	case "message":
		return slotMessage
	case "object":
		return slotObject
	case "created", "created_at", "obfuscation", "sequence_number", "p":
		return slotVolatile
	}
	return rareRootKey(key)
}

func choiceKey(key []byte) slot {
	switch string(key) {
	case "delta":
		return slotChoiceDelta
	case "finish_reason":
		return slotFinish
	case "index":
		return slotIndex
	case "message":
		return slotMessage
	case "text":
		return slotChoiceText
	case "usage":
		return slotUsage
	case "error":
		return slotChoiceError
	}
	return slotSkip
}

// choiceDeltaKey takes what it does not know for content: hosts name their
// reasoning as they like, and a stream of it is not a stall.
func choiceDeltaKey(key []byte) slot {
	switch string(key) {
	case "content":
		return slotText
	case "role", "name", "id", "type":
		return slotSkip
	case "token_id":
		return slotVolatile
	}
	return slotSub
}

func deltaKey(key []byte) slot {
	switch string(key) {
	case "text":
		return slotText
	case "stop_reason", "finish_reason":
		return slotStop
	case "usage":
		return slotUsage
	case "type", "role", "stop_sequence", "error":
		return slotSkip
	}
	return slotSub
}

func messageKey(key []byte) slot {
	switch string(key) {
	case "content":
		return slotText
	case "reasoning_content", "reasoning", "thinking", "tool_calls", "function_call", "refusal", "audio", "images":
		return slotSub
	case "usage":
		return slotUsage
	}
	return slotSkip
}

func partKey(key []byte) slot {
	switch string(key) {
	case "text":
		return slotText
	case "thought":
		return slotThought
	}
	return subKey(key)
}

func subKey(key []byte) slot {
	switch string(key) {
	case "type", "index", "id", "role", "object", "mimeType", "annotations":
		return slotSkip
	}
	return slotSub
}

func innerKey(s slot, key []byte) slot {
	k := string(key)
	switch {
	case s == slotCandidate && k == "content":
		return slotCandidateContent
	case s == slotCandidate && (k == "finishReason" || k == "finish_reason"):
		return slotFinish
	case s == slotCandidate && k == "index":
		return slotIndex
	case s == slotCandidateContent && k == "parts":
		return slotParts
	case s == slotPromptFeedback && (k == "blockReason" || k == "block_reason"):
		return slotBlock
	case s == slotContentBlock && k == "text":
		return slotText
	case s == slotContentBlock && (k == "thinking" || k == "data" || k == "input" || k == "content"):
		return slotSub
	case s == slotOutput:
		return outputKey(k)
	case s == slotResponse && k == "candidates":
		return slotCandidates
	case s == slotResponse && k == "usageMetadata":
		return slotUsage
	case s == slotResponse && k == "promptFeedback":
		return slotPromptFeedback
	case s == slotOutputItem && k == "content":
		return slotParts
	case s == slotOutputItem && (k == "arguments" || k == "summary" || k == "result"):
		return slotSub
	case (s == slotGroq || s == slotResponse) && k == "usage":
		return slotUsage
	case s == slotGroq && k == "error":
		return slotGroqError
	case s == slotResponse && k == "error":
		return slotResponseError
	case s == slotResponse && k == "status":
		return slotStatus
	}
	return slotSkip
}
