package sim

import (
	"fmt"
	"math"
	"time"
)

// Random returns n servers that nobody tuned for, a pure function of seed.
func Random(n int, seed uint64) []*Scenario {
	var out []*Scenario
	for i := range n {
		g := &lcg{hash(seed, 77, uint64(i), 0)}
		out = append(out, randomScenario(fmt.Sprintf("R%d.%d", seed, i), g))
	}
	return out
}

func (l *lcg) between(a, b float64) float64 { return a + (b-a)*l.float() }

func (l *lcg) log(a, b float64) float64 { return a * math.Exp(l.float()*math.Log(b/a)) }

func (l *lcg) pick(n int) int { return min(n-1, int(l.float()*float64(n))) }

func seconds(x float64) time.Duration { return time.Duration(x * 1e9) }

// randomScenario draws a limit, a kind of limit, a demand and at most one trouble.
func randomScenario(name string, g *lcg) *Scenario {
	limit, answer := g.log(1, 400), g.log(0.3, 12)
	first := answer * g.between(0.1, 0.4)
	c := ServerConfig{
		NetRTT: seconds(g.log(0.01, 0.25)), RejectProc: 5 * ms,
		TTFBMedian: seconds(first), TTFBSigma: g.between(0.2, 0.6),
		GenMean: seconds(answer - first), GenSigma: g.between(0.3, 0.8), TokensMean: 300,
		RetryAfter: RAMode(g.pick(4)),
	}
	kind := g.pick(4)
	switch kind {
	case 0: // a fixed window
		c.Window = []time.Duration{time.Second, 10 * time.Second, time.Minute}[g.pick(3)]
		c.WindowLimit = max(1, int(limit*c.Window.Seconds()))
		limit = float64(c.WindowLimit) / c.Window.Seconds()
	case 1: // so many at once
		c.Slots = max(1, int(math.Round(limit*answer)))
		c.SlotStatus = []int{429, 429, 503, 529}[g.pick(4)]
		limit = float64(c.Slots) / answer
	default:
		c.RPS, c.Burst = limit, math.Max(1, limit*g.log(0.05, 5))
		c.RejectCost = []float64{0, 0, 0.3, 0.8}[g.pick(4)]
		c.RateStatus = []int{429, 429, 429, 529}[g.pick(4)]
	}
	demand := limit * g.log(0.5, 3)
	sc := &Scenario{Name: name, Horizon: 240 * sec, Deadline: seconds(math.Max(15, answer*g.between(8, 20)))}
	sc.Phases = []Phase{{240 * sec, demand}}
	trouble := "nothing"
	switch from := 80 * sec; g.pick(5) {
	case 0:
	case 1:
		share := g.between(0.2, 0.8)
		trouble = fmt.Sprintf("share %.2f for 80 s", share)
		c.Share = func(t time.Duration) float64 {
			if t >= from && t < from+80*sec {
				return share
			}
			return 1
		}
	case 2:
		f := Fault{from, from + 80*sec, g.between(0, 0.3), []int{0, 429, 503, 529}[g.pick(4)], RAMode(g.pick(2))}
		trouble = fmt.Sprintf("%.0f %% fail with %d for 80 s", 100*f.P, f.Status)
		c.Faults = []Fault{f}
	case 3:
		d := g.log(2, 40)
		f := Fault{from, from + seconds(d), 1, []int{0, 429, 503, 529}[g.pick(4)], RAMode(g.pick(4))}
		trouble = fmt.Sprintf("outage with %d for %.0f s", f.Status, d)
		c.Faults = []Fault{f}
	case 4:
		k := g.between(2, 6)
		trouble = fmt.Sprintf("surge x %.1f for 40 s", k)
		sc.Phases = []Phase{{from, demand}, {40 * sec, k * demand}, {120 * sec, demand}}
	}
	sc.Server = c
	sc.Title = fmt.Sprintf("%s of %.1f/s, rtt %v, answer %.1f s, demand %.0f %%, deadline %v, ra %d, cost %.1f, burst %.0f, status %d/%d; %s",
		[]string{"window", "slots", "bucket", "bucket"}[kind], limit, c.NetRTT.Round(ms), answer, 100*demand/limit,
		sc.Deadline.Round(sec), c.RetryAfter, c.RejectCost, c.Burst, c.RateStatus, c.SlotStatus, trouble)
	return sc
}
