package pace

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// shared is a token bucket of which others take all but a share from the second
// minute on, for 80 s.
func shared(perSecond, burst, share float64, o Outcome) func(time.Time, int) reply {
	return tokensAt(func(now time.Time) float64 {
		if d := now.Sub(start); d > time.Minute && d < 140*time.Second {
			return share * perSecond
		}
		return perSecond
	}, burst, 0.3, o)
}

// A limit of a few attempts a second that falls looks like few slots and like chance,
// and where refusals cost it something it gives nothing to who is too fast. Once it is
// back no wrong belief may be left.
func TestPaceIsNotStuckAfterASlowLimitHasFallenAndRisen(t *testing.T) {
	for _, o := range []Outcome{Rejected, Overloaded} {
		for _, perSecond := range []float64{1, 1.5, 2, 3, 5, 10} {
			for _, share := range []float64{0.2, 0.3, 0.5} {
				for _, burst := range []float64{1, 4} {
					r := newRig(Config{}, shared(perSecond, burst, share, o))
					demand := 1.3 * perSecond
					r.run(140*time.Second, demand)
					if got := r.count[o]; float64(got) > 120*perSecond {
						t.Errorf("%v/s, %v of it, burst %v, outcome %d: %d refused until it rose", perSecond, share, burst, o, got)
					}
					r.run(time.Minute, demand)
					r.reset()
					r.run(time.Minute, demand)
					if got := float64(r.count[OK]) / (60 * perSecond); got < 0.45 {
						t.Errorf("%v/s, %v of it, burst %v, outcome %d: %.2f of it is used a minute after it is back", perSecond, share, burst, o, got)
					}
				}
			}
		}
	}
}

// onTrial is a pace in the middle of a trial at 7 per second, with so many attempts
// sent and refused, that was at 45 per second before.
func onTrial(sent, refused float64) *rig {
	r := newRig(Config{}, tokens(45, 45, 0))
	r.run(30*time.Second, 60)
	p := r.p
	p.bet = bet{
		on: true, from: Pass{seq: p.seq}, last: p.seq, rate: 45, held: 45, proven: true,
		trial: trial{on: true, number: 1, about: rejection, share: 0.2, passed: 9, tried: sent, refused: refused},
	}
	p.rate = found(7, 1)
	p.changed = change{after: p.seq}
	return r
}

func TestPaceDecidesATrialByTheOddsOfThreeExplanations(t *testing.T) {
	for _, tt := range []struct {
		name          string
		sent, refused float64
		on, chance    bool // afterwards
		slower        bool
	}{
		{"too few to tell", 5, 1, true, false, false},
		{"as many as before", 60, 12, false, true, false},
		{"hardly any", 60, 1, false, false, false},
		{"a few, of which more than before", 5, 3, true, false, false},
		{"far more than before: it was too fast still", 20, 13, true, false, true},
	} {
		r := onTrial(tt.sent, tt.refused)
		p := r.p
		p.endTrial(p.at(r.now))
		if p.bet.trial.on != tt.on || p.luck[rejection].share > 0 != tt.chance || p.rate.base < 7 != tt.slower {
			t.Errorf("%s: on trial %v at %.1f/s, chance %.2f", tt.name, p.bet.trial.on, p.rate.base, p.luck[rejection].share)
		}
	}
}

// A trial in which nothing is refused for a while is not over when one attempt is.
func TestPaceEndsATrialThatIsInterrupted(t *testing.T) {
	r := onTrial(40, 0)
	p := r.p
	r.provider = func(time.Time, int) reply { return answer }
	p.seq += 60 // without a refusal
	p.over += 60
	p.suspect(p.at(r.now), &Pass{at: p.at(r.now), seq: p.seq, flying: 2}, rejection)
	if !p.bet.trial.on {
		t.Error("one refusal after 60 attempts has ended the trial")
	}
	r.run(60*time.Second, 100)
	if got := p.perSecond(p.at(r.now)); got < 45 {
		t.Errorf("a minute after a trial at 7/s the rate is %.1f/s, with all accepted", got)
	}
}

// The way back from a trial leads to what was accepted before, not to what was tried.
func TestPaceDoesNotGoBackToARateThatNeverHeld(t *testing.T) {
	bucket := tokens(216, 631, 0)
	r := newRig(Config{}, func(now time.Time, serving int) reply {
		a := bucket(now, serving)
		a.after += 200 * time.Millisecond
		return a
	})
	r.run(60*time.Second, 0)
	r.reset()
	r.run(120*time.Second, 0)
	if ok, refused := r.count[OK], r.count[Rejected]; refused > ok/8 || ok < 25_000 {
		t.Errorf("%d answered and %d refused in two minutes, want nearly 25,900 and few", ok, refused)
	}
}

// What is known as chance refuses whatever we do, so that refusals would not end a search.
func TestPaceDoesNotSearchWhileChanceIsKnown(t *testing.T) {
	for _, share := range []float64{0, 0.5} {
		r := newRig(Config{Breaker: true}, tokens(45, 45, 0))
		r.run(30*time.Second, 60)
		p := r.p
		p.luck[overload].share = share
		p.Down(r.now, true)
		p.Down(r.now.Add(10*time.Second), false)
		if got, want := p.rate.searching, share == 0; got != want {
			t.Errorf("chance %v: searches %v after an outage, want %v", share, got, want)
		}
	}
}

// A share that was measured in a trial is corrected by what comes later, unless that
// is far more: then the rate is too high besides.
func TestPaceCorrectsAShareOfChanceOnlyByWhatFitsIt(t *testing.T) {
	for _, tt := range []struct {
		refused int // of 64
		verdict int
	}{{16, 0}, {40, 1}, {1, 0}} {
		l := luck{share: 0.2, seen: 40, recent: history{top: 64}}
		for i := range tt.refused {
			l.recent.bits |= 1 << (i * 64 / tt.refused)
		}
		if got := l.judge(); got != tt.verdict {
			t.Errorf("%d of 64 refused: %d, want %d", tt.refused, got, tt.verdict)
		}
		if corrected := l.share != 0.2; corrected != (tt.verdict == 0) {
			t.Errorf("%d of 64 refused: a share of 0.2 has become %v", tt.refused, l.share)
		}
	}
}

// A single refusal may be chance. The search goes on if there is no other.
func TestPaceSearchesOnAfterALoneRefusal(t *testing.T) {
	sent := 0
	r := newRig(Config{}, func(time.Time, int) reply {
		if sent++; sent == 17 {
			return reply{Rejected, 0, 10 * time.Millisecond, 0}
		}
		return reply{OK, 10 * time.Millisecond, 10 * time.Millisecond, 0}
	})
	r.run(10*time.Second, 700)
	r.reset()
	r.run(2*time.Second, 700)
	if got := r.count[OK]; got < 1390 {
		t.Errorf("%d answered in 2 s, ten seconds after a lone refusal, want nearly 1400", got)
	}
}

// Refusals of another kind say nothing about the number of slots.
func TestPaceKeepsTheNumberOfSlotsThroughFailuresOfAnotherKind(t *testing.T) {
	total := 0
	for seed := range uint64(10) {
		luck, slots := rand.New(rand.NewPCG(seed, 1)), busy(func(time.Duration) int { return 3 })
		r := newRig(Config{Breaker: true}, func(now time.Time, serving int) reply {
			if now.Sub(start) > time.Minute && luck.Float64() < 0.14 {
				return reply{Overloaded, 0, 40 * time.Millisecond, 0}
			}
			return slots(now, serving)
		})
		r.run(time.Minute, 0)
		r.reset()
		r.run(3*time.Minute, 0)
		total += r.count[OK]
	}
	if want := 10 * 180 * 3 / 2; float64(total) < 0.8*float64(want) {
		t.Errorf("%d answered in 10 runs, want nearly %d", total, want)
	}
}

// Once the windows are known, the first refusal that names the next one is enough.
func TestPaceHoldsAtTheFirstRefusalOfAWindowThatItKnows(t *testing.T) {
	for _, known := range []bool{false, true} {
		r := newRig(Config{}, func(time.Time, int) reply { return answer })
		r.run(10*time.Second, 5)
		p := r.p
		if known {
			p.window = window{rate: 5, until: p.at(r.now.Add(time.Minute))}
		}
		a := p.Sent(r.now)
		p.Settled(r.now.Add(40*time.Millisecond), &a, Rejected, 2500*time.Millisecond)
		if p.hold.on != known {
			t.Errorf("known %v: holds %v after one refusal that names 2.5 s", known, p.hold.on)
		}
	}
}

// Runs of refusals that hold the queue again and again while attempts pass in between
// are neither chance nor an outage: it is too fast.
func TestPaceDoesNotGoOnAsBeforeWhenHoldsFollowOneAnother(t *testing.T) {
	for _, tt := range []struct {
		name  string
		apart time.Duration
		back  bool // to the rate of before
	}{
		{"a minute apart", time.Minute, true},
		{"seconds apart", 3 * time.Second, false},
	} {
		r := newRig(Config{Breaker: true}, tokens(45, 45, 0))
		r.run(30*time.Second, 60)
		p := r.p
		p.Down(r.now, true)
		r.now = r.now.Add(2 * time.Second)
		p.Down(r.now, false)
		r.run(tt.apart, 20)
		p.luck[overload].share = 0.5
		before := p.perSecond(p.at(r.now))
		p.bet = bet{on: true, rate: before, undo: found(before, 1)}
		p.rate = found(before/2, 0) // cut, as the run began
		p.Down(r.now, true)
		p.Down(r.now, false)
		if got := p.rate.value() > 0.9*before; got != tt.back {
			t.Errorf("%s: %.1f/s after the second hold, %.1f/s before it", tt.name, p.rate.value(), before)
		}
		if got := p.luck[overload].share > 0; got != tt.back {
			t.Errorf("%s: what was chance before still is: %v", tt.name, got)
		}
	}
}

// Among refusals the rate may grow as long as nothing is known about them, for they
// may be chance. While chance is known, it alone excuses them.
func TestPaceDoesNotGrowWhileMoreIsRefusedThanChanceExplains(t *testing.T) {
	for _, tt := range []struct {
		share   float64 // known
		ofTen   int     // refused
		mayGrow bool
	}{
		{0, 8, true},
		{0.2, 8, false},
		{0.8, 8, true},
		{0.2, 4, false},
		{0.2, 3, true},
	} {
		p := New(Config{Start: 20})
		p.rate = found(40, 1)
		p.luck[rejection].share = tt.share
		now := start
		for i := range 400 {
			now = now.Add(25 * time.Millisecond)
			p.seq++
			p.accepted.add(p.at(now), 1)
			if i*7%10 < tt.ofTen {
				p.accepted.add(p.at(now), -1)
				p.recent.mark(&Pass{at: p.at(now), seq: p.seq})
			}
		}
		if got := p.used(p.at(now)); got != tt.mayGrow {
			t.Errorf("chance of %v known, %d of ten refused: the rate may grow %v, want %v", tt.share, tt.ofTen, got, tt.mayGrow)
		}
	}
}

// What was accepted while the rate was kept low says nothing about where the limit lies.
func TestPaceMeasuresFromTheRefusalThatEndsACleanRun(t *testing.T) {
	for _, clean := range []int{4, 30} {
		r := newRig(Config{}, nil)
		p := r.p
		p.rate = found(10, 1)
		p.bet = bet{on: true, from: Pass{at: p.at(start), seq: 1}, last: 1, rate: 10}
		p.recent.mark(&Pass{at: p.at(start), seq: 1})
		p.seq = 1
		for range clean { // at half the rate, as nobody asks for more
			r.now = r.now.Add(200 * time.Millisecond)
			p.Sent(r.now)
		}
		a := p.Sent(r.now.Add(200 * time.Millisecond))
		p.recent.mark(&a)
		p.cut(p.at(r.now), &a, rejection)
		if got, want := p.rate.base > 8.5, clean >= 15; got != want {
			t.Errorf("after %d attempts without a refusal the limit is put at %.1f/s, that of before was 10/s", clean, p.rate.base)
		}
	}
}

// A search goes no faster than refusals come back.
func TestPaceSearchesAsFastAsItHears(t *testing.T) {
	for _, saying := range []float64{0.05, 1} {
		p := New(Config{Start: 20})
		p.saying = saying
		p.rate = limit{base: 20, searching: true}
		now := start
		for range 100 { // calls wait all the time
			now = now.Add(10 * time.Millisecond)
			p.heldBy, p.heldSince = byRate, p.at(start)
			p.Sent(now)
		}
		if got, slow := p.rate.base, saying == 1; slow != (got < 40) {
			t.Errorf("refused in %v s: %.0f/s after a second of search from 20/s", saying, got)
		}
	}
}

func TestPaceCanJudgeATrialBeforeWhichAllWereRefused(t *testing.T) {
	r := onTrial(20, 20)
	trial := &r.p.bet.trial
	r.p.tryAt(r.p.at(r.now), 5, 1, 20)
	trial.tried = 30
	for _, refused := range []float64{0, 15, 30} {
		trial.refused = refused
		if odds, worse := trial.odds(), trial.worse(); math.IsNaN(odds) || math.IsNaN(worse) {
			t.Errorf("%v of 30 refused: odds %v for chance, %v for far more", refused, odds, worse)
		}
	}
}

// A provider whose refusals cost it most of an answer refuses for a while after the cut
// that was deep enough, too: those were sent before it. They are no reason for a trial,
// which would let its bucket run full for the next time.
func TestPaceWaitsForWhatACutDoesBeforeItTries(t *testing.T) {
	provider := tokens(63, 26, 0.8)
	r := newRig(Config{}, func(now time.Time, serving int) reply {
		got := provider(now, serving)
		if got.outcome == OK {
			return reply{OK, 230 * time.Millisecond, 800 * time.Millisecond, 0}
		}
		got.after = 230 * time.Millisecond
		return got
	})
	r.run(20*time.Second, 0)
	r.reset()
	r.run(2*time.Minute, 0)
	if got := float64(r.count[OK]) / (120 * 63); got < 0.85 {
		t.Errorf("%.2f of the limit is used, want nearly all", got)
	}
}

// A trial is at half of what was accepted before, if 30 % of that passes still, and so
// fast that it ends.
func TestPaceTriesAtARateThatTellsSoon(t *testing.T) {
	for _, tt := range []struct{ rate, borne, passed, want float64 }{
		{10, 10, 5, 5},
		{10, 10, 3, 5},
		{10, 10, 2.9, 0.7 * 2.9},
		{10, 10, 0.1, 1},
		{1, 1, 0.1, 0.6},
		{0.4, 0, 0.1, 0.28},
		{10, 0, 8, 0.7 * 8},
	} {
		b := bet{borne: tt.borne, trial: trial{passed: tt.passed}}
		if got := b.trialAt(tt.rate); math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("at %v/s, %v accepted before and %v now: a trial at %v, want %v", tt.rate, tt.borne, tt.passed, got, tt.want)
		}
	}
}
