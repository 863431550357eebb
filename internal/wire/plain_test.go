package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
)

func TestPlainBodies(t *testing.T) {
	const completion = `{"id":"x","choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":1,"total_tokens":4}}`
	tests := []struct {
		name      string
		typ, path string
		body      string
		form      Form
		complete  bool
		truncated bool
		retryable bool
		finish    string
		text      string
		position  string
	}{
		{name: "a completion", typ: jsonType, body: completion, form: FormJSON, complete: true, finish: "stop", text: "Hi"},
		{name: "a completion behind 30 s of blank lines", typ: jsonType, body: strings.Repeat("\n", 30) + completion, form: FormJSON, complete: true, finish: "stop", text: "Hi"},
		{name: "a completion that is cut", typ: jsonType, body: completion[:len(completion)-1], form: FormJSON, truncated: true, retryable: true},
		{name: "a completion that failed", typ: jsonType, body: `{"choices":[{"message":{"content":"H"},"finish_reason":"insufficient_system_resource"}]}`, form: FormJSON, retryable: true, finish: "insufficient_system_resource", text: "H", position: "mid"},
		{name: "a completion that does not say why it ended", typ: jsonType, body: `{"choices":[{"index":0,"message":{"content":"Hi"},"finish_reason":null}]}`, form: FormJSON, complete: true, text: "Hi"},
		{name: "a completion in an event stream's type", typ: sseType, body: completion, form: FormJSON, complete: true, finish: "stop", text: "Hi"},
		{name: "an error under 200", typ: jsonType, body: `{"error":{"message":"busy","type":"overloaded_error"}}`, form: FormJSON, retryable: true, position: "first"},
		{name: "an error in an array", typ: jsonType, body: `[{"error":{"code":503,"message":"busy","status":"UNAVAILABLE"}}]`, form: FormArray, retryable: true, position: "first"},
		{name: "an error of Anthropic's kind", typ: jsonType, body: `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, form: FormJSON, retryable: true, position: "first"},
		{name: "an error that is a string", typ: jsonType, body: `{"error":"Internal Server Error"}`, form: FormJSON, retryable: true, position: "first"},
		{name: "embeddings", typ: jsonType, path: "/v1/embeddings", body: `{"object":"list","data":[{"embedding":[0.1,-2e-3]}],"usage":{"prompt_tokens":8,"total_tokens":8}}`, form: FormJSON, complete: true},
		{name: "a list of models", typ: jsonType, path: "/v1/models", body: `{"object":"list","data":[{"id":"m","object":"model"}]}`, form: FormJSON, complete: true},
		{name: "an array of numbers", typ: jsonType, path: "/embed", body: ` [1, 2.5,[3]] `, form: FormArray, complete: true},
		{name: "an array that is cut", typ: jsonType, path: "/embed", body: `[1, 2,`, form: FormArray, truncated: true, retryable: true},
		{name: "a single string", typ: jsonType, body: `"ok"`, form: FormJSON, complete: true},
		{name: "a single number", typ: jsonType, body: `12`, form: FormJSON, complete: true},
		{name: "nothing", typ: jsonType, body: "", form: FormUnknown, truncated: true, retryable: true},
		{name: "white space", typ: sseType, body: " \r\n\r\n", form: FormUnknown, truncated: true, retryable: true},
		{name: "a page in place of JSON", typ: jsonType, body: "\n<!doctype html><title>502</title>", form: FormHTML, retryable: true},
		{name: "a page in place of a stream", typ: sseType, body: "<html>", form: FormHTML, retryable: true},
		{name: "a page where pages belong", typ: "text/html", path: "/docs", body: "<html></html>", form: FormHTML, complete: true},
		{name: "a sentence in place of JSON", typ: jsonType, body: "Internal error", form: FormText, retryable: true},
		{name: "a sentence that begins like a field", typ: jsonType, body: "error: upstream", form: FormText, retryable: true},
		{name: "a sentence that begins like a literal", typ: jsonType, body: "no healthy upstream", form: FormText, retryable: true},
		{name: "a transcript", typ: "text/plain", path: "/v1/audio/transcriptions", body: "Hello, this is a test.", form: FormText, complete: true},
		{name: "speech", typ: "audio/mpeg", path: "/v1/audio/speech", body: "ID3\x00{", form: FormOpaque, complete: true},
		{name: "a body that is compressed", typ: jsonType, body: "\x1f\x8b\x08\x00{", form: FormOpaque, complete: true},
		{name: "JSON under a text type", typ: "text/plain; charset=utf-8", body: completion, form: FormJSON, complete: true, finish: "stop", text: "Hi"},
		{name: "JSON that breaks in the middle", typ: jsonType, body: `{"choices":[}`, form: FormText, retryable: true},
		{name: "a stream of something else", typ: sseType, path: "/mcp", body: events(`{"jsonrpc":"2.0","result":{}}`), form: FormSSE},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, cuts := range [][]int{nil, everywhere([]byte(tt.body))} {
				r := decodeAt(tt.typ, tt.path, tt.body, cuts)
				got := fmt.Sprint(r.Form, r.Complete, r.Truncated, r.Retryable, r.Finish, r.Text, r.Error.Position)
				want := fmt.Sprint(tt.form, tt.complete, tt.truncated, tt.retryable, tt.finish, tt.text, tt.position)
				if got != want {
					t.Errorf("in %d pieces: got %s, want %s", len(cuts)+1, got, want)
				}
			}
		})
	}
}

func TestWhatIsNotJSONIsNotComplete(t *testing.T) {
	for _, body := range []string{
		`{`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,}`, `{,}`, `{"a" 1}`, `{"a":1 "b":2}`, `{1:2}`, `{"a":tru}`, `{"a":nul`, `{"a":'b'}`, `{"a":[1}`, `{"a":[1,]}`, `{"a":"\z"}`,
		`[`, `[1`, `[1,`, `[1,]`, `[,1]`, `[1,,2]`, `[1 2]`, `[1}`, `[{]`, `{"a":1}}`, `{"a":1}]`,
	} {
		for _, cuts := range [][]int{nil, everywhere([]byte(body))} {
			if r := decodeAt(jsonType, "/v1/models", body, cuts); r.Complete && r.Strength == StrengthStrong {
				t.Errorf("%s in %d pieces: got %+v", body, len(cuts)+1, r)
			}
		}
	}
}

func decodeAt(typ, path, body string, cuts []int) Result {
	d := NewDecoder(typ, path)
	d.ev.collect = true
	from := 0
	for _, cut := range append(cuts, len(body)) {
		d.Write([]byte(body[from:cut]))
		from = cut
	}
	return d.End(true)
}

func TestACutIsNeverAnEndOfAnythingUnknown(t *testing.T) {
	for _, tt := range []struct{ typ, path, body string }{
		{"audio/mpeg", "/v1/audio/speech", "ID3"},
		{sseType, "/mcp", events(`{"jsonrpc":"2.0"}`)},
		{jsonType, "/v1/models", `{"data":[`},
	} {
		d := NewDecoder(tt.typ, tt.path)
		d.Write([]byte(tt.body))
		if r := d.End(false); r.Complete || !r.Truncated || !r.Retryable {
			t.Errorf("%s: got %+v, want truncated", tt.path, r)
		}
	}
}

func TestABareSentinelAloneIsWorthAnotherTry(t *testing.T) {
	for body, want := range map[string]bool{
		events("[DONE]"): true,
		events(`{"choices":[{"delta":{"role":"assistant"},"finish_reason":"null"}]}`, "[DONE]"): true,
		events(`{"choices":[{"delta":{"content":"a"}}]}`, "[DONE]"):                             false,
	} {
		r := decodeAt(sseType, "", body, nil)
		if !r.Complete || r.Strength != StrengthWeak || r.Retryable != want {
			t.Errorf("%q: got %+v, want weak, retryable %v", body, r, want)
		}
	}
}

// What is hostile must not cost more than its size: if each document were
// searched for its line end, this would outlast the timeout of any test run.
func TestManyDocumentsOnOneLineAreReadOnce(t *testing.T) {
	body := []byte(strings.Repeat("{}", 1<<20) + strings.Repeat(" ", 1<<20))
	for _, typ := range []string{jsonType, ndjsonType, sseType} {
		d := NewDecoder(typ, "/v1/models")
		if p := d.Write(body); typ != sseType && p.Events != 1<<20 {
			t.Errorf("%s: %d events, want %d", typ, p.Events, 1<<20)
		}
	}
}

func TestAKnownDialectIsJudgedOnAnyPath(t *testing.T) {
	body := events(`{"choices":[{"index":0,"delta":{"content":"a"}}]}`)
	if r := decodeAt(sseType, "/relay/7", body, nil); !r.Truncated {
		t.Errorf("got %+v, want truncated", r)
	}
}

func TestConverseIsOverAfterItsMetadata(t *testing.T) {
	stop, metadata := frame("messageStop", `{"stopReason":"end_turn"}`), frame("metadata", `{"usage":{"inputTokens":1,"outputTokens":2}}`)
	got := NewDecoder(binaryType, "").Write([]byte(stop + metadata))
	if want := (Progress{Events: 2, AfterFinish: len(stop), AfterTerminal: len(stop + metadata)}); got != want {
		t.Errorf("\n got %+v\nwant %+v", got, want)
	}
}

func TestWriteTellsWhereThingsEnd(t *testing.T) {
	const (
		role    = "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\"}}]}\n\n"
		content = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n"
		finish  = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\r\n\r\n"
		done    = "data: [DONE]\n\n"
		failed  = "event: error\ndata: {\"error\":{\"type\":\"server_error\"}}\n\n"
	)
	tests := []struct {
		name   string
		before string
		body   string
		want   Progress
	}{
		{"a comment", "", ": hi\n\n", Progress{Keepalives: 1}},
		{"a role", "", role, Progress{Events: 1}},
		{"content behind a role", "", role + content + content, Progress{Events: 3, Content: 2, AfterContent: len(role + content)}},
		{"the end of a whole stream", "", content + finish + done, Progress{
			Events: 3, Content: 1, AfterContent: len(content), AfterFinish: len(content + finish), AfterTerminal: len(content + finish + done),
		}},
		{"an event whose beginning came before", content[:20], content[20:] + role, Progress{Events: 2, Content: 1, AfterContent: len(content) - 20}},
		{"a blank line alone", content[:len(content)-1], "\n", Progress{Events: 1, Content: 1, AfterContent: 1}},
		{"an error behind content", content, ": x\n" + failed + done, Progress{Events: 1, Keepalives: 1, AfterError: len(": x\n" + failed), AfterTerminal: len(": x\n" + failed + done)}},
		{"an event that has not ended", content, content[:30], Progress{Partial: 30 - int64(len("data: "))}},
		{"a comment that has not ended", "", ": " + strings.Repeat("x", 100), Progress{}},
		{"a comment before an event that has not ended", content[:30], content[30:40], Progress{Partial: 40 - int64(len("data: "))}},
		{"blank lines before JSON", "", "\n\n{", Progress{Keepalives: 2, Partial: 1}},
		{"the end of JSON", `{"choices":[{"message":{"content":"a"},"finish_reason":`, "\"stop\"}]}\n", Progress{
			Events: 1, Content: 1, AfterContent: len(`"stop"}]}`), AfterFinish: len(`"stop"}]}`), AfterTerminal: len(`"stop"}]}`),
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := NewDecoder(sseType, "")
			d.Write([]byte(tt.before))
			if got := d.Write([]byte(tt.body)); got != tt.want {
				t.Errorf("\n got %+v\nwant %+v", got, tt.want)
			}
		})
	}
}

func TestFailureHandsOutTheFrame(t *testing.T) {
	const frame = `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`
	d := NewDecoder(sseType, "/v1/messages")
	if _, _, ok := d.Failure(); ok {
		t.Error("a failure before the first byte")
	}
	body := []byte("event: error\ndata: " + frame + "\n\n")
	for i := range body {
		d.Write(body[i : i+1])
	}
	clear(body)
	got, v, ok := d.Failure()
	if !ok || string(got) != frame || v.Class.String() != "overloaded" || !v.Retry {
		t.Errorf("got %s, %+v, %v, want %s, overloaded", got, v, ok, frame)
	}
}

// A repeat is n times b, in no memory.
type repeat struct {
	b string
	n int
}

func (r repeat) WriteTo(w io.Writer) (int64, error) {
	block := []byte(strings.Repeat(r.b, max(1, 32<<10/len(r.b))))
	for left := r.n * len(r.b); left > 0; left -= len(block) {
		if _, err := w.Write(block[:min(left, len(block))]); err != nil {
			return 0, err
		}
	}
	return 0, nil
}

type decoderWriter struct{ d *Decoder }

func (w decoderWriter) Write(p []byte) (int, error) {
	w.d.Write(p)
	return len(p), nil
}

func TestLargeBodiesPassInFlatMemory(t *testing.T) {
	const mib = 1 << 20
	tests := []struct {
		name       string
		typ        string
		head, tail string
		middle     repeat
		want       want
	}{
		{
			"a line of 64 MiB with its finish at the end", sseType, `data: {"choices":[{"delta":{"content":"`, "\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n", repeat{"lorem ipsum ", 64 * mib / 12},
			want{complete: true, strength: "strong", terminal: "finish_reason", finish: "stop", content: 1},
		},
		{
			"a picture in one event with nothing after it", sseType, `data: {"candidates":[{"content":{"parts":[{"inlineData":{"mimeType":"image/png","data":"`, "\"}}]},\"finishReason\":\"STOP\"}]}\r\n\r\n", repeat{"aGVsbG8K", 4 * mib},
			want{complete: true, strength: "strong", terminal: "finishReason", finish: "STOP", content: 1},
		},
		{
			"a line of 64 MiB that is cut", sseType, `data: {"choices":[{"delta":{"content":"`, "", repeat{`\"\\`, 16 * mib},
			want{truncated: true, terminal: "none"},
		},
		{
			"a comment of 64 MiB", sseType, ": ", "\n\ndata: [DONE]\n\n", repeat{"keep-alive ", 6 * mib},
			want{complete: true, strength: "weak", terminal: "done_sentinel"},
		},
		{
			"embeddings of 100 MiB", jsonType, `{"object":"list","data":[{"embedding":[0.25`, `]}],"usage":{"prompt_tokens":8,"total_tokens":8}}`, repeat{",-0.0123456", 10 * mib},
			want{complete: true, strength: "strong", terminal: "json", in: 8},
		},
		{
			"an array of a million elements", jsonType, `[0`, `]`, repeat{",{}", mib},
			want{complete: true, strength: "strong", terminal: "json"},
		},
		{
			"a line of Ollama's of 32 MiB", ndjsonType, `{"message":{"content":"`, "\"},\"done\":true,\"done_reason\":\"stop\"}\n", repeat{"0123456789abcdef", 2 * mib},
			want{complete: true, strength: "strong", terminal: "done_true", finish: "stop", content: 1},
		},
		{
			"brackets without end", jsonType, ``, "", repeat{"[", 8 * mib},
			want{truncated: true, terminal: "none", malformed: 1},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := NewDecoder(tt.typ, "")
			before := heap()
			w := decoderWriter{d}
			io.WriteString(w, tt.head)
			tt.middle.WriteTo(w)
			if grown := int64(heap()) - int64(before); grown > 512<<10 {
				t.Errorf("the heap grew by %d KiB, want at most 512", grown>>10)
			}
			io.WriteString(w, tt.tail)
			r := d.End(true)
			r.Keepalives = 0
			if got := wanted(r); got != tt.want {
				t.Errorf("\n got %+v\nwant %+v", got, tt.want)
			}
		})
	}
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func TestTheSteadyStateDoesNotAllocate(t *testing.T) {
	for _, s := range benchStreams {
		body := s.make()
		d := NewDecoder(s.contentType, "")
		d.Write(body)
		whole := testing.AllocsPerRun(5, func() { d.Write(body) })
		halves := testing.AllocsPerRun(5, func() {
			for from := 0; from < len(body); from += 100 {
				d.Write(body[from:min(len(body), from+100)])
			}
		})
		if whole > 0 || halves > 0 {
			t.Errorf("%s: %v allocations for %d events, %v in small pieces, want none", s.name, whole, benchEvents, halves)
		}
	}
}

func FuzzDecoder(f *testing.F) {
	types := []string{sseType, jsonType, ndjsonType, binaryType, "text/plain", ""}
	for _, r := range streamRows(f) {
		for i, typ := range types {
			if strings.HasPrefix(typ, r.ContentType) {
				f.Add(byte(i), r.body(f), uint16(7))
			}
		}
	}
	for _, s := range shapes {
		for i, typ := range types {
			if typ == s.typ {
				f.Add(byte(i), []byte(s.body), uint16(3))
			}
		}
	}
	f.Fuzz(func(t *testing.T, kind byte, body []byte, step uint16) {
		typ := types[int(kind)%len(types)]
		want := decode(typ, body, true, true)
		var cuts []int
		for at := 1 + int(step)%64; at < len(body); at += 1 + int(step)%97 {
			cuts = append(cuts, at)
		}
		if got := decode(typ, body, true, true, cuts...); got != want {
			t.Errorf("cut at %v:\n got %+v\nwant %+v", cuts, got, want)
		}
		want.Text = ""
		if got := decode(typ, body, true, false, cuts...); got != want {
			t.Errorf("with the template:\n got %+v\nwant %+v", got, want)
		}
		states := 0
		for _, set := range []bool{want.Complete, want.Truncated, want.Error.Position != ""} {
			if set {
				states++
			}
		}
		if states > 1 {
			t.Errorf("more than one verdict: %+v", want)
		}
	})
}

func FuzzPlain(f *testing.F) {
	for _, r := range streamRows(f) {
		if r.Kind == "response" {
			f.Add(r.body(f))
		}
	}
	f.Add([]byte(`[1,{"a":[true,false,null,"\u00e9\\"]},-1.5e+7]`))
	f.Fuzz(func(t *testing.T, body []byte) {
		text := bytes.TrimLeft(body, " \t\r\n")
		if len(text) == 0 || text[0] != '{' && text[0] != '[' {
			return
		}
		d := NewDecoder(jsonType, "/v1/models")
		d.Write(body)
		r := d.End(true)
		if json.Valid(body) && (r.MalformedFrames > 0 || d.json.open()) {
			t.Errorf("valid JSON, got %+v", r)
		}
		// Numbers and control characters are read leniently, structure is not.
		if r.Complete && r.MalformedFrames == 0 && r.Form == FormJSON && bytes.Count(body, []byte{'{'})+bytes.Count(body, []byte{'['}) !=
			bytes.Count(body, []byte{'}'})+bytes.Count(body, []byte{']'}) && !bytes.Contains(body, []byte{'"'}) {
			t.Errorf("brackets do not match, got %+v", r)
		}
	})
}
