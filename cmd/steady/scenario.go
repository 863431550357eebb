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

// allowed is how many calls the provider would have answered in the first d of
// its clock to a client that always sends at the limit.
func (s scenario) allowed(d time.Duration) float64 {
	within := func(from, length time.Duration) float64 {
		return max(0, min(d, from+length)-from).Seconds()
	}
	up := d.Seconds() - within(s.outageAt, s.outage) - s.share*within(s.spikeAt, s.spike)
	return s.limit + s.limit*up
}
