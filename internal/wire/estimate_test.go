package wire

import (
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"
)

// texts are texts of many glyphs with the number of tokens that they come to,
// counted with OpenAI's own vocabularies (tiktoken-go/tokenizer v0.10.0). The
// vocabularies of the other providers are not public or not at hand: for them no
// count of these texts is known.
func texts(t testing.TB) []struct {
	Name          string
	Text          string
	O200k, Cl100k int
} {
	t.Helper()
	raw, err := os.ReadFile("testdata/charge/texts.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []struct {
		Name          string
		Text          string
		O200k, Cl100k int
	}
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// estimated is what a text comes to as the prompt of a completion, which has no
// envelope.
func estimated(quoted string) int64 {
	return ChargeOf("api.openai.com", "/v1/completions", []byte(`{"prompt":`+quoted+`}`), -1).Input
}

func quoted(t testing.TB, s string) string {
	t.Helper()
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(b.String())
}

func TestEstimateIsNearTheCount(t *testing.T) {
	const factor = 1.6
	for _, tt := range texts(t) {
		t.Run(tt.Name, func(t *testing.T) {
			got := float64(estimated(quoted(t, tt.Text)))
			want := float64(tt.O200k)
			t.Logf("%5.0f estimated, %4d o200k (%.2f), %4d cl100k (%.2f)", got, tt.O200k, got/want, tt.Cl100k, got/float64(tt.Cl100k))
			if got > want*factor || got < want/factor {
				t.Errorf("got %v tokens, want %v within a factor of %v", got, want, factor)
			}
		})
	}
}

func TestEstimateDoesNotDependOnHowTheTextIsEscaped(t *testing.T) {
	for _, tt := range texts(t) {
		t.Run(tt.Name, func(t *testing.T) {
			plain := quoted(t, tt.Text)
			ascii := strconv.QuoteToASCII(tt.Text)
			for _, r := range tt.Text {
				if r > 0xFFFF { // Go's escape for it is not JSON's
					ascii = strings.ReplaceAll(ascii, `\U000`+strconv.FormatInt(int64(r), 16), `\ud83d\ude00`)
				}
			}
			if got, want := estimated(ascii), estimated(plain); got != want {
				t.Errorf("got %d tokens with escapes, want %d as without\n%s", got, want, ascii)
			}
		})
	}
}

func TestEveryByteHasAKindAndAWeight(t *testing.T) {
	tests := []struct {
		name string
		text string
		want glyph
	}{
		{"a letter", "a", glyphLower},
		{"a capital", "A", glyphUpper},
		{"a letter with an accent", "é", glyphLatin},
		{"a Greek letter", "λ", glyphGreek},
		{"a Cyrillic letter", "ж", glyphGreek},
		{"a Hebrew letter", "ש", glyphSemitic},
		{"an Arabic letter", "ع", glyphSemitic},
		{"a Thai letter", "ก", glyphIndic},
		{"a dash", "—", glyphSymbol},
		{"a hiragana", "ひ", glyphKana},
		{"a Chinese character", "狗", glyphHan},
		{"a full-width comma", "，", glyphHan},
		{"a Korean syllable", "한", glyphHangul},
		{"an emoji", "😀", glyphAstral},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := glyphOfByte[tt.text[0]]; got != tt.want {
				t.Errorf("got glyph %d, want %d", got, tt.want)
			}
			for i := 1; i < len(tt.text); i++ {
				if got := glyphOfByte[tt.text[i]]; got != glyphRest {
					t.Errorf("byte %d: got glyph %d, want %d", i, got, glyphRest)
				}
			}
			if w := weights[glyphPunct][tt.want]; w == 0 {
				t.Error("got no weight")
			}
		})
	}
}
