package main

import (
	"fmt"
	"io"
	"strings"
)

// writeTable writes a Markdown table. All columns but the first are as the rows
// give them; none is padded, so that the form does not depend on the figures.
func writeTable(w io.Writer, head []string, rows [][]string, right bool) {
	align := ":--"
	if right {
		align = "--:"
	}
	fmt.Fprintf(w, "| %s |\n", strings.Join(head, " | "))
	fmt.Fprintf(w, "|:--%s|\n", strings.Repeat("|"+align, len(head)-1))
	for _, r := range rows {
		fmt.Fprintf(w, "| %s |\n", strings.Join(r, " | "))
	}
	fmt.Fprintln(w)
}
