package sim

import (
	"math"
	"slices"
	"time"
)

// recoveryBin is for how many seconds calls are taken together to see whether they
// are back to normal; they are if that is so three times in a row.
const recoveryBin = 5

// recoveryBins is what became of the calls in each of the bins.
type recoveryBins struct {
	calls, ok []float64   // that began in it
	took      [][]float64 // the seconds of those that went well
	done      []float64   // that ended in it, well
}

func (w *world) recoveryBins(n int) *recoveryBins {
	b := &recoveryBins{make([]float64, n+1), make([]float64, n+1), make([][]float64, n+1), make([]float64, n+1)}
	for _, c := range w.calls {
		if c.Start < 0 {
			continue
		}
		i := min(n, int(c.Start.Seconds())/recoveryBin)
		b.calls[i]++
		if !c.OK {
			continue
		}
		b.ok[i]++
		b.took[i] = append(b.took[i], (c.End - c.Start).Seconds())
		if j := int(c.End.Seconds()) / recoveryBin; j <= n {
			b.done[j]++
		}
	}
	return b
}

// recovery is how many seconds after the fault goodput was as before, and how many
// until calls finished as before, infinity for never.
func recovery(sc *Scenario, w *world) (good, latency float64) {
	n := int(sc.Horizon.Seconds()) / recoveryBin
	before := w.group(func(c Call) bool { return c.Start > 20*time.Second && c.Start < sc.FaultFrom-5*time.Second })
	b, p90 := w.recoveryBins(n), quantile(before.okTimes, .9)
	rate := float64(before.calls) / (sc.FaultFrom.Seconds() - 25)
	// Goodput of a Poisson flow: allow two standard deviations of a bin.
	slack := 2 / math.Sqrt(rate*recoveryBin)
	good = firstOfThree(sc, n, func(i int) bool { return b.done[i]/recoveryBin >= rate*(0.95-slack) })
	latency = firstOfThree(sc, n, func(i int) bool {
		slices.Sort(b.took[i])
		return b.calls[i] > 0 && b.ok[i] >= 0.97*b.calls[i] && quantile(b.took[i], .9) <= 1.5*p90+0.5
	})
	return good, latency
}

// firstOfThree is how many seconds after the fault the first of three good bins in a
// row begins.
func firstOfThree(sc *Scenario, n int, good func(i int) bool) float64 {
	run := 0
	for i := int(sc.FaultTo.Seconds()) / recoveryBin; i < n; i++ {
		if !good(i) {
			run = 0
			continue
		}
		if run++; run == 3 {
			return float64((i-2)*recoveryBin) - sc.FaultTo.Seconds()
		}
	}
	return math.Inf(1)
}
