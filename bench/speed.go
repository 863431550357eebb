package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"regexp"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/steadyhttp/steady"
)

// runner is a row of the speed table.
type runner struct {
	name string
	make stack
	big  bool // has a row in the table of body sizes
}

func runners() []runner {
	return []runner{
		{"bare transport", func(base http.RoundTripper, _ settings) http.RoundTripper { return base }, true},
		{"floor: x/time/rate, gobreaker, loop", floorNoTimeout, true},
		{"floor and attempt timeout", newFloor, true},
		{"**Steady: New, rate and in flight**", steadyLimits, true},
		{"Steady: the same, FirstEvent(0)", steadyWith(steady.FirstEvent(0)), false},
		{"Steady: the same, StreamGuard(false)", steadyWith(steady.StreamGuard(false)), true},
		{"**Steady: New**", steadyPlain, false},
		{"Steady: SDK alone", steadyLayer(steady.SDK()), false},
		{"Steady: RateLimit alone", steadyLayer(steady.RateLimit(plenty, plenty, steady.MaxInFlight(1<<20))), false},
		{"Steady: Breaker alone", steadyLayer(steady.Breaker()), false},
		{"Steady: Retry alone", steadyLayer(steady.Retry()), false},
		{"Steady: Attempt alone", steadyLayer(steady.Attempt()), false},
		{"failsafe-go: retry", failsafeStack(failsafePolicies{}), true},
		{"failsafe-go: retry, breaker", failsafeStack(failsafePolicies{breaker: true}), false},
		{"failsafe-go: retry, breaker, limiter, adaptive", failsafeStack(failsafePolicies{true, true, true}), true},
		{"go-retryablehttp", retryablehttpStack, true},
		{"rehttp", rehttpNoTimeout, true},
		{"rehttp and attempt timeout", rehttpStack, false},
		{"heimdall", heimdallStack, true},
		{"azcore", azcoreStack, true},
	}
}

// where is a column of the speed table: goroutines that call, and over what.
type where struct {
	name       string
	goroutines int
	base       http.RoundTripper
	url        string
	calls      int // of all goroutines together, per round
	body       []byte
}

// speed measures what the stacks cost beside the bare transport when nothing
// goes wrong, for about the given time.
//
// What a stack leaves to the collector is a part of what it costs, so a round is
// long enough for several collections, and the heap is what it is. A block of
// memory that is kept in use beside the calls, and has no pointers, would make
// the collector seldom and almost free, and all that allocate much look better.
func speed(w io.Writer, only string, rounds int, within time.Duration, quick bool) error {
	deadline := time.Now().Add(within)
	among, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	base, url, stop := loopback()
	defer stop()
	columns := columnsOf(base, url, quick)
	if quick {
		rounds = 2
	}
	all := runners()
	all = slices.DeleteFunc(all, func(r runner) bool { return r.name != all[0].name && !among.MatchString(r.name) })
	costs, err := exact(all, canned, columns[0].body)
	if err != nil {
		return err
	}
	rest := time.Until(deadline)
	ratios := make([][]string, len(all))
	var alone []time.Duration
	fewest := rounds
	for i, c := range columns {
		m, err := measure(all, c, rounds, time.Now().Add(rest*9/10/time.Duration(len(columns))))
		if err != nil {
			return err
		}
		if i == 0 {
			alone = m.typical
		}
		fewest = min(fewest, m.rounds)
		for r := range all {
			ratios[r] = append(ratios[r], fmt.Sprintf("%.2f", m.ratio[r]))
		}
	}
	writeSpeed(w, all, columns, alone, costs, ratios, fewest)
	if only != "" {
		return nil
	}
	return sizes(w, base, url, rounds, deadline, quick)
}

// writeSpeed writes the speed table.
func writeSpeed(w io.Writer, all []runner, columns []where, alone []time.Duration, costs []cost, ratios [][]string, fewest int) {
	head := []string{"stack", "ns", "B", "allocs"}
	for _, c := range columns {
		head = append(head, c.name)
	}
	var rows [][]string
	for r, x := range all {
		row := []string{x.name, fmt.Sprint(alone[r].Nanoseconds()), fmt.Sprint(costs[r].bytes), fmt.Sprint(costs[r].allocs)}
		rows = append(rows, append(row, ratios[r]...))
	}
	writeTable(w, head, rows, true)
	fmt.Fprintf(w, "Processor time of a call of 2 KiB with an answer of %d bytes. ns, B and allocs: in memory, one goroutine.\n"+
		"× n: n goroutines; the time beside the bare transport's in the same round, the collector's included, median of at least %d rounds in random order.\n\n", len(answer), fewest)
}

// columnsOf returns the columns of the speed table.
func columnsOf(base http.RoundTripper, url string, quick bool) []where {
	body := bytes.Repeat([]byte("q"), 2<<10)
	var columns []where
	for _, n := range []int{1, 8, 64, 512} {
		columns = append(columns, where{fmt.Sprintf("memory × %d", n), n, canned, "https://llm.test", 8192, body})
	}
	for _, n := range []int{1, 8, 64, 512} {
		columns = append(columns, where{fmt.Sprintf("loopback × %d", n), n, base, url, 512, body})
	}
	for i := range columns {
		if quick {
			columns[i].calls = columns[i].goroutines
		}
	}
	return columns
}

// sizes writes the table of body sizes.
func sizes(w io.Writer, base http.RoundTripper, url string, rounds int, deadline time.Time, quick bool) error {
	all := slices.DeleteFunc(runners(), func(r runner) bool { return !r.big })
	head := []string{"stack"}
	rows := make([][]string, len(all))
	for i, r := range all {
		rows[i] = []string{r.name}
	}
	sizes := []struct {
		name  string
		bytes int
		calls int
	}{{"2 KiB", 2 << 10, 256}, {"1 MiB", 1 << 20, 8}, {"20 MiB", 20 << 20, 1}}
	for i, size := range sizes {
		if quick {
			size.bytes, size.calls = size.bytes/16, 1
		}
		body := make([]byte, size.bytes)
		costs, err := exact(all, canned, body)
		if err != nil {
			return err
		}
		end := time.Now().Add(time.Until(deadline) / time.Duration(len(sizes)-i))
		m, err := measure(all, where{"", 1, base, url, size.calls, body}, min(rounds, 20), end)
		if err != nil {
			return err
		}
		head = append(head, size.name+", allocated", size.name+", loopback")
		for r := range all {
			rows[r] = append(rows[r], bytesName(costs[r].bytes), fmt.Sprintf("%.2f", m.ratio[r]))
		}
	}
	writeTable(w, head, rows, true)
	_, err := fmt.Fprint(w, "Request bodies with GetBody. Allocated: in memory, per call. Loopback: processor time beside the bare transport's.\n")
	return err
}

func bytesName(n uint64) string {
	if n < 1<<20 {
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}

type cost struct{ bytes, allocs uint64 }

// exact counts what one call allocates: the least of several counts, since only
// the runtime's own work can add to it.
func exact(all []runner, base http.RoundTripper, body []byte) ([]cost, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	calls := uint64(max(1, min(256, 8<<20/len(body))))
	costs := make([]cost, len(all))
	for i, r := range all {
		rt := r.make(base, happy)
		least := cost{1 << 62, 1 << 62}
		for range 4 { // the first warms up
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			for range calls {
				if err := call(ctx, rt, "https://llm.test", body); err != nil {
					return nil, fmt.Errorf("%s: %w", r.name, err)
				}
			}
			runtime.ReadMemStats(&after)
			least.bytes = min(least.bytes, (after.TotalAlloc-before.TotalAlloc)/calls)
			least.allocs = min(least.allocs, (after.Mallocs-before.Mallocs)/calls)
		}
		costs[i] = least
	}
	return costs, nil
}

type measurement struct {
	ratio   []float64       // to the first runner, which is the bare one
	typical []time.Duration // of one call
	rounds  int
}

// measure runs all once a round, in random order, until the rounds are made or
// the time is over, but at least twice.
func measure(all []runner, c where, rounds int, end time.Time) (measurement, error) {
	rts := make([]http.RoundTripper, len(all))
	for i, r := range all {
		rts[i] = r.make(c.base, happy)
		if err := call(context.Background(), rts[i], c.url, c.body); err != nil {
			return measurement{}, fmt.Errorf("%s: %w", r.name, err)
		}
	}
	ratios, times := make([][]float64, len(all)), make([][]time.Duration, len(all))
	n := 0
	for ; n < rounds && (n < 2 || time.Now().Before(end)); n++ {
		took := make([]time.Duration, len(all))
		for _, i := range rand.Perm(len(all)) {
			var err error
			if took[i], err = round(rts[i], c); err != nil {
				return measurement{}, fmt.Errorf("%s, %s: %w", all[i].name, c.name, err)
			}
		}
		for i := range all {
			times[i] = append(times[i], took[i]/time.Duration(c.calls))
			ratios[i] = append(ratios[i], float64(took[i])/float64(max(1, took[0])))
		}
	}
	m := measurement{rounds: n}
	for i := range all {
		m.ratio = append(m.ratio, median(ratios[i]))
		m.typical = append(m.typical, median(times[i]))
	}
	return m, nil
}

// round makes c.calls calls from c.goroutines goroutines and returns the
// processor time that they took.
func round(rt http.RoundTripper, c where) (time.Duration, error) {
	runtime.GC() // so that nobody pays for the garbage of another
	errs := make(chan error, c.goroutines)
	var wg sync.WaitGroup
	began := spent()
	for range c.goroutines {
		wg.Go(func() {
			ctx, cancel := context.WithCancel(context.Background()) // as that of a handler whose client may leave
			defer cancel()
			for range c.calls / c.goroutines {
				if err := call(ctx, rt, c.url, c.body); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	wg.Wait()
	took := spent() - began
	close(errs)
	return took, <-errs
}

func median[E float64 | time.Duration](xs []E) E {
	xs = slices.Sorted(slices.Values(xs))
	return (xs[(len(xs)-1)/2] + xs[len(xs)/2]) / 2
}
