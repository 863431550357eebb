package sdktest

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/sashabaranov/go-openai"
)

// goOpenAI is github.com/sashabaranov/go-openai.
func goOpenAI() *sdk {
	s := &sdk{name: "go-openai", wraps: true, typed: true}
	s.keepsRetryAfter.call = true
	s.open = func(_ *testing.T, to connection) (call, stream ask) {
		config := openai.DefaultConfig("key")
		config.BaseURL, config.HTTPClient = to.url+"/v1", to.client
		client := openai.NewClientWithConfig(config)
		call = func(ctx context.Context, prompt string) (answer, error) {
			got, err := client.CreateChatCompletion(ctx, goOpenAIQuestion(prompt))
			if err != nil {
				return answer{header: got.Header()}, err
			}
			return answer{text: got.Choices[0].Message.Content}, nil
		}
		stream = func(ctx context.Context, prompt string) (answer, error) {
			chunks, err := client.CreateChatCompletionStream(ctx, goOpenAIQuestion(prompt))
			if err != nil {
				return answer{}, err
			}
			defer chunks.Close()
			var text strings.Builder
			for {
				chunk, err := chunks.Recv()
				if errors.Is(err, io.EOF) {
					return answer{text: text.String()}, nil
				}
				if err != nil {
					return answer{text: text.String()}, err
				}
				for _, choice := range chunk.Choices {
					text.WriteString(choice.Delta.Content)
				}
			}
		}
		return call, stream
	}
	s.told = func(a answer, err error) (told, bool) {
		e, ok := errors.AsType[*openai.APIError](err)
		if !ok {
			return told{}, false
		}
		return told{e.HTTPStatusCode, e.Message, a.header.Get("Retry-After")}, true
	}
	return s
}

func goOpenAIQuestion(prompt string) openai.ChatCompletionRequest {
	return openai.ChatCompletionRequest{
		Model:    "fake-large",
		Messages: []openai.ChatCompletionMessage{{Role: openai.ChatMessageRoleUser, Content: prompt}},
	}
}
