package sdktest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"strings"
	"testing"

	anthropicv1 "github.com/anthropics/anthropic-sdk-go"
	anthropicv2 "github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/openai/openai-go/v3"

	"github.com/steadyhttp/steady"
	"github.com/steadyhttp/steady/internal/fakeserver"
)

// A poster is an SDK's generic client.Post: it sends body as it is.
type poster struct {
	name string
	path string
	post func(ctx context.Context, to connection, path string, body io.Reader) error
}

func posters() []poster {
	return []poster{
		{"openai-go", "chat/completions", func(ctx context.Context, to connection, path string, body io.Reader) error {
			client := openaiClient(to)
			return client.Post(ctx, path, body, new(openai.ChatCompletion))
		}},
		{"anthropic-sdk-go v1", "v1/messages", func(ctx context.Context, to connection, path string, body io.Reader) error {
			client := anthropicV1Client(to)
			return client.Post(ctx, path, body, new(anthropicv1.Message))
		}},
		{"anthropic-sdk-go v2", "v1/messages", func(ctx context.Context, to connection, path string, body io.Reader) error {
			client := anthropicV2Client(to)
			return client.Post(ctx, path, body, new(anthropicv2.Message))
		}},
	}
}

// The SDKs give a *bytes.Reader a GetBody all of whose bodies share one cursor,
// and any other reader none, beside a ContentLength of 0.
func TestARawBodyArrivesWholeEachTime(t *testing.T) {
	question := []byte(`{"model":"fake-large","messages":[],"pad":"` + strings.Repeat("x", 200<<10) + `"}`)
	bodies := map[string]func() io.Reader{
		"bytes.Reader":    func() io.Reader { return bytes.NewReader(question) },
		"without GetBody": func() io.Reader { return struct{ io.Reader }{bytes.NewReader(question)} },
	}
	for _, sdk := range posters() {
		for name, body := range bodies {
			t.Run(sdk.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				r := newRig(t)
				r.play(fakeserver.Sequence(status(503), fakeserver.ResetAfterBody(), fakeserver.OK()))
				if err := sdk.post(t.Context(), connection{url: r.url, client: r.client}, sdk.path, body()); err != nil {
					t.Error(err)
				}
				wantWhole(t, r, question, 3)
			})
		}
	}
}

// wantWhole checks that n requests came, each with this body.
func wantWhole(t *testing.T, r *rig, body []byte, n int) {
	t.Helper()
	sum := sha256.Sum256(body)
	log := r.srv.Log()
	wantCount(t, "requests", len(log), n)
	for i, e := range log {
		if e.BodyHash != hex.EncodeToString(sum[:]) {
			t.Errorf("request %d came with %d bytes, not the %d that were sent", i+1, e.BodyLen, len(body))
		}
	}
}

// The first two attempts end while net/http is still sending.
func TestARawBodyThatWasCutOffHalfWayArrivesWholeTheNextTime(t *testing.T) {
	question := []byte(`{"model":"fake-large","messages":[],"pad":"` + strings.Repeat("x", 8<<20) + `"}`)
	for _, sdk := range posters() {
		t.Run(sdk.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.play(fakeserver.Sequence(
				fakeserver.Status(503, fakeserver.EarlyThenRead(16<<10, 0)), fakeserver.ResetBeforeBody(), fakeserver.OK()))
			err := sdk.post(t.Context(), connection{url: r.url, client: r.client}, sdk.path, bytes.NewReader(question))
			if err != nil {
				t.Error(err)
			}
			sum, log := sha256.Sum256(question), r.srv.Log()
			if last := log[len(log)-1]; len(log) != 3 || last.BodyHash != hex.EncodeToString(sum[:]) {
				t.Errorf("%d requests, the last with %d bytes, want 3 and %d", len(log), last.BodyLen, len(question))
			}
		})
	}
}

// What does not fit into the replay buffer is sent once, and not cut short.
func TestABodyWithoutGetBodyAboveTheReplayBufferIsSentOnce(t *testing.T) {
	question := []byte(`{"model":"fake-large","messages":[],"pad":"` + strings.Repeat("x", 64<<10) + `"}`)
	for _, sdk := range posters() {
		t.Run(sdk.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, steady.WithRetry(steady.ReplayBuffer(32<<10)))
			r.play(status(503))
			body := struct{ io.Reader }{bytes.NewReader(question)}
			if err := sdk.post(t.Context(), connection{url: r.url, client: r.client}, sdk.path, body); err == nil {
				t.Error("no error")
			}
			wantWhole(t, r, question, 1)
		})
	}
}

// An upload is no inference, so that it is sent again only after a 429.
func TestAMultipartUploadArrivesWholeEachTime(t *testing.T) {
	content := bytes.Repeat([]byte(`{"custom_id":"one"}`+"\n"), 20_000)
	upload := func(t *testing.T, r *rig) (*openai.FileObject, error) {
		t.Helper()
		client := openaiClient(connection{url: r.url, client: r.client})
		return client.Files.New(t.Context(), openai.FileNewParams{
			File: openai.File(bytes.NewReader(content), "batch.jsonl", "application/jsonl"), Purpose: openai.FilePurposeBatch,
		})
	}
	t.Run("after 429", func(t *testing.T) {
		r := newRig(t)
		done := fakeserver.Status(200, fakeserver.Body("application/json", `{"id":"file-1","object":"file"}`))
		r.play(fakeserver.Sequence(status(429), status(429), func(x *fakeserver.Exchange) {
			if !bytes.Contains(x.Body(), content) {
				t.Errorf("%d bytes, without the file", len(x.Body()))
			}
			done(x)
		}))
		file, err := upload(t, r)
		if err != nil || file.ID != "file-1" {
			t.Errorf("got %v, %v", file, err)
		}
		log := r.srv.Log()
		wantCount(t, "requests", len(log), 3)
		for i, e := range log {
			if e.BodyHash != log[len(log)-1].BodyHash {
				t.Errorf("request %d had another body than the last", i+1)
			}
		}
	})
	t.Run("not after 503", func(t *testing.T) {
		r := newRig(t)
		r.play(status(503))
		_, err := upload(t, r)
		if e, ok := errors.AsType[*openai.Error](err); !ok || e.StatusCode != 503 {
			t.Errorf("error %v, want the SDK's own for 503", err)
		}
		wantCount(t, "requests", r.requests(), 1)
	})
}
