package sdktest

import (
	"strings"

	"github.com/steadyhttp/steady/internal/fakeserver"
)

// A dialect is how an API streams "one two three".
type dialect struct {
	events  []event
	opening int    // how many of them come before the first text
	failed  string // an error as the API puts it into a body
	named   bool   // whether events have names, or may have
}

type event struct{ name, data string }

const wholeText = "one two three"

// dialectOf returns what the API that p asks speaks.
func dialectOf(p path) *dialect {
	switch p.name {
	case "anthropic-sdk-go v1", "anthropic-sdk-go v2", "langchaingo anthropic":
		return &anthropicDialect
	case "genai":
		return &geminiDialect
	}
	return &openaiDialect
}

var openaiDialect = dialect{
	opening: 1,
	named:   true,
	failed:  `{"error":{"message":"The server is overloaded","type":"overloaded_error","param":null,"code":"server_is_overloaded"}}`,
	events: []event{
		{"", openaiChunk(`{"role":"assistant"}`, "")},
		{"", openaiChunk(`{"content":"one "}`, "")},
		{"", openaiChunk(`{"content":"two "}`, "")},
		{"", openaiChunk(`{"content":"three"}`, "")},
		{"", openaiChunk(`{}`, "stop")},
		{"", "[DONE]"},
	},
}

func openaiChunk(delta, reason string) string {
	finish := "null"
	if reason != "" {
		finish = `"` + reason + `"`
	}
	return `{"id":"c1","object":"chat.completion.chunk","created":1,"model":"fake-large","choices":[{"index":0,"delta":` +
		delta + `,"finish_reason":` + finish + `}]}`
}

var anthropicDialect = dialect{
	opening: 2,
	named:   true,
	failed:  `{"type":"error","error":{"type":"overloaded_error","message":"The server is overloaded"}}`,
	events: []event{
		{"message_start", `{"type":"message_start","message":{"id":"m1","type":"message","role":"assistant","model":"fake-large",` +
			`"content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":3,"output_tokens":1}}}`},
		{"content_block_start", `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`},
		{"content_block_delta", anthropicDelta("one ")},
		{"content_block_delta", anthropicDelta("two ")},
		{"content_block_delta", anthropicDelta("three")},
		{"content_block_stop", `{"type":"content_block_stop","index":0}`},
		{"message_delta", `{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":3}}`},
		{"message_stop", `{"type":"message_stop"}`},
	},
}

func anthropicDelta(text string) string {
	return `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"` + text + `"}}`
}

var geminiDialect = dialect{
	failed: `{"error":{"code":503,"message":"The server is overloaded","status":"UNAVAILABLE"}}`,
	events: []event{
		{"", geminiChunk("one ", "")},
		{"", geminiChunk("two ", "")},
		{"", geminiChunk("three", "STOP")},
	},
}

// sse writes the events down.
func sse(events ...event) string {
	var b strings.Builder
	for _, e := range events {
		if e.name != "" {
			b.WriteString("event: " + e.name + "\n")
		}
		b.WriteString("data: " + e.data + "\n\n")
	}
	return b.String()
}

func (d *dialect) whole() string { return sse(d.events...) }

// half is the stream until after "two ", and next the event that would follow.
func (d *dialect) half() (text string, next event) {
	return sse(d.events[:d.opening+2]...), d.events[d.opening+2]
}

// A situation is one way for an answer with status 200 to go.
type situation struct {
	name string
	// play returns the answer, or nil where the dialect knows no such thing.
	play  func(d *dialect) fakeserver.Effect
	waits bool // whether it takes time to see what becomes of it
}

func situations() []situation {
	const comment = ": keep-alive\n\n"
	relayed := event{"", `{"error":{"message":"The server is overloaded","type":"overloaded_error","code":"server_is_overloaded"}}`}
	first := func(text string) func(*dialect) fakeserver.Effect {
		return func(*dialect) fakeserver.Effect { return streamed(text, fakeserver.Clean) }
	}
	halfAnd := func(more string, end fakeserver.Ending, with ...fakeserver.Effect) func(*dialect) fakeserver.Effect {
		return func(d *dialect) fakeserver.Effect {
			text, _ := d.half()
			return streamed(text+more, end, with...)
		}
	}
	named := func(text string) func(*dialect) fakeserver.Effect {
		return func(d *dialect) fakeserver.Effect {
			if !d.named {
				return nil
			}
			return streamed(text+sse(event{"error", d.failed}), fakeserver.Clean)
		}
	}
	body := func(contentType string, text func(*dialect) string) func(*dialect) fakeserver.Effect {
		return func(d *dialect) fakeserver.Effect {
			return fakeserver.Play(200, contentType, nil, []byte(text(d)), fakeserver.Clean)
		}
	}
	return []situation{
		{name: "a whole answer", play: func(d *dialect) fakeserver.Effect { return streamed(d.whole(), fakeserver.Clean) }},
		{name: "160 keep-alive comments, then a whole answer", play: func(d *dialect) fakeserver.Effect {
			return streamed(strings.Repeat(comment, 160)+d.whole(), fakeserver.Clean)
		}},
		{name: "a relay strips the `event:` lines", play: func(d *dialect) fakeserver.Effect {
			if d != &anthropicDialect {
				return nil // its events have no names anyway
			}
			var bare []event
			for _, e := range d.events {
				bare = append(bare, event{"", e.data})
			}
			return streamed(sse(bare...), fakeserver.Clean)
		}},
		{name: "a clean end before the terminator", play: halfAnd("", fakeserver.Clean)},
		{name: "a clean end within a `data:` line", play: func(d *dialect) fakeserver.Effect {
			text, next := d.half()
			line := sse(next)
			return streamed(text+line[:len(line)-len(next.data)/2], fakeserver.Clean)
		}},
		{name: "the connection is closed", play: halfAnd("", fakeserver.FIN)},
		{name: "the connection is reset", play: halfAnd("", fakeserver.Reset)},
		{name: "`data: {\"error\":…}` first", play: first(sse(relayed))},
		{name: "`data: {\"error\":…}` after content", play: halfAnd(sse(relayed), fakeserver.Clean)},
		{name: "`data: {\"error\":…}` after content, then `[DONE]`", play: func(d *dialect) fakeserver.Effect {
			if d != &openaiDialect {
				return nil
			}
			text, _ := d.half()
			return streamed(text+sse(relayed, event{"", "[DONE]"}), fakeserver.Clean)
		}},
		{name: "`event: error` first", play: named("")},
		{name: "`event: error` after content", play: func(d *dialect) fakeserver.Effect {
			text, _ := d.half()
			return named(text)(d)
		}},
		{name: "a comment, then `data: {\"error\":…}`", play: first(comment + sse(relayed))},
		{name: "a JSON error as the body", play: body("application/json", func(d *dialect) string { return d.failed })},
		{name: "an empty body", play: body("text/event-stream", func(*dialect) string { return "" })},
		{name: "a page of HTML", play: body("text/html", func(*dialect) string {
			return "<!DOCTYPE html><html><body><h1>502 Bad Gateway</h1></body></html>"
		})},
		{name: "`finish_reason: insufficient_system_resource`", play: func(d *dialect) fakeserver.Effect {
			if d != &openaiDialect {
				return nil
			}
			text, _ := d.half()
			return streamed(text+sse(event{"", openaiChunk(`{}`, "insufficient_system_resource")}, event{"", "[DONE]"}), fakeserver.Clean)
		}},
		{name: "a stall before content", waits: true, play: func(d *dialect) fakeserver.Effect {
			return streamed(sse(d.events[:d.opening]...), fakeserver.Stalled)
		}},
		{name: "a stall after content", waits: true, play: halfAnd("", fakeserver.Stalled)},
		{name: "a stall after content, and keep-alives go on", waits: true,
			play: halfAnd("", fakeserver.Stalled, fakeserver.KeepAlive(keepAliveEvery, comment))},
	}
}

func streamed(text string, end fakeserver.Ending, with ...fakeserver.Effect) fakeserver.Effect {
	return fakeserver.Play(200, "text/event-stream", nil, []byte(text), end, with...)
}
