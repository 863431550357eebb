package wire

import (
	"fmt"
	"strings"
	"testing"
)

// The bodies below are of the shape that the provider documents or its SDK
// sends. Where the host has published what it counted, that is the count.
const (
	openAIWeather = `{"model":"gpt-4o","messages":[{"role":"system","content":"You are a helpful assistant that can answer to questions about the weather."},{"role":"user","content":"What's the weather like in San Francisco?"}],"tools":[{"type":"function","function":{"name":"get_current_weather","description":"Get the current weather in a given location","parameters":{"type":"object","properties":{"location":{"type":"string","description":"The city and state, e.g. San Francisco, CA"},"unit":{"type":"string","description":"The unit of temperature to return","enum":["celsius","fahrenheit"]}},"required":["location"]}}}],"temperature":0}`

	openAIJargon = `{"model":"gpt-4o","messages":[{"role":"system","content":"You are a helpful, pattern-following assistant that translates corporate jargon into plain English."},{"role":"system","name":"example_user","content":"New synergies will help drive top-line growth."},{"role":"system","name":"example_assistant","content":"Things working well together will increase revenue."},{"role":"system","name":"example_user","content":"Let's circle back when we have more bandwidth to touch base on opportunities for increased leverage."},{"role":"system","name":"example_assistant","content":"Let's talk later when we're less busy about how to do better."},{"role":"user","content":"This late pivot means we don't have time to boil the ocean for the client deliverable."}],"temperature":0,"max_tokens":1}`

	anthropicHello = `{"model":"claude-sonnet-4-5","max_tokens":1024,"system":"You are a scientist","messages":[{"role":"user","content":"Hello, Claude"}]}`

	anthropicWeather = `{"model":"claude-sonnet-4-5","max_tokens":1024,"tools":[{"name":"get_weather","description":"Get the current weather in a given location","input_schema":{"type":"object","properties":{"location":{"type":"string","description":"The city and state, e.g. San Francisco, CA"}},"required":["location"]}}],"messages":[{"role":"user","content":"What's the weather like in San Francisco?"}]}`
)

func TestChargeIsNearWhatTheHostCounted(t *testing.T) {
	tests := []struct {
		name       string
		host, path string
		body       string
		want       int64 // prompt tokens
	}{
		{"OpenAI's example of messages (OpenAI Cookbook, gpt-4o)", "api.openai.com", "/v1/chat/completions", openAIJargon, 124},
		{"OpenAI's example of a tool (OpenAI Cookbook, gpt-4o)", "api.openai.com", "/v1/chat/completions", openAIWeather, 101},
		{"Anthropic's example of messages (count_tokens, claude-sonnet-4-5)", "api.anthropic.com", "/v1/messages", anthropicHello, 14},
		{"Anthropic's example of a tool (count_tokens, claude-sonnet-4-5)", "api.anthropic.com", "/v1/messages", anthropicWeather, 403},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := ChargeOf(tt.host, tt.path, []byte(tt.body), -1).Input
			t.Logf("%d estimated, %d counted (%.2f)", got, tt.want, float64(got)/float64(tt.want))
			if f := float64(got) / float64(tt.want); f > 1.6 || f < 1/1.6 {
				t.Errorf("got %d tokens, want %d within a factor of 1.6", got, tt.want)
			}
		})
	}
}

// textsIn returns the estimate of a body in which every @ stands for a long text,
// in units of that text, so that a test sees which of its strings were read.
func textsIn(host, path, body string) int64 {
	text := strings.Repeat("ab ", 4000)
	one := estimated(`"` + text + `"`)
	got := ChargeOf(host, path, []byte(strings.ReplaceAll(body, "@", text)), -1).Input
	return (got + one/2) / one
}

func TestChargeReadsWhatTheModelReads(t *testing.T) {
	tests := []struct {
		name, path, body string
		want             int64 // how many of the texts count
	}{
		{"chat: a string", "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"@"}],"metadata":{"a":"@"},"user":"@"}`, 1},
		{"chat: parts", "/v1/chat/completions", `{"messages":[{"role":"user","content":[{"type":"text","text":"@"},{"type":"text","text":"@"}]}]}`, 2},
		{"chat: a tool call and its result", "/v1/chat/completions", `{"messages":[{"role":"assistant","content":null,"tool_calls":[{"id":"@","type":"function","function":{"name":"f","arguments":"{\"a\":\"@\"}"}}]},{"role":"tool","tool_call_id":"@","content":"@"}]}`, 2},
		{"chat: tools", "/v1/chat/completions", `{"tools":[{"type":"function","function":{"name":"f","description":"@","parameters":{"type":"object","properties":{"@":{"type":"string","enum":["@"]}}}}}],"messages":[{"role":"user","content":"hi"}]}`, 3},
		{"chat: a schema of the answer", "/v1/chat/completions", `{"messages":[{"role":"user","content":"hi"}],"response_format":{"type":"json_schema","json_schema":{"name":"x","schema":{"description":"@"}}}}`, 1},
		{"chat: reasoning that is sent back", "/v1/chat/completions", `{"messages":[{"role":"assistant","content":"@","reasoning_content":"@"}]}`, 2},
		{"responses: a string", "/v1/responses", `{"model":"m","instructions":"@","input":"@"}`, 2},
		{"responses: items", "/v1/responses", `{"input":[{"role":"user","content":[{"type":"input_text","text":"@"}]},{"type":"function_call","call_id":"@","name":"f","arguments":"@"},{"type":"function_call_output","call_id":"@","output":"@"},{"type":"reasoning","id":"@","encrypted_content":"@","summary":[]}]}`, 3},
		{"completions: several prompts", "/v1/completions", `{"prompt":["@","@"],"suffix":"@"}`, 3},
		{"embeddings: several inputs", "/v1/embeddings", `{"model":"m","input":["@","@","@"]}`, 3},
		{"rerank", "/v1/rerank", `{"query":"@","documents":["@",{"text":"@"}]}`, 3},
		{"Anthropic: blocks", "/v1/messages", `{"system":[{"type":"text","text":"@","cache_control":{"type":"@"}}],"messages":[{"role":"assistant","content":[{"type":"thinking","thinking":"@","signature":"@"},{"type":"tool_use","id":"@","name":"f","input":{"@":"@"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"@","content":[{"type":"text","text":"@"}]}]}]}`, 5},
		{"Anthropic: a document in plain text", "/v1/messages", `{"messages":[{"role":"user","content":[{"type":"document","source":{"type":"text","media_type":"text/plain","data":"@"}}]}]}`, 1},
		{"Anthropic: a document of blocks", "/v1/messages", `{"messages":[{"role":"user","content":[{"type":"document","source":{"type":"content","content":[{"type":"text","text":"@"}]}}]}]}`, 1},
		{"Anthropic: a search result", "/v1/messages", `{"messages":[{"role":"user","content":[{"type":"search_result","source":"https://example.com","title":"t","content":[{"type":"text","text":"@"}]}]}]}`, 1},
		{"Gemini", "/v1beta/models/gemini-x:streamGenerateContent", `{"systemInstruction":{"parts":[{"text":"@"}]},"contents":[{"role":"user","parts":[{"text":"@"}]},{"role":"model","parts":[{"functionCall":{"name":"f","args":{"a":"@"}},"thoughtSignature":"@"}]},{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"a":"@"}}}]}],"safetySettings":[{"category":"@"}]}`, 4},
		{"Gemini: a schema and tools", "/v1beta/models/gemini-x:generateContent", `{"contents":[],"tools":[{"functionDeclarations":[{"name":"f","description":"@"}]}],"generationConfig":{"responseSchema":{"description":"@"},"stopSequences":["@"]}}`, 2},
		{"Gemini: embeddings", "/v1beta/models/e:batchEmbedContents", `{"requests":[{"model":"@","content":{"parts":[{"text":"@"}]}},{"model":"@","content":{"parts":[{"text":"@"}]}}]}`, 2},
		{"Ollama: chat", "/api/chat", `{"model":"m","messages":[{"role":"user","content":"@"}],"format":{"a":"@"},"keep_alive":"5m"}`, 1},
		{"Ollama: generate", "/api/generate", `{"model":"m","system":"@","prompt":"@"}`, 2},
		{"Bedrock: converse", "/model/m/converse-stream", `{"system":[{"text":"@"}],"messages":[{"role":"user","content":[{"text":"@"},{"toolResult":{"toolUseId":"@","content":[{"json":{"a":"@"}},{"text":"@"}]}}]}],"toolConfig":{"tools":[{"toolSpec":{"name":"f","description":"@","inputSchema":{"json":{}}}}]},"additionalModelRequestFields":{"a":"@"}}`, 5},
		{"Bedrock: a model's own", "/model/amazon.titan-text/invoke", `{"inputText":"@","textGenerationConfig":{"stopSequences":["@"]}}`, 1},
		{"Cohere", "/v1/chat", `{"message":"@","chat_history":[{"role":"USER","message":"@"}],"preamble":"@"}`, 3},
		{"keys with escapes", "/v1/chat/completions", `{"mess\u0061ges":"@","messages":[{"role":"user","content":"@"}]}`, 1},
		{"white space of a person", "/v1/chat/completions", "{\n  \"messages\" : [ {\r\n\t\"role\" : \"user\" , \"content\" : \"@\"\n } ]\n}\n", 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := textsIn("relay.example", tt.path, tt.body); got != tt.want {
				t.Errorf("got %d texts counted, want %d", got, tt.want)
			}
		})
	}
}

func TestMediaCountFlat(t *testing.T) {
	file := strings.Repeat("iVBORw0KGgoAAAANSUhEUgAA+/9x", 10_000)
	tests := []struct {
		name, path, body string
		want             int64 // how many files
	}{
		{"chat: a data URL", "/v1/chat/completions", `{"messages":[{"role":"user","content":[{"type":"text","text":"what?"},{"type":"image_url","image_url":{"url":"data:image/png;base64,@","detail":"high"}}]}]}`, 1},
		{"chat: a data URL with escaped slashes", "/v1/chat/completions", `{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image\/png;base64,@"}}]}]}`, 1},
		{"chat: a link", "/v1/chat/completions", `{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://example.com/a.png"}}]}]}`, 1},
		{"chat: sound", "/v1/chat/completions", `{"messages":[{"role":"user","content":[{"type":"input_audio","input_audio":{"data":"@","format":"wav"}}]}]}`, 1},
		{"chat: a file", "/v1/chat/completions", `{"messages":[{"role":"user","content":[{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,@"}},{"type":"file","file":{"file_id":"file-abc"}}]}]}`, 2},
		{"responses", "/v1/responses", `{"input":[{"role":"user","content":[{"type":"input_image","image_url":"data:image/jpeg;base64,@"},{"type":"input_file","file_data":"data:application/pdf;base64,@"}]}]}`, 2},
		{"Anthropic", "/v1/messages", `{"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"@"}},{"type":"image","source":{"type":"url","url":"https://example.com/a.png"}}]}]}`, 2},
		{"Gemini", "/v1beta/models/g:generateContent", `{"contents":[{"parts":[{"inlineData":{"mimeType":"image/png","data":"@"}},{"inline_data":{"data":"@"}},{"fileData":{"fileUri":"https://example.com/f"}}]}]}`, 3},
		{"Ollama", "/api/chat", `{"messages":[{"role":"user","content":"what?","images":["@","@"]}]}`, 2},
		{"Ollama: generate", "/api/generate", `{"prompt":"what?","images":["@"]}`, 1},
		{"Bedrock", "/model/m/converse", `{"messages":[{"role":"user","content":[{"image":{"format":"png","source":{"bytes":"@"}}},{"document":{"name":"d","source":{"s3Location":{"uri":"s3://b/k"}}}}]}]}`, 2},
		{"a data URL where text should be", "/v1/chat/completions", `{"messages":[{"role":"user","content":"data:image/png;base64,@"}]}`, 1},
		{"the source of a search result is no file", "/v1/messages", `{"messages":[{"role":"user","content":[{"type":"search_result","source":"https://example.com"}]}]}`, 0},
		{"signatures are no files", "/v1/messages", `{"messages":[{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"@"}]}]}`, 0},
		{"a short word under the key of a file", "/v1/chat/completions", `{"messages":[{"role":"user","content":[{"data":"hello"}]}]}`, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := ChargeOf("relay.example", tt.path, []byte(strings.ReplaceAll(tt.body, "@", file)), -1).Input
			if rest := got - tt.want*mediaTokens; rest < 0 || rest > 30 {
				t.Errorf("got %d tokens, want %d for files and a few for the rest", got, tt.want*mediaTokens)
			}
		})
	}
}

func TestReservedAndSettledByProvider(t *testing.T) {
	chat := func(more string) string {
		return fmt.Sprintf(`{"messages":[{"role":"user","content":"%s"}]%s}`, strings.TrimSpace(strings.Repeat("ab ", 25)), more)
	}
	in := ChargeOf("relay.example", "/v1/embeddings", []byte(chat("")), -1).Input // of the prompt alone
	used := Usage{Known: true, Input: 40, Output: 7, Total: 47, CachedInput: 10}
	tests := []struct {
		name              string
		host, path, body  string
		reserved, settled int64
	}{
		{"OpenAI takes the larger", "api.openai.com", "/v1/chat/completions", chat(`,"max_tokens":500`), 500, 500},
		{"OpenAI, a prompt larger than the limit", "api.openai.com", "/v1/chat/completions", chat(`,"max_completion_tokens":5`), in, 47},
		{"OpenAI without a limit", "eu.api.openai.com:443", "/v1/chat/completions", chat(``), in, 47},
		{"OpenAI, several answers", "api.openai.com", "/v1/chat/completions", chat(`,"n":3,"max_tokens":500`), 1500, 1500},
		{"OpenAI responses", "api.openai.com", "/v1/responses", chat(`,"max_output_tokens":500`), 500, 500},
		{"Azure adds, and never looks again", "r.openai.azure.com", "/openai/deployments/d/chat/completions", chat(`,"max_tokens":500,"best_of":2`), in + 1000, in + 1000},
		{"Azure's newer path", "r.openai.azure.com", "/openai/v1/responses", chat(`,"max_output_tokens":500`), in + 500, in + 500},
		{"Azure behind a gateway", "gateway.example", "/openai/deployments/d/chat/completions", chat(`,"max_tokens":500`), in + 500, in + 500},
		{"Anthropic reserves the input alone", "api.anthropic.com", "/v1/messages", chat(`,"max_tokens":64000`), in, 37},
		{"Anthropic, where the cache counts", "api.anthropic.com", "/v1/messages", chat(`,"model":"claude-3-5-haiku-20241022","max_tokens":64000`), in, 47},
		{"Anthropic behind a gateway", "gateway.example", "/proxy/v1/messages", chat(`,"max_tokens":64000`), in, 37},
		{"Anthropic on Vertex", "us-east5-aiplatform.googleapis.com", "/v1/projects/p/locations/l/publishers/anthropic/models/claude-x:streamRawPredict", chat(`,"max_tokens":64000`), in, 37},
		{"Bedrock: Claude from 3.7 on", "bedrock-runtime.us-east-1.amazonaws.com", "/model/us.anthropic.claude-sonnet-4-20250514-v1%3A0/converse", chat(`,"inferenceConfig":{"maxTokens":500}`), in + 500, 30 + 5*7},
		{"Bedrock: older Claude", "bedrock-runtime.us-east-1.amazonaws.com", "/model/anthropic.claude-3-5-sonnet-20240620-v1:0/invoke", chat(`,"max_tokens":500`), in + 500, 37},
		{"Bedrock without a limit", "bedrock-runtime.us-east-1.amazonaws.com", "/model/meta.llama3-70b-instruct-v1:0/converse-stream", chat(``), in + bedrockOutput, 37},
		{"Bedrock, Claude without a limit", "bedrock-runtime.us-east-1.amazonaws.com", "/model/anthropic.claude-opus-4-1-v1:0/converse-stream", chat(``), in + claudeOutput, 30 + 5*7},
		{"Gemini limits the input", "generativelanguage.googleapis.com", "/v1beta/models/g:generateContent", chat(`,"generationConfig":{"maxOutputTokens":500}`), in, 40},
		{"Gemini under OpenAI's shape", "generativelanguage.googleapis.com", "/v1beta/openai/chat/completions", chat(`,"max_tokens":500`), in, 40},
		{"Gemini under OpenAI's shape, behind a gateway", "gateway.example", "/google/v1beta/openai/chat/completions", chat(`,"max_tokens":500`), in, 40},
		{"Bedrock under OpenAI's shape", "bedrock-runtime.us-west-2.amazonaws.com", "/openai/v1/chat/completions", chat(`,"model":"openai.gpt-oss-120b-1:0","max_tokens":500`), in + 500, 37},
		{"Claude at Azure", "r.services.ai.azure.com", "/anthropic/v1/messages", chat(`,"max_tokens":500`), in, 37},
		{"Groq gives the cache away", "api.groq.com", "/openai/v1/chat/completions", chat(`,"max_tokens":500`), in + 500, 37},
		{"Kimi never looks again", "api.moonshot.cn", "/v1/chat/completions", chat(`,"max_tokens":500`), in + 500, in + 500},
		{"Kimi under Anthropic's shape", "api.moonshot.ai", "/anthropic/v1/messages", chat(``), in + usualOutput, in + usualOutput},
		{"DeepSeek", "api.deepseek.com", "/chat/completions", chat(`,"max_tokens":500`), in + 500, 47},
		{"DeepSeek under Anthropic's shape", "api.deepseek.com", "/anthropic/v1/messages", chat(`,"max_tokens":500`), in + 500, 47},
		{"a relay without a limit", "relay.example", "/v1/chat/completions", chat(`,"max_tokens":null`), in + usualOutput, 47},
		{"a host whose name ends as Groq's", "xgroq.com", "/v1/chat/completions", chat(`,"max_tokens":500`), in + 500, 47},
		{"a host that only looks like OpenAI's", "notapi.openai.com.example", "/v1/chat/completions", chat(`,"max_tokens":500`), in + 500, 47},
		{"Ollama", "localhost:11434", "/api/chat", chat(`,"options":{"num_predict":500}`), in + 500, 47},
		{"Ollama without end", "localhost:11434", "/api/chat", chat(`,"options":{"num_predict":-1}`), in + usualOutput, 47},
		{"embeddings have no output", "relay.example", "/v1/embeddings", chat(``), in, 47},
		{"nor have Ollama's", "localhost:11434", "/api/embed", chat(``), in, 47},
		{"nor has a rerank", "relay.example", "/v1/rerank/", chat(``), in, 47},
		{"nor has a moderation", "relay.example", "/v1/moderations", chat(``), in, 47},
		{"nor has an embedding model on Bedrock", "bedrock-runtime.us-east-1.amazonaws.com", "/model/amazon.titan-embed-text-v2:0/invoke", chat(``), in, 37},
		{"counting tokens is free", "api.anthropic.com", "/v1/messages/count_tokens", chat(`,"max_tokens":500`), 0, 0},
		{"a path of one's own", "relay.example", "/ask", chat(`,"max_tokens":500`), in + 500, 47},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := ChargeOf(tt.host, tt.path, []byte(tt.body), int64(len(tt.body)))
			if got := c.Reserved(); got != tt.reserved {
				t.Errorf("reserved: got %d, want %d", got, tt.reserved)
			}
			if got := c.Settled(used); got != tt.settled {
				t.Errorf("settled: got %d, want %d", got, tt.settled)
			}
			if got := c.Settled(Usage{}); got != tt.reserved {
				t.Errorf("settled without a usage: got %d, want %d", got, tt.reserved)
			}
		})
	}
}

func TestSettledByAUsageThatSaysLittle(t *testing.T) {
	c := Charge{Input: 100, Output: 50}
	tests := []struct {
		name string
		u    Usage
		want int64
	}{
		{"a price alone", Usage{Known: true, CostUSD: 0.1}, 150},
		{"a total alone", Usage{Known: true, Total: 70}, 70},
		{"the output alone", Usage{Known: true, Output: 7, Total: 7}, 107},
		{"the input alone", Usage{Known: true, Input: 90, Total: 90}, 90},
		{"nonsense", Usage{Known: true, Input: -5, Output: -7, Total: -12}, 150},
		{"absurd counts", Usage{Known: true, Input: 1 << 62, Output: 1 << 62}, 2 * maxLimit},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := c.Settled(tt.u); got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
		})
	}
}

func TestWhatCannotBeReadIsEstimatedFromItsSize(t *testing.T) {
	long := `{"messages":[{"role":"user","content":"` + strings.Repeat("ab ", 40_000)
	before := `{"messages":[{"role":"user","content":[{"image_url":{"url":"`
	signature := `{"messages":[{"role":"assistant","content":[{"signature":"` + strings.Repeat("A", 99_900)
	image := before + "data:image/png;base64," + strings.Repeat("A", 99_900)
	tests := []struct {
		name, path, body string
		size             int64
		want             int64
	}{
		{"nothing is known", "/v1/chat/completions", "", -1, 0},
		{"a size alone", "/v1/chat/completions", "", 4000, 1000},
		{"compressed", "/v1/chat/completions", "\x1f\x8b\x08\x00" + strings.Repeat("\x00", 396), -1, 100},
		{"a list", "/v1/chat/completions", `["` + strings.Repeat("a", 396) + `"]`, -1, 100},
		{"an object that asks nothing", "/v1/chat/completions", `{"a":"` + strings.Repeat("a", 400-8) + `"}`, -1, 100},
		{"an upload", "/v1/files", strings.Repeat("a", 400), -1, 0},
		{"an upload of which nothing was read", "/v1/files", "", 1 << 30, 0},
		{"a whole body that is said to be longer", "/v1/completions", `{"prompt":""}`, 4000, 0},
		{"the rest of a text", "/v1/chat/completions", long, int64(len(long)) + 40_000, ChargeOf("", "/v1/chat/completions", []byte(long), -1).Input + 10_000},
		{"the rest of a signature", "/v1/chat/completions", signature, int64(len(signature)) + 40_000, 7 + int64(40_000/4*float64(len(signature)-99_900)/float64(len(signature)))},
		{"the rest of an image", "/v1/chat/completions", image, int64(len(image)) + 40_000_000, mediaTokens + 7 + int64(40_000_000/4*float64(len(before))/float64(len(image)))},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := ChargeOf("", tt.path, []byte(tt.body), tt.size).Input; got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
		})
	}
}

func TestALimitThatTheBodyBreaksOffInDoesNotCount(t *testing.T) {
	for body, want := range map[string]int64{
		`{"prompt":"","max_tokens":5`:  usualOutput,
		`{"prompt":"","max_tokens":5 `: 5,
		`{"max_tokens":5,"prompt":"a`:  5,
	} {
		if got := ChargeOf("relay.example", "/v1/completions", []byte(body), -1).Output; got != want {
			t.Errorf("%s: got %d tokens of output, want %d", body, got, want)
		}
	}
}

func TestNoMoreThanTheBoundIsRead(t *testing.T) {
	body := []byte(`{"prompt":"` + strings.Repeat("ab ", MaxChargeBody))
	want := ChargeOf("", "/v1/completions", body[:MaxChargeBody], int64(len(body)))
	if got := ChargeOf("", "/v1/completions", body, -1); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestHostileBodies(t *testing.T) {
	for _, body := range []string{
		`{`, `}`, `{]`, `{"`, `{"a`, `{"a"`, `{"a":`, `{"messages":"\`, `{"messages":"\u`, `{"messages":"\u12`, `{"messages":"\uD800`, `{"messages":"\uZZZZ"}`,
		`{"max_tokens":99999999999999999999999999999,"n":99999999999,"messages":""}`, `{"max_tokens":-5,"messages":""}`, `{"max_tokens":1e99,"messages":""}`,
		`{"n":9007199254740991,"max_tokens":9007199254740991,"prompt":""}`, `{"n":1e300,"max_tokens":9007199254740992,"prompt":""}`, `{"max_tokens":5`, `{"messages":[]]}}}`, `{"messages":"a" "b"}`, `{,,,:::}`,
		strings.Repeat(`{"messages":[`, 5000), strings.Repeat(`[`, 5000), `{"prompt":"` + "\xff\xfe\x80" + `"}`,
	} {
		for _, size := range []int64{-1 << 63, -1, 1 << 62} {
			c := ChargeOf("api.openai.com", "/v1/chat/completions", []byte(body), size)
			if got, most := c.Reserved(), int64(maxLimit)*maxChoices; got < 0 || got > most {
				t.Errorf("%.60s of size %d: got %d reserved, want 0 to %d", body, size, got, most)
			}
		}
	}
}

func TestChargeAllocatesNothing(t *testing.T) {
	body := []byte(openAIWeather)
	got := testing.AllocsPerRun(100, func() { ChargeOf("api.openai.com", "/v1/chat/completions", body, -1) })
	if got != 0 {
		t.Errorf("got %v allocations, want 0", got)
	}
	body = []byte(anthropicWeather)
	got = testing.AllocsPerRun(100, func() { ChargeOf("api.anthropic.com", "/v1/messages", body, -1) })
	if got != 0 {
		t.Errorf("got %v allocations for a model that matters, want 0", got)
	}
}
