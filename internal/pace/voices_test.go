package pace

import (
	"math/rand/v2"
	"testing"
	"time"
)

// besides is a provider of which a share of the attempts fails with o besides.
func besides(provider func(time.Time, int) reply, share float64, o Outcome) func(time.Time, int) reply {
	luck := rand.New(rand.NewPCG(5, 6))
	return func(now time.Time, serving int) reply {
		if luck.Float64() < share {
			return reply{o, 0, 30 * time.Millisecond, 0}
		}
		return provider(now, serving)
	}
}

func TestPaceTellsTheVoicesApart(t *testing.T) {
	for o, want := range map[Outcome]kind{Rejected: rejection, Overloaded: overload, Unavailable: unavailable, Failed: failure} {
		if got := kindOf(start, o, 0); got != want {
			t.Errorf("outcome %d: kind %d, want %d", o, got, want)
		}
	}
}

// What fails besides a limit that has a voice of its own slows nobody down, be it as
// seldom as no trial would tell, or often.
func TestPaceListensToTheVoiceOfTheLimit(t *testing.T) {
	const limit = 100
	steady := func(time.Time) float64 { return limit }
	for _, tt := range []struct {
		limit, fails Outcome
		share, used  float64
	}{
		{Rejected, Unavailable, 0.04, 0.98},
		{Rejected, Overloaded, 0.08, 0.97},
		{Rejected, Overloaded, 0.25, 0.93},
		{Overloaded, Unavailable, 0.08, 0.97},
		{Unavailable, Overloaded, 0.25, 0.93},
		{Overloaded, Failed, 0.25, 0.93},
	} {
		provider := tokensAt(steady, 20, 0, tt.limit)
		r := newRig(Config{Breaker: true}, provider)
		r.run(20*time.Second, 0)
		r.provider = besides(provider, tt.share, tt.fails)
		r.reset()
		r.run(time.Minute, 1.5*limit)
		if got := float64(r.count[OK]) / (60 * limit); got < tt.used {
			t.Errorf("the limit says %d, %.0f %% fail with %d: %.2f of it is used, want %.2f",
				tt.limit, 100*tt.share, tt.fails, got, tt.used)
		}
		if got := float64(r.count[tt.limit]) / (60 * limit); got > 0.05 {
			t.Errorf("the limit says %d, %.0f %% fail with %d: it refused %.2f per answer",
				tt.limit, 100*tt.share, tt.fails, got)
		}
	}
}

func TestPaceHearsALongRunOfASecondVoice(t *testing.T) {
	for _, run := range []uint64{loudRun - 1, loudRun} {
		p := New(Config{Start: 20})
		p.rate, p.says = found(50, 1), rejection
		for i := range run {
			p.luck[overload].mark(&Pass{seq: historyLen + i})
		}
		a := Pass{seq: historyLen + run, flying: 2, heldBy: byRate}
		if got, want := p.overloadCounts(&a, overload), run >= loudRun; got != want {
			t.Errorf("%d overloads in a row after a limit that says 429: they count %v, want %v", run, got, want)
		}
	}
}

// Once overloads have begun a bet, few of them are enough for it to go on.
func TestPaceCountsFewOverloadsForTheBetThatTheyBegan(t *testing.T) {
	for _, tt := range []struct {
		began    kind
		overload int // of the latest 32 attempts, ten apart
		want     bool
	}{
		{overload, 3, true},
		{overload, 2, false},
		{rejection, 3, false},
	} {
		p := New(Config{Start: 20})
		p.rate, p.bet = found(50, 1), bet{on: true, began: tt.began}
		a := Pass{flying: 2, heldBy: byRate}
		for range tt.overload {
			a.seq += 10
			p.luck[overload].mark(&a)
		}
		if got := p.overloadCounts(&a, overload); got != tt.want {
			t.Errorf("a bet began with kind %d, and %d overloads came: they count %v, want %v", tt.began, tt.overload, got, tt.want)
		}
	}
}

// Nothing else was out and no call had waited: it was not refused for its speed.
func TestPaceTakesALoneOverloadForAWordForChance(t *testing.T) {
	for held, want := range map[cause]int{byNothing: 1, byRate: 0} {
		p := New(Config{Start: 20})
		p.rate, p.bet = found(50, 1), bet{on: true, from: Pass{seq: 1}, rate: 50}
		p.heldBy = held
		a := p.Sent(start)
		p.Settled(start.Add(40*time.Millisecond), &a, Overloaded, 0)
		if got := p.bet.refused; got != want {
			t.Errorf("held by %d: %d refusals in the bet, want %d", held, got, want)
		}
	}
}

// Where half of all attempts are overloaded that is worth a trial, whoever told the limit.
func TestPaceHearsASecondVoiceWhenItIsLoud(t *testing.T) {
	for _, share := range []float64{0.2, 0.7} {
		p := New(Config{Start: 20})
		p.rate, p.says = found(50, 1), rejection
		p.refused = 1
		now := start
		for i := range 100 {
			now = now.Add(20 * time.Millisecond)
			p.heldBy = byRate
			a := p.Sent(now)
			if float64(i%10) < 10*share {
				p.Settled(now, &a, Overloaded, 0)
			} else {
				p.Headers(now, &a)
			}
		}
		if got, want := p.says == overload, share > 0.5; got != want {
			t.Errorf("%.0f %% of them overloaded: cut for it %v, want %v", 100*share, got, want)
		}
	}
}

// Who has said no in another way a few times, and never again, is not the one that tells
// the limit: what is refused too often afterwards is for our speed.
func TestPaceForgetsAVoiceThatIsSilent(t *testing.T) {
	const limit = 50
	for _, o := range []Outcome{Overloaded, Unavailable} {
		inner := tokensAt(func(time.Time) float64 { return limit }, 10, 0, o)
		strays := 3
		r := newRig(Config{Breaker: true}, func(now time.Time, serving int) reply {
			if now.Sub(start) > 10*time.Second && strays > 0 {
				strays--
				return reply{Rejected, 0, 40 * time.Millisecond, 0}
			}
			return inner(now, serving)
		})
		r.run(15*time.Second, 0.6*limit)
		r.run(time.Minute, 1.1*limit)
		r.reset()
		r.run(time.Minute, 1.1*limit)
		ok, refused := float64(r.count[OK]), float64(r.count[o])
		if used := ok / (60 * limit); used < 0.97 || refused > 0.07*ok {
			t.Errorf("the limit says %d: %.2f of it is used, %.2f refused per answer", o, used, refused/ok)
		}
	}
}

// A limit that is told in turn by all of them is met all the same.
func TestPaceHearsALimitWithManyVoices(t *testing.T) {
	said := []Outcome{Rejected, Overloaded, Unavailable}
	var ok, refused int
	for seed := range uint64(12) {
		luck := rand.New(rand.NewPCG(seed, 6))
		inner := tokens(1+float64(seed)/4, 1, 0)
		r := newRig(Config{Breaker: true}, func(now time.Time, serving int) reply {
			a := inner(now, serving)
			if a.outcome != OK {
				a.outcome = said[luck.IntN(len(said))]
			}
			return a
		})
		r.run(time.Minute, 0)
		r.reset()
		r.run(4*time.Minute, 0)
		ok += r.count[OK]
		for _, o := range said {
			refused += r.count[o]
		}
	}
	if float64(refused) > 0.2*float64(ok) {
		t.Errorf("%d refused of %d answered, want a fifth at most", refused, ok)
	}
}
