package pace

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// reply is what a provider does with an attempt.
type reply struct {
	outcome Outcome
	first   time.Duration // until the first byte of an answer
	after   time.Duration // until it is over
	hinted  time.Duration
}

// rig drives a pace against a provider, with calls always waiting, in virtual time.
type rig struct {
	p        *Pace
	now      time.Time
	provider func(now time.Time, serving int) reply
	out      []flight
	serving  int // accepted and not over
	count    [Cancelled + 1]int
	sent     []time.Time
}

type flight struct {
	a    Pass
	sent time.Time
	r    reply
	next time.Time
}

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func newRig(cfg Config, provider func(now time.Time, serving int) reply) *rig {
	if cfg.Start == 0 {
		cfg.Start = 20
	}
	cfg.Random = rand.New(rand.NewPCG(1, 2)).Float64
	return &rig{p: New(cfg), now: start, provider: provider}
}

// run plays d, sending at most perSecond (0 = as fast as the pace allows).
func (r *rig) run(d time.Duration, perSecond float64) {
	end, due := r.now.Add(d), r.now
	for r.now.Before(end) {
		wake := end
		if !r.now.Before(due) {
			ok, wait := r.p.Ready(r.now)
			if ok {
				r.send()
				if perSecond > 0 {
					due = due.Add(time.Duration(1e9 / perSecond))
				}
				continue
			}
			if wait > 0 {
				wake = r.now.Add(wait)
			}
		} else {
			wake = due
		}
		for _, f := range r.out {
			if f.next.Before(wake) {
				wake = f.next
			}
		}
		r.now = wake
		r.deliver()
	}
}

func (r *rig) send() {
	f := flight{a: r.p.Sent(r.now), sent: r.now, r: r.provider(r.now, r.serving)}
	r.sent = append(r.sent, r.now)
	f.next = r.now.Add(f.r.after)
	if f.r.outcome == OK {
		r.serving++
		f.next = r.now.Add(f.r.first)
	}
	r.out = append(r.out, f)
}

func (r *rig) deliver() {
	keep := r.out[:0]
	for _, f := range r.out {
		switch {
		case f.next.After(r.now):
		case f.r.outcome == OK && !f.a.heard:
			r.p.Headers(r.now, &f.a)
			f.next = f.sent.Add(f.r.after)
		default:
			r.p.Settled(r.now, &f.a, f.r.outcome, f.r.hinted)
			r.count[f.r.outcome]++
			if f.r.outcome == OK {
				r.serving--
			}
			continue
		}
		keep = append(keep, f)
	}
	r.out = keep
}

func (r *rig) reset() { r.count, r.sent = [Cancelled + 1]int{}, nil }

var answer = reply{OK, 300 * time.Millisecond, 2 * time.Second, 0}

// tokens is a provider with a token bucket; a refusal costs so much of a token.
func tokens(perSecond, burst, cost float64) func(time.Time, int) reply {
	return tokensAt(func(time.Time) float64 { return perSecond }, burst, cost, Rejected)
}

// tokensAt is tokens with a rate that changes, and another way to refuse.
func tokensAt(perSecond func(time.Time) float64, burst, cost float64, o Outcome) func(time.Time, int) reply {
	level, last := burst, start
	return func(now time.Time, _ int) reply {
		level = min(burst, level+now.Sub(last).Seconds()*perSecond(now))
		last = now
		if level >= 1 {
			level--
			return answer
		}
		level = max(0, level-cost)
		return reply{o, 0, 40 * time.Millisecond, 0}
	}
}

func TestPaceFindsTheRateOfTheProvider(t *testing.T) {
	for _, tt := range []struct {
		name                   string
		perSecond, burst, cost float64
		share                  float64 // of the rate that must be used
	}{
		{"a fast one", 240, 240, 0, 0.97},
		{"a small bucket", 50, 3, 0, 0.95},
		{"one whose refusals cost it", 90, 20, 0.8, 0.97},
		{"a slow one", 2, 1, 0, 0.82}, // there one refusal is not worth one more success in 50
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(Config{}, tokens(tt.perSecond, tt.burst, tt.cost))
			r.run(30*time.Second, 0)
			r.reset()
			r.run(120*time.Second, 0)
			if got, want := float64(r.count[OK])/120, tt.share*tt.perSecond; got < want {
				t.Errorf("accepted %.1f/s, want at least %.1f/s", got, want)
			}
			if got, want := float64(r.count[Rejected]), 0.08*float64(r.count[OK]); got > want {
				t.Errorf("%v attempts refused, want at most %.0f", got, want)
			}
		})
	}
}

func TestPaceFindsTheNumberOfSlots(t *testing.T) {
	for _, slots := range []int{2, 5, 40} {
		const runs = 10 // how many are refused in one is a matter of where its probes fall
		served, refused := 0.0, 0.0
		for run := range time.Duration(runs) {
			r := newRig(Config{}, func(_ time.Time, serving int) reply {
				if serving >= slots {
					return reply{Rejected, 0, (35 + run) * time.Millisecond, 0}
				}
				return answer
			})
			r.run(60*time.Second, 0)
			r.reset()
			r.run(120*time.Second, 0)
			served, refused = served+float64(r.count[OK]), refused+float64(r.count[Rejected])
		}
		if got, want := served/120/runs, 0.94*float64(slots)/2; got < want {
			t.Errorf("%d slots: served %.2f/s, want at least %.2f/s", slots, got, want)
		}
		if got, want := refused/served, 0.05; got > want {
			t.Errorf("%d slots: %.4f refused per answer, want at most %v", slots, got, want)
		}
	}
}

func TestPaceDoesNotSlowDownForFailuresThatAreChance(t *testing.T) {
	for _, o := range []Outcome{Rejected, Overloaded, Failed} {
		luck := rand.New(rand.NewPCG(3, 4))
		r := newRig(Config{}, func(now time.Time, _ int) reply {
			if now.Sub(start) > 20*time.Second && luck.Float64() < 0.25 {
				return reply{o, 0, 40 * time.Millisecond, 0}
			}
			return answer
		})
		r.run(40*time.Second, 100)
		r.reset()
		r.run(60*time.Second, 100)
		if got := len(r.sent); got < 5700 {
			t.Errorf("outcome %d: sent %d attempts in 60 s, want nearly 6000", o, got)
		}
	}
}

func TestPaceHoldsWhenNothingPassesAndProbesAtTheNamedTime(t *testing.T) {
	down := false
	r := newRig(Config{}, func(time.Time, int) reply {
		if down {
			return reply{Rejected, 0, 40 * time.Millisecond, 10 * time.Second}
		}
		return answer
	})
	r.run(20*time.Second, 50)
	down = true
	r.run(time.Second, 50)
	if !r.p.hold.on {
		t.Fatal("no hold after a second in which everything was refused")
	}
	r.reset()
	r.run(8*time.Second, 50)
	if len(r.sent) != 0 {
		t.Errorf("sent %d attempts before the named time, want none", len(r.sent))
	}
	down = false
	r.run(4*time.Second, 50)
	if r.p.hold.on || len(r.sent) < 20 {
		t.Errorf("hold %v, %d attempts after the probe passed, want the queue resumed", r.p.hold.on, len(r.sent))
	}
}

func TestPaceProbesOneAtATimeInAnOutage(t *testing.T) {
	r := newRig(Config{}, func(now time.Time, _ int) reply {
		if now.Sub(start) > 20*time.Second {
			return reply{Failed, 0, 40 * time.Millisecond, 0}
		}
		return answer
	})
	r.run(22*time.Second, 50)
	r.reset()
	r.run(60*time.Second, 50)
	if got := len(r.sent); got < 20 || got > 60 {
		t.Errorf("%d probes in 60 s, want one in about 2 s", got)
	}
}

func TestPaceDoesNotTakeSilenceForAcceptance(t *testing.T) {
	r := newRig(Config{}, func(now time.Time, _ int) reply {
		if now.Sub(start) > 20*time.Second {
			return reply{Unknown, 0, time.Hour, 0}
		}
		return answer
	})
	r.run(32*time.Second, 50)
	r.reset()
	r.run(60*time.Second, 50)
	if got := len(r.sent); got > 40 {
		t.Errorf("sent %d attempts into a minute of silence, want one in about 2 s", got)
	}
}

func TestPaceKeepsBelowTheCeiling(t *testing.T) {
	r := newRig(Config{Ceiling: 10, MaxFlight: 15}, func(time.Time, int) reply { return answer })
	r.run(60*time.Second, 0)
	if got := len(r.sent); got > 10*60+2 {
		t.Errorf("sent %d attempts in 60 s, want at most 10/s", got)
	}
	for range 3 {
		r.run(time.Second, 0)
		if got := r.p.InFlight(); got > 15 {
			t.Errorf("%d attempts in flight, want at most 15", got)
		}
	}
}

// spiked is provider, but that for 3 s from the given time on it refuses 40 % by chance.
func spiked(from time.Duration, luck *rand.Rand, provider func(time.Time, int) reply) func(time.Time, int) reply {
	return func(now time.Time, serving int) reply {
		if d := now.Sub(start); d > from && d < from+3*time.Second && luck.Float64() < 0.4 {
			return refusal
		}
		return provider(now, serving)
	}
}

func TestPaceIsBackAtTheLimitThatTheUserSetAfterASpikeOfChance(t *testing.T) {
	for seed := range uint64(100) {
		luck := rand.New(rand.NewPCG(seed, 4))
		always := func(time.Time, int) reply { return answer }
		r := newRig(Config{Start: 45, Ceiling: 45, Breaker: true}, spiked(5*time.Second, luck, always))
		r.run(11*time.Second, 45)
		r.reset()
		r.run(10*time.Second, 45)
		if got := len(r.sent); got < 350 {
			t.Errorf("seed %d: sent %d attempts in 10 s after a spike of refusals that did not depend on the rate, want nearly 450", seed, got)
		}
	}
}

// A limit far below the one that the user has set is found nevertheless.
func TestPaceGoesBelowTheLimitThatTheUserSetIfTheProviderTakesLess(t *testing.T) {
	for _, limit := range []float64{5, 15, 25, 35, 40, 43} {
		r := newRig(Config{Start: 45, Ceiling: 45, Breaker: true}, tokens(limit, limit, 0))
		r.run(20*time.Second, 45)
		r.reset()
		r.run(60*time.Second, 45)
		if ok, refused := r.count[OK], r.count[Rejected]; float64(ok) < 0.95*60*limit || refused > ok/10 {
			t.Errorf("limit %v: %d answered and %d refused in a minute", limit, ok, refused)
		}
	}
}

// What a trial has cost is made good in seconds, and an outage meanwhile does not end that.
func TestPaceComesBackAfterATrialThroughAnOutage(t *testing.T) {
	r := newRig(Config{Breaker: true}, tokens(45, 45, 0))
	r.run(30*time.Second, 60)
	p := r.p
	p.bet = bet{
		on: true, from: Pass{seq: p.seq}, rate: 45, held: 45, proven: true,
		trial: trial{on: true, number: 1, about: rejection, share: 0.4, passed: 9, tried: 40},
	}
	p.changed = change{after: p.seq}
	p.rate = found(7, 0)
	p.endTrial(p.at(r.now))
	r.run(1200*time.Millisecond, 60)
	p.suspect(p.at(r.now), &Pass{at: p.at(r.now), seq: p.seq}, rejection) // the first of the outage
	p.Down(r.now, true)
	r.now = r.now.Add(2 * time.Second)
	p.Down(r.now, false)
	r.run(3*time.Second, 60)
	if got := p.perSecond(p.at(r.now)); got < 38 {
		t.Errorf("4 s after a trial, the outage not counted, the rate is %.1f, want nearly 45", got)
	}
}

// A limit that has been found is still there after a spike of refusals by chance.
func TestPaceKeepsToTheLimitItHadFoundAfterASpikeOfChance(t *testing.T) {
	for seed := range uint64(40) {
		luck := rand.New(rand.NewPCG(seed, 4))
		bucket := tokens(45, 45, 0)
		r := newRig(Config{Breaker: true}, spiked(7*time.Second, luck, func(now time.Time, serving int) reply {
			if got := bucket(now, serving); got.outcome != OK {
				return got
			}
			return reply{OK, 300 * time.Millisecond, 500*time.Millisecond + time.Duration(luck.Float64()*9e8), 0}
		}))
		r.run(60*time.Second, 80)
		if ok, refused := r.count[OK], r.count[Rejected]; refused > ok/5 || ok < 1500 {
			t.Errorf("seed %d: %d answered and %d refused, want nearly 2700 and few", seed, ok, refused)
		}
	}
}

func TestPaceGivesTheSlotOfACancelledProbeBack(t *testing.T) {
	r := newRig(Config{}, nil)
	r.p.beginHold(r.p.at(r.now), Failed, 0)
	r.now = r.now.Add(3 * time.Second)
	if ok, _ := r.p.Ready(r.now); !ok {
		t.Fatal("no probe 3 s into the hold")
	}
	a := r.p.Sent(r.now)
	if ok, _ := r.p.Ready(r.now); ok {
		t.Error("a second probe beside the first")
	}
	r.p.Settled(r.now, &a, Cancelled, 0)
	if ok, _ := r.p.Ready(r.now); !ok {
		t.Error("no probe after the first one was cancelled")
	}
}

func attempt(p *Pace, now time.Time) {
	if ok, _ := p.Ready(now); !ok {
		return
	}
	a := p.Sent(now)
	p.Headers(now.Add(time.Millisecond), &a)
	p.Settled(now.Add(2*time.Millisecond), &a, OK, 0)
}

func TestPaceDoesNotAllocate(t *testing.T) {
	p, now := newRig(Config{}, nil).p, start
	if n := testing.AllocsPerRun(1000, func() { now = now.Add(time.Second); attempt(p, now) }); n != 0 {
		t.Errorf("%v allocations per attempt, want none", n)
	}
}

func BenchmarkPace(b *testing.B) {
	p, now := newRig(Config{}, nil).p, start
	b.ReportAllocs()
	for b.Loop() {
		now = now.Add(time.Second)
		attempt(p, now)
	}
}

// windows is a provider with so many attempts in each window of time. What it names
// is until its end, if it names anything.
func windows(count int, length time.Duration, names bool) func(time.Time, int) reply {
	var used int
	var index time.Duration
	return func(now time.Time, _ int) reply {
		if i := now.Sub(start) / length; i != index {
			index, used = i, 0
		}
		if used < count {
			used++
			return answer
		}
		r := reply{Rejected, 0, 40 * time.Millisecond, 0}
		if names {
			r.hinted = length - now.Sub(start)%length
		}
		return r
	}
}

func TestPaceUsesWindowsUpAndWaitsForTheNextOne(t *testing.T) {
	for _, tt := range []struct {
		name    string
		count   int
		length  time.Duration
		names   bool
		used    float64 // share of what the windows allow, at least
		refused float64 // per attempt that they allow, at most
	}{
		{"ten seconds, named", 200, 10 * time.Second, true, 1, 0.03},
		{"a minute, named", 3000, time.Minute, true, 1, 0.01},
		{"ten seconds, not named", 200, 10 * time.Second, false, 0.97, 0.06},
		{"a minute, not named", 3000, time.Minute, false, 1, 0.028},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(Config{}, windows(tt.count, tt.length, tt.names))
			r.run(2*time.Minute, 0)
			r.reset()
			r.run(4*time.Minute, 0)
			served := float64(4*time.Minute/tt.length*time.Duration(tt.count)) - 2 // on the edges
			if got, want := float64(r.count[OK]), tt.used*served; got < want {
				t.Errorf("accepted %.0f in 4 minutes, want at least %.0f", got, want)
			}
			if got, want := float64(r.count[Rejected]), tt.refused*served; got > want {
				t.Errorf("%.0f attempts refused, want at most %.0f", got, want)
			}
		})
	}
}

func TestPaceHoldsForANamedTimeOnlyIfItIsFarOff(t *testing.T) {
	for _, tt := range []struct {
		name   string
		hinted time.Duration
		want   bool
	}{
		{"five seconds", 5 * time.Second, true},
		{"one second, as a limit per second says", time.Second, false},
		{"none", 0, false},
	} {
		r := newRig(Config{}, func(time.Time, int) reply { return answer })
		r.run(10*time.Second, 50)
		var out [3]Pass
		for i := range out {
			out[i] = r.p.Sent(r.now)
		}
		r.now = r.now.Add(40 * time.Millisecond)
		for i := range out {
			r.p.Settled(r.now, &out[i], Rejected, tt.hinted)
		}
		if got := r.p.hold.on; got != tt.want {
			t.Errorf("%s: holds %v after three refusals, want %v", tt.name, got, tt.want)
		}
	}
}

func TestPaceKeepsToALimitAmongRefusalsByChance(t *testing.T) {
	for _, tt := range []struct {
		name    string
		chance  Outcome
		cost    float64
		served  int
		refused int // by the limit
	}{
		{"that look different", Overloaded, 0, 2700, 80},
		{"that look like its own", Rejected, 0.8, 2000, 150},
	} {
		t.Run(tt.name, func(t *testing.T) {
			const runs = 10
			served, refused := 0, 0
			for seed := range uint64(runs) {
				luck := rand.New(rand.NewPCG(seed, 6))
				limit := tokens(50, 10, tt.cost)
				counts := false
				r := newRig(Config{}, func(now time.Time, serving int) reply {
					if luck.Float64() < 0.2 {
						return reply{tt.chance, 0, 40 * time.Millisecond, 0}
					}
					a := limit(now, serving)
					if a.outcome != OK && counts {
						refused++
					}
					a.after = time.Duration(float64(a.after) * (0.5 + luck.Float64())) // or it might as well be slots
					return a
				})
				r.run(30*time.Second, 0)
				r.reset()
				counts = true
				r.run(60*time.Second, 0)
				served += r.count[OK]
			}
			if served/runs < tt.served {
				t.Errorf("accepted %d in 60 s, want at least %d of 3000", served/runs, tt.served)
			}
			if refused/runs > tt.refused {
				t.Errorf("the limit refused %d attempts, want at most %d", refused/runs, tt.refused)
			}
		})
	}
}

// A limit that was taken for chance, and is exceeded ever since, is found all the same.
func TestPacePutsWhatItTakesForChanceOnTrialAgain(t *testing.T) {
	r := newRig(Config{}, tokens(20, 5, 0))
	r.p.rate = found(80, 1)
	r.p.luck[rejection].uphold(0.75, 0)
	r.run(time.Minute, 0)
	r.reset()
	r.run(5*time.Minute, 0)
	if ok, refused := r.count[OK], r.count[Rejected]; ok < 5800 || refused > 300 {
		t.Errorf("%d answered and %d refused in 5 minutes, want nearly 6000 and few", ok, refused)
	}
}

// True chance is put on trial so seldom that this costs next to nothing.
func TestPaceKeepsWhatIsChanceThroughItsTrials(t *testing.T) {
	const runs, each = 8, 30_000
	answered := 0
	for seed := range uint64(runs) {
		luck, bucket := rand.New(rand.NewPCG(seed, 4)), tokens(100, 10, 0)
		r := newRig(Config{}, func(now time.Time, serving int) reply {
			if luck.Float64() < 0.25 {
				return reply{Overloaded, 0, 40 * time.Millisecond, 0}
			}
			return bucket(now, serving)
		})
		r.run(time.Minute, 0)
		r.reset()
		r.run(5*time.Minute, 0)
		answered += r.count[OK]
	}
	if got := float64(answered) / (runs * each); got < 0.95 {
		t.Errorf("%.3f of the limit was used, want at least 0.95", got)
	}
}

func TestPaceCutsToWhatLeavesChanceAlone(t *testing.T) {
	for _, tt := range []struct {
		name    string
		refused int // of 64 attempts
		want    float64
	}{
		{"as many as chance explains", 16, 100},
		{"far more", 40, 100 * (1 - 40.0/64) / (1 - 0.2)},
		{"all", 64, 30},
	} {
		r := newRig(Config{}, nil)
		r.p.rate = found(100, 1)
		l := &r.p.luck[rejection]
		l.uphold(0.2, 0)
		for i := range 64 {
			r.now = r.now.Add(10 * time.Millisecond)
			if a := r.p.Sent(r.now); 63-i < tt.refused {
				l.mark(&a)
				if i == 63 {
					r.p.suspect(r.p.at(r.now), &a, rejection)
				}
			}
		}
		if got := r.p.rate.base; math.Abs(got-tt.want) > 0.01 || l.share != 0.2 {
			t.Errorf("%s: the limit is %.1f/s, want %.1f/s with the same chance", tt.name, got, tt.want)
		}
	}
}

func TestPaceTakesAComputedWaitForALimit(t *testing.T) {
	for _, tt := range []struct {
		name   string
		hinted time.Duration
		want   kind
	}{
		{"worked out", 517 * time.Millisecond, computed},
		{"whole seconds", 2 * time.Second, rejection},
		{"none", 0, rejection},
		{"until a date", 700 * time.Millisecond, rejection},
	} {
		now := start
		if tt.name == "until a date" {
			now = now.Add(time.Second - tt.hinted)
		}
		if got := kindOf(now, Rejected, tt.hinted); got != tt.want {
			t.Errorf("%s: kind %d, want %d", tt.name, got, tt.want)
		}
	}
	r := newRig(Config{}, windows(14, time.Second, true)) // slower is worse there, at first
	r.run(60*time.Second, 0)
	if r.p.luck[rejection].share > 0 {
		t.Error("the refusals of a window were put down to chance")
	}
	if got := r.count[OK]; got < 700 {
		t.Errorf("accepted %d in 60 s, want nearly 840", got)
	}
}

func TestPaceIsBackSoonWhenASlowLimitRises(t *testing.T) {
	const times = 10
	total := 0
	for i := range times { // wherever on its way it is
		rises := time.Duration(80+2*i) * time.Second
		slow, fast := tokens(1, 1, 0), tokens(4, 1, 0)
		r := newRig(Config{}, func(now time.Time, serving int) reply {
			if now.Sub(start) < rises {
				return slow(now, serving)
			}
			return fast(now, serving)
		})
		r.run(rises+25*time.Second, 0)
		r.reset()
		r.run(20*time.Second, 0)
		total += r.count[OK]
	}
	if got := total / times; got < 48 {
		t.Errorf("accepted %d in 20 s, 25 s after 4 per second became possible, want at least 48", got)
	}
}

// Chance of one kind beside a limit that refuses with another is not taken for few slots.
func TestPaceKeepsALimitOfAFewASecondApartFromChance(t *testing.T) {
	answered := 0
	for seed := range uint64(20) {
		luck, bucket := rand.New(rand.NewPCG(seed, 4)), tokens(5, 1, 0)
		r := newRig(Config{}, func(now time.Time, serving int) reply {
			if d := now.Sub(start); d > time.Minute && d < 3*time.Minute && luck.Float64() < 0.27 {
				return reply{Overloaded, 0, 40 * time.Millisecond, 0}
			}
			return bucket(now, serving)
		})
		r.run(time.Minute, 0)
		r.reset()
		r.run(3*time.Minute, 0)
		answered += r.count[OK]
	}
	if answered < 9000 { // 14,800 could be, and 8,400 are if chance pulls the number down
		t.Errorf("%d attempts were answered in 20 runs, want at least 9000", answered)
	}
}

func TestPaceWaitsForNoWordOfAnswersThatAreUnderWay(t *testing.T) {
	for _, tt := range []struct {
		name    string
		unheard int
		want    bool // whether there is a hold after 9 s,
		later   bool // and after 11 s
	}{
		{"4 new attempts", 4, false, false},
		{"5 new attempts", 5, false, true},
		{"50 new attempts", 50, true, true},
	} {
		p, now := New(Config{Start: 1000, Random: rand.Float64}), start
		for range 60 {
			a := p.Sent(now)
			now = now.Add(100 * time.Millisecond)
			p.Headers(now, &a)
		}
		for range tt.unheard {
			p.Sent(now)
		}
		if on, _ := p.Holding(now.Add(9 * time.Second)); on != tt.want {
			t.Errorf("%s, 60 answers under way: hold after 9 s is %v, want %v", tt.name, on, tt.want)
		}
		if on, _ := p.Holding(now.Add(11 * time.Second)); on != tt.later {
			t.Errorf("%s, 60 answers under way: hold after 11 s is %v, want %v", tt.name, on, tt.later)
		}
	}
}
