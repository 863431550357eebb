package wire

import (
	"strings"
	"testing"
)

// BenchmarkCharge reads bodies of about 100 KiB, as a long conversation has.
func BenchmarkCharge(b *testing.B) {
	const size = 100 << 10
	fill := func(s string) string { return strings.Repeat(s, size/len(s)) }
	message := func(text string) string { return `{"role":"user","content":"` + text + `"}` }
	bodies := []struct{ name, body string }{
		{"short", openAIWeather},
		{"english", `{"messages":[` + message(fill("The quick brown fox jumps over the lazy dog. ")) + `]}`},
		{"chinese", `{"messages":[` + message(fill("清晨的公园里，老人们在湖边打太极拳。")) + `]}`},
		{"chinese_escaped", `{"messages":[` + message(fill(`\u6e05\u6668\u7684\u516c\u56ed\u91cc`)) + `]}`},
		{"code", `{"messages":[` + message(fill(`if err != nil {\n\treturn fmt.Errorf(\"read: %w\", err)\n}\n`)) + `]}`},
		{"many_messages", `{"messages":[` + strings.TrimSuffix(fill(message("Yes, do that.")+","), ",") + `]}`},
		{"tools", `{"messages":[],` + openAIWeather[strings.Index(openAIWeather, `"tools"`):strings.Index(openAIWeather, `[{"type":"function"`)+1] + strings.TrimSuffix(fill(`{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{"a":{"type":"string"}}}}},`), ",") + `]}`},
		{"image", `{"messages":[{"role":"user","content":[{"image_url":{"url":"data:image/png;base64,` + fill("iVBORw0KGgo") + `"}}]}]}`},
	}
	for _, bb := range bodies {
		b.Run(bb.name, func(b *testing.B) {
			body := []byte(bb.body)
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				ChargeOf("api.openai.com", "/v1/chat/completions", body, -1)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(body))*1024, "ns/KiB")
		})
	}
	if c := ChargeOf("api.openai.com", "/v1/chat/completions", []byte(bodies[1].body), -1); c.Input < size/8 {
		b.Errorf("got %+v, so that the bodies are not read", c)
	}
}
