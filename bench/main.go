// Bench compares Steady with its peers, in two ways:
//
//	go run ./bench speed       what the stacks cost when nothing goes wrong
//	go run ./bench behaviour   what they do when something does
//
// Each prints Markdown in which every figure and every cell is measured there and then.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"time"
)

var start = time.Now()

func main() {
	contractProcess()
	err := run(os.Stdout, os.Args[1:])
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

const usage = "usage: bench speed|behaviour [flags]; see bench speed -h"

var errUsage = errors.New(usage)

func run(w io.Writer, args []string) error {
	if len(args) == 0 {
		return errUsage
	}
	if slices.Contains([]string{"-h", "-help", "--help", "help"}, args[0]) {
		fmt.Fprintln(w, usage)
		return nil
	}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	quick := flags.Bool("quick", false, "run everything once, to see that it runs")
	rounds := flags.Int("rounds", 40, "speed: the most rounds of each column")
	asJSON := flags.Bool("json", false, "behaviour: print JSON")
	only := flags.String("only", "", "speed: a regular expression of stacks to measure beside the bare transport")
	within := flags.Duration("within", 8*time.Minute, "speed: about how long to go on")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	switch args[0] {
	case "speed":
		return speed(w, *only, *rounds, *within, *quick)
	case "behaviour":
		return behaviour(w, *quick, *asJSON)
	}
	return errUsage
}
