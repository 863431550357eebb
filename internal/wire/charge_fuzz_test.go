package wire

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// FuzzCharge holds that a charge is never negative and never absurd, whatever the
// request, that a longer body never comes to less than its beginning of which the
// length was known, and that a message to which text is added never gets cheaper.
func FuzzCharge(f *testing.F) {
	f.Add("api.openai.com", "/v1/chat/completions", []byte(openAIWeather), int64(-1), "hello")
	f.Add("api.anthropic.com", "/v1/messages", []byte(anthropicWeather), int64(1<<20), "你好")
	f.Add("generativelanguage.googleapis.com", "/v1beta/models/g:generateContent", []byte(`{"contents":[{"parts":[{"inlineData":{"data":"AAAA"}}]}],"generationConfig":{"maxOutputTokens":5}}`), int64(0), "data:a;base64,")
	f.Add("localhost:11434", "/api/chat", []byte(`{"messages":[{"role":"user","content":"\ud83d\u00`), int64(100), "\x00\"\\")
	f.Add("", "/model/anthropic.claude-opus-4/converse", []byte(`{"messages":[{"content":[{"text":"a"}]}],"inferenceConfig":{"maxTokens":9}}`), int64(1)<<62, "a")
	f.Fuzz(func(t *testing.T, host, path string, body []byte, size int64, added string) {
		c := ChargeOf(host, path, body, size)
		checkCharge(t, c)
		if longer := ChargeOf(host, path, body, max(min(size, 1<<62), int64(len(body)))+4096); longer.Input < c.Input {
			t.Errorf("got %d tokens of input for a longer body, want no less than %d", longer.Input, c.Input)
		}
		if len(body) > MaxChargeBody/8 || len(added) > MaxChargeBody/8 {
			return // cut, so that other text would be read
		}
		text := strings.ToValidUTF8(string(body), "?") // or what is added might complete a character
		before, after := say(t, text), say(t, text+added)
		got, want := ChargeOf(host, "/v1/chat/completions", after, -1), ChargeOf(host, "/v1/chat/completions", before, -1)
		checkCharge(t, got)
		if got.Input < want.Input || got.Reserved() < want.Reserved() {
			t.Errorf("got %+v with more text, want no less than %+v", got, want)
		}
	})
}

func checkCharge(t *testing.T, c Charge) {
	t.Helper()
	const most = maxLimit * maxChoices
	for _, u := range []Usage{{}, {Known: true, Input: 5, Output: -1, CachedInput: 9}, {Known: true, Output: 1 << 62, Total: -1}} {
		if got := c.Settled(u); got < 0 || got > 8*most {
			t.Errorf("%+v settled by %+v: got %d", c, u, got)
		}
	}
	if got := c.Reserved(); c.Input < 0 || c.Output < 0 || got < 0 || got > 2*most {
		t.Errorf("%+v: got %d reserved", c, got)
	}
}

// say returns a request with one message.
func say(t *testing.T, text string) []byte {
	t.Helper()
	quoted, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Join([][]byte{[]byte(`{"messages":[{"role":"user","content":`), quoted, []byte(`}],"max_tokens":7}`)}, nil)
}
