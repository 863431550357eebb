package pace

import "testing"

// The refusals of what was sent before the cap was lowered say nothing about what that
// has helped, however many of them lower it once more.
func TestWhatWasSentBeforeTheCapWasLoweredIsNoSinking(t *testing.T) {
	for _, before := range []uint64{0, 100} {
		p := New(Config{Start: 20})
		s := &p.slots
		s.on, s.says, s.most, s.least, s.cap = true, rejection, 40, 40, limit{base: 40}
		s.sinking.from = 60
		for s.cut = 300; s.cut <= 600; s.cut += 100 {
			p.seq = s.cut + 100
			if p.sinks(&Pass{seq: s.cut - before}) {
				p.slotsAreChance() // of no attempts
			}
		}
		if share := p.chance(); share != 0 {
			t.Errorf("%d before: a share of %v is chance, want none", before, share)
		}
		if got := s.sinking; got != (sinking{from: 60}) {
			t.Errorf("%d before: sinking %+v, want what it was", before, got)
		}
	}
}
