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

func meanOf(v []float64) float64 {
	if len(v) == 0 {
		return math.NaN()
	}
	s := 0.0
	for _, x := range v {
		s += x
	}
	return s / float64(len(v))
}

func measure(sc *Scenario, name string, w *world, end time.Duration) *Result {
	s := w.srv
	r := &Result{Scenario: sc.Name, Contender: name, Attempts: s.Attempts, Accepted: s.Accepted,
		Throttled: s.Throttled, Failed: s.Failed, MaxWire: s.MaxWire, Virtual: end.Seconds(), Bins: s.Bins}
	var okl, all []float64
	nOK, post, postOK := 0, 0, 0
	per := make([][2]float64, len(w.doers))
	fCalls, fOK := 0, 0
	var lastOK time.Duration
	for _, c := range w.calls {
		if c.Start < 0 {
			continue
		}
		r.Calls++
		l := (c.End - c.Start).Seconds()
		all = append(all, l)
		per[c.Client][0]++
		if c.OK {
			nOK++
			okl = append(okl, l)
			per[c.Client][1]++
			lastOK = max(lastOK, c.End)
		}
		if sc.FaultTo > 0 {
			switch {
			case c.Start >= sc.FaultFrom && c.Start < sc.FaultTo:
				fCalls++
				if c.OK {
					fOK++
				}
			case c.Start >= sc.FaultTo:
				post++
				if c.OK {
					postOK++
				}
			}
		}
	}
	slices.Sort(okl)
	slices.Sort(all)
	r.SuccessPct = 100 * float64(nOK) / float64(max(1, r.Calls))
	span := sc.Horizon
	if sc.Batch > 0 {
		span = lastOK
	}
	r.Goodput = float64(nOK) / math.Max(1e-9, span.Seconds())
	if sc.Batch == 0 { // only what was finished while calls arrived
		n := 0
		for i, b := range s.Bins {
			if time.Duration(i)*time.Second < span {
				n += b.OK
			}
		}
		r.Goodput = float64(n) / span.Seconds()
	}
	for i := 0; i+10 <= len(s.Bins); i++ {
		n := 0
		for _, b := range s.Bins[i : i+10] {
			n += b.OK
		}
		r.GoodputMax = math.Max(r.GoodputMax, float64(n)/10)
	}
	ok := math.Max(1, float64(nOK))
	r.AttPerOK = float64(s.Attempts) / ok
	r.AttPerCall = float64(s.Attempts) / math.Max(1, float64(r.Calls))
	r.WastePerOK = float64(s.Throttled+s.Failed) / ok
	r.WastedTokensPct = 100 * s.WastedTokens / math.Max(1, s.BilledTokens)
	r.OKMean, r.OKP50, r.OKP99 = meanOf(okl), quantile(okl, .5), quantile(okl, .99)
	r.AllMean, r.AllP50, r.AllP99 = meanOf(all), quantile(all, .5), quantile(all, .99)

	if len(per) > 1 {
		var a, b float64
		for _, p := range per {
			x := p[1] / math.Max(1, p[0])
			a += x
			b += x * x
		}
		r.Jain = a * a / (float64(len(per)) * b)
	}
	r.RecGood, r.RecLat = math.NaN(), math.NaN()
	if sc.FaultTo > 0 {
		r.FaultSuccessPct = 100 * float64(fOK) / float64(max(1, fCalls))
		r.PostSuccessPct = 100 * float64(postOK) / float64(max(1, post))
		from, to := int(sc.FaultFrom/time.Second), int(sc.FaultTo/time.Second)
		att, g := 0, 0
		for i := from; i < to && i < len(s.Bins); i++ {
			att += s.Bins[i].Attempts
			g += s.Bins[i].OK
		}
		r.FaultAttPerCall = float64(att) / float64(max(1, fCalls))
		r.FaultGoodput = float64(g) / float64(to-from)
		recover_(sc, w, r)
	}
	return r
}

// recover_ looks for the first of three 5 s bins in a row that are back to normal.
func recover_(sc *Scenario, w *world, r *Result) {
	const bin = 5
	n := int(sc.Horizon.Seconds()) / bin
	type acc struct {
		calls, ok, done int
		lat             []float64
	}
	b := make([]acc, n+1)
	var pre []float64
	preCalls := 0
	for _, c := range w.calls {
		if c.Start < 0 {
			continue
		}
		i := min(n, int(c.Start.Seconds())/bin)
		b[i].calls++
		if c.OK {
			b[i].ok++
			b[i].lat = append(b[i].lat, (c.End - c.Start).Seconds())
			if j := int(c.End.Seconds()) / bin; j <= n {
				b[j].done++
			}
		}
		if c.Start < sc.FaultFrom-5*time.Second && c.Start > 20*time.Second {
			preCalls++
			if c.OK {
				pre = append(pre, (c.End - c.Start).Seconds())
			}
		}
	}
	slices.Sort(pre)
	p90 := quantile(pre, .9)
	rate := float64(preCalls) / (sc.FaultFrom.Seconds() - 25)
	run := func(good func(i int) bool) float64 {
		k := 0
		for i := int(sc.FaultTo.Seconds()) / bin; i < n; i++ {
			if !good(i) {
				k = 0
				continue
			}
			if k++; k == 3 {
				return float64((i-2)*bin) - sc.FaultTo.Seconds()
			}
		}
		return math.Inf(1)
	}
	// Goodput of a Poisson flow: allow two standard deviations of a 5 s bin.
	slack := 2 / math.Sqrt(rate*bin)
	r.RecGood = run(func(i int) bool { return float64(b[i].done)/bin >= rate*(0.95-slack) })
	r.RecLat = run(func(i int) bool {
		slices.Sort(b[i].lat)
		return b[i].calls > 0 && float64(b[i].ok) >= 0.97*float64(b[i].calls) && quantile(b[i].lat, .9) <= 1.5*p90+0.5
	})
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
