package wire

import "strings"

// inferencePaths are the ends of the paths that ask a model for an answer.
var inferencePaths = [...]string{
	"/chat/completions", "/completions", "/messages", "/count_tokens", "/responses", "/embeddings", "/rerank", "/moderations",
	":generateContent", ":streamGenerateContent", ":embedContent", ":batchEmbedContents", ":countTokens", ":rawPredict", ":streamRawPredict",
	"/api/chat", "/api/generate", "/api/embed",
}

// inputOnlyPaths are the ends of those whose answer has no tokens.
var inputOnlyPaths = [...]string{"/embeddings", "/embed", "/rerank", "/moderations"}

// Inference reports whether a path asks a model for an answer, so that asking
// twice costs money and nothing else. What is posted to any other path may create
// something.
func Inference(path string) bool {
	switch path {
	case "/v1/chat/completions", "/chat/completions", "/v1/messages", "/v1/responses": // as most are
		return true
	}
	path = strings.TrimSuffix(path, "/")
	if strings.Contains(path, "/threads/") {
		return false // .../threads/{id}/messages stores a message and asks no model
	}
	if endsInAny(path, inferencePaths[:]) {
		return true
	}
	last := path[strings.LastIndexByte(path, '/')+1:]
	return strings.HasPrefix(last, "invoke") || strings.HasPrefix(last, "converse")
}

// isInputOnly reports whether the answer under a path has no tokens.
func isInputOnly(path string) bool {
	return endsInAny(strings.TrimSuffix(path, "/"), inputOnlyPaths[:]) ||
		strings.Contains(path, "/invoke") && strings.Contains(path, "embed") // an embedding model on Bedrock
}

func endsInAny(path string, suffixes []string) bool {
	for _, suffix := range suffixes {
		if strings.HasSuffix(path, suffix) {
			return true
		}
	}
	return false
}
