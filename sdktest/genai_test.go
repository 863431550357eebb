package sdktest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/genai"

	"github.com/steadyhttp/steady"
	"github.com/steadyhttp/steady/internal/fakeserver"
)

// genaiGo is google.golang.org/genai against the Gemini API. It has retries of
// its own, which are off unless HTTPOptions.RetryOptions turns them on.
func genaiGo() *sdk {
	s := &sdk{name: "genai", wraps: true, typed: true}
	s.open = func(t *testing.T, to connection) (call, stream ask) {
		options := genai.HTTPOptions{BaseURL: to.url}
		if to.timeout > 0 {
			options.Timeout = &to.timeout
		}
		client := genaiClient(t, to.client, options)
		call = func(ctx context.Context, prompt string) (answer, error) {
			got, err := client.Models.GenerateContent(ctx, "fake-large", genai.Text(prompt), nil)
			if err != nil {
				return answer{}, err
			}
			return answer{text: got.Text()}, nil
		}
		stream = func(ctx context.Context, prompt string) (answer, error) {
			var text strings.Builder
			for got, err := range client.Models.GenerateContentStream(ctx, "fake-large", genai.Text(prompt), nil) {
				if err != nil {
					return answer{text: text.String()}, err
				}
				text.WriteString(got.Text())
			}
			return answer{text: text.String()}, nil
		}
		return call, stream
	}
	s.told = func(_ answer, err error) (told, bool) {
		e, ok := errors.AsType[genai.APIError](err)
		return told{status: e.Code, body: e.Message}, ok
	}
	return s
}

func genaiClient(t *testing.T, over *http.Client, options genai.HTTPOptions) *genai.Client {
	t.Helper()
	client, err := genai.NewClient(t.Context(), &genai.ClientConfig{
		Backend: genai.BackendGeminiAPI, APIKey: "key", HTTPClient: over, HTTPOptions: options,
	})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// No header tells these retries from calls of their own, and none ends them: who
// uses Steady leaves RetryOptions nil.
func TestGenaisOwnRetriesMultiplyIfTheyAreTurnedOn(t *testing.T) {
	r := newRig(t, steady.WithBreaker(steady.TripAfter(1000)))
	r.play(status(503))
	client := genaiClient(t, r.client, genai.HTTPOptions{BaseURL: r.url, RetryOptions: &genai.HTTPRetryOptions{
		InitialDelay: new(0.001), MaxDelay: new(0.002),
	}})
	_, err := client.Models.GenerateContent(t.Context(), "fake-large", genai.Text("ahoy"), nil)
	if e, ok := errors.AsType[genai.APIError](err); !ok || e.Code != 503 {
		t.Errorf("error %v, want the SDK's own for status 503", err)
	}
	wantCount(t, "round trips", r.roundTrips.Load(), 5)
	wantCount(t, "requests", r.requests(), 15)
}

func forGemini(x *fakeserver.Exchange) bool {
	return strings.HasSuffix(x.Path, ":generateContent") || strings.HasSuffix(x.Path, ":streamGenerateContent")
}

// geminiAnswer has srv answer in Gemini's words what the dialects of the fake
// server do not know. It goes before the effects of a script, which may replace
// the body, and geminiOK goes after them.
func geminiAnswer(srv *fakeserver.Server) fakeserver.Effect {
	return fakeserver.When(forGemini, func(x *fakeserver.Exchange) {
		text := srv.Answer(x.Body()).Text
		if strings.HasSuffix(x.Path, ":generateContent") {
			fakeserver.Body("application/json", geminiChunk(text, "STOP"))(x)
			return
		}
		var events strings.Builder
		tokens := strings.SplitAfter(text, " ")
		for i, token := range tokens {
			reason := ""
			if i == len(tokens)-1 {
				reason = "STOP"
			}
			fmt.Fprintf(&events, "data: %s\r\n\r\n", geminiChunk(token, reason))
		}
		fakeserver.Body("text/event-stream", events.String())(x)
	})
}

func geminiOK() fakeserver.Effect {
	return fakeserver.When(forGemini, fakeserver.Status(http.StatusOK))
}

func geminiChunk(text, reason string) string {
	candidate := map[string]any{
		"index": 0, "content": map[string]any{"role": "model", "parts": []any{map[string]any{"text": text}}},
	}
	if reason != "" {
		candidate["finishReason"] = reason
	}
	return asJSON(map[string]any{"candidates": []any{candidate}, "modelVersion": "fake-large"})
}

// geminiFault is the body of an error status, in Gemini's words.
func geminiFault(status int) fakeserver.Effect {
	return fakeserver.When(forGemini, func(x *fakeserver.Exchange) {
		fakeserver.Body("application/json", asJSON(map[string]any{"error": map[string]any{
			"code": status, "status": "FAKE", "message": fmt.Sprintf("no (request %d)", x.N),
		}}))(x)
	})
}

func asJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // of maps and strings, so it cannot be
	}
	return string(b)
}
