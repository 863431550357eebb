package fakeserver

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"hash/fnv"
	"math/rand/v2"
	"net/http"
	"time"
)

// An Exchange is one request on its way through the effects. The fields may be read, not changed.
type Exchange struct {
	N      int           // the number of the request at this server, from 1
	Since  time.Duration // from the start of the server's clock to the arrival
	Method string
	Path   string
	Header http.Header

	s     *Server
	at    time.Time
	kind  kind
	d     dialect
	coins *rand.Rand
	entry *Entry // guarded by s.mu

	read    func() ([]byte, error)
	body    []byte
	bodyErr error
	ask     ask
	bad     bool // the body is not a request of the dialect

	want  wishes
	depth int
	ended bool
	atEnd []func()
}

// An ask is what the server understands of a request body. OpenAI and Anthropic agree on these names; Gemini says it in the
// path.
type ask struct {
	Model         string `json:"model"`
	Stream        bool   `json:"stream"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
}

// arrival is what a door knows of a request before its body.
type arrival struct {
	method, path     string
	query            string
	header           http.Header
	contentLength    int64
	transferEncoding []string
	read             func() ([]byte, error) // called at most once
}

// arrive takes a request in: from here until finish it is counted as in flight.
func (s *Server) arrive(a arrival) *Exchange {
	now := time.Now()
	x := &Exchange{
		Since: now.Sub(s.start), Method: a.method, Path: a.path, Header: a.header,
		s: s, at: now, read: a.read,
	}
	x.kind, x.d = route(a.method, a.path, a.query)
	s.admit(x, a)
	x.coins = x.stream("coins")
	return x
}

// stream returns a source of randomness that depends on the seed, the number of the request and the purpose only.
func (x *Exchange) stream(purpose string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(purpose))
	return rand.New(rand.NewPCG(x.s.seed^h.Sum64(), uint64(x.N)))
}

// Body reads the whole request body on first use and returns it; nil if that failed. An effect or a condition that
// calls it makes the server read the body before it decides.
func (x *Exchange) Body() []byte {
	if x.read == nil {
		return x.body
	}
	read := x.read
	x.read = nil
	if x.body, x.bodyErr = read(); x.bodyErr != nil {
		x.body = nil
		return nil
	}
	x.bad = x.kind != listModels && json.Unmarshal(x.body, &x.ask) != nil
	if g, ok := x.d.(gemini); ok {
		x.ask.Model, x.ask.Stream = g.model, g.streamed
	}
	sum := sha256.Sum256(x.body)
	x.s.noteBody(x, hex.EncodeToString(sum[:]))
	return x.body
}

// Model returns the model that the request asks for. Like Stream, it reads the body.
func (x *Exchange) Model() string { x.Body(); return x.ask.Model }

// Stream reports whether the request asks for a stream.
func (x *Exchange) Stream() bool { x.Body(); return x.ask.Stream }

// decide runs the effects and, unless the plan is to act before that, reads the body. It fails if the body could not
// be read whole.
func (x *Exchange) decide() (plan, error) {
	x.s.mu.Lock()
	effects := x.s.effects
	x.s.mu.Unlock()
	for _, effect := range effects {
		effect(x)
	}
	if !x.want.unread {
		x.Body()
	}
	if x.bodyErr != nil {
		return plan{}, x.bodyErr
	}
	p := x.plan()
	if p.billed {
		x.s.bill(x)
	}
	return p, nil
}

// finish ends the exchange, once.
func (x *Exchange) finish(end Ending) {
	if x.ended {
		return
	}
	x.ended = true
	for _, f := range x.atEnd {
		f()
	}
	x.s.release(x, end)
}
