package sim

import "time"

const (
	ms  = time.Millisecond
	sec = time.Second
)

// llm is the provider most scenarios use: ~2 s per answer, 240 requests/s with a
// bucket of one second, 429 with Retry-After in whole seconds.
func llm() ServerConfig {
	return ServerConfig{
		NetRTT: 30 * ms, RejectProc: 5 * ms,
		TTFBMedian: 400 * ms, TTFBSigma: 0.5, GenMean: 1500 * ms, GenSigma: 0.6, TokensMean: 300,
		RPS: 240, Burst: 240, RetryAfter: RASeconds,
	}
}

// article is the fast 600-token model of S1 (~1.2 s per answer).
func article() ServerConfig {
	return ServerConfig{
		NetRTT: 30 * ms, RejectProc: 5 * ms,
		TTFBMedian: 250 * ms, TTFBSigma: 0.4, GenMean: 950 * ms, GenSigma: 0.4, TokensMean: 600,
		RetryAfter: RASeconds,
	}
}

func with(c ServerConfig, f func(*ServerConfig)) ServerConfig { f(&c); return c }

// Scenarios lists them all.
func Scenarios() []*Scenario {
	tiny := ServerConfig{NetRTT: 20 * ms, RejectProc: 5 * ms, TTFBMedian: 60 * ms, TTFBSigma: .4, GenMean: 60 * ms, GenSigma: .4,
		TokensMean: 50, RPS: 45, Burst: 45, RetryAfter: RASeconds}
	burst := []Phase{}
	for range 10 {
		burst = append(burst, Phase{5 * sec, 6}, Phase{55 * sec, 0})
	}
	skew := make([]float64, 20)
	for i := range skew {
		skew[i] = 5
		if i < 4 {
			skew[i] = 50
		}
	}
	return []*Scenario{
		{Name: "S1a", Title: "600 users, closed loop, hard cap 70/s, rejections free",
			Server: with(article(), func(c *ServerConfig) { c.RPS, c.Burst = 70, 70 }),
			Users:  600, Think: 3 * sec, Horizon: 30 * time.Minute, Deadline: 60 * sec},
		{Name: "S1b", Title: "600 users, closed loop, 150/s (burst 20), a rejection consumes 0.8 of the limit",
			Server: with(article(), func(c *ServerConfig) { c.RPS, c.Burst, c.RejectCost = 150, 20, 0.8 }),
			Users:  600, Think: 3 * sec, Horizon: 30 * time.Minute, Deadline: 60 * sec},
		{Name: "S1d", Title: "600 users, closed loop, 135/s (burst 20), a rejection consumes 0.65 of the limit, down to -20: collapses under naive clients",
			Server: with(article(), func(c *ServerConfig) { c.RPS, c.Burst, c.RejectCost, c.Debt = 135, 20, 0.65, 20 }),
			Users:  600, Think: 3 * sec, Horizon: 30 * time.Minute, Deadline: 60 * sec},
		{Name: "S1c", Title: "600 users, closed loop, server that thrashes above 84 in flight, 529 at 256",
			Server: with(article(), func(c *ServerConfig) {
				c.Slots, c.SlotStatus, c.Knee, c.Thrash, c.RetryAfter = 256, 529, 84, 1.5, RANone
			}),
			Users: 600, Think: 3 * sec, Horizon: 30 * time.Minute, Deadline: 60 * sec},
		{Name: "S2a", Title: "1000 calls at once, 45/s", Server: tiny, Batch: 1000, Deadline: 120 * sec},
		{Name: "S2b", Title: "1000 calls, 8 workers, 45/s", Server: tiny, Batch: 1000, Workers: 8, Deadline: 120 * sec},
		{Name: "S3", Title: "surge 200 -> 1800 -> 200 req/s (90 s), limit 240/s", Server: llm(),
			Phases:  []Phase{{60 * sec, 200}, {90 * sec, 1800}, {150 * sec, 200}},
			Horizon: 300 * sec, Deadline: 60 * sec, FaultFrom: 60 * sec, FaultTo: 150 * sec, FaultDemand: true},
		{Name: "S4", Title: "outage 60 s (503) in 100 req/s, limit 240/s, deadline 60 s",
			Server: with(llm(), func(c *ServerConfig) { c.Faults = []Fault{{60 * sec, 120 * sec, 1, 503, RANone}} }),
			Phases: []Phase{{300 * sec, 100}}, Horizon: 300 * sec, Deadline: 60 * sec, FaultFrom: 60 * sec, FaultTo: 120 * sec},
		{Name: "S4L", Title: "outage 60 s (connection resets) in 100 req/s, limit 240/s, deadline 180 s",
			Server: with(llm(), func(c *ServerConfig) { c.Faults = []Fault{{60 * sec, 120 * sec, 1, 0, RANone}} }),
			Phases: []Phase{{300 * sec, 100}}, Horizon: 300 * sec, Deadline: 180 * sec, FaultFrom: 60 * sec, FaultTo: 120 * sec},
		{Name: "S4h", Title: "black hole for 60 s (no answer at all) in 100 req/s, limit 240/s, deadline 60 s",
			Server: with(llm(), func(c *ServerConfig) { c.Faults = []Fault{{60 * sec, 120 * sec, 1, Hang, RANone}} }),
			Phases: []Phase{{300 * sec, 100}}, Horizon: 300 * sec, Deadline: 60 * sec, FaultFrom: 60 * sec, FaultTo: 120 * sec},
		{Name: "S5", Title: "brown-out: 20 % of attempts 529 for 10 min in 100 req/s",
			Server: with(llm(), func(c *ServerConfig) { c.Faults = []Fault{{60 * sec, 660 * sec, .2, 529, RANone}} }),
			Phases: []Phase{{720 * sec, 100}}, Horizon: 720 * sec, Deadline: 60 * sec, FaultFrom: 60 * sec, FaultTo: 660 * sec},
		{Name: "S5b", Title: "deep brown-out: 60 % of attempts 529 for 2 min in 100 req/s",
			Server: with(llm(), func(c *ServerConfig) { c.Faults = []Fault{{60 * sec, 180 * sec, .6, 529, RANone}} }),
			Phases: []Phase{{300 * sec, 100}}, Horizon: 300 * sec, Deadline: 60 * sec, FaultFrom: 60 * sec, FaultTo: 180 * sec},
		{Name: "S5c", Title: "20 % of attempts 429 (Retry-After 1) whatever the rate, 5 min in 100 req/s",
			Server: with(llm(), func(c *ServerConfig) { c.Faults = []Fault{{60 * sec, 360 * sec, .2, 429, RASeconds}} }),
			Phases: []Phase{{420 * sec, 100}}, Horizon: 420 * sec, Deadline: 60 * sec, FaultFrom: 60 * sec, FaultTo: 360 * sec},
		{Name: "S5d", Title: "overload as 529: 90/s (burst 20), a rejection costs 0.8, no Retry-After, 70 req/s, 200 for 30 s",
			Server: with(llm(), func(c *ServerConfig) {
				c.RPS, c.Burst, c.RejectCost, c.RateStatus, c.RetryAfter = 90, 20, .8, 529, RANone
			}),
			Phases: []Phase{{60 * sec, 70}, {30 * sec, 200}, {210 * sec, 70}}, Horizon: 300 * sec, Deadline: 60 * sec,
			FaultFrom: 60 * sec, FaultTo: 90 * sec, FaultDemand: true},
		{Name: "S6", Title: "other tenants take 70 % of 240/s for 5 min, 200 req/s",
			Server: with(llm(), func(c *ServerConfig) {
				c.Share = func(t time.Duration) float64 {
					if t >= 120*sec && t < 420*sec {
						return 0.3
					}
					return 1
				}
			}),
			Phases: []Phase{{600 * sec, 200}}, Horizon: 600 * sec, Deadline: 60 * sec, FaultFrom: 120 * sec, FaultTo: 420 * sec},
		{Name: "S7", Title: "20 instances, 300 req/s in all, shared limit 240/s", Server: llm(), Clients: 20,
			Phases: []Phase{{300 * sec, 300}}, Horizon: 300 * sec, Deadline: 60 * sec},
		{Name: "S7s", Title: "20 instances, skewed (4x50 + 16x5 = 280 req/s), shared limit 240/s", Server: llm(), Clients: 20, Weights: skew,
			Phases: []Phase{{300 * sec, 280}}, Horizon: 300 * sec, Deadline: 60 * sec},
		{Name: "S8", Title: "fixed window 6000/min, 110 req/s, Retry-After date, 1 % resets, 2 % 529, 0.5 % stall 20 s",
			Server: with(llm(), func(c *ServerConfig) {
				c.RPS, c.Burst, c.WindowLimit, c.Window, c.RetryAfter = 0, 0, 6000, time.Minute, RADate
				c.StallP, c.Stall = .005, 20*sec
				c.Faults = []Fault{{0, time.Hour, .01, 0, RANone}, {0, time.Hour, .02, 529, RANone}}
			}),
			Phases: []Phase{{600 * sec, 110}}, Horizon: 600 * sec, Deadline: 90 * sec},
		{Name: "S9", Title: "concurrency limit 100 (429, no Retry-After), 60 req/s (117 %)",
			Server: with(llm(), func(c *ServerConfig) {
				c.RPS, c.Burst, c.Slots, c.SlotStatus, c.RetryAfter = 0, 0, 100, 429, RANone
			}),
			Phases: []Phase{{300 * sec, 60}}, Horizon: 300 * sec, Deadline: 60 * sec},
		{Name: "S10", Title: "small tier: 60 RPM (burst 5), 30 calls in 5 s every minute",
			Server: with(llm(), func(c *ServerConfig) { c.RPS, c.Burst, c.RetryAfter = 1, 5, RASeconds }),
			Phases: burst, Horizon: 600 * sec, Deadline: 60 * sec},
	}
}
