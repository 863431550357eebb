package sdktest

import (
	"context"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/llms/anthropic"
	"github.com/tmc/langchaingo/llms/openai"
)

// langchainOpenAI is llms/openai of github.com/tmc/langchaingo. It replaces
// every error of an *http.Client by a text of its own.
func langchainOpenAI() *sdk {
	s := &sdk{name: "langchaingo openai", told: langchainTold}
	s.open = func(t *testing.T, to connection) (call, stream ask) {
		model, err := openai.New(openai.WithHTTPClient(to.client),
			openai.WithBaseURL(to.url+"/v1"), openai.WithToken("key"), openai.WithModel("fake-large"))
		if err != nil {
			t.Fatal(err)
		}
		return langchainAsks(model)
	}
	return s
}

// langchainAnthropic is llms/anthropic of the same.
func langchainAnthropic() *sdk {
	s := &sdk{name: "langchaingo anthropic", wraps: true, told: langchainTold}
	s.open = func(t *testing.T, to connection) (call, stream ask) {
		model, err := anthropic.New(anthropic.WithHTTPClient(to.client),
			anthropic.WithBaseURL(to.url+"/v1"), anthropic.WithToken("key"), anthropic.WithModel("fake-large"))
		if err != nil {
			t.Fatal(err)
		}
		return langchainAsks(model)
	}
	return s
}

func langchainAsks(model llms.Model) (call, stream ask) {
	call = func(ctx context.Context, prompt string) (answer, error) {
		text, err := llms.GenerateFromSinglePrompt(ctx, model, prompt)
		return answer{text: text}, err
	}
	stream = func(ctx context.Context, prompt string) (answer, error) {
		var text strings.Builder
		piece := func(_ context.Context, chunk []byte) error { text.Write(chunk); return nil }
		_, err := llms.GenerateFromSinglePrompt(ctx, model, prompt, llms.WithStreamingFunc(piece))
		return answer{text: text.String()}, err
	}
	return call, stream
}

var langchainStatus = regexp.MustCompile(`API returned unexpected status code: (\d+): (.*)`)

// langchainTold reads the text, for there is nothing else.
func langchainTold(_ answer, err error) (told, bool) {
	if err == nil {
		return told{}, false
	}
	m := langchainStatus.FindStringSubmatch(err.Error())
	if m == nil {
		return told{}, false
	}
	status, _ := strconv.Atoi(m[1]) // digits alone, as matched
	return told{status: status, body: m[2]}, true
}
