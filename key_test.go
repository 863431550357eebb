package steady_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/steadyhttp/steady"
)

func TestKeyByModel(t *testing.T) {
	tests := []struct{ name, url, body, want string }{
		{"the model of the body", "https://api.test/v1/chat/completions", `{"model":"m-1","messages":[]}`, "api.test/m-1"},
		{"as the last key, behind others of that name", "https://API.test/v1/messages",
			`{"messages":[{"model":"no","content":"\"model\":\"no\" }"}], "x":"model", "model" : "m/2"}`, "api.test/m/2"},
		{"no string", "https://api.test/v1/messages", `{"model":7}`, "api.test"},
		{"a list", "https://api.test/v1/messages", `["model","x"]`, "api.test"},
		{"cut", "https://api.test/v1/messages", `{"model":"m`, "api.test"},
		{"no body", "https://api.test:8443/v1/models", ``, "api.test:8443"},
		{"Gemini", "https://g.test/v1beta/models/gemini-x:generateContent", `{}`, "g.test/gemini-x"},
		{"Azure", "https://a.test/openai/deployments/d1/chat/completions?api-version=1", `{}`, "a.test/d1"},
		{"Bedrock", "https://b.test/model/claude/invoke", `{}`, "b.test/claude"},
		{"a name too long to be one", "https://api.test/v1/messages", `{"model":"` + strings.Repeat("x", 300) + `"}`, "api.test"},
		{"beyond what is looked at", "https://api.test/v1/messages", `{"x":"` + strings.Repeat("x", 1<<20) + `","model":"m"}`, "api.test"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			req, err := http.NewRequest(http.MethodPost, tt.url, strings.NewReader(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			if got := steady.KeyByModel(req); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func FuzzKeyByModel(f *testing.F) {
	f.Add(`{"model":"m"}`)
	f.Add(`{"a":{"model":1},"model":"\"}"}`)
	f.Fuzz(func(t *testing.T, body string) {
		req, err := http.NewRequest(http.MethodPost, "https://h.test/v1/messages", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if key := steady.KeyByModel(req); !strings.HasPrefix(key, "h.test") || len(key) > 200 {
			t.Errorf("key %q", key)
		}
	})
}
