package pace

import (
	"testing"
	"time"
)

func TestCutsOfTheCapInVainShowThatItIsChance(t *testing.T) {
	type cut struct{ sent, refused int } // attempts since the cut before, and how many of them were refused
	for _, tt := range []struct {
		name string
		cuts []cut // after a first one
		want bool
	}{
		{"as many refused after each of three", []cut{{30, 10}, {30, 10}, {30, 10}}, true},
		{"only two", []cut{{30, 10}, {30, 10}}, false},
		{"one that came late", []cut{{30, 10}, {soonCut + 1, 20}, {30, 10}, {30, 10}}, false},
		{"three as late as may be", []cut{{soonCut, 20}, {soonCut, 20}, {soonCut, 20}}, true},
		{"one after which hardly any was accepted", []cut{{30, 10}, {30, 23}, {30, 10}}, false},
		{"three more besides that", []cut{{30, 10}, {30, 23}, {30, 10}, {30, 10}}, true},
		{"too few refused for chance", []cut{{30, 7}, {30, 7}, {30, 7}}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := New(Config{})
			p.slots.on, p.slots.says, p.slots.cap.base = true, rejection, 60
			p.seq = historyLen
			p.slots.cut = p.seq
			got := false
			for _, c := range append([]cut{{soonCut + 1, 20}}, tt.cuts...) {
				for i := range c.sent {
					if p.seq++; i >= c.sent-c.refused {
						p.luck[rejection].mark(&Pass{seq: p.seq})
					}
				}
				if got {
					t.Fatal("it is chance before the last cut")
				}
				got = p.lowersInVain(&Pass{seq: p.seq})
				p.slots.lower(int(p.slots.cap.base)-5, p.seq, p.seq)
			}
			if got != tt.want {
				t.Fatalf("it is chance: %v, want %v", got, tt.want)
			}
			if !got {
				return
			}
			if p.undoLowering(); p.slots.cap.base != 60 || p.slots.most != 60 {
				t.Errorf("the cap is %v, of %d slots, want 60 as before the first cut", p.slots.cap.base, p.slots.most)
			}
		})
	}
}

// What was sent before the latest cut of the cap does not tell what that has done.
func TestAnAttemptFromBeforeTheLatestCutOfTheCapIsNotCounted(t *testing.T) {
	for _, seq := range []uint64{1, 99, 100} {
		p := New(Config{})
		s := &p.slots
		want := lowering{from: 60, times: vainCuts, last: 100, sent: 90, refused: 30}
		s.on, s.says, s.cap.base, s.lowering = true, rejection, 20, want
		if got := p.lowersInVain(&Pass{seq: seq}); got || s.lowering != want {
			t.Errorf("attempt %d: it is chance: %v, and the run is %+v, want %+v", seq, got, s.lowering, want)
		}
	}
}

// Where slots are few other doubts speak against them.
func TestTheCapOfAFewSlotsIsNotCutInVain(t *testing.T) {
	for most, want := range map[int]float64{fewSlots - 1: 4, fewSlots: 20} {
		p := New(Config{})
		p.seq = 100
		p.accepted.add(p.at(start), 100)
		s := &p.slots
		s.on, s.says, s.most, s.least, s.cut = true, rejection, most, 6, 90
		s.cap.base = 6
		s.lowering = lowering{from: 20, times: vainCuts - 1, last: 90, sent: 40, refused: 20}
		s.strikes = strikes{n: strikesOut - 1, fewest: 5}
		p.refusedForSlots(p.at(start), &Pass{seq: 100, at: p.at(start), flying: 5}, 5)
		if got := s.cap.base; got != want {
			t.Errorf("of %d slots the cap is %v, want %v", most, got, want)
		}
	}
}

// While a share is refused by chance the cap is tried all the same, and what it had no
// room for is not counted as chance.
func TestChanceDoesNotExplainWhatTheCapHadNoRoomFor(t *testing.T) {
	for _, tt := range []struct {
		name   string
		flying int32
		k      kind
		want   bool
	}{
		{"one more than the cap allows", 11, rejection, true},
		{"one that the cap has room for", 10, rejection, false},
		{"a refusal of another kind", 11, overload, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := New(Config{})
			p.slots.on, p.slots.says, p.slots.cap = true, rejection, limit{base: 10, step: 1, t: provenAt}
			p.luck[rejection].share, p.luck[overload].share = 0.3, 0.3
			if got := p.slotsExplain(p.at(start.Add(time.Second)), &Pass{seq: 1, flying: tt.flying}, tt.k); got != tt.want {
				t.Errorf("the slots explain it: %v, want %v", got, tt.want)
			}
			if down := p.slots.cap.t == 0; down != tt.want {
				t.Errorf("the cap starts again: %v, want %v", down, tt.want)
			}
		})
	}
}
