package wire

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A row is one line of testdata/stream_manifest.json.
type streamRow struct {
	Name        string
	Kind        string
	File        string
	ContentType string `json:"content_type"`
	AfterBytes  string `json:"after_bytes"`
	Expect      map[string]any
}

func streamRows(t testing.TB) []streamRow {
	t.Helper()
	raw, err := os.ReadFile("testdata/stream_manifest.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []streamRow
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	if len(all) != 136 {
		t.Fatalf("the manifest has %d rows, want 136", len(all))
	}
	return all
}

func (r streamRow) body(t testing.TB) []byte {
	t.Helper()
	body, err := os.ReadFile(filepath.Join("testdata", r.File))
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// decode runs a body through a decoder in the pieces that cuts says.
func decode(contentType string, body []byte, clean, text bool, cuts ...int) Result {
	d := NewDecoder(contentType, "")
	d.ev.collect = text
	from := 0
	for _, cut := range append(cuts, len(body)) {
		piece := append([]byte(nil), body[from:cut]...)
		d.Write(piece)
		clear(piece) // nobody may keep it
		from = cut
	}
	return d.End(clean)
}

func TestEveryRowOfTheManifest(t *testing.T) {
	for _, r := range streamRows(t) {
		t.Run(r.Name, func(t *testing.T) {
			got := flatten(decode(r.ContentType, r.body(t), r.AfterBytes == "", true))
			for key, want := range r.Expect {
				if diff := compare(got[key], want); diff != "" {
					t.Errorf("%s: %s", key, diff)
				}
			}
		})
	}
}

// flatten gives a result the names and types of the manifest.
func flatten(r Result) map[string]any {
	m := map[string]any{
		"complete": r.Complete, "truncated": r.Truncated, "strength": r.Strength.String(),
		"terminal": r.Terminal, "finish": orNil(r.Finish), "text": r.Text,
		"content_events": float64(r.ContentEvents), "keepalives": float64(r.Keepalives),
		"malformed_frames": float64(r.MalformedFrames),
		"retryable":        r.Retryable, "replay_safe": r.ContentEvents == 0, "wait_ms": nil, "usage": nil, "error": nil,
	}
	if r.Wait > 0 {
		m["wait_ms"] = float64(r.Wait.Milliseconds())
	}
	if u := r.Usage; u.Known {
		m["usage"] = map[string]any{
			"input": float64(u.Input), "output": float64(u.Output), "total": float64(u.Total),
			"cached_input": float64(u.CachedInput), "cache_write": float64(u.CacheWrite), "cost_usd": u.CostUSD,
		}
	}
	if e := r.Error; e.Position != "" {
		m["error"] = map[string]any{
			"position": e.Position, "class": e.Class.String(), "code": orNil(e.Code), "type": orNil(e.Type),
		}
	}
	return m
}

func orNil(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// compare returns what differs. A number in the manifest may stand for the
// same in words, and a usage may leave out what is zero.
func compare(got, want any) string {
	w, ok := want.(map[string]any)
	if !ok {
		if n, isNumber := want.(float64); isNumber {
			if s, isString := got.(string); isString && s == fmt.Sprint(n) {
				return ""
			}
		}
		if got != want {
			return fmt.Sprintf("got %v, want %v", got, want)
		}
		return ""
	}
	g, ok := got.(map[string]any)
	if !ok {
		return fmt.Sprintf("got %v, want %v", got, want)
	}
	for key := range g {
		want, named := w[key]
		if n, isNumber := g[key].(float64); !named && isNumber && n == 0 {
			continue
		}
		if diff := compare(g[key], want); diff != "" {
			return key + ": " + diff
		}
	}
	return ""
}

func TestABodySplitAnywhereIsTheSameBody(t *testing.T) {
	for _, r := range streamRows(t) {
		t.Run(r.Name, func(t *testing.T) {
			body := r.body(t)
			for _, text := range []bool{true, false} {
				want := decode(r.ContentType, body, true, text)
				for cut := range body {
					if cut%2 == 0 == text {
						continue // every place once
					}
					if got := decode(r.ContentType, body, true, text, cut); got != want {
						t.Fatalf("cut at %d:\n got %+v\nwant %+v", cut, got, want)
					}
				}
				if got := decode(r.ContentType, body, true, text, everywhere(body)...); got != want {
					t.Fatalf("byte by byte:\n got %+v\nwant %+v", got, want)
				}
				rng := rand.New(rand.NewPCG(1, 2))
				for range 10 {
					cuts := randomCuts(rng, len(body))
					if got := decode(r.ContentType, body, true, text, cuts...); got != want {
						t.Fatalf("cut at %v:\n got %+v\nwant %+v", cuts, got, want)
					}
				}
			}
		})
	}
}

// The fast path and the scan must agree, and only decoders that collect text
// never take the fast path.
func TestTheTemplateChangesNothing(t *testing.T) {
	for _, r := range streamRows(t) {
		scanned := decode(r.ContentType, r.body(t), true, true)
		fast := decode(r.ContentType, r.body(t), true, false)
		scanned.Text = ""
		if fast != scanned {
			t.Errorf("%s:\n got %+v\nwant %+v", r.Name, fast, scanned)
		}
	}
}

// An event that differs from its neighbour in a few bytes, of any kind and at
// any place, means what it means without a template.
func TestATemplateTakesNothingForItsNeighbour(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	const letters = `"\{}[]:,0123456789truefalsnl abxyz` + "\t\xe4"
	tried := 0
	for _, r := range streamRows(t) {
		for line := range strings.SplitSeq(string(r.body(t)), "\n") {
			data, ok := strings.CutPrefix(strings.TrimSuffix(line, "\r"), "data: ")
			if !ok || len(data) < 10 {
				continue
			}
			for range 40 {
				other := []byte(data)
				for range 1 + rng.IntN(3) {
					at := rng.IntN(len(other))
					from, to := at+rng.IntN(2), at
					other = append(other[:to:to], append([]byte{letters[rng.IntN(len(letters))]}, other[from:]...)...)
				}
				body := []byte(events(data, string(other), data))
				want := decode(r.ContentType, body, true, true)
				want.Text = ""
				if got := decode(r.ContentType, body, true, false); got != want {
					t.Fatalf("%s\n got %+v\nwant %+v", body, got, want)
				}
				tried++
			}
		}
	}
	if tried < 10_000 {
		t.Errorf("tried %d neighbours, want more", tried)
	}
}

func everywhere(body []byte) []int {
	cuts := make([]int, len(body))
	for i := range cuts {
		cuts[i] = i
	}
	return cuts
}

func randomCuts(rng *rand.Rand, n int) []int {
	var cuts []int
	for at := rng.IntN(40); at < n; at += rng.IntN(40) {
		cuts = append(cuts, at)
	}
	return cuts
}

func TestLineEndsAreAllTheSame(t *testing.T) {
	for _, r := range streamRows(t) {
		if !strings.HasSuffix(r.File, ".sse") {
			continue
		}
		plain := strings.ReplaceAll(string(r.body(t)), "\r\n", "\n")
		if strings.Contains(plain, "\r") {
			plain = strings.ReplaceAll(plain, "\r", "\n")
		}
		want := decode(r.ContentType, []byte(plain), true, true)
		for name, body := range map[string]string{
			"CRLF":          strings.ReplaceAll(plain, "\n", "\r\n"),
			"CR":            strings.ReplaceAll(plain, "\n", "\r"),
			"a BOM":         byteOrderMark + plain,
			"no space":      strings.ReplaceAll(plain, "\ndata: ", "\ndata:"),
			"unknown field": strings.ReplaceAll(plain, "\ndata: ", "\nid: 7\nretry: 10\nfoo\ndata: "),
		} {
			for _, cuts := range [][]int{nil, everywhere([]byte(body))} {
				if got := decode(r.ContentType, []byte(body), true, true, cuts...); got != want {
					t.Errorf("%s with %s:\n got %+v\nwant %+v", r.Name, name, got, want)
				}
			}
		}
	}
}

// A decoder that keeps next to nothing reads everything as it reads a line of
// 64 MiB. Only what an error says is lost to it.
func TestLongLinesAreReadAsShortOnes(t *testing.T) {
	for _, r := range streamRows(t) {
		body := r.body(t)
		want := decode(r.ContentType, body, true, true)
		for _, cuts := range [][]int{nil, everywhere(body), {len(body) / 2}} {
			d := NewDecoder(r.ContentType, "")
			d.keep, d.ev.collect = 16, true
			from := 0
			for _, cut := range append(cuts, len(body)) {
				d.Write(body[from:cut])
				if len(d.raw) > d.keep || len(d.sse.line) > d.keep {
					t.Fatalf("%s: keeps %d and %d bytes, want at most %d", r.Name, len(d.raw), len(d.sse.line), d.keep)
				}
				from = cut
			}
			got := d.End(true)
			got.Error, got.Retryable, got.Wait = want.Error, want.Retryable, want.Wait
			if got != want {
				t.Errorf("%s:\n got %+v\nwant %+v", r.Name, got, want)
			}
		}
	}
}
