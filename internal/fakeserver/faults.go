package fakeserver

import (
	"net/http"
	"time"
)

// An Effect changes what happens to a request. Package functions make the usual ones; a function literal can choose
// among them by calling them:
//
//	func(x *fakeserver.Exchange) {
//		if x.Header.Get("X-Tenant") == "b" {
//			fakeserver.Status(402)(x)
//		}
//	}
//
// Effects that count, such as Sequence and RateLimit, count for themselves: use one value in one server.
type Effect func(*Exchange)

func (e Effect) apply(s *Server) { s.effects = append(s.effects, e) }

// wishes is what the effects have asked for.
type wishes struct {
	settled     bool
	unread      bool
	noAnswer    bool
	billed      bool
	end         Ending
	status      int
	header      http.Header
	errType     string
	errCode     string
	replaced    bool
	contentType string
	body        []byte
	streamed    bool // body is of unknown length
	pieceSize   int  // of body; 0 for the whole at once
	pieceWait   time.Duration
	cut         Point
	frame       *problem
	frameAfter  int
	drain       drain
	latency     choice[time.Duration]
	first       choice[time.Duration]
	generation  choice[time.Duration]
	keep        choice[keepAlive]
}

func (w *wishes) headers() http.Header {
	if w.header == nil {
		w.header = http.Header{}
	}
	return w.header
}

// A choice keeps the latest value, except that what was asked for inside a fault outranks what was asked for in general.
type choice[T any] struct {
	v     T
	depth int
}

func (c *choice[T]) set(depth int, v T) {
	if depth >= c.depth {
		c.v, c.depth = v, depth
	}
}

// settle lets f decide about a request that nothing has decided about yet.
func (x *Exchange) settle(f func()) {
	if x.want.settled {
		return
	}
	x.depth++
	f()
	x.depth--
	x.want.settled = true
}

// OK leaves the request alone. It is for the good steps of a [Sequence].
func OK() Effect { return func(*Exchange) {} }

// Status answers with a status and a body in the error format of the dialect. The effects in with apply to this
// answer only: [RetryAfter], [Header], [ErrorKind], [Body], [Latency], [Stall], [Cut], [EarlyThenRead] and so on.
func Status(code int, with ...Effect) Effect {
	return func(x *Exchange) {
		x.settle(func() {
			x.want.status = code
			for _, e := range with {
				e(x)
			}
		})
	}
}

// Statuses is a [Sequence] of statuses in which 200 stands for [OK].
func Statuses(codes ...int) Effect {
	steps := make([]Effect, len(codes))
	for i, code := range codes {
		if steps[i] = OK(); code != http.StatusOK {
			steps[i] = Status(code)
		}
	}
	return Sequence(steps...)
}

// Header sets a response header; several values make several lines.
func Header(name string, values ...string) Effect {
	return func(x *Exchange) { x.want.headers()[http.CanonicalHeaderKey(name)] = values }
}

// RetryAfter sets the Retry-After header to any text.
func RetryAfter(text string) Effect { return Header("Retry-After", text) }

// ConnectionClose announces the end of the connection: HTTP/1.1 closes it after the answer, HTTP/2 sends a graceful
// GOAWAY. The in-process door has no connection and only sets Response.Close.
func ConnectionClose() Effect { return Header("Connection", "close") }

// ErrorKind sets type and code of the error body in place of the usual ones for the status.
func ErrorKind(kind, code string) Effect {
	return func(x *Exchange) { x.want.errType, x.want.errCode = kind, code }
}

// Body replaces the body of the answer, for instance by the HTML page of a proxy.
func Body(contentType, text string) Effect {
	return func(x *Exchange) {
		x.want.replaced, x.want.contentType, x.want.body = true, contentType, []byte(text)
	}
}

// Billed counts the request as a billed generation although its status is an error, as behind a gateway that gives up
// (524) while the model goes on.
func Billed() Effect { return func(x *Exchange) { x.want.billed = true } }

// ResetBeforeBody resets the connection before the request body has been read.
func ResetBeforeBody() Effect { return noAnswer(Reset, true) }

// ResetAfterBody reads the whole request and then resets the connection. The request is billed.
func ResetAfterBody() Effect { return noAnswer(Reset, false) }

// CloseAfterBody reads the whole request and closes the connection without an answer: the client sees EOF. The
// request is billed. HTTP/2 has no such thing and resets the stream.
func CloseAfterBody() Effect { return noAnswer(FIN, false) }

// Hang reads the whole request and never answers; it ends when the client leaves. The request is billed.
func Hang() Effect { return noAnswer(Stalled, false) }

func noAnswer(end Ending, unread bool) Effect {
	return func(x *Exchange) {
		x.settle(func() { x.want.noAnswer, x.want.end, x.want.unread = true, end, unread })
	}
}

// EarlyThenRead, as a part of a [Status], answers before the request body has been read and then goes on to read it,
// chunk bytes in each pause. Over HTTP/2, where a client stops sending when an error status comes, the answer is ended
// at once instead and the rest of the request is refused with NO_ERROR.
func EarlyThenRead(chunk int, pause time.Duration) Effect {
	return func(x *Exchange) { x.want.unread, x.want.drain = true, drain{chunk, pause} }
}

// EarlyThenClose, as a part of a [Status], answers before the request body has been read and closes the connection. A
// client on a socket that is still sending may see a reset in place of the answer. HTTP/2 closes the stream only.
func EarlyThenClose() Effect { return EarlyThenRead(0, 0) }

// Stall sends the body up to a point and then nothing until the client leaves, except keep-alives if there are any.
func Stall(at Point) Effect { return Cut(at, Stalled) }

// Cut ends the body at a point. Clean leaves out the rest and ends the message in good form, as relays do that forge
// the end of a stream.
func Cut(at Point, how Ending) Effect {
	return func(x *Exchange) {
		x.settle(func() { x.want.cut, x.want.end = at, how })
	}
}

// StreamError sends the first events of a stream and then an error in the form of the dialect, all under status 200.
func StreamError(afterEvents int, kind, code string) Effect {
	return func(x *Exchange) {
		x.settle(func() {
			x.want.frame = &problem{kind: kind, code: code, message: "The server had an error while processing your request", n: x.N}
			x.want.frameAfter = afterEvents
		})
	}
}

// KeepAlive fills every wait of the body longer than an interval, before and between content and in a stall. An empty
// text stands for what the dialect sends: a comment, or a ping event of Anthropic. An answer that is not a stream gets
// its headers at once and blank lines while it is generated.
func KeepAlive(every time.Duration, text string) Effect {
	return func(x *Exchange) {
		k := keepAlive{every: every}
		if text != "" {
			k.data = []byte(text)
		}
		x.want.keep.set(x.depth, k)
	}
}

// A Point is a place in the body of an answer, as a number of bytes.
type Point func([]event) int

// AfterBytes is the point after n bytes.
func AfterBytes(n int) Point { return func([]event) int { return n } }

// AfterEvents is the point after n events of a stream; the first only opens the answer. A plain body is one event.
func AfterEvents(n int) Point {
	return func(events []event) int { return length(events[:min(n, len(events))]) }
}

// Inside is a point in the middle of the n-th event of a stream, from 1.
func Inside(n int) Point {
	return func(events []event) int {
		n := min(n, len(events))
		return length(events[:n]) - len(events[n-1].data)/2
	}
}

// BeforeFinish is the point after all content and before the event that says why the answer ended. In a plain body it
// is the middle.
func BeforeFinish() Point {
	return func(events []event) int {
		for i, e := range events {
			if e.finish {
				return length(events[:i])
			}
		}
		return length(events) / 2
	}
}

// BeforeDone is the point before the last event: "[DONE]" or "message_stop". In a plain body it is the last byte.
func BeforeDone() Point {
	return func(events []event) int {
		if len(events) < 2 {
			return max(length(events)-1, 0)
		}
		return length(events[:len(events)-1])
	}
}

func length(events []event) (n int) {
	for _, e := range events {
		n += len(e.data)
	}
	return n
}
