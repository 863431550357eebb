package wire

import (
	"bytes"
	"fmt"
	"testing"
)

// A deltas makes n events that differ as the events of a stream do.
type deltas struct {
	name        string
	contentType string
	event       func(i int) string
}

var words = []string{"The", " quick", " brown", " fox", ",", " jumps", ".\\n\\n", " over", " the", " lazy", " 狗", " {\\\"a\\\": 1}"}

var benchStreams = []deltas{
	{"chat", "text/event-stream", func(i int) string {
		return fmt.Sprintf("data: {\"id\":\"chatcmpl-fix0001\",\"object\":\"chat.completion.chunk\",\"created\":1760000000,\"model\":\"gpt-x\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"%s\"},\"finish_reason\":null}]}\n\n", words[i%len(words)])
	}},
	{"chat_obfuscated", "text/event-stream", func(i int) string {
		return fmt.Sprintf("data: {\"id\":\"chatcmpl-fix0001\",\"object\":\"chat.completion.chunk\",\"created\":1760000000,\"model\":\"gpt-x\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"%s\"},\"logprobs\":null,\"finish_reason\":null}],\"usage\":null,\"obfuscation\":\"%x\"}\n\n", words[i%len(words)], i*7919)
	}},
	{"anthropic", "text/event-stream", func(i int) string {
		return fmt.Sprintf("event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"%s\"}}\n\n", words[i%len(words)])
	}},
	{"responses", "text/event-stream", func(i int) string {
		return fmt.Sprintf("event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"sequence_number\":%d,\"item_id\":\"msg_1\",\"output_index\":0,\"content_index\":0,\"delta\":\"%s\",\"logprobs\":[],\"obfuscation\":\"%x\"}\n\n", i, words[i%len(words)], i*7919)
	}},
	{"running_usage", "text/event-stream", func(i int) string {
		return fmt.Sprintf("data: {\"id\":\"chatcmpl-fix0001\",\"object\":\"chat.completion.chunk\",\"created\":1760000000,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"%s\",\"reasoning_content\":null},\"finish_reason\":null}],\"usage\":{\"prompt_tokens\":12,\"completion_tokens\":%d,\"total_tokens\":%d}}\n\n", words[i%len(words)], i, i+12)
	}},
	{"gemini", "text/event-stream", func(i int) string {
		return fmt.Sprintf("data: {\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[{\"text\":\"%s\"}]},\"index\":0}],\"usageMetadata\":{\"promptTokenCount\":12,\"candidatesTokenCount\":%d,\"totalTokenCount\":%d},\"modelVersion\":\"gemini-x\"}\r\n\r\n", words[i%len(words)], i, i+12)
	}},
	{"ollama", "application/x-ndjson", func(i int) string {
		return fmt.Sprintf("{\"model\":\"llama-x\",\"created_at\":\"2026-10-20T12:00:00.%09dZ\",\"message\":{\"role\":\"assistant\",\"content\":\"%s\"},\"done\":false}\n", i, words[i%len(words)])
	}},
}

const benchEvents = 2000

func (s deltas) make() []byte {
	var b bytes.Buffer
	for i := range benchEvents {
		b.WriteString(s.event(i))
	}
	return b.Bytes()
}

// BenchmarkDecoder reads a stream of small events in the pieces that a
// transport hands out: an event at a time, or what a buffer holds.
func BenchmarkDecoder(b *testing.B) {
	for _, s := range benchStreams {
		body := s.make()
		for name, size := range map[string]int{"4KiB": 4096, "64KiB": 64 << 10, "event": len(body) / benchEvents} {
			b.Run(s.name+"/"+name, func(b *testing.B) {
				b.SetBytes(int64(len(body)))
				b.ReportAllocs()
				d := NewDecoder(s.contentType, "/v1/chat/completions")
				for b.Loop() {
					for from := 0; from < len(body); from += size {
						d.Write(body[from:min(len(body), from+size)])
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchEvents, "ns/event")
			})
		}
	}
}

// BenchmarkEventAtATime has the borders where a flush puts them.
func BenchmarkEventAtATime(b *testing.B) {
	for _, s := range benchStreams {
		var events [][]byte
		size := 0
		for i := range benchEvents {
			events = append(events, []byte(s.event(i)))
			size += len(events[i])
		}
		b.Run(s.name, func(b *testing.B) {
			b.SetBytes(int64(size))
			b.ReportAllocs()
			d := NewDecoder(s.contentType, "")
			for b.Loop() {
				for _, e := range events {
					d.Write(e)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchEvents, "ns/event")
		})
	}
}
