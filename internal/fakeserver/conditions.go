package fakeserver

import (
	"slices"
	"strings"
	"sync"
	"time"
)

// A Cond chooses requests.
type Cond func(*Exchange) bool

// When applies effects to the requests that a condition chooses.
func When(cond Cond, effects ...Effect) Effect {
	return func(x *Exchange) {
		if !cond(x) {
			return
		}
		for _, e := range effects {
			e(x)
		}
	}
}

// Path chooses requests whose path ends with suffix.
func Path(suffix string) Cond {
	return func(x *Exchange) bool { return strings.HasSuffix(x.Path, suffix) }
}

// Model chooses requests that ask for one of the models. It has the body read before the decision.
func Model(names ...string) Cond {
	return func(x *Exchange) bool { return slices.Contains(names, x.Model()) }
}

// Nth chooses requests by their number at this server, from 1.
func Nth(numbers ...int) Cond {
	return func(x *Exchange) bool { return slices.Contains(numbers, x.N) }
}

// Every chooses each n-th request.
func Every(n int) Cond { return func(x *Exchange) bool { return x.N%n == 0 } }

// Between chooses requests that arrive in [from, to) of the server's clock.
func Between(from, to time.Duration) Cond {
	return func(x *Exchange) bool { return from <= x.Since && x.Since < to }
}

// Share chooses requests by chance, with probability p each.
func Share(p float64) Cond { return func(x *Exchange) bool { return x.coins.Float64() < p } }

// All chooses requests that every one of the conditions chooses.
func All(conds ...Cond) Cond {
	return func(x *Exchange) bool {
		for _, c := range conds {
			if !c(x) {
				return false
			}
		}
		return true
	}
}

// Not chooses the other requests.
func Not(cond Cond) Cond { return func(x *Exchange) bool { return !cond(x) } }

// Outage applies one effect, a status or a reset, to every request that arrives in [from, to).
func Outage(from, to time.Duration, effect Effect) Effect { return When(Between(from, to), effect) }

// Spike rejects a share of the requests that arrive in [from, to) with 429.
func Spike(from, to time.Duration, share float64, with ...Effect) Effect {
	return When(All(Between(from, to), Share(share)), Status(429, with...))
}

// Sequence applies its steps to one request each, in order of arrival at the Sequence, and the last step to all that
// follow. A request that an earlier effect has settled takes no step.
func Sequence(steps ...Effect) Effect {
	var mu sync.Mutex
	next := 0
	return func(x *Exchange) {
		if x.want.settled || len(steps) == 0 {
			return
		}
		mu.Lock()
		step := steps[next]
		next = min(next+1, len(steps)-1)
		mu.Unlock()
		step(x)
	}
}
