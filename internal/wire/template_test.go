package wire

import (
	"bytes"
	"strings"
	"testing"
)

// A pair decodes the same bytes twice: one decoder has its templates, the other
// scans every event.
type pair struct {
	quick, slow *Decoder
}

func newPair(contentType string) pair {
	p := pair{NewDecoder(contentType, ""), NewDecoder(contentType, "")}
	p.slow.ev.collect = true // which needs the text, so it takes no template
	return p
}

// write hands body to both in pieces of step bytes, and fails if they do not
// find the same in each.
func (d pair) write(t *testing.T, body []byte, step int) {
	t.Helper()
	for from := 0; from < len(body); from += step {
		piece := append([]byte(nil), body[from:min(len(body), from+step)]...)
		got, want := d.quick.Write(piece), d.slow.Write(piece)
		clear(piece) // nobody may keep it
		if got != want {
			t.Fatalf("%q behind %q:\n got %+v\nwant %+v", body[from:min(len(body), from+step)], body[:from], got, want)
		}
		if got, want := d.quick.Usage(), d.slow.Usage(); got != want {
			t.Fatalf("usage: got %+v, want %+v", got, want)
		}
		frame, verdict, failed := d.quick.Failure()
		if wantFrame, wantVerdict, want := d.slow.Failure(); failed != want || verdict != wantVerdict || !bytes.Equal(frame, wantFrame) {
			t.Fatalf("failure:\n got %q, %+v\nwant %q, %+v", frame, verdict, wantFrame, wantVerdict)
		}
	}
}

func (d pair) end(t *testing.T) {
	t.Helper()
	want := d.slow.End(true)
	want.Text = ""
	if got := d.quick.End(true); got != want {
		t.Fatalf("at the end:\n got %+v\nwant %+v", got, want)
	}
}

// FuzzTemplate makes streams of two events that come again and again in any
// order, since what is seen once is nobody's neighbour.
func FuzzTemplate(f *testing.F) {
	types := []string{sseType, ndjsonType, jsonType, ""}
	for _, s := range benchStreams {
		for i, typ := range types {
			if typ == s.contentType {
				f.Add(byte(i), []byte(s.event(3)), []byte(s.event(11)), uint32(0b1011000100), uint16(4096))
			}
		}
	}
	for _, pair := range neighbours {
		f.Add(byte(0), []byte(pair[0]), []byte(pair[1]), uint32(0b1011000100), uint16(33))
	}
	f.Fuzz(func(t *testing.T, kind byte, a, b []byte, order uint32, step uint16) {
		if len(a)+len(b) > 2<<10 {
			return
		}
		var body []byte
		for ; order > 0; order >>= 1 {
			if order&1 == 0 {
				body = append(body, a...)
			} else {
				body = append(body, b...)
			}
		}
		d := newPair(types[int(kind)%len(types)])
		d.write(t, body, 1+int(step)%8192)
		d.end(t)
	})
}

const plainEvent = `{"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}],"created":1,"usage":null}`

// neighbours are pairs of events of which one must not be taken for the other.
var neighbours = func() [][2]string {
	all := [][2]string{
		{sse(plainEvent), "event: error\n" + sse(plainEvent)},
		{sse(plainEvent), "data: " + plainEvent + "\nevent: error\n\n"},
		{sse(plainEvent), "data: " + plainEvent + "\nevent: ping\n\n"},
		{sse(plainEvent), ": hi\n" + sse(plainEvent)},
		{sse(plainEvent), "data: " + plainEvent + "\n: hi\n\n"},
		{sse(plainEvent), "data: " + plainEvent + "\ndata: x\n\n"},
		{sse(plainEvent), "data: " + plainEvent + "\ndata:\n\n"},
		{sse(plainEvent), "data: " + plainEvent + "\r\n\r\n"},
		{sse(plainEvent), "data: " + plainEvent + "\r\r"},
		{sse(plainEvent), "data:" + plainEvent + "\n\n"},
		{sse(plainEvent), plainEvent + "\n"},
		{sse(plainEvent), "id: 1\n" + sse(plainEvent)},
		{"id: 1\n" + sse(plainEvent), "id: 2\n" + sse(plainEvent)},
		{": hi\n" + sse(plainEvent), ": ho\n" + sse(plainEvent)},
		{"event: delta\n" + sse(plainEvent), "event: error\n" + sse(plainEvent)},
		{"event: " + plainEvent + "\n" + sse(plainEvent), sse(plainEvent)},
		{sse(plainEvent), sse("[DONE]")},
		{sse(`{"type":"response.output_text.delta","delta":"a"}`), sse(`{"type":"response.output_text.delta","response":"a"}`)},
		{sse(`{"type":"response.output_text.delta","response":"a"}`), sse(`{"type":"response.output_text.delta","response":"b"}`)},
		{sse(plainEvent), "\n"},
	}
	for _, s := range [][2]string{
		{`"content":"a"`, `"content":""`},
		{`"content":"a"`, `"content":null`},
		{`"content":"a"`, `"content":"b`},
		{`"content":"a"`, `"content":"\"},\"finish_reason\":\"stop\""`},
		{`"content":"a"`, `"content":"","finish_reason":"stop"`},
		{`"content":"a"`, `"content":"\u00e9\ud83d\udc4b"`},
		{`"content":"a"`, `"content":"\x"`},
		{`"content":"a"`, "\"content\":\"two\nlines\""},
		{`"content":"a"`, "\"content\":\"two\rlines\""},
		{`"content":"a"`, "\"content\":\"two\tcells\""},
		{`"content":"a"`, `"content":"data: [DONE]"`},
		{`"content":"a"`, `"content":"\n\ndata: {\"error\":1}\n\n"`},
		{`"content":"a"`, `"content" : "a"`},
		{`"finish_reason":null`, `"finish_reason":"stop"`},
		{`"finish_reason":null`, `"finish_reason":"error"`},
		{`"usage":null`, `"usage":{"total_tokens":7}`},
		{`"usage":null`, `"error":{"message":"busy"}`},
		{`"created":1`, `"created":2`},
		{`"created":1`, `"created":"1"`},
		{`"created":1`, `"created":-`},
		{`"created":1`, `"created":1.5e3`},
		{`"index":0`, `"index":1`},
	} {
		all = append(all, [2]string{sse(plainEvent), sse(strings.Replace(plainEvent, s[0], s[1], 1))})
	}
	counting := strings.Replace(plainEvent, "null}", `{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7,"cost":0.5}}`, 1)
	for _, s := range [][2]string{
		{`"completion_tokens":4`, `"completion_tokens":5`},
		{`"completion_tokens":4`, `"completion_tokens":0`},
		{`"completion_tokens":4`, `"completion_tokens":1.5`},
		{`"total_tokens":7`, `"total_tokens":0`},
		{`"total_tokens":7`, `"total_tokens":-`},
		{`"completion_tokens":4`, `"completion_tokens":` + strings.Repeat("0", keepScalar) + `5`},
		{`"cost":0.5`, `"cost":0`},
		{`"cost":0.5`, `"cost":1e999`},
		{`"prompt_tokens":3,"completion_tokens":4,"total_tokens":7,"cost":0.5`, `"prompt_tokens":1.5,"completion_tokens":-,"total_tokens":1.5,"cost":0`},
	} {
		all = append(all, [2]string{sse(counting), sse(strings.Replace(counting, s[0], s[1], 1))})
	}
	return all
}()

func sse(data string) string { return "data: " + data + "\n\n" }

func TestATemplateTakesNoEventForAnother(t *testing.T) {
	for _, n := range neighbours {
		for _, typ := range []string{sseType, ndjsonType} {
			a, b := n[0], n[1]
			if typ == ndjsonType {
				a, b = lines(a), lines(b)
			}
			for _, pattern := range []string{"aabab", "bbaba", "aaabba", "bbbaab"} {
				body := strings.NewReplacer("a", a, "b", b).Replace(pattern)
				for _, step := range [...]int{1, 2, 3, 7, 19, 50, 64, len(a), len(b), len(a + b), len(body) - 1, len(body)} {
					d := newPair(typ)
					d.write(t, []byte(body), step)
					d.end(t)
				}
			}
		}
	}
}

// lines makes lines of JSON of an event.
func lines(event string) string {
	return strings.ReplaceAll(strings.ReplaceAll(event, "data: ", ""), "\n\n", "\n")
}

// What reads the same at all times is compared, not searched, until it changes.
func TestAValueThatChangesBecomesAHole(t *testing.T) {
	d := NewDecoder(sseType, "")
	at := func(created string) string { return sse(strings.Replace(plainEvent, `:1,`, `:`+created+`,`, 1)) }
	for i, tt := range []struct {
		created string
		holes   int
	}{{"1", 1}, {"1", 1}, {"2", 2}, {"3", 2}, {"3", 2}} {
		d.Write([]byte(at(tt.created)))
		if d.template.n != tt.holes {
			t.Errorf("after event %d: %d holes, want %d", i, d.template.n, tt.holes)
		}
	}
}

// The differential tests prove nothing if no event ever matches.
func TestEventsOfEveryDialectMatch(t *testing.T) {
	for _, s := range benchStreams {
		d := NewDecoder(s.contentType, "")
		for i := range 3 {
			d.Write([]byte(s.event(i)))
		}
		next := []byte(s.event(3) + s.event(4))
		if got := d.matchEvents(next, 0, 0); got != len(next) {
			t.Errorf("%s: %d bytes of %d match", s.name, got, len(next))
		}
	}
}
