package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
)

// answer is a chat completion of some 270 bytes.
var answer = `{"id":"c-1","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"` +
	strings.Repeat("word ", 20) + `"},"finish_reason":"stop"}],"usage":{"prompt_tokens":20,"completion_tokens":20,"total_tokens":40}}`

// canned answers every request with the same 200 from memory, after it has read
// and closed the request's body as a transport does.
var canned = roundTripFunc(func(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		_, err := io.Copy(io.Discard, req.Body)
		req.Body.Close()
		if err != nil {
			return nil, err
		}
	}
	return &http.Response{
		Status: "200 OK", StatusCode: 200, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, ContentLength: int64(len(answer)),
		Body: io.NopCloser(strings.NewReader(answer)), Request: req,
	}, nil
})

// loopback starts a server that reads a request and answers as canned does, and
// returns a transport for it that keeps a connection for each goroutine.
func loopback() (base *http.Transport, url string, stop func()) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body) //nolint:errcheck // the client would report it
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, answer) //nolint:errcheck // the same
	}))
	base = &http.Transport{MaxIdleConns: 1024, MaxIdleConnsPerHost: 1024}
	return base, srv.URL, func() {
		base.CloseIdleConnections()
		srv.Close()
	}
}

const path = "/v1/chat/completions"

// call makes one call, as an SDK of OpenAI's does.
func call(ctx context.Context, rt http.RoundTripper, url string, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header["Content-Type"] = []string{"application/json"}
	req.Header["X-Stainless-Retry-Count"] = []string{"0"}
	resp, err := rt.RoundTrip(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d", resp.StatusCode)
	}
	return nil
}
