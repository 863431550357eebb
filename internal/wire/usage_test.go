package wire

import "testing"

func TestUsageOfEveryDialect(t *testing.T) {
	tests := []struct {
		name  string
		usage []string // of one event after the other
		want  Usage
	}{
		{"none", []string{`null`}, Usage{}},
		{"OpenAI", []string{`{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15,"prompt_tokens_details":{"cached_tokens":4}}`}, Usage{Input: 10, Output: 5, Total: 15, CachedInput: 4}},
		{"DeepSeek", []string{`{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15,"prompt_cache_hit_tokens":8,"prompt_cache_miss_tokens":2}`}, Usage{Input: 10, Output: 5, Total: 15, CachedInput: 8}},
		{"OpenRouter with a price", []string{`{"prompt_tokens":10,"completion_tokens":5,"cost":2.5e-3,"prompt_tokens_details":{"cache_write_tokens":6}}`}, Usage{Input: 10, Output: 5, Total: 15, CacheWrite: 6, CostUSD: 0.0025}},
		{"Anthropic, whose input is beside the cache", []string{`{"input_tokens":10,"cache_read_input_tokens":4,"cache_creation_input_tokens":100,"output_tokens":1}`, `{"output_tokens":5}`}, Usage{Input: 114, Output: 5, Total: 119, CachedInput: 4, CacheWrite: 100}},
		{"Anthropic with zeros at the end", []string{`{"input_tokens":10,"output_tokens":1}`, `{"input_tokens":0,"output_tokens":5}`}, Usage{Input: 10, Output: 5, Total: 15}},
		{"LiteLLM, whose prompt has the cache in it", []string{`{"prompt_tokens":114,"completion_tokens":5,"cache_read_input_tokens":4,"cache_creation_input_tokens":100}`}, Usage{Input: 114, Output: 5, Total: 119, CachedInput: 4, CacheWrite: 100}},
		{"new-api, which says all of it twice", []string{`{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15,"input_tokens":0,"output_tokens":0}`}, Usage{Input: 10, Output: 5, Total: 15}},
		{"Gemini with thoughts and a tool's prompt", []string{`{"promptTokenCount":10,"totalTokenCount":10}`, `{"promptTokenCount":10,"candidatesTokenCount":5,"thoughtsTokenCount":7,"toolUsePromptTokenCount":2,"cachedContentTokenCount":3,"totalTokenCount":24}`}, Usage{Input: 12, Output: 12, Total: 24, CachedInput: 3}},
		{"a total that is not said again", []string{`{"prompt_tokens":10,"completion_tokens":1,"total_tokens":11}`, `{"completion_tokens":5}`}, Usage{Input: 10, Output: 5, Total: 15}},
		{"running counts are not added up", []string{`{"prompt_tokens":10,"completion_tokens":1,"total_tokens":11}`, `{"prompt_tokens":10,"completion_tokens":2,"total_tokens":12}`}, Usage{Input: 10, Output: 2, Total: 12}},
		{"counts that went through JavaScript", []string{`{"prompt_tokens":1e1,"completion_tokens":5.0}`}, Usage{Input: 10, Output: 5, Total: 15}},
		{"counts that are none", []string{`{"prompt_tokens":-4,"completion_tokens":1.5,"total_tokens":99999999999999999999}`}, Usage{}},
		{"counts in words", []string{`{"prompt_tokens":"10","completion_tokens":null}`}, Usage{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := NewDecoder(sseType, "")
			for _, u := range tt.usage {
				d.Write([]byte(events(`{"usage":` + u + `}`)))
			}
			tt.want.Known = tt.want.Total > 0
			if got := d.Usage(); got != tt.want {
				t.Errorf("\n got %+v\nwant %+v", got, tt.want)
			}
		})
	}
}
