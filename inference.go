package steady

import (
	"net/http"

	"github.com/steadyhttp/steady/internal/wire"
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
	return req.Method == http.MethodPost && wire.Inference(pathOf(req))
}

// pathOf returns the path of req, which without a URL is for its base to refuse.
func pathOf(req *http.Request) string {
	if req.URL == nil {
		return ""
	}
	return req.URL.Path
}
