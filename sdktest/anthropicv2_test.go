package sdktest

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
)

// anthropicV2 is github.com/anthropics/anthropic-sdk-go/v2.
func anthropicV2() *sdk {
	s := &sdk{name: "anthropic-sdk-go v2", stainless: true, wraps: true, typed: true}
	s.keepsRetryAfter.call, s.keepsRetryAfter.stream = true, true
	s.open = func(_ *testing.T, to connection) (call, stream ask) {
		client := anthropicV2Client(to)
		call = func(ctx context.Context, prompt string) (answer, error) {
			got, err := client.Messages.New(ctx, anthropicV2Question(prompt))
			if err != nil {
				return answer{}, err
			}
			return answer{text: got.Content[0].Text}, nil
		}
		stream = func(ctx context.Context, prompt string) (answer, error) {
			events := client.Messages.NewStreaming(ctx, anthropicV2Question(prompt))
			defer events.Close()
			var text strings.Builder
			for events.Next() {
				text.WriteString(events.Current().Delta.Text)
			}
			return answer{text: text.String()}, events.Err()
		}
		return call, stream
	}
	s.told = func(_ answer, err error) (told, bool) {
		e, ok := errors.AsType[*anthropic.Error](err)
		if !ok {
			return told{}, false
		}
		return told{e.StatusCode, e.RawJSON(), e.Response.Header.Get("Retry-After")}, true
	}
	return s
}

func anthropicV2Client(to connection) anthropic.Client {
	opts := []option.RequestOption{
		option.WithHTTPClient(to.client), option.WithBaseURL(to.url), option.WithAPIKey("key"),
	}
	if to.noRetries {
		opts = append(opts, option.WithMaxRetries(0))
	}
	if to.timeout > 0 {
		opts = append(opts, option.WithRequestTimeout(to.timeout))
	}
	return anthropic.NewClient(opts...)
}

func anthropicV2Question(prompt string) anthropic.MessageNewParams {
	return anthropic.MessageNewParams{
		Model:     "fake-large",
		MaxTokens: 64,
		Messages:  []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(prompt))},
	}
}

// anthropicV2Batch creates a batch of one message.
func anthropicV2Batch(ctx context.Context, to connection) (id string, err error) {
	client := anthropicV2Client(to)
	batch, err := client.Messages.Batches.New(ctx, anthropic.MessageBatchNewParams{
		Requests: []anthropic.MessageBatchNewParamsRequest{{
			CustomID: "one",
			Params: anthropic.MessageBatchNewParamsRequestParams{
				Model:     "fake-large",
				MaxTokens: 64,
				Messages:  []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("ahoy"))},
			},
		}},
	})
	if err != nil {
		return "", err
	}
	return batch.ID, nil
}
