//go:debug randautoseed=0

// Command goodput measures clients of a rate-limited LLM provider in virtual time.
//
//	go run ./bench/goodput                          # the table: every scenario, every rival
//	go run ./bench/goodput -only steady,oracle -scenario S3 -seeds 1,2,3
//	go run ./bench/goodput -ablate                  # steady with one mechanism taken out at a time
//	go run ./bench/goodput -random 60 -seeds 7      # servers that nobody tuned for
//	go run ./bench/goodput -chart s6.svg -scenario S6 -only steady,failsafe-retry,oracle
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"

	"github.com/steadyhttp/steady/bench/goodput/internal/sim"
)

// ownFlags prints the flags of this command, and not those of package testing, which
// it needs for its bubbles.
func ownFlags() {
	own := flag.NewFlagSet("goodput", flag.ContinueOnError)
	flag.VisitAll(func(f *flag.Flag) {
		if !strings.HasPrefix(f.Name, "test.") {
			own.Var(f.Value, f.Name, f.Usage)
		}
	})
	fmt.Fprintln(flag.CommandLine.Output(), "Usage of goodput:")
	own.SetOutput(flag.CommandLine.Output())
	own.PrintDefaults()
}

func main() {
	testing.Init()
	only := flag.String("only", "", "contenders, by commas (default all)")
	scenario := flag.String("scenario", "", "scenarios, by commas (default all)")
	seedList := flag.String("seeds", "1", "seeds, by commas")
	ablate := flag.Bool("ablate", false, "take one mechanism out at a time")
	random := flag.Int("random", 0, "so many random servers per seed instead of the named scenarios")
	cache := flag.String("cache", "", "file that keeps the rows of the oracles and rivals between runs")
	svg := flag.String("chart", "", "draw what each contender gets, second by second of the first scenario, to this SVG file")
	verbose := flag.Bool("v", false, "print every run")
	flag.Usage = ownFlags
	flag.Parse()
	// One P: goroutines that wake at the same instant run in a fixed order.
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(400)

	seeds, err := parseSeeds(*seedList)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	contenders := choose(sim.Contenders(), *only)
	scenarios := pick(sim.Scenarios(), *scenario)
	if len(contenders) == 0 || len(scenarios) == 0 && *random == 0 {
		fmt.Fprintln(os.Stderr, "goodput: no contender or no scenario of that name")
		os.Exit(2)
	}
	sim.Main(func(t *testing.T) {
		b := newBench(t, *cache, *verbose)
		switch {
		case *svg != "":
			b.chart(*svg, scenarios[0], seeds[0], contenders)
		case *random > 0:
			b.random(*random, seeds, contenders, *scenario)
		case *ablate:
			b.ablation(scenarios, seeds, choose(sim.SteadyAblations(), *only))
		default:
			b.table(scenarios, seeds, contenders)
		}
	})
}

func parseSeeds(list string) ([]uint64, error) {
	var out []uint64
	for _, f := range strings.Split(list, ",") {
		n, err := strconv.ParseUint(f, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("-seeds: %w", err)
		}
		out = append(out, n)
	}
	return out, nil
}

// choose keeps the contenders that list names, and the oracles, which are the measure.
func choose(all []sim.Contender, list string) []sim.Contender {
	if list == "" {
		return all
	}
	var out []sim.Contender
	for _, c := range all {
		for _, name := range strings.Split(list, ",") {
			if c.Name == name {
				out = append(out, c)
			}
		}
	}
	return out
}

func pick(all []*sim.Scenario, list string) []*sim.Scenario {
	if list == "" {
		return all
	}
	var out []*sim.Scenario
	for _, sc := range all {
		for _, name := range strings.Split(list, ",") {
			if sc.Name == name {
				out = append(out, sc)
			}
		}
	}
	return out
}
