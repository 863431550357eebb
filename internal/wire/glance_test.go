package wire

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// usualAnswer is a chat completion of some 300 bytes.
var usualAnswer = []byte(`{"id":"c-1","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"` +
	strings.Repeat("word ", 20) + `"},"finish_reason":"stop"}],"usage":{"prompt_tokens":20,"completion_tokens":20,"total_tokens":40}}`)

// decoded is what a Decoder says of a body that Glance is asked about.
func decoded(p []byte) (Usage, bool) {
	d := NewDecoder("application/json", "/v1/chat/completions")
	d.Write(p)
	if _, _, failed := d.Failure(); failed {
		return Usage{}, false
	}
	r := d.End(true)
	return r.Usage, r.Complete
}

// bodies are the JSON bodies that the tests of this package keep.
func bodies(tb testing.TB) (all [][]byte) {
	for _, dir := range []string{"testdata/responses", "testdata/errors"} {
		err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(path) != ".json" {
				return err
			}
			b, err := os.ReadFile(path)
			all = append(all, b)
			return err
		})
		if err != nil {
			tb.Fatal(err)
		}
	}
	return all
}

// A glance that is sure is right, and it is sure of every usual answer.
func FuzzGlance(f *testing.F) {
	for _, b := range bodies(f) {
		f.Add(b)
	}
	for _, s := range []string{
		`{"choices":[{"finish_reason":"error"}]}`, `{"error":null,"choices":[]}`, `{"error":0}`, `{"error":{}}`, `{"error":{"a":1}}`,
		`{"a":"\u00e9\n\"","choices":[{"index":1e0}]} ` + "\n", `{"a":1}{"b":2}`, `{"a":1,}`, `{"a":[1,]}`, `{"done":false}`, `[{"a":1}]`,
		`{"type":"ping"}`, `{"type":"pin\u0067"}`, `{"\u0065rror":{"a":1}}`, `{"code":500,"message":"no"}`, `{"object":"error"}`, `{"a":tru}`,
		`{"a":"\u12`, `{"a":"\u12"}`, `{"a":"\u`,
		`{"usage":{"prompt_tokens":1.5,"completion_tokens":-3,"cost":0.25}}`, `{"choices":[[{"finish_reason":"error"}]]}`, "\xEF\xBB\xBF{}", `{"a":"` + "\x00" + `"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, p []byte) {
		usage, sure := Glance(p)
		if !sure {
			return
		}
		if want, whole := decoded(p); !whole || usage != want {
			t.Errorf("Glance is sure of %q, with %+v; a Decoder says whole: %v, %+v", p, usage, whole, want)
		}
	})
}

func TestGlanceIsSureOfEveryGoodAnswer(t *testing.T) {
	good := 0
	for _, b := range append(bodies(t), usualAnswer) {
		_, whole := decoded(b)
		whole = whole && bytes.TrimSpace(b)[0] == '{'
		if _, sure := Glance(b); sure != whole {
			t.Errorf("Glance is sure: %v, a Decoder says whole: %v, of %q", sure, whole, b)
		}
		if whole {
			good++
		}
	}
	if good < 5 {
		t.Errorf("only %d good answers were looked at", good)
	}
}

func TestGlanceAllocatesNothing(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() { Glance(usualAnswer) }); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

func BenchmarkGlance(b *testing.B) {
	b.Run("glance", func(b *testing.B) {
		b.SetBytes(int64(len(usualAnswer)))
		for b.Loop() {
			Glance(usualAnswer)
		}
	})
	b.Run("glancer", func(b *testing.B) {
		b.SetBytes(int64(len(usualAnswer)))
		var g Glancer
		for b.Loop() {
			g.Good(usualAnswer)
		}
	})
	b.Run("decoder", func(b *testing.B) {
		b.SetBytes(int64(len(usualAnswer)))
		d := NewDecoder("application/json", "/v1/chat/completions")
		for b.Loop() {
			d.Reset("application/json", "/v1/chat/completions")
			d.Write(usualAnswer)
			d.End(true)
		}
	})
}
