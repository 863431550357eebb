package sim

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// Result is one row: a contender in a scenario under a seed.
type Result struct {
	Scenario, Contender string
	Seed                uint64

	Calls      int
	SuccessPct float64
	Goodput    float64 // ok calls per second of the arrival horizon (or of the makespan of a batch)
	GoodputMax float64 // best 10 s

	Attempts, Accepted, Throttled, Failed int
	AttPerOK, WastePerOK                  float64 // wire attempts / rejected or failed attempts per success
	AttPerCall                            float64
	WastedTokensPct                       float64 // generations billed with nobody reading

	OKMean, OKP50, OKP99    float64 // seconds, successful calls
	AllMean, AllP50, AllP99 float64 // seconds, all calls

	FaultSuccessPct float64 // calls that started in the fault window
	FaultAttPerCall float64 // wire attempts in the window / calls that started in it
	FaultGoodput    float64 // ok/s in the window
	RecGood         float64 // s after the fault until goodput >= 95 % of the pre-fault demand for 3 bins of 5 s
	RecLat          float64 // s after the fault until calls again finish as before (success >= 97 %, p90 <= 1.5x + 0.5 s) for 3 bins of 5 s
	PostSuccessPct  float64 // calls that started after the fault

	Jain float64 // fairness of the success ratio over instances

	Bins []SecBin `json:"-"` // second by second; not kept in a cache

	MaxWire int
	Virtual float64 // s
	Real    float64 // s
}

// Mean is not a number for an empty v.
func Mean(v []float64) float64 {
	if len(v) == 0 {
		return math.NaN()
	}
	s := 0.0
	for _, x := range v {
		s += x
	}
	return s / float64(len(v))
}

// group is some of the calls that were made.
type group struct {
	calls, ok int
	okTimes   []float64 // seconds, sorted
	times     []float64
	lastOK    time.Duration // when the last good one was over
}

// group returns those that are to be kept.
func (w *world) group(keep func(Call) bool) *group {
	g := &group{}
	for _, c := range w.calls {
		if c.Start < 0 || !keep(c) {
			continue
		}
		took := (c.End - c.Start).Seconds()
		g.calls++
		g.times = append(g.times, took)
		if c.OK {
			g.ok++
			g.okTimes = append(g.okTimes, took)
			g.lastOK = max(g.lastOK, c.End)
		}
	}
	slices.Sort(g.okTimes)
	slices.Sort(g.times)
	return g
}

func (g *group) successPct() float64 { return 100 * float64(g.ok) / float64(max(1, g.calls)) }

func measure(sc *Scenario, name string, w *world, end time.Duration) *Result {
	s, all := w.srv, w.group(func(Call) bool { return true })
	r := &Result{Scenario: sc.Name, Contender: name, Attempts: s.Attempts, Accepted: s.Accepted,
		Throttled: s.Throttled, Failed: s.Failed, MaxWire: s.MaxWire, Virtual: end.Seconds(), Bins: s.Bins}
	r.Calls, r.SuccessPct = all.calls, all.successPct()
	r.Goodput = goodput(sc, s.Bins, all)
	for i := 0; i+10 <= len(s.Bins); i++ {
		r.GoodputMax = math.Max(r.GoodputMax, float64(sum(s.Bins[i:i+10]).OK)/10)
	}
	ok := math.Max(1, float64(all.ok))
	r.AttPerOK = float64(s.Attempts) / ok
	r.AttPerCall = float64(s.Attempts) / math.Max(1, float64(r.Calls))
	r.WastePerOK = float64(s.Throttled+s.Failed) / ok
	r.WastedTokensPct = 100 * s.WastedTokens / math.Max(1, s.BilledTokens)
	r.OKMean, r.OKP50, r.OKP99 = Mean(all.okTimes), quantile(all.okTimes, .5), quantile(all.okTimes, .99)
	r.AllMean, r.AllP50, r.AllP99 = Mean(all.times), quantile(all.times, .5), quantile(all.times, .99)
	if len(w.doers) > 1 {
		r.Jain = jain(w)
	}
	r.RecGood, r.RecLat = math.NaN(), math.NaN()
	if sc.FaultTo > 0 {
		measureFault(sc, w, r)
	}
	return r
}

// goodput is how many calls went well per second: of a batch until the last one was
// over, else what was finished while calls arrived.
func goodput(sc *Scenario, bins []SecBin, all *group) float64 {
	if sc.Batch > 0 {
		return float64(all.ok) / math.Max(1e-9, all.lastOK.Seconds())
	}
	seconds := int((sc.Horizon + time.Second - 1) / time.Second)
	return float64(sum(bins[:min(len(bins), seconds)]).OK) / sc.Horizon.Seconds()
}

// sum adds up what matters of bins.
func sum(bins []SecBin) (s SecBin) {
	for _, b := range bins {
		s.Attempts += b.Attempts
		s.OK += b.OK
	}
	return s
}

// jain is Jain's index of the success ratios of the instances: 1 if they are equal.
func jain(w *world) float64 {
	calls, ok := make([]float64, len(w.doers)), make([]float64, len(w.doers))
	for _, c := range w.calls {
		if c.Start < 0 {
			continue
		}
		calls[c.Client]++
		if c.OK {
			ok[c.Client]++
		}
	}
	var a, b float64
	for i := range calls {
		x := ok[i] / math.Max(1, calls[i])
		a += x
		b += x * x
	}
	return a * a / (float64(len(calls)) * b)
}

// measureFault adds what became of the calls during the fault and after it.
func measureFault(sc *Scenario, w *world, r *Result) {
	during := w.group(func(c Call) bool { return c.Start >= sc.FaultFrom && c.Start < sc.FaultTo })
	after := w.group(func(c Call) bool { return c.Start >= sc.FaultTo })
	r.FaultSuccessPct, r.PostSuccessPct = during.successPct(), after.successPct()
	from, to, n := int(sc.FaultFrom/time.Second), int(sc.FaultTo/time.Second), len(r.Bins)
	wire := sum(r.Bins[min(from, n):min(to, n)])
	r.FaultAttPerCall = float64(wire.Attempts) / float64(max(1, during.calls))
	r.FaultGoodput = float64(wire.OK) / float64(to-from)
	r.RecGood, r.RecLat = recovery(sc, w)
}

// Line is the row as one line of text.
func (r *Result) Line() string {
	return fmt.Sprintf("%-4s %-28s s%d ok=%6.2f%% good=%6.1f/s att/ok=%5.2f waste/ok=%6.3f okP50=%6.2f okP99=%6.2f allMean=%6.2f wire=%5d fault[ok=%5.1f%% att/call=%5.2f] rec=%v/%v post=%5.1f%% billedWaste=%4.1f%% jain=%.3f real=%.1fs",
		r.Scenario, r.Contender, r.Seed, r.SuccessPct, r.Goodput, r.AttPerOK, r.WastePerOK, r.OKP50, r.OKP99, r.AllMean, r.MaxWire,
		r.FaultSuccessPct, r.FaultAttPerCall, r.RecGood, r.RecLat, r.PostSuccessPct, r.WastedTokensPct, r.Jain, r.Real)
}

// Finite puts -1 for what does not apply and 1e9 for never, which JSON can carry.
func (r *Result) Finite() {
	for _, p := range []*float64{&r.OKMean, &r.OKP50, &r.OKP99, &r.AllMean, &r.AllP50, &r.AllP99, &r.RecGood, &r.RecLat} {
		if math.IsNaN(*p) {
			*p = -1
		}
		if math.IsInf(*p, 1) {
			*p = 1e9
		}
	}
}
