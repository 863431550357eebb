package fakeserver

import (
	"math"
	"math/rand/v2"
	"time"
)

// A Dist is a distribution of durations.
type Dist func(*rand.Rand) time.Duration

// Fixed is always d.
func Fixed(d time.Duration) Dist { return func(*rand.Rand) time.Duration { return d } }

// Uniform lies in [low, high).
func Uniform(low, high time.Duration) Dist {
	return func(r *rand.Rand) time.Duration {
		return low + time.Duration(r.Float64()*float64(high-low))
	}
}

// LogNormal has the given median; sigma is the standard deviation of its logarithm. Long tails of LLM latency are near
// sigma 0.5 to 1. It never exceeds an hour.
func LogNormal(median time.Duration, sigma float64) Dist {
	return func(r *rand.Rand) time.Duration {
		d := float64(median) * math.Exp(sigma*r.NormFloat64())
		return time.Duration(min(d, float64(time.Hour)))
	}
}

// Latency is the time from the end of the request to the headers of any answer, or to the failure in place of them.
// For an early answer or a reset before the body it runs from the arrival.
func Latency(d Dist) Effect {
	return func(x *Exchange) { x.want.latency.set(x.depth, d(x.stream("latency"))) }
}

// FirstToken is the time from the headers of a 200 to the first event of a stream.
func FirstToken(d Dist) Effect {
	return func(x *Exchange) { x.want.first.set(x.depth, d(x.stream("first token"))) }
}

// Generation is the time over which the events of a stream are spread. An answer that is not a stream takes FirstToken
// and Generation before its headers, or after them if there is a [KeepAlive].
func Generation(d Dist) Effect {
	return func(x *Exchange) { x.want.generation.set(x.depth, d(x.stream("generation"))) }
}
