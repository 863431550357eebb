package main

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// quickly is the table of behaviour, as measured by a quick run.
var quickly = sync.OnceValues(func() (rows []answered, err error) {
	var out bytes.Buffer
	if err = run(&out, []string{"behaviour", "-quick", "-json"}); err == nil {
		err = json.Unmarshal(out.Bytes(), &rows)
	}
	return rows, err
})

// The figures of a quick run are smaller than those on the page, but who is right is
// the same. It asks the duties of a RoundTripper of Steady alone.
func TestThePageOfRivalsHasTheMarksThatARunFinds(t *testing.T) {
	rows, err := quickly()
	if err != nil {
		t.Fatal(err)
	}
	page := table(read(t, "../docs/rivals.md"), "what happens")
	if got, want := len(page), len(rows)+1; got != want {
		t.Fatalf("%d lines on the page, want %d", got, want)
	}
	for i, p := range peers() {
		if got := page[0][i+1]; got != p.name {
			t.Errorf("column %d is about %q, want %q", i+1, got, p.name)
		}
	}
	for i, r := range rows {
		line := page[i+1]
		if line[0] != r.Question {
			t.Errorf("line %d is about %q, want %q", i+1, line[0], r.Question)
			continue
		}
		for k, c := range r.Cells {
			if i == 0 && k > 0 {
				break
			}
			if got, want := mark(line[k+1]), mark(c.String()); got != want {
				t.Errorf("%s: %s: the page has %s, want %s", r.Question, peers()[k].name, line[k+1], c)
			}
		}
	}
}

// mark is what a cell begins with: right, wrong or not asked.
func mark(cell string) string { m, _, _ := strings.Cut(cell, " "); return m }

func TestThePageOfRivalsNamesTheVersionsThatAreMeasured(t *testing.T) {
	page, mod := read(t, "../docs/rivals.md"), read(t, "go.mod")
	for name, module := range map[string]string{
		"failsafe-go": "github.com/failsafe-go/failsafe-go", "go-retryablehttp": "github.com/hashicorp/go-retryablehttp",
		"rehttp": "github.com/PuerkitoBio/rehttp", "heimdall": "github.com/gojek/heimdall/v7",
		"azcore": "github.com/Azure/azure-sdk-for-go/sdk/azcore", "openai-go": "github.com/openai/openai-go/v3",
	} {
		found := regexp.MustCompile(regexp.QuoteMeta(module) + ` (v\S+)`).FindStringSubmatch(mod)
		if found == nil {
			t.Errorf("go.mod does not require %s", module)
			continue
		}
		if want := name + " " + found[1]; !strings.Contains(page, want) {
			t.Errorf("docs/rivals.md does not say %q", want)
		}
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// table returns the cells of the lines of all tables in text whose first heading is
// that, the headings included and the rule under them left out.
func table(text, heading string) (lines [][]string) {
	in := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") {
			in = false
			continue
		}
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		if in = in || cells[0] == heading; in && !strings.HasPrefix(line, "|:") {
			lines = append(lines, cells)
		}
	}
	return lines
}

func firstCells(text, heading string) (first []string) {
	for _, cells := range table(text, heading) {
		first = append(first, cells[0])
	}
	return slices.Clip(first)
}
