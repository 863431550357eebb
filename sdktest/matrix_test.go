package sdktest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openai/openai-go/v3/packages/ssestream"

	"github.com/steadyhttp/steady"
	"github.com/steadyhttp/steady/internal/fakeserver"
)

const (
	keepAliveEvery = 5 * time.Second
	hangs          = time.Hour // in virtual time: who is still waiting then waits for ever
	hung           = "hang"
)

// seen is what the application has of a stream when its SDK is done.
type seen struct {
	text string // "whole", "part" or "" for none, or what came instead
	err  string // "" for nil
}

// String puts what nobody may see in capitals.
func (s seen) String() string {
	switch {
	case s.err == hung:
		return "HANG"
	case s.text == "whole" && s.err == "":
		return "whole"
	case s.err == "" && s.text == "":
		return "SILENT, nothing"
	case s.err == "":
		return "SILENT, " + s.text
	case s.text == "":
		return s.err
	}
	return s.text + ", " + s.err
}

// kindOf names the most telling thing that the caller can find in err.
func kindOf(p path, err error) string {
	if err == nil {
		return ""
	}
	got, told := p.told(answer{}, err)
	_, answerError := errors.AsType[*steady.AnswerError](err)
	_, streamError := errors.AsType[*ssestream.StreamError](err)
	switch {
	case errors.Is(err, steady.ErrStreamTruncated):
		return "truncated"
	case errors.Is(err, steady.ErrStreamStalled):
		return "stalled"
	case answerError:
		return "AnswerError"
	case told && p.typed:
		return fmt.Sprintf("typed %d", got.status)
	case told:
		return fmt.Sprintf("text %d", got.status)
	case streamError:
		return "StreamError"
	case errors.Is(err, syscall.ECONNRESET):
		return "reset"
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "unexpected EOF"
	}
	return "untyped"
}

// over is what stands under the SDK.
type over int

const (
	plain  over = iota // the bare transport
	always             // Steady, and the answer is the same each time
	once               // Steady, and the second answer is whole
)

// see asks by p, and tells what becomes of an answer.
func see(t *testing.T, p path, s situation, with over) (got seen) {
	t.Helper()
	d := dialectOf(p)
	effect := s.play(d)
	if with == once {
		effect = fakeserver.Sequence(effect, streamed(d.whole(), fakeserver.Clean))
	}
	ask := func(t *testing.T, r *rig, base http.RoundTripper) {
		t.Helper()
		if with == plain {
			r.client = &http.Client{Transport: base}
		}
		r.srv.Script(effect)
		start := time.Now()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		defer time.AfterFunc(hangs, cancel).Stop()
		a, err := r.askIn(ctx, t, p, settings{})
		got = seen{a.text, kindOf(p, err)}
		if s.waits && time.Since(start) >= hangs {
			got.err = hung
		}
		switch {
		case a.text == wholeText:
			got.text = "whole"
		case a.text != "" && strings.HasPrefix(wholeText, a.text):
			got.text = "part"
		}
	}
	if !s.waits {
		r := newRig(t)
		ask(t, r, r.base)
		return got
	}
	synctest.Test(t, func(t *testing.T) {
		r := &rig{srv: fakeserver.New(), url: "http://provider.test"}
		defer r.srv.Close()
		base := r.srv.Transport()
		r.stack(t, base, nil)
		ask(t, r, base)
	})
	return got
}

// TestMatrix pins what the application sees, and holds Steady to what it is for:
// no stream over it is silently short, and none hangs. With -v it prints the
// tables that stand in README.md and docs/sdks.md.
func TestMatrix(t *testing.T) {
	var names []string
	for _, p := range streams() {
		names = append(names, p.name)
	}
	full := newTable(names)
	names = slices.Delete(names, 2, 3)
	names[1] = "anthropic-sdk-go" // both
	short := newTable(names)
	for _, s := range situations() {
		cells := matrix[s.name]
		for i, p := range streams() {
			if s.play(dialectOf(p)) == nil {
				cells[i] = "–"
				continue
			}
			t.Run(s.name+"/"+p.name, func(t *testing.T) {
				before, after, mended := see(t, p, s, plain), see(t, p, s, always), see(t, p, s, once)
				for _, got := range []seen{after, mended} {
					if got.text != "whole" && got.err == "" || got.err == hung {
						t.Errorf("over Steady: %v", got)
					}
				}
				cell := before.String() + " → " + after.String()
				if mended != after {
					cell += " (" + mended.String() + ")"
				}
				if cell != cells[i] {
					t.Errorf("got  %q\nwant %q", cell, cells[i])
				}
			})
		}
		full.row(s.name, cells[:])
		if cells[1] != cells[2] {
			t.Errorf("%s: the two anthropic-sdk-go differ", s.name)
		}
		short.row(s.name, brief(slices.Delete(cells[:], 2, 3)))
	}
	if testing.Verbose() {
		fmt.Printf("%s\n%s", full, short)
	}
	full.wantIn(t, "README.md")
	short.wantIn(t, "../docs/sdks.md")
}

// brief tells the kind of each cell alone.
func brief(cells []string) []string {
	for i, cell := range cells {
		before, after, changes := strings.Cut(cell, " → ")
		if !changes {
			continue
		}
		after, _, again := strings.Cut(after, " (")
		if cells[i] = kind(before); kind(before) != kind(after) {
			cells[i] += " → " + kind(after)
		}
		if again {
			cells[i] += "\\*"
		}
	}
	return cells
}

// kind is what the application has to know of a cell.
func kind(cell string) string {
	switch {
	case cell == "whole":
		return cell
	case cell == "HANG":
		return "**hang**"
	case strings.HasPrefix(cell, "SILENT"):
		return "**silent**"
	}
	return "error"
}

// table is one in Markdown.
type table struct{ strings.Builder }

func newTable(columns []string) *table {
	t := &table{}
	t.row("200, and then", columns)
	t.WriteString("|" + strings.Repeat("---|", len(columns)+1) + "\n")
	return t
}

func (t *table) row(name string, cells []string) {
	fmt.Fprintf(t, "| %s | %s |\n", name, strings.Join(cells, " | "))
}

func (t *table) wantIn(tb testing.TB, file string) {
	tb.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		tb.Fatal(err)
	}
	if !strings.Contains(string(text), t.String()) {
		tb.Errorf("%s has another table; this one is right:\n%s", file, t)
	}
}
