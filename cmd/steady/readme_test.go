package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

func TestTheCodeInTheREADMECompiles(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllSubmatch(readme, -1)
	if len(blocks) < 2 {
		t.Fatalf("%d blocks of Go, want at least 2", len(blocks))
	}
	for _, b := range blocks {
		file := filepath.Join(t.TempDir(), "main.go")
		if err := os.WriteFile(file, b[1], 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.CommandContext(t.Context(), "go", "vet", file).CombinedOutput(); err != nil {
			t.Errorf("%v\n%s\n%s", err, out, b[1])
		}
	}
}
