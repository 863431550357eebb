package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	contractProcess() // as main does
	goleak.VerifyTestMain(m)
}

func TestSpeedPrintsBothTables(t *testing.T) {
	if raceEnabled {
		t.Skip("heimdall v7.0.3 seeks in a body that net/http is still writing, which is a race of its own")
	}
	var out strings.Builder
	if err := run(&out, []string{"speed", "-quick", "-within", "20s"}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| stack | ns | B | allocs | memory × 1 | memory × 8 | memory × 64 | memory × 512 | loopback × 1 |",
		"| bare transport |", "| **Steady: New, rate and in flight** |", "| azcore |",
		"| stack | 2 KiB, allocated | 2 KiB, loopback |",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if got, want := firstCells(read(t, "../docs/speed.md"), "stack"), firstCells(out.String(), "stack"); !slices.Equal(got, want) {
		t.Errorf("docs/speed.md has the rows %q, want %q", got, want)
	}
}

// The table has to say so if a peer does better than Steady in any row.
func TestNoPeerBehavesBetterInAnyRow(t *testing.T) {
	rows, err := quickly()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := len(rows), len(questions())+1; got != want {
		t.Errorf("%d rows, want %d", got, want)
	}
	for _, r := range rows {
		if got, want := len(r.Cells), len(peers()); got != want {
			t.Errorf("%s: %d cells, want %d", r.Question, got, want)
		}
		if !r.Cells[0].Good {
			t.Errorf("%s: Steady: %s", r.Question, r.Cells[0])
		}
	}
	if got := better(rows, peers()); got != nil {
		t.Errorf("a peer does better in %q", got)
	}
}

func TestBetterNamesTheRowAndThePeer(t *testing.T) {
	rows := []answered{
		{"a", []finding{{Good: true}, {Good: true}}},
		{"b", []finding{{Good: false}, {Good: true}}},
		{"c", []finding{{Good: false}, {Good: false}}},
		{"d", []finding{{Good: false}, notAsked}},
	}
	got := better(rows, []peer{{name: "Steady"}, {name: "other"}})
	if len(got) != 1 || got[0] != "b (other)" {
		t.Errorf("got %q, want only b (other)", got)
	}
}

func TestAWaitIsNamedByWhatWasAskedForIfItKeepsIt(t *testing.T) {
	for gap, want := range map[time.Duration]string{
		0:                       "0.0 s",
		990 * time.Millisecond:  "1.0 s",
		1000 * time.Millisecond: "1.0 s or a little more",
		1250 * time.Millisecond: "1.0 s or a little more",
		1600 * time.Millisecond: "1.6 s",
	} {
		if got := waited(gap, time.Second); got != want {
			t.Errorf("waited(%v) = %q, want %q", gap, got, want)
		}
	}
}
