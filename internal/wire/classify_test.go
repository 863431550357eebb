package wire

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// fixtureTime is the time that the fixtures call now.
var fixtureTime = time.Date(2026, 10, 20, 12, 0, 0, 0, time.UTC)

type errorRow struct {
	Name    string
	Kind    string
	File    string
	Status  int
	Type    string `json:"content_type"`
	Headers map[string]string
	Expect  struct {
		Class          string
		Retryable      bool
		WaitMs         *int64  `json:"wait_ms"`
		WaitSource     *string `json:"wait_source"`
		Fallback       bool
		BreakerFailure bool `json:"breaker_failure"`
		Code           *string
	}
}

func (r errorRow) response(t *testing.T) Response {
	t.Helper()
	body, err := os.ReadFile(filepath.Join("testdata", r.File))
	if err != nil {
		t.Fatal(err)
	}
	h := http.Header{"Content-Type": {r.Type}}
	for name, value := range r.Headers {
		h.Set(name, value)
	}
	return Response{Status: r.Status, Header: h, Body: body, Now: fixtureTime}
}

// errorRows returns the rows of kind error of the manifest.
func errorRows(t *testing.T) []errorRow {
	t.Helper()
	var all, rows []errorRow
	readJSON(t, "manifest.json", &all)
	for _, r := range all {
		if r.Kind == "error" {
			rows = append(rows, r)
		}
	}
	if len(rows) < 100 {
		t.Fatalf("%d error rows in the manifest, want more than 100", len(rows))
	}
	return rows
}

func readJSON(t *testing.T, file string, v any) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, v); err != nil {
		t.Fatal(err)
	}
}

func TestErrorAnswersOfAllProvidersAreJudged(t *testing.T) {
	for _, r := range errorRows(t) {
		t.Run(r.Name, func(t *testing.T) { checkRow(t, r) })
	}
}

func checkRow(t *testing.T, r errorRow) {
	v, want := Classify(r.response(t)), r.Expect
	if v.Class.String() != want.Class || v.Retry != want.Retryable ||
		v.Fallback != want.Fallback || v.BreakerFailure != want.BreakerFailure {
		t.Errorf("got %v retry=%v fallback=%v failure=%v by %q, want %+v", v.Class, v.Retry, v.Fallback, v.BreakerFailure, v.Rule, want)
	}
	source := ""
	if want.WaitSource != nil {
		source = *want.WaitSource
	}
	wait := time.Duration(0)
	if want.WaitMs != nil {
		wait = time.Duration(*want.WaitMs) * time.Millisecond
	}
	if v.Wait != wait || v.WaitSource != source {
		t.Errorf("got wait %v from %q, want %v from %q", v.Wait, v.WaitSource, wait, source)
	}
	if want.Code != nil && v.Code != *want.Code {
		t.Errorf("got code %q, want %q", v.Code, *want.Code)
	}
}
