package sdktest

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

// openaiGo is github.com/openai/openai-go/v3.
func openaiGo() *sdk {
	s := &sdk{name: "openai-go", stainless: true, wraps: true, typed: true}
	s.keepsRetryAfter.call, s.keepsRetryAfter.stream = true, true
	s.open = func(_ *testing.T, to connection) (call, stream ask) {
		client := openaiClient(to)
		call = func(ctx context.Context, prompt string) (answer, error) {
			got, err := client.Chat.Completions.New(ctx, openaiQuestion(prompt))
			if err != nil {
				return answer{}, err
			}
			return answer{text: got.Choices[0].Message.Content}, nil
		}
		stream = func(ctx context.Context, prompt string) (answer, error) {
			chunks := client.Chat.Completions.NewStreaming(ctx, openaiQuestion(prompt))
			defer chunks.Close()
			var text strings.Builder
			for chunks.Next() {
				for _, choice := range chunks.Current().Choices {
					text.WriteString(choice.Delta.Content)
				}
			}
			return answer{text: text.String()}, chunks.Err()
		}
		return call, stream
	}
	s.told = func(_ answer, err error) (told, bool) {
		e, ok := errors.AsType[*openai.Error](err)
		if !ok {
			return told{}, false
		}
		return told{e.StatusCode, e.RawJSON(), e.Response.Header.Get("Retry-After")}, true
	}
	return s
}

func openaiClient(to connection) openai.Client {
	opts := []option.RequestOption{
		option.WithHTTPClient(to.client), option.WithBaseURL(to.url + "/v1"), option.WithAPIKey("key"),
	}
	if to.noRetries {
		opts = append(opts, option.WithMaxRetries(0))
	}
	if to.timeout > 0 {
		opts = append(opts, option.WithRequestTimeout(to.timeout))
	}
	return openai.NewClient(opts...)
}

func openaiQuestion(prompt string) openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{
		Model:    "fake-large",
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(prompt)},
	}
}
