package pace

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestTheMedianIsWhatStandsInTheMiddleOfTheSorted(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for n := 1; n <= 2*blockSize; n++ {
		for _, values := range []int{1, 2, 5, 1 << 30} { // how many there are to choose from
			xs := make([]float64, n)
			for i := range xs {
				xs[i] = float64(random.IntN(values))
			}
			for name, xs := range map[string][]float64{"as they come": xs, "sorted": slices.Sorted(slices.Values(xs))} {
				sorted := slices.Sorted(slices.Values(xs))
				if got, want := median(xs), sorted[n/2]; got != want {
					t.Fatalf("the median of %v, %s, is %v, want %v", sorted, name, got, want)
				}
				if slices.Sort(xs); !slices.Equal(xs, sorted) {
					t.Fatalf("median has made %v of %v", xs, sorted)
				}
			}
		}
	}
}
