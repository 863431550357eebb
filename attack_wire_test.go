package steady_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/steadyhttp/steady"
)

// Answers on sockets, under both versions of HTTP, whose server or reader leaves
// at every point there is.

var answerPieces = []string{
	": keep-alive\n\n",
	"data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n",
	"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"caf\u00e9\"}}]}\n\n",
	"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\" au lait\"}}]}\n\n",
	"data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
	"data: {\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":2,\"total_tokens\":5}}\n\n",
	"data: [DONE]\n\n",
}

const finishPiece = 5 // so many pieces have come when the answer is whole

// overBoth runs f against a server of h under HTTP/1.1 and under HTTP/2.
func overBoth(t *testing.T, h http.HandlerFunc, f func(t *testing.T, url string, rt *steady.Transport, heard *events), opts ...steady.Option) {
	for _, http2 := range []bool{false, true} {
		t.Run(fmt.Sprintf("http2 %v", http2), func(t *testing.T) {
			server := httptest.NewUnstartedServer(h)
			server.Config.ErrorLog = nil
			server.EnableHTTP2 = http2
			server.StartTLS()
			defer server.Close()
			base := server.Client().Transport.(*http.Transport)
			defer base.CloseIdleConnections()
			heard := &events{}
			rt := must(t)(steady.New(append([]steady.Option{steady.WithBase(base), steady.WithObserver(heard), steady.WithRetry(steady.MaxAttempts(1))}, opts...)...))
			f(t, server.URL, rt, heard)
		})
	}
}

// sends answers with the first n pieces, and then breaks the connection.
func sends(n int, w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	w.(http.Flusher).Flush()
	for _, piece := range answerPieces[:n] {
		_, _ = io.WriteString(w, piece)
		w.(http.Flusher).Flush()
	}
	if n < len(answerPieces) {
		panic(http.ErrAbortHandler)
	}
}

func TestAResetAtEveryPointOfAStream(t *testing.T) {
	for n := range len(answerPieces) + 1 {
		handler := func(w http.ResponseWriter, req *http.Request) { sends(n, w) }
		for _, reader := range readers {
			t.Run(fmt.Sprintf("%d pieces, %s", n, reader.name), func(t *testing.T) {
				overBoth(t, handler, func(t *testing.T, url string, rt *steady.Transport, heard *events) {
					resp, err := rt.RoundTrip(streamRequest(t, t.Context(), url, chat))
					if err != nil {
						t.Fatal(err)
					}
					defer resp.Body.Close()
					got, err := reader.read(resp.Body)
					if want := strings.Join(answerPieces[:n], ""); string(got) != want {
						t.Errorf("got %q, want %q", got, want)
					}
					if whole := n >= finishPiece; whole && err != nil || !whole && !errors.Is(err, steady.ErrStreamTruncated) {
						t.Errorf("got error %v", err)
					}
					if end := of[steady.AttemptEnded](heard); len(end) != 1 || (end[0].Outcome == "ok") != (n >= finishPiece) {
						t.Errorf("ended as %+v", end)
					}
				})
			})
		}
	}
}

func TestTheReaderLeavesAtEveryPointOfAStream(t *testing.T) {
	for n := range len(answerPieces) {
		gone := make(chan struct{}, 2)
		handler := func(w http.ResponseWriter, req *http.Request) {
			defer func() { gone <- struct{}{} }()
			w.Header().Set("Content-Type", "text/event-stream")
			w.WriteHeader(http.StatusOK)
			for _, piece := range answerPieces[:n] {
				_, _ = io.WriteString(w, piece)
			}
			w.(http.Flusher).Flush()
			<-req.Context().Done()
		}
		for _, how := range []string{"cancel", "close", "close while reading", "cancel while reading", "close twice"} {
			t.Run(fmt.Sprintf("%d pieces, %s", n, how), func(t *testing.T) {
				overBoth(t, handler, func(t *testing.T, url string, rt *steady.Transport, heard *events) {
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					resp, err := rt.RoundTrip(streamRequest(t, ctx, url, chat))
					if err != nil {
						t.Fatal(err)
					}
					leave(resp.Body, cancel, how, len(strings.Join(answerPieces[:n], "")))
					<-gone // the server has been told
					// The cancel is heard by a goroutine of its own.
					settled(t, "attempts whose end was not told", func() int { return max(0, 1-len(of[steady.AttemptEnded](heard))) })
					ends := of[steady.AttemptEnded](heard)
					if want := map[bool]string{true: "ok", false: "cancelled"}[n >= finishPiece]; len(ends) != 1 || ends[0].Outcome != want {
						t.Errorf("ended as %+v, want one %s", ends, want)
					}
				}, steady.WithTimeouts(steady.FirstEvent(10*time.Millisecond)))
			})
		}
	}
}

// leave reads what there is of a body and leaves it.
func leave(body io.ReadCloser, cancel func(), how string, size int) {
	_, _ = io.ReadFull(body, make([]byte, size))
	var reading sync.WaitGroup
	if strings.HasSuffix(how, "while reading") {
		reading.Go(func() { _, _ = body.Read(make([]byte, 10)) })
	}
	switch how {
	case "cancel":
		cancel()
		_, _ = body.Read(make([]byte, 10))
	case "cancel while reading":
		cancel()
		reading.Wait()
	case "close twice":
		body.Close()
	}
	body.Close()
	reading.Wait()
	if n, err := body.Read(make([]byte, 10)); n > 0 || err == nil {
		panic("a closed body can be read")
	}
}

func TestAnswersThatDoNotKeepToTheirHeaders(t *testing.T) {
	const answer = `{"choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}]}`
	tests := []struct {
		name    string
		method  string
		handler http.HandlerFunc
		body    string
		outcome string
		wantErr error
	}{
		{name: "longer than it is, but whole", body: answer, outcome: "ok", handler: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", fmt.Sprint(len(answer)+7))
			_, _ = io.WriteString(w, answer)
		}},
		{name: "longer than it is, and cut", body: answer[:40], outcome: "truncated", wantErr: steady.ErrStreamTruncated, handler: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", fmt.Sprint(len(answer)))
			_, _ = io.WriteString(w, answer[:40])
		}},
		{name: "an encoding that is none, whole", body: answer, outcome: "ok", handler: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Encoding", "identity")
			_, _ = io.WriteString(w, answer)
		}},
		{name: "an encoding that is none, cut", body: answerPieces[2], outcome: "truncated", wantErr: steady.ErrStreamTruncated, handler: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			w.Header().Set("Content-Encoding", "identity")
			_, _ = io.WriteString(w, answerPieces[2])
		}},
		{name: "an encoding that nobody undoes", body: "\x0b\x02\x80", outcome: "ok", handler: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			w.Header().Set("Content-Encoding", "br")
			_, _ = io.WriteString(w, "\x0b\x02\x80")
		}},
		{name: "no content of a stream's type", outcome: "ok", handler: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			w.WriteHeader(http.StatusNoContent)
		}},
		{name: "not modified, of a stream's type", outcome: "ok", handler: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			w.WriteHeader(http.StatusNotModified)
		}},
		{name: "a head of a stream", method: http.MethodHead, outcome: "ok", handler: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
		}},
		{name: "a type in capitals with a charset", body: answerPieces[2], outcome: "truncated", wantErr: steady.ErrStreamTruncated, handler: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "Text/Event-Stream;charset=UTF-8")
			_, _ = io.WriteString(w, answerPieces[2])
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			overBoth(t, tt.handler, func(t *testing.T, url string, rt *steady.Transport, heard *events) {
				req := streamRequest(t, t.Context(), url, chat)
				if tt.method != "" {
					req = request(t, tt.method, url+chat, "")
				}
				resp, err := rt.RoundTrip(req)
				if err != nil {
					t.Fatal(err)
				}
				defer resp.Body.Close()
				got, err := io.ReadAll(resp.Body)
				if string(got) != tt.body || !errors.Is(err, tt.wantErr) {
					t.Errorf("got %q, %v, want %q, %v", got, err, tt.body, tt.wantErr)
				}
				wantEnd(t, heard, tt.outcome)
			})
		})
	}
}

func TestAnErrorInTheMiddleOfAStreamIsNeverReadAsItsEnd(t *testing.T) {
	for _, broken := range []string{
		"event: error\ndata: {\"error\":{\"type\":\"overloaded_error\",\"message\":\"x\"}}\n\n",
		"data: {\"error\":\"upstream timed out\"}\n\ndata: [DONE]\n\n",
		"data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"error\"}]}\n\ndata: [DONE]\n\n",
		"{\"error\":{\"code\":503,\"status\":\"UNAVAILABLE\"}}",
		"data: {\"code\":500,\"msg\":\"busy\"}\n\n",
	} {
		handler := func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, answerPieces[1]+answerPieces[2])
			w.(http.Flusher).Flush()
			_, _ = io.WriteString(w, broken)
		}
		for _, reader := range readers {
			overBoth(t, handler, func(t *testing.T, url string, rt *steady.Transport, heard *events) {
				resp, err := rt.RoundTrip(streamRequest(t, t.Context(), url, chat))
				if err != nil {
					t.Fatal(err)
				}
				defer resp.Body.Close()
				got, err := reader.read(resp.Body)
				if _, ok := errors.AsType[*steady.AnswerError](err); !ok || strings.Contains(string(got), "[DONE]") {
					t.Errorf("%s: got %q, %v, want an AnswerError and no [DONE]", reader.name, got, err)
				}
				wantEnd(t, heard, of[steady.AttemptEnded](heard)[0].Outcome)
			})
		}
	}
}
