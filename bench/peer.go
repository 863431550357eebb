package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/steadyhttp/steady"
)

// peer is a column of the table of behaviour.
type peer struct {
	name string
	make stack
	sdk  bool // an SDK with retries of its own, and no transport
}

func peers() []peer {
	return []peer{
		{"Steady", steadyCalm, false},
		{"failsafe-go", failsafeStack(failsafePolicies{}), false},
		{"go-retryablehttp", retryablehttpStack, false},
		{"rehttp", rehttpStack, false},
		{"heimdall", heimdallStack, false},
		{"azcore", azcoreStack, false},
		{"openai-go's own", openaiStack, true},
	}
}

// steadyCalm is New with a breaker out of reach: what a peer does about a
// failure could not be seen beside it if Steady stopped calling.
func steadyCalm(base http.RoundTripper, s settings) http.RoundTripper {
	opts := []steady.Option{steady.WithBreaker(steady.TripAfter(1<<20), steady.TripRatio(1, 30e9, 1<<20))}
	if s.inFlight > 0 {
		opts = append(opts, steady.WithConcurrency(s.inFlight))
	}
	if s.attemptTimeout > 0 {
		opts = append(opts, steady.WithTimeouts(steady.HeaderTimeout(s.attemptTimeout)))
	}
	return newSteady(base, s, opts...)
}

// openaiStack makes a call as openai-go does that is left to its own retries.
func openaiStack(base http.RoundTripper, s settings) http.RoundTripper {
	return roundTripFunc(func(req *http.Request) (*http.Response, error) {
		client := openaiClient(base, req.URL.Scheme+"://"+req.URL.Host+"/v1/", option.WithMaxRetries(s.attempts-1))
		var opts []option.RequestOption
		if s.attemptTimeout > 0 {
			opts = append(opts, option.WithRequestTimeout(s.attemptTimeout))
		}
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		var resp *http.Response
		err = client.Post(req.Context(), "chat/completions", json.RawMessage(body), &resp, opts...)
		if e, ok := errors.AsType[*openai.Error](err); ok {
			return e.Response, nil
		}
		return resp, err
	})
}

func openaiClient(base http.RoundTripper, url string, opts ...option.RequestOption) openai.Client {
	return openai.NewClient(append([]option.RequestOption{
		option.WithBaseURL(url), option.WithAPIKey("none"), option.WithHTTPClient(&http.Client{Transport: base}),
	}, opts...)...)
}

const (
	chatBody   = `{"model":"fake-large","messages":[{"role":"user","content":"hi"}]}`
	streamBody = `{"model":"fake-large","stream":true,"messages":[{"role":"user","content":"hi"}]}`
)

// request makes a request of an SDK's kind, with GetBody.
func request(ctx context.Context, url, body string) *http.Request {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+path, bytes.NewReader([]byte(body)))
	if err != nil {
		panic(err) // url is that of a test server
	}
	req.Header.Set("Content-Type", "application/json")
	return req
}
