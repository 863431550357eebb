package steady_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// caseID is how a case is called, alone or at the beginning of a test's name.
var caseID = regexp.MustCompile(`^[A-Z]+[0-9]+$`)

// caseTests returns the tests of this directory that are about cases, by case.
func caseTests(t *testing.T) map[string][]string {
	t.Helper()
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string][]string{}
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range f.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || !strings.HasPrefix(fn.Name.Name, "Test") {
				continue
			}
			for _, word := range strings.Split(strings.TrimPrefix(fn.Name.Name, "Test"), "_") {
				if !caseID.MatchString(word) {
					break
				}
				tests[word] = append(tests[word], fn.Name.Name)
			}
		}
	}
	return tests
}

// docs/cases.md says what the ids in the names of tests mean.
func TestThePageOfCasesAndTheNamesOfTestsAgree(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("docs", "cases.md"))
	if err != nil {
		t.Fatal(err)
	}
	tests, onPage := caseTests(t), map[string]bool{}
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(line, "|")
		if len(cells) != 6 || !caseID.MatchString(strings.TrimSpace(cells[1])) {
			continue
		}
		id, name := strings.TrimSpace(cells[1]), strings.Trim(cells[4], " `")
		if onPage[id] {
			t.Errorf("%s is on the page twice", id)
		}
		onPage[id] = true
		if !slices.Contains(tests[id], name) {
			t.Errorf("%s: there is no test %s of that case", id, name)
		}
		for _, cell := range cells[2:4] {
			if strings.TrimSpace(cell) == "" {
				t.Errorf("%s says nothing", id)
			}
		}
	}
	for id, names := range tests {
		if !onPage[id] {
			t.Errorf("%s names the case %s, which is not on the page", names[0], id)
		}
	}
	if len(onPage) < 40 {
		t.Errorf("%d cases on the page, want 40", len(onPage))
	}
}
