package wire

import (
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"strings"
	"testing"
)

const (
	sseType    = "text/event-stream; charset=utf-8"
	jsonType   = "application/json"
	ndjsonType = "application/x-ndjson"
	binaryType = "application/vnd.amazon.eventstream"
)

// events joins data fields to a stream.
func events(data ...string) string {
	return "data: " + strings.Join(data, "\n\ndata: ") + "\n\n"
}

// A want is the part of a Result that a case is about; the rest follows.
type want struct {
	complete, truncated bool
	strength            string
	terminal            string
	finish              string
	text                string
	content             int
	keepalives          int
	malformed           int
	in, out             int64
	position, class     string
	code, typ           string
}

var shapes = []struct {
	name string
	typ  string
	body string
	want want
}{
	{
		"keys in another order and spaces everywhere", sseType,
		events(`{ "choices" : [ { "finish_reason" : null , "delta" : { "content" : "Bonjour" , "role" : "assistant" } , "index" : 0 } ] , "id" : "x" }`,
			`{ "choices" : [ { "finish_reason" : "stop" , "delta" : { } , "index" : 0 } ] , "object" : "chat.completion.chunk" }`),
		want{complete: true, strength: "strong", terminal: "finish_reason", finish: "stop", text: "Bonjour", content: 1},
	},
	{
		"content that speaks of the end and of errors", sseType,
		events(`{"choices":[{"index":0,"delta":{"content":"data: [DONE]"}}]}`, `{"choices":[{"index":0,"delta":{"content":"{\"error\":{\"code\":500}}"}}]}`,
			`{"choices":[{"index":0,"delta":{"content":"\n\ndata: {\"type\":\"error\"}\n\n\\"}}]}`),
		want{truncated: true, terminal: "none", text: "data: [DONE]{\"error\":{\"code\":500}}\n\ndata: {\"type\":\"error\"}\n\n\\", content: 3},
	},
	{
		"an error that is null in every chunk", sseType,
		events(`{"error":null,"choices":[{"index":0,"delta":{"content":"a"}}]}`, `{"error":null,"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`, `[DONE]`),
		want{complete: true, strength: "strong", terminal: "finish_reason", finish: "stop", text: "a", content: 1},
	},
	{
		"two choices that end in different ways", sseType,
		events(`{"choices":[{"index":0,"delta":{"content":"a"}},{"index":1,"delta":{"content":"b"}}]}`, `{"choices":[{"index":1,"delta":{},"finish_reason":"stop"}]}`,
			`{"choices":[{"index":0,"delta":{"content":"c"},"finish_reason":"length"}]}`, `[DONE]`),
		want{complete: true, strength: "strong", terminal: "finish_reason", finish: "length", text: "abc", content: 2},
	},
	{
		"two choices of which one fails", sseType,
		events(`{"choices":[{"index":0,"delta":{"content":"a"}}]}`, `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`,
			`{"choices":[{"index":1,"delta":{},"finish_reason":"network_error"}]}`, `[DONE]`),
		want{terminal: "finish_reason_failure", finish: "network_error", text: "a", content: 1, position: "mid", class: "server_error", code: "network_error"},
	},
	{
		"[DONE] while a choice is open", sseType,
		events(`{"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}`, `{"choices":[{"index":1,"delta":{"content":"b"}}]}`, `[DONE]`),
		want{complete: true, strength: "weak", terminal: "done_sentinel", text: "ab", content: 2},
	},
	{
		"tool calls and nothing else", sseType,
		events(`{"choices":[{"delta":{"role":"assistant","content":null,"tool_calls":[]}}]}`, `{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"call_9","type":"function","function":{"name":"sum","arguments":""}}]}}]}`,
			`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":""}}]}}]}`, `{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\":[1,2]}"}}]}}]}`, `{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}`),
		want{complete: true, strength: "strong", terminal: "finish_reason", finish: "tool_calls", content: 2},
	},
	{
		"reasoning and nothing else", sseType,
		events(`{"choices":[{"index":0,"delta":{"role":"assistant","content":"","reasoning":"Let"}}]}`, `{"choices":[{"index":0,"delta":{"content":"","reasoning":" me","reasoning_details":[{"type":"reasoning.text","text":" me"}]}}]}`),
		want{truncated: true, terminal: "none", content: 2},
	},
	{
		"roles, nulls and empty lists are no content", sseType,
		events(`{"choices":[{"index":0,"delta":{"role":"assistant","content":"","refusal":null,"tool_calls":null,"audio":null,"annotations":[]}}]}`),
		want{truncated: true, terminal: "none"},
	},
	{
		"a refusal is content", sseType,
		events(`{"choices":[{"index":0,"delta":{"refusal":"I can't."}}]}`, `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`),
		want{complete: true, strength: "strong", terminal: "finish_reason", finish: "stop", content: 1},
	},
	{
		"usage after the finish, in a chunk whose choice is open again", sseType,
		events(`{"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"stop"}]}`, `{"choices":[{"index":0,"delta":{"content":""},"finish_reason":null}],"usage":{"completion_tokens":3,"prompt_tokens":40,"total_tokens":43}}`, `[DONE]`),
		want{complete: true, strength: "strong", terminal: "finish_reason", finish: "stop", text: "x", content: 1, in: 40, out: 3},
	},
	{
		"the older completions, with text", sseType,
		events(`{"object":"text_completion","choices":[{"text":"Once","index":0,"logprobs":null,"finish_reason":null}]}`, `{"object":"text_completion","choices":[{"text":" upon","index":0,"finish_reason":"length"}]}`, `[DONE]`),
		want{complete: true, strength: "strong", terminal: "finish_reason", finish: "length", text: "Once upon", content: 2},
	},
	{
		"text after the delta that repeats it", sseType,
		events(`{"choices":[{"delta":{"content":"Hi"},"text":"Hi","index":0,"finish_reason":"eos"}]}`),
		want{complete: true, strength: "strong", terminal: "finish_reason", finish: "eos", text: "Hi", content: 1},
	},
	{
		"a malformed frame among good ones", sseType,
		events(`{"choices":[{"index":0,"delta":{"content":"a"}}]}`, `{"choices":[{"index":0,"delta":{"content":"b}}]}`, `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`, `[DONE]`),
		want{complete: true, strength: "weak", terminal: "finish_reason", finish: "stop", text: "a", content: 1, malformed: 1},
	},
	{
		"a bad escape is malformed", sseType,
		events(`{"choices":[{"index":0,"delta":{"content":"a"}}]}`, `{"choices":[{"index":0,"delta":{"content":"\x"}}]}`, `{"choices":[{"index":0,"delta":{"content":"\u12G4"}}]}`),
		want{truncated: true, terminal: "none", text: "a", content: 1, malformed: 2},
	},
	{
		"a bare [DONE] with no line end", sseType,
		events(`{"choices":[{"index":0,"delta":{"content":"a"}}]}`) + "data: [DONE]",
		want{complete: true, strength: "weak", terminal: "done_sentinel", text: "a", content: 1},
	},
	{
		"a finish that lacks its blank line", sseType,
		events(`{"choices":[{"index":0,"delta":{"content":"a"}}]}`) + `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n",
		want{truncated: true, terminal: "none", text: "a", content: 1},
	},
	{
		"an error that lacks its blank line is an error", sseType,
		events(`{"choices":[{"index":0,"delta":{"content":"a"}}]}`) + `data: {"error":{"type":"insufficient_quota","code":"insufficient_quota","message":"no"}}`,
		want{terminal: "error", text: "a", content: 1, position: "mid", class: "quota_exhausted", code: "insufficient_quota", typ: "insufficient_quota"},
	},
	{
		"an error before a [DONE]", sseType,
		events(`{"error":{"type":"server_error","message":"upstream"}}`, `[DONE]`),
		want{terminal: "error", position: "first", class: "server_error", typ: "server_error"},
	},
	{
		"an error after a strong end", sseType,
		events(`{"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}`, `[DONE]`, `{"error":{"type":"server_error","message":"upstream"}}`),
		want{terminal: "error", text: "a", content: 1, position: "mid", class: "server_error", typ: "server_error"},
	},
	{
		"an error event whose data is not JSON", sseType,
		"event: error\ndata: Internal Server Error\n\n",
		want{terminal: "error", position: "first", class: "server_error"},
	},
	{
		"pretty printed JSON between events", sseType,
		events(`{"choices":[{"index":0,"delta":{"content":"a"}}]}`) + "{\n  \"error\": {\n    \"type\": \"server_error\",\n\n    \"message\": \"x\"\n  }\n}\n\n" + events(`[DONE]`),
		want{terminal: "error", text: "a", content: 1, position: "mid", class: "server_error", typ: "server_error"},
	},
	{
		"JSON with no framing, then a [DONE]", sseType,
		"{\"error\":{\"type\":\"server_error\",\"message\":\"x\"}}\n\ndata: [DONE]\n\n",
		want{terminal: "error", position: "first", class: "server_error", typ: "server_error", keepalives: 0},
	},
	{
		"JSON with no framing that is cut by an event", sseType,
		events(`{"choices":[{"index":0,"delta":{"content":"a"}}]}`) + "{\"error\":\n" + events(`{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`),
		want{complete: true, strength: "weak", terminal: "finish_reason", finish: "stop", text: "a", content: 1, malformed: 1},
	},
	{
		"an error inside x_groq", sseType,
		events(`{"choices":[{"index":0,"delta":{"content":"a"}}]}`, `{"choices":[],"x_groq":{"id":"req_1","error":{"type":"server_error","message":"died"}}}`),
		want{terminal: "error", text: "a", content: 1, position: "mid", class: "server_error", typ: "server_error"},
	},
	{
		"an error inside a choice", sseType,
		events(`{"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error","error":{"code":"server_error","message":"Provider disconnected"}}]}`),
		want{terminal: "error", finish: "error", position: "first", class: "server_error", code: "server_error"},
	},
	{
		"an error that gets its name behind the data", sseType,
		events(`{"choices":[{"delta":{"content":"a"}}]}`, `{"choices":[{"delta":{"content":"b"}}]}`) + "data: {\"choices\":[{\"delta\":{\"content\":\"c\"}}]}\nevent: error\n\n",
		want{terminal: "error", text: "ab", content: 2, position: "mid", class: "server_error"},
	},
	{
		"an error by name alone whose blank line is missing", sseType,
		events(`{"choices":[{"delta":{"content":"a"}}]}`) + "event: error\ndata: {\"message\":\"busy\"}\n",
		want{terminal: "error", text: "a", content: 1, position: "mid", class: "server_error"},
	},
	{
		"a flat code and message", sseType,
		events(`{"code":50508,"message":"Service busy","data":null}`),
		want{terminal: "error", position: "first", class: "server_error", code: "50508"},
	},
	{
		"a code that means success", sseType,
		events(`{"code":0,"message":"ok"}`, `{"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}`),
		want{complete: true, strength: "strong", terminal: "finish_reason", finish: "stop", text: "a", content: 1},
	},
	{
		"an error object with no code", sseType,
		events(`{"object":"error","message":"boom","type":"server_error"}`),
		want{terminal: "error", position: "first", class: "server_error", typ: "server_error"},
	},
	{
		"a code and a message beside choices", sseType,
		events(`{"code":500,"message":"not one","choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}`),
		want{complete: true, strength: "strong", terminal: "finish_reason", finish: "stop", text: "a", content: 1},
	},
	{
		"two errors, of which the first counts", sseType,
		events(`{"error":{"type":"insufficient_quota","message":"x"}}`, `{"choices":[{"delta":{"content":"a"}}]}`, `{"error":{"type":"server_error","message":"x"}}`),
		want{terminal: "error", text: "a", content: 1, position: "first", class: "quota_exhausted", typ: "insufficient_quota"},
	},
	{
		"content that is empty after content", sseType,
		events(`{"choices":[{"index":0,"delta":{"content":"a"}}]}`, `{"choices":[{"index":0,"delta":{"content":""}}]}`, `{"choices":[{"index":0,"delta":{"content":"b"}}]}`),
		want{truncated: true, terminal: "none", text: "ab", content: 2},
	},
	{
		"a finish as long as a null", sseType,
		events(`{"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}`, `{"choices":[{"index":0,"delta":{"content":"b"},"finish_reason":"ok"}]}`),
		want{complete: true, strength: "strong", terminal: "finish_reason", finish: "ok", text: "ab", content: 2},
	},
	{
		"Anthropic whose last deltas carry more than the reason", sseType,
		events(`{"type":"message_delta","delta":{"container":{"id":"a","name":"one"},"stop_reason":null}}`, `{"type":"message_delta","delta":{"container":{"id":"a","name":"two"},"stop_reason":null}}`,
			`{"type":"message_delta","delta":{"container":{"id":"a","name":"two"},"stop_reason":"end_turn"}}`),
		want{complete: true, strength: "strong", terminal: "message_delta", finish: "end_turn"},
	},
	{
		"keep-alives of every kind", sseType,
		": hello\n\n:\n\nevent: ping\ndata: {}\n\nevent: ping\n\nid: 4\n\nretry: 100\n\ndata:\n\ndata\n\ndata: {\"type\":\"ping\"}\n\ndata: {\"type\":\"keepalive\",\"sequence_number\":9}\n\nevent: heartbeat\ndata: 2026-10-20\n\n",
		want{truncated: true, terminal: "none", keepalives: 11},
	},
	{
		"data over lines, with empty ones", sseType,
		"data: {\"choices\":[\ndata:\ndata:{\"delta\":{\"content\":\ndata: \"a\"},\"finish_reason\":\"stop\"}]\ndata:}\n\n",
		want{complete: true, strength: "strong", terminal: "finish_reason", finish: "stop", text: "a", content: 1},
	},
	{
		"two documents in one event are malformed", sseType,
		"data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\ndata: {\"choices\":[{\"delta\":{\"content\":\"b\"}}]}\n\n",
		want{truncated: true, terminal: "none", malformed: 1},
	},
	{
		"keys with escapes", sseType,
		events("{\"\\u0063hoices\":[{\"\\u0064elta\":{\"c\\u006fntent\":\"\\u00e9\\ud83d\\udc4b\"},\"finish\\u005freason\":\"st\\u006fp\"}]}"),
		want{complete: true, strength: "strong", terminal: "finish_reason", finish: "stop", text: "é👋", content: 1},
	},
	{
		"deep nesting of what is nobody's", sseType,
		events(`{"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}],"trace":`+strings.Repeat(`{"error":[`, 400)+strings.Repeat(`]}`, 400)+`}`, `[DONE]`),
		want{complete: true, strength: "strong", terminal: "finish_reason", finish: "stop", text: "a", content: 1},
	},
	{
		"Anthropic that ends after its stop reason", sseType,
		events(`{"message":{"usage":{"output_tokens":1,"input_tokens":9}},"type":"message_start"}`, `{"delta":{"text":"Oui","type":"text_delta"},"index":0,"type":"content_block_delta"}`,
			`{"usage":{"output_tokens":7},"delta":{"stop_sequence":"END","stop_reason":"stop_sequence"},"type":"message_delta"}`),
		want{complete: true, strength: "strong", terminal: "message_delta", finish: "stop_sequence", text: "Oui", content: 1, in: 9, out: 7},
	},
	{
		"Anthropic with redacted thinking, citations and an unknown block", sseType,
		events(`{"type":"message_start","message":{"content":[],"usage":{"input_tokens":0,"output_tokens":0}}}`, `{"type":"content_block_start","index":0,"content_block":{"type":"redacted_thinking","data":"c2VjcmV0"}}`,
			`{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}`, `{"type":"content_block_delta","index":1,"delta":{"type":"citations_delta","citation":{"cited_text":"x"}}}`,
			`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":""}}`, `{"type":"something_new","text":"x"}`, `{"type":"message_stop"}`),
		want{complete: true, strength: "strong", terminal: "message_stop", content: 2},
	},
	{
		"Anthropic through a relay that tells the input at the end", sseType,
		events(`{"type":"message_start","message":{"usage":{"input_tokens":0,"output_tokens":0}}}`, `{"type":"content_block_delta","delta":{"type":"text_delta","text":"a"}}`,
			`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":30,"cache_read_input_tokens":10,"output_tokens":2}}`, `{"type":"message_stop"}`),
		want{complete: true, strength: "strong", terminal: "message_stop", finish: "end_turn", text: "a", content: 1, in: 40, out: 2},
	},
	{
		"Responses that end incomplete", sseType,
		events(`{"type":"response.created","response":{"status":"in_progress","error":null}}`, `{"delta":"x","type":"response.output_text.delta"}`, `{"delta":"{}","type":"response.function_call_arguments.delta"}`,
			`{"delta":"hm","type":"response.reasoning_summary_text.delta"}`, `{"type":"response.web_search_call.searching"}`, `{"type":"response.incomplete","response":{"status":"incomplete","error":null,"usage":{"input_tokens":5,"output_tokens":6,"total_tokens":11}}}`),
		want{complete: true, strength: "strong", terminal: "response.incomplete", finish: "incomplete", text: "x", content: 3, in: 5, out: 6},
	},
	{
		"Responses that fail for a reason of the request", sseType,
		events(`{"type":"response.created","response":{"status":"in_progress"}}`, `{"type":"response.failed","response":{"error":{"message":"Too long","code":"context_length_exceeded"},"status":"failed"}}`),
		want{terminal: "error", position: "first", class: "context_length", code: "context_length_exceeded"},
	},
	{
		"Responses whose text comes in one piece", sseType,
		events(`{"type":"response.output_text.done","text":"whole"}`),
		want{truncated: true, terminal: "none", content: 1},
	},
	{
		"Gemini with two candidates of which one has not ended", sseType,
		events(`{"candidates":[{"index":0,"content":{"parts":[{"text":"a"}]},"finishReason":"STOP"},{"index":1,"content":{"parts":[{"text":"b"}]}}]}`),
		want{truncated: true, terminal: "none", text: "ab", content: 1},
	},
	{
		"Gemini with thoughts and a function call", sseType,
		events(`{"candidates":[{"content":{"parts":[{"text":"hmm","thought":true}]}}]}`, `{"candidates":[{"content":{"parts":[{"thought":true,"text":"hm"},{"text":"Yes"}]}}]}`,
			`{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":{}}}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":4,"thoughtsTokenCount":5,"totalTokenCount":12}}`),
		want{complete: true, strength: "strong", terminal: "finishReason", finish: "STOP", text: "Yes", content: 3, in: 3, out: 9},
	},
	{
		"a Gemini array on one line", jsonType,
		`[{"candidates":[{"content":{"parts":[{"text":"a"}]}}]},{"candidates":[{"finishReason":"MAX_TOKENS","content":{"parts":[{"text":"]"}]}}]}]`,
		want{complete: true, strength: "strong", terminal: "finishReason", finish: "MAX_TOKENS", text: "a]", content: 2},
	},
	{
		"a Gemini array that is not closed", jsonType,
		`[{"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":"STOP"}]}`,
		want{truncated: true, terminal: "none", text: "a", content: 1},
	},
	{
		"a Gemini array that is closed too early", jsonType,
		`[{"candidates":[{"content":{"parts":[{"text":"a"}]}}]}]`,
		want{truncated: true, terminal: "none", text: "a", content: 1},
	},
	{
		"Ollama generate with thinking and blank lines", ndjsonType,
		"{\"model\":\"m\",\"thinking\":\"hm\",\"response\":\"\",\"done\":false}\r\n\r\n{\"model\":\"m\",\"response\":\"Hi\",\"done\":false}\r\n{\"done_reason\":\"stop\",\"done\":true,\"response\":\"\",\"eval_count\":2,\"prompt_eval_count\":8}\r\n",
		want{complete: true, strength: "strong", terminal: "done_true", finish: "stop", text: "Hi", content: 2, keepalives: 1, in: 8, out: 2},
	},
	{
		"Ollama under a JSON type, cut after a line", jsonType,
		"{\"message\":{\"content\":\"Hi\"},\"done\":false}\n",
		want{truncated: true, terminal: "none", text: "Hi", content: 1},
	},
	{
		"a line that is not JSON", ndjsonType,
		"{\"message\":{\"content\":\"Hi\"},\"done\":false}\n{\"message\":{\"content\n{\"message\":{\"content\":\"\"},\"done\":true}\n",
		want{complete: true, strength: "weak", terminal: "done_true", text: "Hi", content: 1, malformed: 1},
	},
	{
		"a stream of lines under the name of JSON", jsonType,
		"{\"message\":{\"content\":\"Hi\"},\"done\":false}\n{\"message\":{\"tool_calls\":[{\"function\":{\"name\":\"f\",\"arguments\":{}}}]},\"done\":false}\n{\"done\":true}",
		want{complete: true, strength: "strong", terminal: "done_true", text: "Hi", content: 2},
	},
	{
		"events under the name of JSON", jsonType,
		events(`{"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}`, `[DONE]`),
		want{complete: true, strength: "strong", terminal: "finish_reason", finish: "stop", text: "a", content: 1},
	},
	{
		"events under no name, behind blank lines", "",
		"\n\n: hi\n\n" + events(`{"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}`),
		want{complete: true, strength: "strong", terminal: "finish_reason", finish: "stop", text: "a", content: 1, keepalives: 1},
	},
	{
		"Converse with reasoning, a tool and counts", binaryType,
		frame("messageStart", `{"role":"assistant"}`) + frame("contentBlockDelta", `{"delta":{"reasoningContent":{"text":"hm"}},"contentBlockIndex":0}`) +
			frame("contentBlockDelta", `{"delta":{"toolUse":{"input":"{}"}},"contentBlockIndex":1,"p":"abcdef"}`) + frame("messageStop", `{"stopReason":"tool_use"}`) +
			frame("metadata", `{"usage":{"inputTokens":5,"outputTokens":6,"totalTokens":14,"cacheReadInputTokens":3}}`),
		want{complete: true, strength: "strong", terminal: "messageStop", finish: "tool_use", content: 2, in: 8, out: 6},
	},
	{
		"Converse with a wrong checksum", binaryType,
		frame("contentBlockDelta", `{"delta":{"text":"a"}}`) + flip(frame("contentBlockDelta", `{"delta":{"text":"b"}}`)) + frame("messageStop", `{"stopReason":"end_turn"}`),
		want{truncated: true, terminal: "none", text: "a", content: 1, malformed: 1},
	},
	{
		"Converse with a wrong length", binaryType,
		frame("contentBlockDelta", `{"delta":{"text":"a"}}`) + "\x00\x7f" + frame("messageStop", `{"stopReason":"end_turn"}`)[2:],
		want{truncated: true, terminal: "none", text: "a", content: 1, malformed: 1},
	},
	{
		"Converse that stops for no reason", binaryType,
		frame("contentBlockDelta", `{"delta":{"text":"a"}}`) + frame("messageStop", `{}`),
		want{complete: true, strength: "strong", terminal: "messageStop", text: "a", content: 1},
	},
	{
		"Bedrock that throttles first", binaryType,
		frameOf(`{"message":"Too many requests"}`, ":message-type", "exception", ":exception-type", "throttlingException"),
		want{terminal: "error", position: "first", class: "rate_limit", code: "throttlingException"},
	},
	{
		"events of another dialect inside Bedrock's", binaryType,
		chunk(`{"type":"message_start","message":{"usage":{"input_tokens":3,"output_tokens":1}}}`) + chunk(`{"type":"content_block_delta","delta":{"type":"text_delta","text":"a"}}`) +
			chunk(`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":4}}`) + chunk(`{"type":"message_stop"}`),
		want{complete: true, strength: "strong", terminal: "message_stop", finish: "end_turn", text: "a", content: 1, in: 3, out: 4},
	},
}

func TestStreamsOfTheSameKinds(t *testing.T) {
	for _, tt := range shapes {
		t.Run(tt.name, func(t *testing.T) {
			body := []byte(tt.body)
			got := decode(tt.typ, body, true, true)
			if w := wanted(got); w != tt.want {
				t.Errorf("\n got %+v\nwant %+v", w, tt.want)
			}
			for cut := range body {
				if again := decode(tt.typ, body, true, true, cut); again != got {
					t.Fatalf("cut at %d:\n got %+v\nwant %+v", cut, again, got)
				}
			}
			if again := decode(tt.typ, body, true, true, everywhere(body)...); again != got {
				t.Fatalf("byte by byte:\n got %+v\nwant %+v", again, got)
			}
			got.Text = ""
			if fast := decode(tt.typ, body, true, false); fast != got {
				t.Fatalf("with the template:\n got %+v\nwant %+v", fast, got)
			}
		})
	}
}

func wanted(r Result) want {
	return want{
		complete: r.Complete, truncated: r.Truncated, strength: r.Strength.String(), terminal: r.Terminal, finish: r.Finish,
		text: r.Text, content: r.ContentEvents, keepalives: r.Keepalives, malformed: r.MalformedFrames,
		in: r.Usage.Input, out: r.Usage.Output,
		position: r.Error.Position, class: className(r), code: r.Error.Code, typ: r.Error.Type,
	}
}

func className(r Result) string {
	if r.Error.Position == "" {
		return ""
	}
	return r.Error.Class.String()
}

// frame builds an event frame of Bedrock.
func frame(event, payload string) string {
	return frameOf(payload, ":event-type", event, ":content-type", "application/json", ":message-type", "event")
}

// chunk builds the frame of InvokeModelWithResponseStream around an event.
func chunk(event string) string {
	return frame("chunk", `{"bytes":"`+base64.StdEncoding.EncodeToString([]byte(event))+`","p":"abc"}`)
}

func frameOf(payload string, headers ...string) string {
	var h []byte
	for i := 0; i < len(headers); i += 2 {
		h = append(append(h, byte(len(headers[i]))), headers[i]...)
		h = binary.BigEndian.AppendUint16(append(h, 7), uint16(len(headers[i+1])))
		h = append(h, headers[i+1]...)
	}
	b := binary.BigEndian.AppendUint32(nil, uint32(16+len(h)+len(payload)))
	b = binary.BigEndian.AppendUint32(b, uint32(len(h)))
	b = binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
	b = append(append(b, h...), payload...)
	return string(binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b)))
}

// flip breaks the last byte of a frame's payload.
func flip(frame string) string {
	b := []byte(frame)
	b[len(b)-5] ^= 1
	return string(b)
}
