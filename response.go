package steady

import (
	"net/http"
	"strings"
)

// bodyless reports whether resp was over at its headers. net/http says so by
// http.NoBody, whatever the reason; ContentLength is 0 too in the responses of
// simple fakes that have a body.
func bodyless(resp *http.Response) bool {
	if resp.Body == nil || resp.Body == http.NoBody {
		return true
	}
	return resp.StatusCode == http.StatusNoContent || resp.StatusCode == http.StatusNotModified ||
		resp.Request != nil && resp.Request.Method == http.MethodHead
}

// streams reports whether resp is sent piece by piece as it is made.
func streams(resp *http.Response) bool {
	ct := headerOf(resp, "Content-Type")
	for _, s := range [...]string{"text/event-stream", "application/x-ndjson", "application/vnd.amazon.eventstream"} {
		if strings.HasPrefix(ct, s) {
			return true
		}
	}
	return resp.StatusCode == http.StatusSwitchingProtocols
}

// headerOf returns the first value under key, which is in its canonical form.
func headerOf(resp *http.Response, key string) string {
	if values := resp.Header[key]; len(values) > 0 {
		return values[0]
	}
	return ""
}
