package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
)

// finding is a cell of the table: what one peer was seen to do.
type finding struct {
	Text string `json:"text"`
	Good bool   `json:"good"`
	None bool   `json:"none,omitempty"` // the question does not arise
}

func found(good bool, format string, args ...any) finding {
	return finding{Text: fmt.Sprintf(format, args...), Good: good}
}

// notAsked is the cell of a peer of which the question cannot be asked.
var notAsked = finding{Text: "–", None: true}

func (f finding) String() string {
	switch {
	case f.None:
		return f.Text
	case f.Good:
		return "✓ " + f.Text
	}
	return "✗ " + f.Text
}

// question is a row of the table.
type question struct {
	name  string
	ask   func(s *scene) finding
	sdk   bool // may be asked of an SDK's own retries too
	alone bool // measures what the whole process does
}

// answer is a row of the table with its cells, one for each peer.
type answered struct {
	Question string    `json:"question"`
	Cells    []finding `json:"cells"`
}

// behaviour asks each question of each peer and writes the table, as Markdown or
// as JSON, and in which rows a peer does better than Steady.
func behaviour(w io.Writer, quick, asJSON bool) error {
	all := peers()
	var rows []answered
	for _, q := range questions() {
		rows = append(rows, answered{q.name, askAll(q, all, quick)})
	}
	rows = slices.Insert(rows, 0, answered{"Duties of a RoundTripper kept (steadytest)", contracts(all, quick)})
	if asJSON {
		e := json.NewEncoder(w)
		e.SetIndent("", "\t")
		return e.Encode(rows)
	}
	head := []string{"what happens"}
	for _, p := range all {
		head = append(head, p.name)
	}
	var lines [][]string
	for _, r := range rows {
		line := []string{r.Question}
		for _, c := range r.Cells {
			line = append(line, c.String())
		}
		lines = append(lines, line)
	}
	writeTable(w, head, lines, false)
	_, err := fmt.Fprintf(w, "Each cell is what this run saw, over sockets on loopback. All are set to the same number of attempts,\n"+
		"first delay, attempt timeout and number in flight, where they know such a thing, and else to their defaults. Steady's\n"+
		"breaker and budget are out of reach, so that it may send as much as the peers.\n\n"+
		"Rows in which a peer does better than Steady: %s.\n", cmp.Or(strings.Join(better(rows, all), "; "), "none"))
	return err
}

// askAll asks the peers at once, as most of the time is spent waiting.
func askAll(q question, all []peer, quick bool) []finding {
	cells := make([]finding, len(all))
	var wg sync.WaitGroup
	for i, p := range all {
		if p.sdk && !q.sdk {
			cells[i] = notAsked
			continue
		}
		ask := func() {
			s := newScene(p, quick)
			defer s.end()
			cells[i] = q.ask(s)
		}
		if q.alone {
			ask()
		} else {
			wg.Go(ask)
		}
	}
	wg.Wait()
	return cells
}

// better returns the rows in which Steady, the first, is not good and another is.
func better(rows []answered, all []peer) []string {
	var names []string
	for _, r := range rows {
		for i, c := range r.Cells {
			if c.Good && !r.Cells[0].Good {
				names = append(names, fmt.Sprintf("%s (%s)", r.Question, all[i].name))
			}
		}
	}
	return names
}
