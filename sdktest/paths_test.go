package sdktest

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// An sdk is a library as its user sees it.
type sdk struct {
	name      string
	stainless bool // it retries by itself, and numbers its attempts
	wraps     bool // errors.Is finds the transport's error in its own
	typed     bool // its error for a status has a type

	// open makes a client and returns its two ways to ask.
	open func(t *testing.T, to connection) (call, stream ask)

	// told reads the SDK's own error for an error status. It reports false if
	// err is another one.
	told func(a answer, err error) (told, bool)

	// keepsRetryAfter says where the caller can read Retry-After.
	keepsRetryAfter struct{ call, stream bool }
}

// A connection is all that an SDK is configured with.
type connection struct {
	url    string
	client *http.Client
	settings
}

// settings are what some rows change in an SDK that has it.
type settings struct {
	noRetries bool          // option.WithMaxRetries(0)
	timeout   time.Duration // option.WithRequestTimeout, genai.HTTPOptions.Timeout
}

// An ask sends a prompt and returns the answer whole.
type ask func(ctx context.Context, prompt string) (answer, error)

type answer struct {
	text   string
	header http.Header // the response's, if the SDK shows it beside an error
}

// told is what an SDK's error tells of the last response.
type told struct {
	status     int
	body       string // the whole of it, or the message alone
	retryAfter string
}

// A path is one way to ask.
type path struct {
	*sdk
	stream bool
}

func (p path) String() string {
	if p.stream {
		return p.name + " stream"
	}
	return p.name + " call"
}

func (p path) keepsHint() bool {
	if p.stream {
		return p.keepsRetryAfter.stream
	}
	return p.keepsRetryAfter.call
}

// paths are all SDKs, each with a call and with a stream.
func paths() []path {
	var all []path
	for _, s := range []*sdk{openaiGo(), anthropicV1(), anthropicV2(), goOpenAI(), langchainOpenAI(), langchainAnthropic(), genaiGo()} {
		all = append(all, path{s, false}, path{s, true})
	}
	return all
}

func stainless() []path {
	return slices.DeleteFunc(paths(), func(p path) bool { return !p.stainless })
}

// each runs a row over paths.
func each(t *testing.T, over []path, row func(t *testing.T, p path)) {
	t.Helper()
	for _, p := range over {
		t.Run(strings.ReplaceAll(p.String(), " ", "/"), func(t *testing.T) {
			t.Parallel()
			row(t, p)
		})
	}
}
