package pace

import (
	"testing"
	"time"
)

// Where few are sent a refusal need not cost a turn.
func TestPaceGivesATurnBackThatARefusalHasCost(t *testing.T) {
	for _, tt := range []struct{ cost, least, most float64 }{
		{0, 0.955, 0.06}, // used of the limit, refused per answer
		{0.8, 0.93, 0.07},
	} {
		r := newRig(Config{}, tokens(1.5, 1, tt.cost))
		r.run(2*time.Minute, 0)
		r.reset()
		r.run(20*time.Minute, 0)
		ok, refused := float64(r.count[OK]), float64(r.count[Rejected])
		if ok/1800 < tt.least || refused > tt.most*ok {
			t.Errorf("cost %v: %.3f of the limit is used, %.3f refused per answer", tt.cost, ok/1800, refused/ok)
		}
	}
}

// What is given back is less after each refusal of what went for it, and grows slowly.
func TestARebateThatIsRefusedIsHalved(t *testing.T) {
	r := rebate{part: rebateMost}
	if got := r.give(7); got != rebateMost {
		t.Errorf("at first %v of a turn, want %v", got, rebateMost)
	}
	r.refused(&Pass{seq: 8}) // which did not go for it
	r.refused(&Pass{seq: 7})
	if got, want := r.give(9), rebateMost/2+rebateStep; got != want {
		t.Errorf("after a refusal %v of a turn, want %v", got, want)
	}
	for n := uint64(10); n < 200; n++ {
		r.give(n)
	}
	if r.part != rebateMost {
		t.Errorf("in the end %v of a turn, want %v again", r.part, rebateMost)
	}
}
