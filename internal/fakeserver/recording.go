package fakeserver

import (
	"net/http"
	"strings"
	"time"
)

// Play answers with a recording, byte for byte: its status, headers and body, and how it ended. A Clean body of a type
// that is not streamed has a Content-Length; any other is of unknown length, so that Reset, FIN and Stalled come after
// all of its bytes. What the recording says of its own length and encoding of transfer is left out. The effects in
// with apply to this answer only: [Pieces], [Cut], [Stall], [Latency] and so on.
func Play(status int, contentType string, header http.Header, body []byte, after Ending, with ...Effect) Effect {
	return func(x *Exchange) {
		x.settle(func() {
			w := &x.want
			w.status, w.end = status, after
			w.replaced, w.contentType, w.body = true, contentType, body
			w.streamed = after != Clean || streamedType(contentType)
			for name, values := range header {
				switch name = http.CanonicalHeaderKey(name); name {
				case "Content-Length", "Transfer-Encoding":
				default:
					w.headers()[name] = values
				}
			}
			for _, e := range with {
				e(x)
			}
		})
	}
}

// Pieces sends a recording in pieces of size bytes, the last of which may be shorter, and waits before each of them
// after the first.
func Pieces(size int, wait time.Duration) Effect {
	return func(x *Exchange) { x.want.pieceSize, x.want.pieceWait = max(size, 1), wait }
}

func streamedType(contentType string) bool {
	for _, s := range [...]string{"event-stream", "eventstream", "ndjson"} {
		if strings.Contains(contentType, s) {
			return true
		}
	}
	return false
}

// recorded lays a recording out in its pieces.
func (w *wishes) recorded() []step {
	if w.pieceSize == 0 {
		return []step{{w.first.v, w.body}}
	}
	var steps []step
	wait := w.first.v
	for rest := w.body; len(rest) > 0; wait = w.pieceWait {
		n := min(w.pieceSize, len(rest))
		steps = append(steps, step{wait, rest[:n]})
		rest = rest[n:]
	}
	return steps
}
