package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"golang.org/x/time/rate"

	"github.com/steadyhttp/steady"
)

// A client is one way to make the calls of the batch. All of them use the real
// openai-go SDK, and all but one know the provider's limit.
type client struct {
	name  string // in the JSON
	label string // in the table
	call  func(ctx context.Context, prompt string) error
	close func()
}

// labels are the clients' names in the order in which they are shown.
var labels = [...]string{"no retries", "SDK retries", "sleep(1s)", "Steady", "Steady, untold"}

// ways is how many clients there are.
const ways = len(labels)

// newClients returns the ways, each of which talks to the server at its URL. The
// last one is not told the limit.
func newClients(limit float64, urls [ways]string) ([]client, error) {
	limited, err := steady.New(steady.WithRateLimit(limit, int(limit)))
	if err != nil {
		return nil, err
	}
	learning, err := steady.New()
	if err != nil {
		return nil, err
	}
	told, untold := &http.Client{Transport: limited}, &http.Client{Transport: learning}
	none, sdk, sleep := pool(), pool(), pool()
	noRetries := option.WithMaxRetries(0)
	return []client{
		{"none", labels[0], paced(limit, chat(urls[0], none, noRetries)), none.CloseIdleConnections},
		{"sdk", labels[1], paced(limit, chat(urls[1], sdk)), sdk.CloseIdleConnections},
		{"sleep", labels[2], paced(limit, sleeping(chat(urls[2], sleep, noRetries))), sleep.CloseIdleConnections},
		{"steady", labels[3], chat(urls[3], told, noRetries), told.CloseIdleConnections},
		{"untold", labels[4], chat(urls[4], untold, noRetries), untold.CloseIdleConnections},
	}, nil
}

// pool returns an HTTP client with connections of its own, as many as it needs.
func pool() *http.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost = t.MaxIdleConns
	return &http.Client{Transport: t}
}

// chat calls through the SDK, over the given HTTP client.
func chat(url string, over *http.Client, opts ...option.RequestOption) func(context.Context, string) error {
	opts = append(opts, option.WithBaseURL(url+"/v1"), option.WithAPIKey("demo"), option.WithHTTPClient(over))
	api := openai.NewClient(opts...)
	return func(ctx context.Context, prompt string) error {
		answer, err := api.Chat.Completions.New(ctx, openai.ChatCompletionNewParams{
			Model:    "deepseek-chat",
			Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(prompt)},
		})
		if err != nil {
			return err
		}
		if len(answer.Choices) != 1 || answer.Choices[0].FinishReason != "stop" || answer.Choices[0].Message.Content == "" {
			return errors.New("an answer without a text")
		}
		return nil
	}
}

// paced is what a careful user of x/time/rate writes around each call.
func paced(limit float64, call func(context.Context, string) error) func(context.Context, string) error {
	bucket := rate.NewLimiter(rate.Limit(limit), int(limit))
	return func(ctx context.Context, prompt string) error {
		if err := bucket.Wait(ctx); err != nil {
			return err
		}
		return call(ctx, prompt)
	}
}

// sleeping is the retry loop that most of us have written once: five more tries,
// a second apart.
func sleeping(call func(context.Context, string) error) func(context.Context, string) error {
	return func(ctx context.Context, prompt string) error {
		err := call(ctx, prompt)
		for range 5 {
			if err == nil {
				return nil
			}
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			err = call(ctx, prompt)
		}
		return fmt.Errorf("after six tries: %w", err)
	}
}
