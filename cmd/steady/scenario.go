package main

import (
	"time"

	"github.com/steadyhttp/steady/internal/fakeserver"
)

// scenario is the provider that all clients meet: a limit that everybody knows,
// a spike of 429 and a short outage, after a batch that its author ran at night.
type scenario struct {
	calls int
	seed  uint64

	limit            float64 // requests a second, and the burst
	spikeAt, spike   time.Duration
	share            float64 // of the requests in the spike that get a 429
	outageAt, outage time.Duration
}

// newScenario scales the spike and the outage with the size of the batch: for
// 1,000 calls, which take 22 seconds at best, they last 3 and 2 seconds.
func newScenario(calls int, seed uint64) scenario {
	part := func(share float64) time.Duration {
		return time.Duration(share * float64(calls) / 1000 * float64(time.Second))
	}
	return scenario{
		calls: calls, seed: seed, limit: 45,
		spikeAt: part(5), spike: part(3), share: 0.4,
		outageAt: part(12), outage: part(2),
	}
}

// server returns a provider of its own for one client, whose clock starts now.
func (s scenario) server() *fakeserver.Server {
	return fakeserver.New(
		fakeserver.Seed(s.seed),
		fakeserver.Latency(fakeserver.LogNormal(20*time.Millisecond, 0.3)),
		fakeserver.Generation(fakeserver.LogNormal(100*time.Millisecond, 0.4)),
		fakeserver.Outage(s.outageAt, s.outageAt+s.outage, fakeserver.Status(503)),
		fakeserver.Spike(s.spikeAt, s.spikeAt+s.spike, s.share, fakeserver.RetryAfter("1")),
		fakeserver.RateLimit(fakeserver.Bucket{PerSecond: s.limit, Burst: s.limit, Hint: fakeserver.Seconds}),
	)
}

// down is how much of the first d of its clock the provider is down.
func (s scenario) down(d time.Duration) time.Duration { return overlap(d, s.outageAt, s.outage) }

func overlap(d, from, length time.Duration) time.Duration {
	return max(0, min(d, from+length)-from)
}

// perSecond is how many requests the provider answers in each of the first n
// seconds to a client that sends at the limit.
func (s scenario) perSecond(n int) []float64 {
	answered := func(d time.Duration) float64 {
		return s.limit * ((d - s.down(d)).Seconds() - s.share*overlap(d, s.spikeAt, s.spike).Seconds())
	}
	all := make([]float64, n)
	for i := range all {
		from := time.Duration(i) * time.Second
		all[i] = answered(from+time.Second) - answered(from)
	}
	return all
}
