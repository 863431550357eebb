package steady

import (
	"net/http"
	"strings"
)

// idempotent reports whether req may be done twice, by its method or because the
// server will know it again.
func idempotent(req *http.Request) bool {
	switch req.Method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, http.MethodPut, http.MethodDelete:
		return true
	}
	return req.Header.Get("Idempotency-Key") != ""
}

// inference reports whether req asks a model for an answer, so that doing it
// twice costs money and nothing else. Anything else may create something twice.
func inference(req *http.Request) bool {
	if req.Method != http.MethodPost || req.URL == nil {
		return false
	}
	path := strings.TrimSuffix(req.URL.Path, "/")
	if strings.Contains(path, "/threads/") {
		return false // .../threads/{id}/messages stores a message and asks no model
	}
	for _, s := range [...]string{
		"/chat/completions", "/completions", "/messages", "/count_tokens", "/responses", "/embeddings", "/rerank",
		":generateContent", ":streamGenerateContent", "/api/chat", "/api/generate",
	} {
		if strings.HasSuffix(path, s) {
			return true
		}
	}
	last := path[strings.LastIndexByte(path, '/')+1:]
	return strings.HasPrefix(last, "invoke") || strings.HasPrefix(last, "converse")
}
