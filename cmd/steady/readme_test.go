package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func readme(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// snippet is a program around a few lines that make an rt and an err.
const snippet = `package main

import (
	"log"
	"net/http"
	"time"

	"github.com/steadyhttp/steady"
)

const _ = time.Second

func main() {
	LINES
	if err != nil {
		log.Fatal(err)
	}
	_ = &http.Client{Transport: rt}
}
`

func TestTheCodeInTheREADMECompiles(t *testing.T) {
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(readme(t), -1)
	if len(blocks) < 2 {
		t.Fatalf("%d blocks of Go, want at least 2", len(blocks))
	}
	for _, b := range blocks {
		program := b[1]
		if !strings.HasPrefix(program, "package ") {
			program = strings.Replace(snippet, "LINES", program, 1)
		}
		file := filepath.Join(t.TempDir(), "main.go")
		if err := os.WriteFile(file, []byte(program), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.CommandContext(t.Context(), "go", "vet", file).CombinedOutput(); err != nil {
			t.Errorf("%v\n%s\n%s", err, out, program)
		}
	}
}

func TestTheREADMEBeginsWithTheTwoCommands(t *testing.T) {
	_, rest, _ := strings.Cut(readme(t), "```")
	if got, _, _ := strings.Cut(rest, "```"); got != "\ngo run ./cmd/steady demo\ngo test work\n" {
		t.Errorf("the first block is %q", got)
	}
}
