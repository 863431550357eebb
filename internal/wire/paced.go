package wire

import (
	"net/http"
	"strings"
)

// Paced reports whether h may say what is left of a limit, at the cost of a look
// at its keys. Pacing then reads it.
func Paced(h http.Header) bool {
	for key := range h {
		for _, prefix := range [...]string{"X-Ratelimit-", "Anthropic-Ratelimit-", "Ratelimit", "X-Tokenlimit-"} {
			if strings.HasPrefix(key, prefix) {
				return true
			}
		}
	}
	return false
}
