package pace

import (
	"math/rand/v2"
	"testing"
	"time"
)

// A limit that has been found is still there after a spike of refusals by chance.
func TestPaceKeepsToTheLimitItHadFoundAfterASpikeOfChance(t *testing.T) {
	for seed := range uint64(40) {
		luck := rand.New(rand.NewPCG(seed, 4))
		bucket := tokens(45, 45, 0)
		spike := func(now time.Time) bool { d := now.Sub(start); return d > 7*time.Second && d < 10*time.Second }
		r := newRig(Config{Breaker: true}, func(now time.Time, serving int) reply {
			if spike(now) && luck.Float64() < 0.4 {
				return refusal
			}
			if got := bucket(now, serving); got.outcome != OK {
				return got
			}
			return reply{OK, 300 * time.Millisecond, 500*time.Millisecond + time.Duration(luck.Float64()*9e8), 0}
		})
		r.run(60*time.Second, 80)
		if ok, refused := r.count[OK], r.count[Rejected]; refused > ok/5 || ok < 1500 {
			t.Errorf("seed %d: %d answered and %d refused, want nearly 2700 and few", seed, ok, refused)
		}
	}
}
