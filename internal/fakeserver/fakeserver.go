// Package fakeserver is a scriptable LLM server for tests and demonstrations.
//
// One core decides what happens to a request; two doors act it out. The socket door is a real HTTP/1.1 or HTTP/2
// server on loopback ([Server.Start], [Server.StartTLS], or the Server itself as an [http.Handler]). The in-process
// door ([Server.Transport]) is an [http.RoundTripper] without sockets, whose waits are all durably blocking, so that
// it works in virtual time inside a [testing/synctest] bubble. Make the Server inside the bubble then.
//
// It speaks OpenAI chat completions (POST …/chat/completions), OpenAI Responses (POST …/responses), Anthropic messages
// (POST …/messages and …/messages/count_tokens), Gemini (POST …/{model}:generateContent and
// …/{model}:streamGenerateContent) and GET …/models; what stands before those suffixes in the path does not matter.
// Keys are not looked at, in whatever header or parameter they come; [Server.Log] has the headers. Answers are plain
// JSON, or server-sent events when the request says "stream": true, or Gemini's path and alt=sse do. The text of an
// answer is a function of the request body ([Server.Answer]), so that a test can tell whether the right request got the
// right answer. [Play] answers with a recording instead.
//
// What goes wrong is a list of effects:
//
//	srv := fakeserver.New(
//		fakeserver.Latency(fakeserver.Uniform(50*time.Millisecond, 80*time.Millisecond)),
//		fakeserver.RateLimit(fakeserver.Bucket{PerSecond: 10, Burst: 20, Hint: fakeserver.Seconds}),
//		fakeserver.Outage(10*time.Second, 20*time.Second, fakeserver.Status(503)),
//		fakeserver.Sequence(fakeserver.Status(529), fakeserver.ResetAfterBody(), fakeserver.OK()),
//	)
//	defer srv.Close()
//	client := &http.Client{Transport: srv.Transport()}
//
// Every request passes the whole list in order. Effects that settle a request (a status, a reset, a stall, a
// rejection) act on it only if none before them did; effects that shape it (latency, headers, keep-alives) always act.
package fakeserver

import (
	"context"
	"net/http/httptest"
	"sync"
	"time"
)

// A Server is the core and its counters. It is safe for concurrent use. Make one with [New].
type Server struct {
	seed       uint64
	words      int
	logLimit   int
	readBuffer int
	start      time.Time
	done       chan struct{} // closed by Close: ends every hang and stall
	closing    sync.Once

	mu      sync.Mutex // guards what follows; held for moments only
	effects []Effect
	counts  Counts
	log     []*Entry
	servers []*httptest.Server
}

// An Option is something to give to [New]: an [Effect], or one of the settings [Seed], [Words], [LogLimit] and
// [ReadBuffer].
type Option interface{ apply(*Server) }

type setting func(*Server)

func (f setting) apply(s *Server) { f(s) }

// Seed sets the seed of everything random (default 1). What is drawn for a request depends on the seed and on the
// number of the request alone, not on time or on the requests before it.
func Seed(seed uint64) Option { return setting(func(s *Server) { s.seed = seed }) }

// Words sets how many words an answer has after its tag (default 8).
func Words(n int) Option { return setting(func(s *Server) { s.words = n }) }

// LogLimit sets how many of the latest requests [Server.Log] remembers (default 10,000).
func LogLimit(n int) Option { return setting(func(s *Server) { s.logLimit = n }) }

// ReadBuffer sets the size of the receive buffer of each HTTP/1.1 connection, so that a large request body stays unsent
// while the server does not read it. HTTP/2 has its own flow control, and the in-process door buffers nothing.
func ReadBuffer(bytes int) Option { return setting(func(s *Server) { s.readBuffer = bytes }) }

// New returns a server whose clock, the base of [Between] and its like, starts now.
func New(opts ...Option) *Server {
	s := &Server{seed: 1, words: 8, logLimit: 10_000, start: time.Now(), done: make(chan struct{})}
	for _, o := range opts {
		o.apply(s)
	}
	return s
}

// Script replaces the effects for the requests that arrive from now on. The clock and the counters go on.
func (s *Server) Script(effects ...Effect) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.effects = append([]Effect(nil), effects...)
}

// Close ends all hangs and stalls, refuses further requests at the in-process doors, and stops the servers that Start
// and StartTLS began. It returns when their handlers have returned.
func (s *Server) Close() {
	s.closing.Do(func() { close(s.done) })
	s.mu.Lock()
	servers := s.servers
	s.servers = nil
	s.mu.Unlock()
	for _, ts := range servers {
		ts.Close()
	}
}

func (s *Server) closed() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

// wait sleeps for d and reports whether it slept to the end: not when ctx was done or the server closed before.
func (s *Server) wait(ctx context.Context, d time.Duration) bool {
	if ctx.Err() != nil || s.closed() {
		return false
	}
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	case <-s.done:
		return false
	}
}

// hang blocks until ctx is done or the server closes.
func (s *Server) hang(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-s.done:
	}
}
