package steady_test

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// A table of the README whose first heading is one of these is a cut from the page.
var pagesOfTables = map[string]string{
	"what happens": "docs/rivals.md",
	"scenario":     "bench/goodput/README.md",
}

// Other tests hold those pages to what is measured.
func TestTheTablesInTheREADMEAgreeWithThePagesFromWhichTheyAreCut(t *testing.T) {
	cuts := 0
	for _, cut := range tablesIn(t, "README.md") {
		file, ok := pagesOfTables[cut[0][0]]
		if !ok {
			continue
		}
		cuts++
		page := tableOn(t, file, cut[0])
		for _, row := range cut[1:] {
			name := row[0]
			if file != "docs/rivals.md" {
				name, _, _ = strings.Cut(name, " ") // the README says what the scenario is
			}
			i := slices.IndexFunc(page, func(cells []string) bool { return cells[0] == name })
			if i < 0 {
				t.Errorf("%s has no row %q", file, name)
				continue
			}
			for k, cell := range row[1:] {
				column := slices.Index(page[0], cut[0][k+1])
				if want := page[i][column]; cell != want {
					t.Errorf("%s, %s: README.md has %q, and %s %q", name, cut[0][k+1], cell, file, want)
				}
			}
		}
	}
	if cuts != len(pagesOfTables) {
		t.Errorf("%d tables are cuts, want %d", cuts, len(pagesOfTables))
	}
}

// tableOn returns the table of the file that has all the columns of head.
func tableOn(t *testing.T, file string, head []string) [][]string {
	t.Helper()
	for _, table := range tablesIn(t, file) {
		if !slices.ContainsFunc(head, func(column string) bool { return !slices.Contains(table[0], column) }) {
			return table
		}
	}
	t.Fatalf("%s has no table with the columns %q", file, head)
	return nil
}

// tablesIn returns the cells of the Markdown tables of the file, the headings
// included and the rule under them left out.
func tablesIn(t *testing.T, file string) (tables [][][]string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	in := false
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		begins := !in
		switch in = strings.HasPrefix(line, "|"); {
		case !in, strings.Trim(line, "|:- ") == "":
			continue
		case begins:
			tables = append(tables, nil)
		}
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		tables[len(tables)-1] = append(tables[len(tables)-1], cells)
	}
	return tables
}
