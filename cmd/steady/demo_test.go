package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// steadyDemo runs the command and returns what it wrote.
func steadyDemo(ctx context.Context, args ...string) (stdout, stderr string, err error) {
	var out, errs bytes.Buffer
	cmd := demoCommand()
	cmd.SetArgs(args)
	cmd.SetOut(&out)
	cmd.SetErr(&errs)
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	err = cmd.ExecuteContext(ctx)
	return out.String(), errs.String(), err
}

func TestTheDemoPrintsItsFiguresAsJSONAndNothingElse(t *testing.T) {
	file := filepath.Join(t.TempDir(), "page.html")
	stdout, stderr, err := steadyDemo(t.Context(), "--calls", "150", "--json", "--html", file)
	if err != nil {
		t.Fatal(err)
	}
	var got report
	dec := json.NewDecoder(strings.NewReader(stdout))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&got); err != nil || dec.More() || stderr != "" {
		t.Fatalf("stdout is not one JSON value (%v), or stderr is not empty: %q", err, stderr)
	}
	if got.Server.Calls != 150 || got.Server.LimitRPS != 45 || len(got.Runs) != 5 {
		t.Errorf("got %+v", got)
	}
	steady := got.Runs[3]
	if steady.Client != "steady" || steady.Succeeded != 150 || steady.Success != 1 {
		t.Errorf("Steady lost calls: %+v", steady)
	}
	for _, r := range got.Runs[:3] {
		if r.Success >= steady.Success && r.WirePerSuccess <= steady.WirePerSuccess {
			t.Errorf("%s is worse neither on success nor on waste: %+v, Steady %+v", r.Client, r, steady)
		}
		if r.Wire < r.Succeeded || r.Billed < r.Succeeded {
			t.Errorf("%s has more answers than requests or generations: %+v", r.Client, r)
		}
	}
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"<svg", "SDK retries", "150"} {
		if !bytes.Contains(page, []byte(want)) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if n := bytes.Count(page, []byte(`<tr class="steady">`)); n != 2 {
		t.Errorf("%d rows stand out, want both of Steady", n)
	}
	colours := map[string]bool{}
	for _, line := range regexp.MustCompile(`stroke-width:[1-9];stroke:(rgba\([^)]*\));fill:none`).FindAllStringSubmatch(string(page), -1) {
		colours[line[1]] = true
	}
	if len(colours) < 6 { // and that of the limit
		t.Errorf("lines in %d colours, want one for each client: %v", len(colours), colours)
	}
}

func TestTheDemoPrintsATableWithoutColourWhereThereIsNoTerminal(t *testing.T) {
	stdout, _, err := steadyDemo(t.Context(), "--calls", "20")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"no retries", "SDK retries", "sleep(1s)", "Steady, untold", "WIRE/SUCCESS", "The server allowed 45"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("the output lacks %q:\n%s", want, stdout)
		}
	}
	if strings.Contains(stdout, "\x1b") {
		t.Errorf("escape codes in %q", stdout)
	}
}

func TestAnInterruptedDemoLeavesNothingBehind(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	sc := newScenario(2000, 1)
	_, err := runAll(ctx, sc, func(string) { cancel() }) // TestMain looks for what is left
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
}

func TestTheDemoRefusesAnImpossibleSize(t *testing.T) {
	for _, n := range []string{"0", "-1", "20001", "many"} {
		if _, _, err := steadyDemo(t.Context(), "--calls", n); err == nil {
			t.Errorf("--calls %s: no error", n)
		}
	}
}
