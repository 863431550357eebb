package wire

import (
	"strings"
	"testing"
)

// More good answers, and bad ones under 200, of the kinds of the fixtures. The
// verdict is complete, weak, truncated, none, or the class of the error and where
// it came.
func TestAnswersUnder200InOtherShapes(t *testing.T) {
	const sse, plain = sseType, jsonType
	tests := []struct {
		name string
		typ  string
		path string // empty is an answer of a model
		body string
		want string
		text string
		cut  bool // the connection broke after the last byte
	}{
		// Chat.
		{name: "a role, a word and a length of one token", typ: sse, body: events(`{"choices":[{"index":0,"delta":{"role":"assistant"}}]}`, `{"choices":[{"index":0,"delta":{"content":"A"},"finish_reason":null}]}`, `{"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}`, `[DONE]`), want: "complete", text: "A"},
		{name: "an answer of nothing", typ: sse, body: events(`{"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}`, `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`, `[DONE]`), want: "complete"},
		{name: "an index that is a string", typ: sse, body: events(`{"choices":[{"index":"0","delta":{"content":"a"}}]}`, `{"choices":[{"index":"0","delta":{},"finish_reason":"stop"}]}`, `[DONE]`), want: "complete", text: "a"},
		{name: "choices that are null in the chunk of usage", typ: sse, body: events(`{"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}`, `{"choices":null,"usage":{"prompt_tokens":1,"completion_tokens":1}}`, `[DONE]`), want: "complete", text: "a"},
		{name: "a chunk of usage first", typ: sse, body: events(`{"choices":[],"prompt_filter_results":[{"prompt_index":0,"content_filter_results":{"hate":{"filtered":false}}}]}`, `{"choices":[],"usage":{"prompt_tokens":7}}`, `{"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}`), want: "complete", text: "a"},
		{name: "a content filter of Azure that ends the answer", typ: sse, body: events(`{"choices":[{"index":0,"delta":{"content":"a"},"content_filter_results":{"violence":{"filtered":true,"severity":"high"}}}]}`, `{"choices":[{"index":0,"delta":{},"finish_reason":"content_filter"}]}`, `[DONE]`), want: "complete", text: "a"},
		{name: "a filter that could not be asked", typ: sse, body: events(`{"choices":[{"index":0,"delta":{"content":"a"},"content_filter_result":{"error":{"code":"content_filter_error","message":"The contents are not filtered"}},"finish_reason":"stop"}]}`, `[DONE]`), want: "complete", text: "a"},
		{name: "tools in parallel", typ: sse, body: events(`{"choices":[{"index":0,"delta":{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":"{}"}},{"index":1,"id":"b","type":"function","function":{"name":"error","arguments":"{\"error\":{\"message\":\"x\"}}"}}]}}]}`, `{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`, `[DONE]`), want: "complete"},
		{name: "a function call of old", typ: sse, body: events(`{"choices":[{"index":0,"delta":{"function_call":{"name":"f","arguments":"{"}}}]}`, `{"choices":[{"index":0,"delta":{"function_call":{"arguments":"}"}}}]}`, `{"choices":[{"index":0,"delta":{},"finish_reason":"function_call"}]}`), want: "complete"},
		{name: "sound", typ: sse, body: events(`{"choices":[{"index":0,"delta":{"audio":{"id":"au_1","data":"UklGR"}}}]}`, `{"choices":[{"index":0,"delta":{"audio":{"expires_at":1760000000}},"finish_reason":"stop"}]}`, `[DONE]`), want: "complete"},
		{name: "content in parts", typ: sse, body: events(`{"choices":[{"index":0,"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]}]}}]}`, `{"choices":[{"index":0,"delta":{"content":[{"type":"text","text":"Oui"}]},"finish_reason":"stop"}]}`, `[DONE]`), want: "complete", text: "Oui"},
		{name: "a finish in a chunk without a delta", typ: sse, body: events(`{"choices":[{"index":0,"delta":{"content":"a"}}]}`, `{"choices":[{"index":0,"finish_reason":"stop"}]}`), want: "complete", text: "a"},
		{name: "an empty finish is none", typ: sse, body: events(`{"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":""}]}`), want: "truncated", text: "a"},
		{name: "a finish that is the word null", typ: sse, body: events(`{"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"null"}]}`), want: "truncated", text: "a"},
		{name: "a finish in capitals that is an error", typ: sse, body: events(`{"choices":[{"index":0,"delta":{"content":"a"}}]}`, `{"choices":[{"index":0,"delta":{},"finish_reason":"ERROR"}]}`, `[DONE]`), want: "server_error mid", text: "a"},
		{name: "citations behind the finish", typ: sse, body: events(`{"citations":["https://a.example"],"search_results":[],"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}`, `{"choices":[{"index":0,"delta":{"content":""},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"cost":{"total_cost":0.005}}}`), want: "complete", text: "a"},
		{name: "an error beside choices that are empty", typ: sse, body: events(`{"id":"gen-1","choices":[],"error":{"code":"502","message":"Provider disconnected unexpectedly"}}`, `[DONE]`), want: "server_error first"},
		{name: "an error beside a finish of error", typ: sse, body: events(`{"choices":[{"index":0,"delta":{"content":"a"}}]}`, `{"error":{"code":429,"message":"Rate limit"},"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}]}`, `[DONE]`), want: "rate_limit mid", text: "a"},
		{name: "an error that is a string in a stream", typ: sse, body: events(`{"choices":[{"index":0,"delta":{"content":"a"}}]}`, `{"error":"upstream timed out"}`), want: "timeout mid", text: "a"},
		{name: "an error behind an event that is no JSON", typ: sse, body: events(`{"choices":[{"index":0,"delta":{"content":"a"}}]}`, `oops`, `{"error":{"type":"server_error","message":"x"}}`), want: "server_error mid", text: "a"},
		{name: "an error in an error", typ: sse, body: events(`{"error":{"error":{"type":"overloaded_error","message":"x"}}}`), want: "overloaded first"},
		{name: "errors that are all empty", typ: sse, body: events(`{"error":{},"choices":[{"index":0,"delta":{"content":"a"}}]}`, `{"error":{"message":"","code":0},"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`), want: "complete", text: "a"},
		{name: "an error that is false", typ: sse, body: events(`{"error":false,"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}`), want: "complete", text: "a"},
		{name: "a second answer behind the first", typ: sse, body: events(`{"id":"1","choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}`, `[DONE]`) + events(`{"id":"2","choices":[{"index":0,"delta":{"content":"b"}}]}`), want: "complete", text: "ab"},
		{name: "refuse behind the end", typ: sse, body: events(`{"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}`, `[DONE]`) + "</html>\n\n", want: "complete", text: "a"},
		{name: "a page behind content", typ: sse, body: events(`{"choices":[{"index":0,"delta":{"content":"a"}}]}`) + "<html><title>502 Bad Gateway</title></html>\n", want: "truncated", text: "a"},
		{name: "[DONE] in the content and no end", typ: sse, body: events(`{"choices":[{"index":0,"delta":{"content":"[DONE]"}}]}`), want: "truncated", text: "[DONE]"},
		{name: "[DONE] with spaces", typ: sse, body: "data:{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\ndata:  [DONE] \n\n", want: "weak", text: "a"},
		{name: "carriage returns alone", typ: sse, body: strings.ReplaceAll(events(`{"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}`, `[DONE]`), "\n", "\r"), want: "complete", text: "a"},
		{name: "a byte order mark and comments", typ: sse, body: "\ufeff: OPENROUTER PROCESSING\n\n:\n\n" + events(`{"choices":[{"index":0,"delta":{"content":"é"},"finish_reason":"stop"}]}`, `[DONE]`), want: "complete", text: "é"},
		{name: "comments and nothing else", typ: sse, body: ": keep-alive\n\n: keep-alive\n\n", want: "truncated"},
		{name: "a finish whose connection broke", typ: sse, cut: true, body: events(`{"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}`), want: "complete", text: "a"},
		{name: "a finish with its line and no blank one, and a clean end", typ: sse, body: events(`{"choices":[{"index":0,"delta":{"content":"a"}}]}`) + "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n", want: "truncated", text: "a"},
		{name: "reasoning that ran into the limit", typ: sse, body: events(`{"choices":[{"index":0,"delta":{"reasoning_content":"hm"}}]}`, `{"choices":[{"index":0,"delta":{},"finish_reason":"length"}],"usage":{"completion_tokens":9}}`, `[DONE]`), want: "complete"},
		{name: "GLM that is sensitive", typ: sse, body: events(`{"id":"1","choices":[{"index":0,"delta":{"role":"assistant","content":"a"}}]}`, `{"id":"1","choices":[{"index":0,"finish_reason":"sensitive","delta":{"role":"assistant","content":""}}]}`, `[DONE]`), want: "complete", text: "a"},
		{name: "GLM that lost its network", typ: sse, body: events(`{"id":"1","choices":[{"index":0,"delta":{"content":"a"}}]}`, `{"id":"1","choices":[{"index":0,"finish_reason":"network_error","delta":{"content":""}}]}`, `[DONE]`), want: "server_error mid", text: "a"},
		{name: "DeepSeek out of resources before a word", typ: sse, body: ": keep-alive\n\n" + events(`{"choices":[{"index":0,"delta":{"content":"","role":"assistant"},"finish_reason":"insufficient_system_resource"}]}`, `[DONE]`), want: "overloaded first"},
		{name: "a relay that forges the end", typ: sse, body: ": PING\n\n" + events(`{"choices":[{"index":0,"delta":{"content":"a"}}]}`, `{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":1}}`, `[DONE]`), want: "weak", text: "a"},
		{name: "a heartbeat of a kind of its own", typ: sse, body: events(`{"type":"ping"}`, `{"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}`), want: "complete", text: "a"},
		{name: "a detail of an error in Groq's field", typ: sse, body: events(`{"choices":[{"index":0,"delta":{"content":"a"}}],"x_groq":{"id":"req"}}`, `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"x_groq":{"id":"req","error":null,"usage":{"prompt_tokens":1}}}`), want: "complete", text: "a"},
		{name: "an error event of Groq that is a bare string", typ: sse, body: "event: error\ndata: \"over capacity\"\n\n", want: "overloaded first"},
		{name: "an error event of Qwen", typ: sse, body: "id:1\nevent:error\n:HTTP_STATUS/429\ndata:{\"code\":\"Throttling\",\"message\":\"Too many requests. Rate limit.\",\"request_id\":\"x\"}\n\n", want: "rate_limit first"},
		{name: "a stream of Qwen's own", typ: sse, body: "id:1\nevent:result\n:HTTP_STATUS/200\ndata:{\"output\":{\"choices\":[{\"message\":{\"content\":\"Hi\",\"role\":\"assistant\"},\"finish_reason\":\"null\"}]},\"usage\":{\"input_tokens\":3,\"output_tokens\":1},\"request_id\":\"x\"}\n\nid:2\nevent:result\n:HTTP_STATUS/200\ndata:{\"output\":{\"choices\":[{\"message\":{\"content\":\"\",\"role\":\"assistant\"},\"finish_reason\":\"stop\"}]},\"usage\":{\"input_tokens\":3,\"output_tokens\":1},\"request_id\":\"x\"}\n\n", want: "complete", text: "Hi"},
		{name: "a stream of Qwen's own that is cut", typ: sse, body: "id:1\nevent:result\n:HTTP_STATUS/200\ndata:{\"output\":{\"choices\":[{\"message\":{\"content\":\"Hi\",\"role\":\"assistant\"},\"finish_reason\":\"null\"}]},\"request_id\":\"x\"}\n\n", want: "truncated", text: "Hi"},
		// Responses.
		{name: "an answer of Responses with tools", typ: sse, body: events(`{"type":"response.created","response":{"status":"in_progress"}}`, `{"type":"response.output_item.added","item":{"type":"function_call"}}`, `{"type":"response.function_call_arguments.delta","delta":"{}"}`, `{"type":"response.completed","response":{"status":"completed","usage":{"input_tokens":1,"output_tokens":2}}}`), want: "complete"},
		{name: "a refusal of Responses", typ: sse, body: events(`{"type":"response.refusal.delta","delta":"I cannot"}`, `{"type":"response.refusal.done","refusal":"I cannot"}`, `{"type":"response.completed","response":{"status":"completed"}}`), want: "complete"},
		{name: "Responses without its end", typ: sse, body: events(`{"type":"response.output_text.delta","delta":"a"}`, `{"type":"response.output_text.done","text":"a"}`, `{"type":"response.output_item.done","item":{}}`), want: "truncated", text: "a"},
		{name: "Responses that a relay ends with [DONE]", typ: sse, body: events(`{"type":"response.output_text.delta","delta":"a"}`, `{"type":"response.completed","response":{"status":"completed"}}`, `[DONE]`), want: "complete", text: "a"},
		{name: "an error of Responses, nested", typ: sse, body: "event: error\n" + events(`{"type":"error","sequence_number":3,"error":{"type":"server_error","code":"server_is_overloaded","message":"x"}}`), want: "overloaded first"},
		{name: "a failure for the prompt", typ: sse, body: events(`{"type":"response.failed","response":{"status":"failed","error":{"code":"invalid_prompt","message":"Please try again with a different prompt"}}}`), want: "content_policy first"},
		{name: "a failed tool of the answer", typ: sse, body: events(`{"type":"response.mcp_call.failed","item_id":"x"}`, `{"type":"response.output_text.delta","delta":"a"}`, `{"type":"response.completed","response":{"status":"completed","error":null}}`), want: "complete", text: "a"},
		{name: "an answer in the background", typ: plain, body: `{"id":"resp_1","object":"response","status":"queued","error":null,"output":[]}`, want: "complete"},
		{name: "an image that is generated by and by", typ: sse, body: events(`{"type":"image_generation.partial_image","b64_json":"AAAA","partial_image_index":0}`, `{"type":"image_generation.completed","b64_json":"BBBB","usage":{"total_tokens":4}}`), want: "complete"},
		{name: "an image that is edited, cut", typ: sse, body: events(`{"type":"image_edit.partial_image","b64_json":"AAAA","partial_image_index":0}`), want: "truncated"},
		{name: "a transcript by and by", typ: sse, body: events(`{"type":"transcript.text.delta","delta":"Hello"}`, `{"type":"transcript.text.done","text":"Hello","usage":{"type":"tokens","input_tokens":4}}`), want: "complete"},
		{name: "speech by and by", typ: sse, body: events(`{"type":"speech.audio.delta","audio":"UklGR"}`, `{"type":"speech.audio.done","usage":{"input_tokens":1}}`), want: "complete"},
		// Anthropic.
		{name: "Anthropic without names of events", typ: sse, body: events(`{"type":"message_start","message":{"role":"assistant","content":[]}}`, `{"type":"ping"}`, `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`, `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}}`, `{"type":"content_block_stop","index":0}`, `{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`, `{"type":"message_stop"}`), want: "complete", text: "Hi"},
		{name: "Anthropic that says nothing", typ: sse, body: events(`{"type":"message_start","message":{"content":[]}}`, `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":0}}`, `{"type":"message_stop"}`), want: "complete"},
		{name: "Anthropic that pauses", typ: sse, body: events(`{"type":"message_start","message":{}}`, `{"type":"content_block_start","index":0,"content_block":{"type":"server_tool_use","name":"web_search","input":{}}}`, `{"type":"message_delta","delta":{"stop_reason":"pause_turn"}}`, `{"type":"message_stop"}`), want: "complete"},
		{name: "Anthropic that refuses", typ: sse, body: events(`{"type":"message_start","message":{}}`, `{"type":"message_delta","delta":{"stop_reason":"refusal"}}`, `{"type":"message_stop"}`), want: "complete"},
		{name: "a tool of Anthropic's that failed", typ: sse, body: events(`{"type":"content_block_start","index":1,"content_block":{"type":"web_search_tool_result","tool_use_id":"x","content":{"type":"web_search_tool_result_error","error_code":"too_many_requests"}}}`, `{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`, `{"type":"message_stop"}`), want: "complete"},
		{name: "Anthropic between blocks", typ: sse, body: events(`{"type":"message_start","message":{}}`, `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}}`, `{"type":"content_block_stop","index":0}`), want: "truncated", text: "Hi"},
		{name: "an error of Anthropic's after a thought", typ: sse, body: "event: content_block_delta\n" + events(`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}`) + "event: error\n" + events(`{"type":"error","error":{"details":null,"type":"overloaded_error","message":"Overloaded"}}`), want: "overloaded mid"},
		{name: "an event of Anthropic's that nobody knows", typ: sse, body: events(`{"type":"message_start","message":{}}`, `{"type":"content_block_delta","index":0,"delta":{"type":"later_delta","later":"x"}}`, `{"type":"vendor_note","error_rate":0.1}`, `{"type":"message_stop"}`), want: "complete"},
		{name: "the older completions of Anthropic", typ: sse, body: "event: completion\n" + events(`{"type":"completion","completion":" Hi","stop_reason":null}`) + "event: completion\n" + events(`{"type":"completion","completion":"","stop_reason":"stop_sequence"}`), want: "complete"},
		// Gemini.
		{name: "Gemini with CRLF", typ: sse, body: "data: {\"candidates\": [{\"content\": {\"parts\": [{\"text\": \"Hi\"}],\"role\": \"model\"},\"finishReason\": \"STOP\",\"index\": 0}],\"usageMetadata\": {\"promptTokenCount\": 1}}\r\n\r\n", want: "complete", text: "Hi"},
		{name: "Gemini that is blocked for the prompt", typ: sse, body: events(`{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"},"usageMetadata":{"promptTokenCount":9}}`), want: "complete"},
		{name: "Gemini's feedback that blocks nothing", typ: sse, body: events(`{"promptFeedback":{"safetyRatings":[]}}`), want: "truncated"},
		{name: "Gemini that calls a function badly", typ: sse, body: events(`{"candidates":[{"content":{},"finishReason":"MALFORMED_FUNCTION_CALL","index":0}]}`), want: "complete"},
		{name: "Gemini in snake case", typ: sse, body: events(`{"candidates":[{"content":{"parts":[{"text":"Hi"}]},"finish_reason":"STOP"}],"usage_metadata":{"prompt_token_count":1}}`), want: "complete", text: "Hi"},
		{name: "Gemini whose reason is a number", typ: sse, body: events(`{"candidates":[{"content":{"parts":[{"text":"Hi"}]},"finishReason":1}]}`), want: "complete", text: "Hi"},
		{name: "Gemini behind an envelope", typ: sse, body: events(`{"response":{"candidates":[{"content":{"parts":[{"text":"Hi"}]}}]}}`, `{"response":{"candidates":[{"content":{"parts":[{"text":"!"}]},"finishReason":"STOP"}]},"traceId":"x"}`), want: "complete", text: "Hi!"},
		{name: "a raw error behind a STOP", typ: sse, body: events(`{"candidates":[{"content":{"parts":[{"text":"Hi"}]},"finishReason":"STOP"}]}`) + "{\n  \"error\": {\n    \"code\": 503,\n    \"status\": \"UNAVAILABLE\"\n  }\n}\n", want: "overloaded mid", text: "Hi"},
		{name: "an array of Gemini's whose last is an error", typ: plain, body: "[{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"Hi\"}]}}]}\n,\r\n{\"error\":{\"code\":429,\"message\":\"x\",\"status\":\"RESOURCE_EXHAUSTED\"}}\n]", want: "rate_limit mid", text: "Hi"},
		{name: "an empty array", typ: plain, body: "[]", want: "complete"},
		// Ollama.
		{name: "Ollama that loads a model", typ: ndjsonType, body: `{"model":"m","created_at":"2026-10-20T12:00:00Z","response":"","done":true,"done_reason":"load"}`, want: "complete"},
		{name: "Ollama that fails in the middle", typ: ndjsonType, body: "{\"message\":{\"content\":\"a\"},\"done\":false}\n{\"error\":\"an error was encountered while running the model: CUDA error\"}\n", want: "server_error mid", text: "a"},
		{name: "Ollama whose answer speaks of an error", typ: ndjsonType, body: "{\"message\":{\"role\":\"assistant\",\"content\":\"{\\\"error\\\":\\\"x\\\"}\"},\"done\":false}\n{\"message\":{\"content\":\"\"},\"done\":true,\"done_reason\":\"stop\"}\n", want: "complete", text: `{"error":"x"}`},
		{name: "Ollama whose last line is cut", typ: ndjsonType, body: "{\"response\":\"a\",\"done\":false}\n{\"response\":\"\",\"done\":tr", want: "truncated", text: "a"},
		// Cohere.
		{name: "a chat of Cohere's", typ: sse, body: "event: message-start\n" + events(`{"id":"x","type":"message-start","delta":{"message":{"role":"assistant","content":[],"tool_plan":"","tool_calls":[],"citations":[]}}}`) + "event: content-delta\n" + events(`{"type":"content-delta","index":0,"delta":{"message":{"content":{"text":"Hi"}}}}`) + "event: message-end\n" + events(`{"type":"message-end","delta":{"finish_reason":"COMPLETE","usage":{"billed_units":{"input_tokens":1,"output_tokens":1},"tokens":{"input_tokens":10,"output_tokens":1}}}}`), want: "complete"},
		{name: "a chat of Cohere's that is cut", typ: sse, body: events(`{"type":"message-start","delta":{"message":{"role":"assistant"}}}`, `{"type":"content-delta","index":0,"delta":{"message":{"content":{"text":"Hi"}}}}`), want: "truncated"},
		{name: "a chat of Cohere's that fails", typ: sse, body: events(`{"type":"content-delta","index":0,"delta":{"message":{"content":{"text":"Hi"}}}}`, `{"type":"message-end","delta":{"error":"internal error","finish_reason":"ERROR"}}`), want: "server_error mid"},
		// Plain bodies.
		{name: "an answer of one token", typ: plain, body: `{"choices":[{"index":0,"message":{"role":"assistant","content":"A"},"finish_reason":"length"}]}`, want: "complete", text: "A"},
		{name: "an answer of null", typ: plain, body: `{"choices":[{"index":0,"message":{"role":"assistant","content":null,"refusal":"I can't."},"finish_reason":"stop"}]}`, want: "complete"},
		{name: "no answer and no error", typ: plain, body: `{"id":"x","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":0}}`, want: "complete"},
		{name: "a good answer with a code of success", typ: plain, body: `{"code":0,"message":"success","success":true,"choices":[{"message":{"content":"a"},"finish_reason":"stop"}]}`, want: "complete", text: "a"},
		{name: "an error with a code in words", typ: plain, body: `{"code":"InternalError","message":"An internal error has occured","request_id":"x"}`, want: "server_error first"},
		{name: "an error with a code and a msg", typ: plain, body: `{"code":500,"msg":"系统繁忙","success":false}`, want: "server_error first"},
		{name: "a code of success that is a string", typ: plain, body: `{"code":"200","message":"OK","data":{"text":"Hi"}}`, want: "complete"},
		{name: "a code of success in words", typ: plain, body: `{"code":"Success","message":"Request done","data":{"text":"Hi"}}`, want: "complete"},
		{name: "a small code beside a greeting", typ: plain, body: `{"code":1,"message":"Hello"}`, want: "complete"},
		{name: "an exception that is all there is", typ: plain, body: `{"throttlingException":{"message":"Slow down"}}`, want: "rate_limit first"},
		{name: "an exception beside an answer", typ: plain, body: `{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}],"lastException":{"message":"x"}}`, want: "complete", text: "a"},
		{name: "an error of zero", typ: plain, body: `{"error":0,"choices":[{"message":{"content":"a"},"finish_reason":"stop"}]}`, want: "complete", text: "a"},
		{name: "an error of None", typ: plain, body: `{"error":"None","choices":[{"message":{"content":"a"},"finish_reason":"stop"}]}`, want: "complete", text: "a"},
		{name: "errors without failure", typ: plain, body: `{"success":true,"errors":[{"code":1,"message":"warning"}],"result":{"response":"Hi"}}`, want: "complete"},
		{name: "a list of errors", typ: plain, body: `{"result":null,"success":false,"errors":[{"code":3040,"message":"Capacity temporarily exceeded, please try again."}],"messages":[]}`, want: "server_error first"},
		{name: "an answer of Workers AI", typ: plain, body: `{"result":{"response":"Hi"},"success":true,"errors":[],"messages":[]}`, want: "complete"},
		{name: "moderation that found something", typ: plain, body: `{"id":"modr-1","model":"m","results":[{"flagged":true,"categories":{"violence":true}}]}`, want: "complete"},
		{name: "images", typ: plain, body: `{"created":1760000000,"data":[{"b64_json":"AAAA","revised_prompt":"error"}]}`, want: "complete"},
		{name: "a count", typ: plain, body: `{"input_tokens":14}`, want: "complete"},
		{name: "reranked", typ: plain, body: `{"results":[{"index":1,"relevance_score":0.9}],"meta":{"billed_units":{"search_units":1}}}`, want: "complete"},
		{name: "an answer of Anthropic's with a tool that failed", typ: plain, body: `{"type":"message","role":"assistant","content":[{"type":"web_search_tool_result","content":{"type":"web_search_tool_result_error","error_code":"unavailable"}}],"stop_reason":"end_turn"}`, want: "complete"},
		{name: "an error of Anthropic's with the type last", typ: plain, body: `{"request_id":"req","error":{"message":"Overloaded","type":"overloaded_error"},"type":"error"}`, want: "overloaded first"},
		{name: "an answer of Bedrock's", typ: plain, body: `{"output":{"message":{"role":"assistant","content":[{"text":"Hi"}]}},"stopReason":"end_turn","usage":{"inputTokens":3,"outputTokens":1,"totalTokens":4}}`, want: "complete", text: "Hi"},
		{name: "an exception of Bedrock's under 200", typ: plain, body: `{"__type":"com.amazon.coral.service#UnknownOperationException","message":null}`, want: "server_error first"},
		{name: "a page with a mark before it", typ: plain, body: "\ufeff\r\n<!DOCTYPE html><html></html>", want: "none"},
		{name: "JSON with a page behind it", typ: plain, body: `{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}]}` + "\n<html>", want: "truncated", text: "a"},
		{name: "blank lines and an error", typ: plain, body: "\n\n\n" + `{"error":{"message":"x","type":"server_error"}}`, want: "server_error first"},
		{name: "blank lines and no more", typ: plain, body: "\n\n\n", want: "truncated"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			body := []byte(tt.body)
			for _, cuts := range [][]int{nil, everywhere(body)} {
				r := decode(tt.typ, body, !tt.cut, true, cuts...)
				if got := verdictWord(r); got != tt.want || r.Text != tt.text {
					t.Errorf("in %d pieces: got %q, %q, want %q, %q", len(cuts)+1, got, r.Text, tt.want, tt.text)
				}
			}
			// What is looked at as a whole is the same.
			if _, good := Glance(body); tt.typ == plain && good && tt.want != "complete" {
				t.Errorf("at a glance it is good, want %s", tt.want)
			}
			if v, isError := ClassifyFrame(200, body); tt.typ == plain && (tt.body[0] == '{') && isError != strings.HasSuffix(tt.want, " first") {
				t.Errorf("as a frame: got %v, %v, want %s", v.Class, isError, tt.want)
			}
		})
	}
}

func verdictWord(r Result) string {
	switch {
	case r.Error.Position != "":
		return r.Error.Class.String() + " " + r.Error.Position
	case r.Truncated:
		return "truncated"
	case r.Complete && r.Strength == StrengthWeak:
		return "weak"
	case r.Complete:
		return "complete"
	}
	return "none"
}
