package fakeserver

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// A dialect is how a provider writes things down. A new one is a value of this interface and a line in route.
type dialect interface {
	whole(generation) []byte       // the answer as one JSON object
	stream(generation) []event     // the answer piece by piece, mostly as server-sent events
	mediaType() string             // of a stream
	fault(problem) []byte          // the body of an error status
	frame(problem) []byte          // an error in the middle of a stream
	keepAlive() []byte             // what a stream carries while nothing happens
	identify(h http.Header, n int) // the request id
	errorType(status int) string   // the usual type and code of an error status
	errorCode(status int) string
	pacing(h http.Header, limit, remaining int, now, full time.Time)
}

// An event is a server-sent event, ready to send. finish marks those that say how the answer ended.
type event struct {
	data   []byte
	finish bool
}

// A generation is what a model made of a request.
type generation struct {
	n         int
	model     string
	withUsage bool
	created   int64
	Answer
}

// A problem is an error that the server reports.
type problem struct {
	kind, code, message string
	n                   int
	status              int // 0 in a stream
}

// An Answer is what the server makes of a request body.
type Answer struct {
	Text         string
	InputTokens  int
	OutputTokens int
}

// Answer returns what the server answers to a request with this body: a tag, made of the first eight hex digits of
// the body's SHA-256, and then as many words as [Words] says. Each of them is one output token.
func (s *Server) Answer(body []byte) Answer {
	sum := sha256.Sum256(body)
	words := make([]string, 0, s.words+1)
	words = append(words, hex.EncodeToString(sum[:4]))
	for i := range s.words {
		words = append(words, vocabulary[(int(sum[i%len(sum)])+i)%len(vocabulary)])
	}
	return Answer{strings.Join(words, " "), inputTokens(body), len(words)}
}

const alphabet = "amber birch cedar delta ember fjord grove heron inlet jetty kelp larch maple north ocean pines"

var vocabulary = strings.Fields(alphabet)

func inputTokens(body []byte) int { return (len(body) + 3) / 4 }

// tokens splits the text so that the pieces add up to it.
func (a Answer) tokens() []string { return strings.SplitAfter(a.Text, " ") }

// kind is what a path asks for.
type kind int

const (
	unknownPath kind = iota
	generate
	countTokens
	listModels
)

func route(method, path, query string) (kind, dialect) {
	post := method == http.MethodPost
	if g, ok := routeGemini(path, query); ok {
		return pick(post, generate), g
	}
	switch {
	case strings.HasSuffix(path, "/chat/completions"):
		return pick(post, generate), openAI{}
	case strings.HasSuffix(path, "/responses"):
		return pick(post, generate), responses{}
	case strings.HasSuffix(path, "/messages"):
		return pick(post, generate), anthropic{}
	case strings.HasSuffix(path, "/messages/count_tokens"):
		return pick(post, countTokens), anthropic{}
	case strings.HasSuffix(path, "/models") && method == http.MethodGet:
		return listModels, openAI{}
	}
	return unknownPath, nil
}

func pick(ok bool, k kind) kind {
	if ok {
		return k
	}
	return unknownPath
}

// problem describes an error status in words; the dialect names its type unless the script did.
func (x *Exchange) problem(status int) problem {
	text := http.StatusText(status)
	if text == "" {
		text = "Overloaded"
	}
	return problem{
		kind: or(x.want.errType, x.dialect().errorType(status)), code: or(x.want.errCode, x.dialect().errorCode(status)),
		message: fmt.Sprintf("%s (request %d)", text, x.N), n: x.N, status: status,
	}
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// models answers GET …/models in a form that the SDKs of both dialects read.
func models(at time.Time) []byte {
	type model struct {
		ID          string `json:"id"`
		Object      string `json:"object"`
		Type        string `json:"type"`
		OwnedBy     string `json:"owned_by"`
		DisplayName string `json:"display_name"`
		Created     int64  `json:"created"`
		CreatedAt   string `json:"created_at"`
	}
	var data []model
	for _, id := range []string{"fake-large", "fake-small"} {
		data = append(data, model{id, "model", "model", "fakeserver", id, at.Unix(), at.UTC().Format(time.RFC3339)})
	}
	return marshal(map[string]any{
		"object": "list", "data": data, "has_more": false, "first_id": data[0].ID, "last_id": data[len(data)-1].ID,
	})
}

// marshal is for values made here, which always can be written as JSON.
func marshal(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}
