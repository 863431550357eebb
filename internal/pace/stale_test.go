package pace

import (
	"testing"
	"time"
)

// A limit that nobody has met for long may be none any more. It is searched for anew when
// calls come that wait for it, and not before.
func TestPaceDoesNotBelieveForEverInALimitThatNobodyMeets(t *testing.T) {
	refuse := 2
	r := newRig(Config{}, func(time.Time, int) reply {
		if refuse--; refuse >= 0 {
			return reply{Rejected, 0, 20 * time.Millisecond, time.Second}
		}
		return answer
	})
	r.run(4*time.Minute, 1)
	if r.p.rate.searching || r.p.rate.value() > 2 {
		t.Fatalf("searching %v at %.1f/s after two refusals of a call a second", r.p.rate.searching, r.p.rate.value())
	}
	r.run(2*time.Minute, 1)
	if !r.p.rate.searching || r.p.rate.value() > 2 {
		t.Errorf("searching %v at %.1f/s, five minutes later", r.p.rate.searching, r.p.rate.value())
	}
	r.reset()
	r.run(20*time.Second, 0)
	if got := len(r.sent); got < 100 {
		t.Errorf("%d attempts in the first 20 s in which many wait, want 100 at least", got)
	}
}

// What a few calls asked for says nothing of what a provider takes. A burst after them is
// answered about as fast as one that comes first.
func TestPaceTakesABurstAfterAFewCalls(t *testing.T) {
	for _, calls := range []int{0, 3, 60} {
		r := newRig(Config{Burst: 10}, func(time.Time, int) reply { return answer })
		r.run(time.Duration(calls)*time.Second, 1)
		r.reset()
		r.run(3*time.Second, 0)
		if got := len(r.sent); got < 200 {
			t.Errorf("after %d calls %d attempts go in the first 3 s, want 200 at least", calls, got)
		}
	}
}
