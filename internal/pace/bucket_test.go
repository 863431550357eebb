package pace

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"golang.org/x/time/rate"
)

// Whatever is done to it, a bucket has as many tokens as x/time/rate's.
func TestABucketDoesTheSumsOfXTimeRate(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	now, p := time.Now(), new(Pace)
	for range 1000 {
		perSecond, burst := math.Exp(10*random.Float64()-2), 1+random.IntN(20)
		own, theirs := newBucket(perSecond, burst), rate.NewLimiter(rate.Limit(perSecond), burst)
		for range 100 {
			now = now.Add(time.Duration(random.ExpFloat64() / perSecond * 1e9))
			switch random.IntN(8) {
			case 0:
				perSecond, burst = perSecond*(0.5+random.Float64()), 1+random.IntN(20)
				own.set(p.at(now), perSecond, burst)
				theirs.SetLimitAt(now, rate.Limit(perSecond))
				theirs.SetBurstAt(now, burst)
			case 1, 2:
				own.take(p.at(now), -1)
				theirs.AllowN(now, -1)
			default:
				n := 1 + random.IntN(burst)
				own.take(p.at(now), float64(n))
				theirs.AllowN(now, n)
			}
			if got, want := own.level(p.at(now)), theirs.TokensAt(now); math.Abs(got-want) > 1e-6 {
				t.Fatalf("%v tokens at %v a second in a bucket of %d, want %v", got, perSecond, burst, want)
			}
		}
	}
}
