package wire

import (
	"bytes"
	"strings"
	"testing"
)

// Whatever a Glancer has learned before, it says what Glance says, but for the usage of
// what is not good.
func FuzzGlancer(f *testing.F) {
	all := append(bodies(f), usualAnswer)
	for i, b := range all {
		f.Add(b, b)
		f.Add(b, all[(i+1)%len(all)])
	}
	for _, p := range [][2]string{
		{`{"id":"a","usage":{"prompt_tokens":1}}`, `{"id":"b\n","usage":{"prompt_tokens":22}}`},
		{`{"id":"a","usage":{"prompt_tokens":1}}`, `{"id":"b","error":"c","usage":{"prompt_tokens":22}}`},
		{`{"id":"a","error":null}`, `{"id":"a","error":true}`},
		{`{"choices":[{"finish_reason":"stop"}]}`, `{"choices":[{"finish_reason":"error"}]}`},
		{`{"created":12,"a":"b"}`, `{"created":1e5,"a":""}`},
		{`{"a":1}`, `{"a":}`},
		{`{"a":"b"} `, `{"a":"b"} x`},
	} {
		f.Add([]byte(p[0]), []byte(p[1]))
	}
	f.Fuzz(func(t *testing.T, learned, p []byte) {
		var g Glancer
		g.Good(learned)
		want, good := Glance(p)
		if got := g.Good(p); got != good {
			t.Errorf("after %q a Glancer says %v of %q, Glance says %v", learned, got, p, good)
		}
		if got := g.Usage(p); good && got != want {
			t.Errorf("after %q a Glancer reads %+v in %q, Glance reads %+v", learned, got, p, want)
		}
	})
}

func TestAGlancerKnowsTheFormOfAnAnswerAgain(t *testing.T) {
	other := bytes.ReplaceAll(usualAnswer, []byte("word "), []byte(`a line\nand another `))
	other = bytes.Replace(other, []byte(`"completion_tokens":20`), []byte(`"completion_tokens":1234`), 1)
	tests := []struct {
		name  string
		body  []byte
		knows bool
	}{
		{"the answer that it has learned", usualAnswer, true},
		{"one with other text and other counts", other, true},
		{"one that ended for another reason", bytes.Replace(usualAnswer, []byte(`"stop"`), []byte(`"length"`), 1), false},
		{"one with a key more", bytes.Replace(usualAnswer, []byte(`{"id"`), []byte(`{"a":1,"id"`), 1), false},
		{"one that is cut", usualAnswer[:len(usualAnswer)-1], false},
		{"one with an escape that is none", bytes.Replace(usualAnswer, []byte("word "), []byte(`word\x`), 1), false},
	}
	for _, tt := range tests {
		var g Glancer
		if !g.Good(usualAnswer) {
			t.Fatal("the usual answer is not good")
		}
		if knows := g.form.Load().match(tt.body, new(counts)); knows != tt.knows {
			t.Errorf("a Glancer knows %s: %v, want %v", tt.name, knows, tt.knows)
		}
	}
}

// What a model has said to somebody is nobody else's, and not to be kept.
func TestAGlancerKeepsNothingOfWhatWasSaid(t *testing.T) {
	var g Glancer
	g.Good([]byte(`{"id":"SECRET","choices":[{"message":{"content":"SECRET","tool_calls":[{"function":{"arguments":"SECRET"}}]}}],"x":["SECRET"]}`))
	f := g.form.Load()
	if f == nil {
		t.Fatal("nothing was learned")
	}
	text := string(f.tail)
	for _, hole := range f.holes {
		text += string(hole.before[:cap(hole.before)])
	}
	if strings.Contains(text, "SECRET") {
		t.Errorf("the form keeps %q", text)
	}
}

// A provider that has changed the form of its answers is known again before long,
// and one whose answers are too large to be learned is none the worse for it.
func TestAGlancerLearnsAnotherForm(t *testing.T) {
	changed := bytes.Replace(usualAnswer, []byte(`{"id"`), []byte(`{"v":2,"id"`), 1)
	large := []byte(`{"a":[` + strings.Repeat(`"b",`, maxFormHoles) + `"b"],"usage":{"prompt_tokens":7}}`)
	var g Glancer
	g.Good(large)
	if g.form.Load() != nil {
		t.Error("a form with too many holes was learned")
	}
	g.Good(usualAnswer)
	first := g.form.Load()
	for range learnAfter {
		g.Good(changed)
	}
	if knows := g.form.Load().match(changed, new(counts)); g.form.Load() == first || !knows {
		t.Errorf("a form that came %d times was not learned", learnAfter)
	}
	if good, u := g.Good(large), g.Usage(large); !good || u.Input != 7 {
		t.Errorf("of the large answer it says %v, %+v", good, u)
	}
}

func TestAGlancerAllocatesNothing(t *testing.T) {
	var g Glancer
	if n := testing.AllocsPerRun(100, func() { g.Good(usualAnswer) }); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}
