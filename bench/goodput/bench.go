package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/steadyhttp/steady/bench/goodput/internal/sim"
)

// bench plays cells, and remembers those of everybody but steady in a file.
type bench struct {
	t       *testing.T
	file    string
	known   map[string]*sim.Result
	verbose bool
}

func newBench(t *testing.T, file string, verbose bool) *bench {
	b := &bench{t: t, file: file, known: map[string]*sim.Result{}, verbose: verbose}
	f, err := os.Open(file)
	if err != nil {
		return b
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		r := &sim.Result{}
		if json.Unmarshal(lines.Bytes(), r) == nil {
			b.known[cellKey(r.Scenario, r.Contender, r.Seed)] = r
		}
	}
	return b
}

func cellKey(scenario, contender string, seed uint64) string {
	return fmt.Sprint(scenario, "|", contender, "|", seed)
}

func (b *bench) play(sc *sim.Scenario, c sim.Contender, seed uint64) *sim.Result {
	key := cellKey(sc.Name, c.Name, seed)
	if r := b.known[key]; r != nil {
		return r
	}
	r := sim.Play(b.t, sc, c, seed)
	r.Finite()
	b.known[key] = r
	if b.verbose {
		fmt.Println(r.Line())
	}
	if b.file != "" && !c.Fresh {
		b.keep(r)
	}
	return r
}

func (b *bench) keep(r *sim.Result) {
	line, err := json.Marshal(r)
	if err != nil {
		panic(err)
	}
	f, err := os.OpenFile(b.file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	fmt.Fprintf(f, "%s\n", line)
}

// cell is what the tables show of a contender in a scenario: means over the seeds.
type cell struct{ success, share, waste, extra float64 }

func (b *bench) cell(sc *sim.Scenario, c sim.Contender, seeds []uint64) cell {
	var out cell
	var good, best, base float64
	n := float64(len(seeds))
	for _, seed := range seeds {
		r := b.play(sc, c, seed)
		out.success += r.SuccessPct / n
		out.waste += r.WastePerOK / n
		good, best = good+r.Goodput, best+b.best(sc, seed, sim.Oracle)
		base += b.play(sc, sim.Oracle(false), seed).WastePerOK / n
	}
	out.share = good / best
	if sc.Batch > 0 && out.success > 0 { // the share that succeeds, times how much longer it takes
		ok := out.success / 100
		out.share = ok * math.Min(1, out.share/ok)
	}
	out.extra = out.waste - base
	return out
}

// best is the goodput of the better of two oracles.
func (b *bench) best(sc *sim.Scenario, seed uint64, oracle func(lifo bool) sim.Contender) float64 {
	return math.Max(b.play(sc, oracle(false), seed).Goodput, b.play(sc, oracle(true), seed).Goodput)
}

func (b *bench) table(scs []*sim.Scenario, seeds []uint64, cs []sim.Contender) {
	fmt.Printf("Success of calls, %% · goodput, %% of the oracle's · wasted attempts per success. Seeds %v.\n\n| scenario |", seeds)
	for _, c := range cs {
		fmt.Printf(" %s |", c.Name)
	}
	fmt.Printf("\n| --- |%s\n", strings.Repeat(" ---: |", len(cs)))
	for _, sc := range scs {
		fmt.Printf("| %s |", sc.Name)
		for _, c := range cs {
			x := b.cell(sc, c, seeds)
			fmt.Printf(" %.1f · %.1f · %.3f |", x.success, 100*x.share, x.waste)
		}
		fmt.Println()
	}
}

func (b *bench) ablation(scs []*sim.Scenario, seeds []uint64, cs []sim.Contender) {
	fmt.Print("Goodput, % of the oracle's · wasted attempts per success.\n\n| change |")
	for _, sc := range scs {
		fmt.Printf(" %s |", sc.Name)
	}
	fmt.Printf(" mean |\n| --- |%s\n", strings.Repeat(" ---: |", len(scs)+1))
	for _, c := range cs {
		fmt.Printf("| %s |", c.Name)
		sum, waste := 0.0, 0.0
		for _, sc := range scs {
			x := b.cell(sc, c, seeds)
			sum, waste = sum+math.Min(1, x.share)/float64(len(scs)), waste+x.extra/float64(len(scs))
			fmt.Printf(" %.1f · %.3f |", 100*x.share, x.waste)
		}
		fmt.Printf(" %.1f · %.3f |\n", 100*sum, waste)
	}
}

// random prints what contenders get of the goodput of the oracles, and of those that
// cannot know how long an answer will be.
func (b *bench) random(n int, seeds []uint64, cs []sim.Contender, only string) {
	share, blind, extra := map[string][]float64{}, map[string][]float64{}, map[string][]float64{}
	for _, seed := range seeds {
		for _, sc := range pick(sim.Random(n, seed), only) {
			for _, c := range cs {
				x := b.cell(sc, c, []uint64{seed})
				y := b.play(sc, c, seed).Goodput / b.best(sc, seed, sim.BlindOracle)
				share[c.Name] = append(share[c.Name], math.Min(1, x.share))
				blind[c.Name] = append(blind[c.Name], math.Min(1, y))
				extra[c.Name] = append(extra[c.Name], x.extra)
				if b.verbose {
					fmt.Printf("%-6s %-8s %5.1f%% of the oracle (%5.1f%% blind), success %5.1f, extra waste %.3f  %s\n", sc.Name, c.Name, 100*x.share, 100*y, x.success, x.extra, sc.Title)
				}
			}
		}
	}
	fmt.Printf("\n| contender | goodput/oracle: min | p10 | median | mean | goodput/oracle-blind: min | p10 | median | mean | extra waste per success: median | p90 | max |\n| --- |%s\n", strings.Repeat(" ---: |", 11))
	for _, c := range cs {
		fmt.Printf("| %s |", c.Name)
		for _, s := range [][]float64{share[c.Name], blind[c.Name]} {
			slices.Sort(s)
			fmt.Printf(" %.2f | %.2f | %.2f | %.3f |", at(s, 0), at(s, .1), at(s, .5), sim.Mean(s))
		}
		e := extra[c.Name]
		slices.Sort(e)
		fmt.Printf(" %.3f | %.2f | %.2f |\n", at(e, .5), at(e, .9), at(e, 1))
	}
}

func at(sorted []float64, q float64) float64 {
	return sorted[max(0, min(len(sorted)-1, int(math.Ceil(q*float64(len(sorted))))-1))]
}
