package pace

import "testing"

// The refusals of what was sent before the cap was lowered say nothing about what that
// has helped, however many of them lower it once more.
func TestWhatWasSentBeforeTheCapWasLoweredIsNoSinking(t *testing.T) {
	for _, before := range []uint64{0, 1, 100} {
		p := New(Config{Start: 20})
		s := &p.slots
		s.on, s.says, s.most, s.least, s.cap = true, rejection, 40, 40, limit{base: 40}
		want := sinking{from: 60, last: 300}
		s.sinking = want
		for range 4 {
			if p.sinks(&Pass{seq: want.last - before}) {
				t.Fatalf("%d before: it was chance", before)
			}
		}
		if s.sinking != want {
			t.Errorf("%d before: sinking %+v, want %+v as it was", before, s.sinking, want)
		}
	}
}
