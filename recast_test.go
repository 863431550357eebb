package steady_test

import (
	"encoding/json"
	"io"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/steadyhttp/steady"
)

// recast sends body as the answer of status 200 to a request for one, and returns
// what the Attempt layer makes of it.
func recast(t *testing.T, contentType string, body []byte) (*http.Response, []byte) {
	t.Helper()
	rt := steady.Attempt()(roundTripFunc(func(req *http.Request) (*http.Response, error) {
		return respond(req, 200, http.Header{"Content-Type": {contentType}}, io.NopCloser(strings.NewReader(string(body)))), nil
	}))
	resp, err := rt.RoundTrip(request(t, http.MethodPost, "https://llm.test/v1/chat/completions", "q"))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	return resp, text
}

// SDKs make their own errors of an object under error, with a type and a message.
func TestAnErrorUnder200IsHandedUpInTheFormThatSDKsRead(t *testing.T) {
	for _, tt := range []struct {
		name, frame, want string
	}{
		{"that form as it is", `{"error":{"message":"busy","code":503},"id":1}`, `{"error":{"message":"busy","code":503},"id":1}`},
		{"an error within a response", `{"type":"response.failed","response":{"error":{"code":"server_error","message":"x"}}}`,
			`{"type":"error","error":{"code":"server_error","message":"x"}}`},
		{"an error that is a string", `{"error":"rate limit"}`, `{"type":"error","error":{"type":"rate_limit","code":"","param":"","message":"rate limit"}}`},
		{"a flat error", `{"code":"1302x","message":"too much"}`,
			`{"type":"error","error":{"type":"server_error","code":"1302x","param":"","message":"too much"}}`},
		{"an error that says nothing", `{"type":"error"}`,
			`{"type":"error","error":{"type":"server_error","code":"","param":"","message":"the answer is an error: server_error"}}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			resp, got := recast(t, "application/json", []byte(tt.frame))
			if string(got) != tt.want {
				t.Errorf("\n got %s\nwant %s", got, tt.want)
			}
			if resp.StatusCode < 400 || resp.ContentLength != int64(len(got)) {
				t.Errorf("status %d, length %d, of %d bytes", resp.StatusCode, resp.ContentLength, len(got))
			}
			want := http.Header{"Content-Type": {"application/json"}, "Content-Length": {strconv.Itoa(len(got))}}
			if !reflect.DeepEqual(resp.Header, want) {
				t.Errorf("header %v, want %v", resp.Header, want)
			}
		})
	}
}

// Whatever a provider sends under 200, an SDK that is handed an error in JSON for it
// can read that error; and what is no error is handed up byte by byte.
func FuzzRecast(f *testing.F) {
	f.Add(true, []byte(`{"error":{"message":"busy","code":503}}`))
	f.Add(true, []byte(`{"type":"error"}`))
	f.Add(true, []byte(`<html>`))
	f.Add(false, []byte("data: {\"error\":\"rate limit\"}\n\ndata: [DONE]\n\n"))
	f.Add(false, []byte("data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\ndata: [DONE]\n\n"))
	f.Fuzz(func(t *testing.T, plain bool, body []byte) {
		contentType := "text/event-stream"
		if plain {
			contentType = "application/json"
		}
		resp, got := recast(t, contentType, body)
		switch {
		case resp.StatusCode == 200:
			if !strings.HasPrefix(string(body), string(got)) {
				t.Errorf("got %q of %q", got, body)
			}
			return
		case resp.StatusCode < 400:
			t.Errorf("status %d", resp.StatusCode)
		case resp.ContentLength < 0: // a page under another status, and nothing else of it changed
			if string(got) != string(body) {
				t.Errorf("got %q, want %q", got, body)
			}
			return
		}
		var answer struct {
			Error *json.RawMessage `json:"error"`
		}
		if err := json.Unmarshal(got, &answer); err != nil || answer.Error == nil || !strings.HasPrefix(string(*answer.Error), "{") {
			t.Errorf("%q of %q is no error that an SDK can read: %v", got, body, err)
		}
	})
}
