package pace

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

var refusal = reply{Rejected, 0, 40 * time.Millisecond, 0}

// busy is a provider with slots that answers in 2 s on average.
func busy(slots func(since time.Duration) int) func(time.Time, int) reply {
	luck := rand.New(rand.NewPCG(5, 6))
	return func(now time.Time, serving int) reply {
		if serving >= slots(now.Sub(start)) {
			return refusal
		}
		a := answer
		a.after = a.first + time.Duration(luck.ExpFloat64()*1.7e9)
		return a
	}
}

func TestPaceFollowsTheNumberOfSlotsDownAndUp(t *testing.T) {
	for _, tt := range []struct{ many, few int }{{40, 10}, {6, 2}, {2, 1}} {
		r := newRig(Config{}, busy(func(since time.Duration) int {
			if since > 120*time.Second && since < 300*time.Second {
				return tt.few
			}
			return tt.many
		}))
		r.run(120*time.Second, 0)
		for _, phase := range []struct {
			name  string
			slots int
		}{{"fewer", tt.few}, {"as many as before", tt.many}} {
			r.run(60*time.Second, 0) // to find it
			r.reset()
			r.run(120*time.Second, 0)
			if got, want := float64(r.count[OK])/120, 0.85*float64(phase.slots)/2; got < want {
				t.Errorf("%d, %d slots, %s: served %.2f/s, want at least %.2f/s", tt.many, tt.few, phase.name, got, want)
			}
			if got, want := float64(r.count[Rejected]), 0.12*float64(r.count[OK]); got > want {
				t.Errorf("%d, %d slots, %s: %v refused, want at most %.0f", tt.many, tt.few, phase.name, got, want)
			}
		}
	}
}

func TestPaceRampsUpOnceMoreSlotsAreProven(t *testing.T) {
	r := newRig(Config{}, busy(func(since time.Duration) int {
		if since < 120*time.Second {
			return 10
		}
		return 60
	}))
	r.run(120*time.Second, 0)
	for r.p.InFlight() <= 11 { // until one more than before was accepted
		r.run(time.Second, 0)
	}
	r.run(10*time.Second, 0)
	if got := r.p.InFlight(); got < 50 {
		t.Errorf("%d of 60 in flight 10 s after the first attempt above the old number, want nearly all", got)
	}
}

func TestPaceKeepsTheNumberOfSlotsThroughRefusalsByChance(t *testing.T) {
	for _, share := range []float64{0.1, 0.3} {
		luck := rand.New(rand.NewPCG(7, 8))
		slots := busy(func(time.Duration) int { return 30 })
		r := newRig(Config{}, func(now time.Time, serving int) reply {
			if now.Sub(start) > 60*time.Second && luck.Float64() < share {
				return refusal
			}
			return slots(now, serving)
		})
		r.run(60*time.Second, 0)
		if !r.p.slots.on {
			t.Fatal("no cap after a minute with 30 slots")
		}
		r.reset()
		r.run(120*time.Second, 0)
		if got := float64(r.count[OK]) / 120; got < 0.85*15 {
			t.Errorf("served %.1f/s although %v are refused by chance, want nearly 15/s", got, share)
		}
	}
}

// An answer that nobody waits for keeps its slot.
func TestPaceDoesNotKnockForASlotThatIsTakenByNobody(t *testing.T) {
	const runs, seconds = 12, 240
	ok, refused := 0, 0
	for seed := range uint64(runs) {
		r := newRig(Config{}, someLeave(12, rand.New(rand.NewPCG(seed, 10))))
		r.run(60*time.Second, 0)
		r.reset()
		r.run(seconds*time.Second, 0)
		ok, refused = ok+r.count[OK], refused+r.count[Rejected]
	}
	if got, want := float64(refused), 0.2*float64(ok); got > want {
		t.Errorf("%v refused of %d answered, want at most %.0f", got, ok, want)
	}
	if got := float64(ok) / runs / seconds; got < 4.5 {
		t.Errorf("served %.1f/s, want nearly 6/s less those whose callers left", got)
	}
}

// someLeave serves so many at a time, for 2 s on average. Of those that take over 4 s the
// callers leave, and the slots stay taken.
func someLeave(slots int, luck *rand.Rand) func(time.Time, int) reply {
	var taken []time.Time // until when
	return func(now time.Time, _ int) reply {
		taken = slices.DeleteFunc(taken, func(until time.Time) bool { return !until.After(now) })
		if len(taken) >= slots {
			return refusal
		}
		d := 300*time.Millisecond + time.Duration(luck.ExpFloat64()*1.7e9)
		taken = append(taken, now.Add(d))
		if d > 4*time.Second {
			return reply{Cancelled, 0, 4 * time.Second, 0}
		}
		return reply{OK, 300 * time.Millisecond, d, 0}
	}
}

// A cap of few that does not help from the start is not believed in again as soon.
func TestPaceDoesNotTakeAFewASecondForSlotsAgainAndAgain(t *testing.T) {
	for _, o := range []Outcome{Rejected, Overloaded, Unavailable} {
		r := newRig(Config{Breaker: true}, tokensAt(func(time.Time) float64 { return 1 }, 1, 0, o))
		r.run(2*time.Minute, 0)
		r.reset()
		r.run(10*time.Minute, 0)
		if ok, refused := float64(r.count[OK]), float64(r.count[o]); ok < 450 || refused > 0.15*ok {
			t.Errorf("%d: %v answered and %v refused in 10 minutes at 1/s", o, ok, refused)
		}
	}
}

// One more than a few slots is tried soon, in case they are none, and ever more seldom
// while it is refused.
func TestPaceTriesOneMoreThanAFewSlotsSoon(t *testing.T) {
	for inVain, want := range map[int]int{0: 6, 1: 12, 2: 24, 3: 24, 9: 24} {
		s := slots{on: true, most: 1, cap: limit{base: 1, step: 1}, doubt: doubt{inVain: inVain}}
		got := 0
		for s.max() < 2 {
			s.grow(2 * time.Second)
			got++
		}
		if got < want || got > want+1 {
			t.Errorf("refused %d times: one more after %d attempts, want %d", inVain, got, want)
		}
	}
	d := doubt{knocks: 1}
	d.closed()
	d.closed()
	if d.inVain != 2 {
		t.Errorf("%d refusals of one more are counted, want 2", d.inVain)
	}
	if d.opened(); d.inVain != 0 {
		t.Errorf("one more was let in, and %d refusals are counted", d.inVain)
	}
}

// What counts as served is a few off at times. A slot more than were known does not prove
// a twentieth more.
func TestPaceDoesNotLeapForASlotMore(t *testing.T) {
	const most = 4000
	for _, served := range []int{most + 1, most + 200} {
		s := slots{on: true, most: most, cap: limit{base: most, step: dip * most}}
		s.refutedBy(&witness{Pass: Pass{seq: 1, flying: int32(served)}})
		if got, want := s.max() > float64(served), served > most+1; got != want {
			t.Errorf("%d served where %d were known: up to %.0f may go", served, most, s.max())
		}
	}
}

func TestPaceCountsTheSlotsThatWereTakenWhenItWasRefused(t *testing.T) {
	p, now := New(Config{Start: 1000, Random: rand.Float64}), start
	p.slots.said(0.1)
	p.answer.add(1)
	send := func() Pass { now = now.Add(10 * time.Millisecond); return p.Sent(now) }
	var out []Pass
	for range 10 {
		out = append(out, send())
	}
	refused := send()
	now = now.Add(50 * time.Millisecond)
	for i := range 3 { // they were over when the refused one arrived: we only did not know
		p.Headers(now, &out[i])
		p.Settled(now, &out[i], OK, 0)
	}
	now = now.Add(50 * time.Millisecond)
	p.Settled(now, &refused, Rejected, 0)
	if got := p.slots.most; got != 7 {
		t.Errorf("no more than %d slots by the refusal, want 7", got)
	}
}

func TestPaceHoldsTheFirstByteDownForHalfAnHour(t *testing.T) {
	const knee = 60
	r := newRig(Config{}, func(_ time.Time, serving int) reply {
		k := math.Pow(max(1, float64(serving+1)/knee), 1.5)
		return reply{OK, time.Duration(300e6 * k), time.Duration(1e9 * k), 0}
	})
	r.run(60*time.Second, 0)
	for i := range 6 {
		r.reset()
		r.run(300*time.Second, 0)
		if got := float64(r.count[OK]) / 300; got < 0.94*knee {
			t.Errorf("minutes %d to %d: served %.1f/s, want nearly %d/s", 1+5*i, 6+5*i, got, knee)
		}
	}
}
