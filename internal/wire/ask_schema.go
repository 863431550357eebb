package wire

// An askSlot says what a value of a request is for, by the keys that led to it. As
// with the [slot] of an answer's value, one schema serves all providers.
type askSlot uint8

const (
	askSkip   askSlot = iota // no model reads it, nor what is below
	askRoot                  // the body
	askConfig                // settings that a provider keeps in an object of their own
	askModel
	askLimit   // tokens of output at most
	askChoices // how many answers
	askRole

	// What the model reads.
	askText   // messages, parts of them, and their text
	askSource // text if it is a string, else as askMedia
	askMedia  // a file, or the object that holds one
	askTools  // as askData; an object in it is a tool, or within one
	askData   // JSON that the model reads as such, keys and all
)

// asks reports whether what is in s reaches the model.
func (s askSlot) asks() bool { return s&^inArray >= askText }

// isData reports whether the model reads what is in s as JSON.
func (s askSlot) isData() bool { return s&^inArray >= askTools }

// child returns the slot of the value under key in an object in s. Keys nobody
// knows are skipped beside the prompt, and are text within it.
func (s askSlot) child(key []byte) askSlot {
	switch s {
	case askRoot:
		return askRootKey(key)
	case askConfig:
		return askConfigKey(key)
	case askText:
		return askTextKey(key)
	case askSource, askMedia:
		return askMediaKey(key)
	case askTools, askData:
		if string(key) != "cache_control" {
			return s
		}
	}
	return askSkip
}

func askRootKey(key []byte) askSlot {
	switch string(key) {
	case "messages", "contents", "content", "input", "inputs", "prompt", "system", "instructions", "systemInstruction", "system_instruction",
		"suffix", "prediction", "query", "documents", "texts", "message", "chat_history", "preamble", "inputText", "requests", "context":
		return askText
	case "images":
		return askMedia
	case "tools", "functions", "toolConfig":
		return askTools
	case "response_format", "text", "output_config":
		return askData
	case "model", "modelId":
		return askModel
	case "n", "best_of", "num_generations":
		return askChoices
	case "generationConfig", "generation_config", "inferenceConfig", "options", "textGenerationConfig", "parameters":
		return askConfig
	}
	return askLimitKey(key)
}

func askConfigKey(key []byte) askSlot {
	switch string(key) {
	case "candidateCount":
		return askChoices
	case "responseSchema", "responseJsonSchema", "response_schema":
		return askData
	}
	return askLimitKey(key)
}

func askLimitKey(key []byte) askSlot {
	switch string(key) {
	case "max_tokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens", "maxTokens", "max_new_tokens", "max_tokens_to_sample",
		"max_gen_len", "maxTokenCount", "num_predict":
		return askLimit
	}
	return askSkip
}

func askTextKey(key []byte) askSlot {
	switch string(key) {
	case "role":
		return askRole
	case "type", "id", "tool_call_id", "call_id", "tool_use_id", "toolUseId", "cache_control", "cachePoint", "status", "detail", "format",
		"media_type", "mime_type", "mimeType", "signature", "thoughtSignature", "thought_signature", "encrypted_content", "annotations",
		"logprobs", "model", "taskType", "metadata":
		return askSkip
	case "source":
		return askSource
	case "data", "bytes", "images", "image_url", "video_url", "audio_url", "input_audio", "inlineData", "inline_data", "fileData", "file_data",
		"file", "file_id", "s3Location":
		return askMedia
	case "input", "args", "json", "response", "parameters":
		return askData
	}
	return askText
}

func askMediaKey(key []byte) askSlot {
	switch string(key) {
	case "url", "uri", "data", "bytes", "fileUri", "file_uri", "file_id", "file_data", "s3Location":
		return askMedia
	case "content", "text", "filename":
		return askText
	}
	return askSkip
}
