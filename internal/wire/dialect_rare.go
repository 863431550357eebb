package wire

import "bytes"

func rareRootKey(key []byte) slot {
	switch string(key) {
	case "content_block":
		return slotContentBlock
	case "response":
		return slotResponse
	case "status":
		return slotStatus
	case "stop_reason", "stopReason":
		return slotStop
	case "promptFeedback", "prompt_feedback":
		return slotPromptFeedback
	case "done":
		return slotDone
	case "done_reason":
		return slotDoneReason
	case "prompt_eval_count":
		return slotCount + countPrompt
	case "eval_count":
		return slotCount + countOutput
	}
	return rarerRootKey(key)
}

// rarerRootKey knows the keys of a few hosts and of errors.
func rarerRootKey(key []byte) slot {
	switch string(key) {
	case "x_groq":
		return slotGroq
	case "content":
		return slotParts
	case "completion", "thinking":
		return slotSub
	case "output":
		return slotOutput
	case "text", "arguments", "partial_image_b64", "b64_json", "audio":
		return slotWhole
	case "code":
		return slotCode
	case "bytes":
		return slotBytes
	case "usage_metadata":
		return slotUsage
	case "msg":
		return slotMessage
	case "success":
		return slotSuccess
	case "errors":
		return slotErrors
	case "__type":
		return slotException
	}
	if bytes.HasSuffix(key, []byte("Exception")) {
		return slotUnion
	}
	return slotSkip
}

// outputKey is for the hosts that put all of an answer into an output: Bedrock its
// message, Qwen what others have at the top.
func outputKey(key string) slot {
	switch key {
	case "message":
		return slotMessage
	case "choices":
		return slotChoices
	case "text":
		return slotText
	case "finish_reason":
		return slotStop
	}
	return slotSkip
}
