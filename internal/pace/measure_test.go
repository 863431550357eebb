package pace

import (
	"math"
	"testing"
)

func TestDecayIsTheExponential(t *testing.T) {
	for x := 1e-12; x < 1; x *= 1.01 {
		if got, want := decay(x), math.Exp(-x); math.Abs(got-want) > 3e-16 { // the roundings of a few sums
			t.Errorf("decay(%v) = %v, want %v", x, got, want)
		}
	}
	for _, x := range []float64{0, -0.001, -2} {
		if got, want := decay(x), math.Exp(-x); got != want {
			t.Errorf("decay(%v) = %v, want %v", x, got, want)
		}
	}
}
