package pace

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// Whatever a provider answers, no number becomes NaN, no wait is negative, and nobody
// waits for an attempt to end while none is out.
func TestOddProvidersLeaveThePaceWhole(t *testing.T) {
	hints := []time.Duration{0, 0, 0, 1, time.Millisecond, time.Second, 1500 * time.Millisecond, time.Minute}
	for seed := range uint64(500) {
		rnd := rand.New(rand.NewPCG(seed, 7))
		cfg := Config{Start: 20, Burst: 10, Random: rnd.Float64, Breaker: seed%2 == 0}
		if seed%5 == 0 {
			cfg.Start, cfg.Ceiling = 3, 3
		}
		if seed%7 == 0 {
			cfg.MaxFlight = 3
		}
		if seed%11 == 0 {
			cfg.Pool = NewPool()
		}
		p := New(cfg)
		now := time.Now()
		var out []*Pass
		mood := Outcome(0)
		purity := 0.9
		share := rnd.Float64()
		slow := math.Exp(rnd.Float64()*9 - 7)
		for i := range 1500 {
			if rnd.IntN(100) == 0 {
				mood, purity = Outcome(rnd.IntN(int(Cancelled))), []float64{0.5, 0.9, 0.99, 1}[rnd.IntN(4)]
			}
			ok, wait := p.Ready(now)
			on, held := p.Holding(now)
			switch {
			case wait < 0 || held < 0:
				t.Fatalf("seed %d, step %d: waits %v, %v", seed, i, wait, held)
			case !ok && wait == 0 && !on && p.InFlight() == 0:
				t.Fatalf("seed %d, step %d: nobody is out, and none may go", seed, i)
			}
			perSecond, slots := p.Limits(now)
			level := p.bucket.level(p.at(now)) // which may be a hair less than nothing
			numbers := []float64{perSecond, p.Speed(), p.Room(now, now.Add(time.Minute)), p.rate.value(), p.accepted.rate(p.at(now)), p.maxFlight()}
			for _, x := range append(numbers, level) {
				if math.IsNaN(x) || x < 0 && x != level {
					t.Fatalf("seed %d, step %d: %v: rate %+v luck %+v", seed, i, x, p.rate, p.luck)
				}
			}
			if math.IsInf(p.rate.value(), 0) || slots < 0 || p.InFlight() != len(out) {
				t.Fatalf("seed %d, step %d: %v %d, %d out of %d", seed, i, p.rate.value(), slots, p.InFlight(), len(out))
			}
			if ok && rnd.Float64() < 0.8 {
				a := p.Sent(now)
				p.Spent(now, &a, rnd.IntN(1e6))
				out = append(out, &a)
			}
			if n := len(out); n > 0 && rnd.Float64() < share {
				k := rnd.IntN(n)
				if rnd.IntN(2) == 0 {
					k = 0
				}
				a := out[k]
				out = append(out[:k], out[k+1:]...)
				o := mood
				if rnd.Float64() > purity {
					o = Outcome(rnd.IntN(int(Cancelled) + 1))
				}
				if o == OK && rnd.IntN(4) > 0 {
					p.Headers(now, a)
				}
				p.Settled(now, a, o, hints[rnd.IntN(len(hints))])
				if rnd.IntN(20) == 0 {
					q := Quota{
						Known: true, Left: []float64{0, 1, 1e18, -5}[rnd.IntN(4)], Limit: []float64{-1, 0, 5, 1e19}[rnd.IntN(4)],
						Reset: []time.Duration{0, 1, time.Minute, math.MaxInt64}[rnd.IntN(4)], Refills: rnd.IntN(2) == 0,
					}
					p.Told(now, a, Quotas{Requests: q, Tokens: q})
					if w := p.TokensWait(now, rnd.IntN(1e7)); w < 0 || w > time.Minute+1 {
						t.Fatalf("seed %d: tokens wait %v", seed, w)
					}
				}
			}
			if rnd.IntN(300) == 0 {
				p.Down(now, rnd.IntN(2) == 0)
			}
			switch rnd.IntN(4) {
			case 0:
				now = now.Add(time.Duration(rnd.ExpFloat64() * slow * 1e9))
			case 1:
				if !ok && wait > 0 {
					now = now.Add(wait)
				}
			case 2:
				now = now.Add(time.Duration(rnd.IntN(1e6)))
			}
		}
	}
}

func TestCallersWhoLeaveDoNotLookLikeAnswers(t *testing.T) {
	p := New(Config{Start: 1000, Burst: 100, Random: func() float64 { return 0.5 }})
	now := start
	for i := range 40 {
		if ok, wait := p.Ready(now); !ok {
			now = now.Add(wait)
		}
		a := p.Sent(now)
		now = now.Add(30 * time.Millisecond)
		o := Failed
		if i%3 == 2 {
			o = Cancelled
		}
		p.Settled(now, &a, o, 0)
	}
	if p.Passing(now) {
		t.Error("attempts pass although all of those that were answered failed")
	}
}

// A call that waited for the rate may leave. The time that nobody waits after it is no
// time in which the rate was exceeded and nothing happened.
func TestPaceDoesNotGrowWhileNobodyWaits(t *testing.T) {
	const limit = 0.2 // a second
	p, now := New(Config{Start: 20, Burst: 1, Random: func() float64 { return 0.5 }}), start
	p.setRate(p.at(now), limit)
	for range 40 { // one after the other
		for {
			ok, wait := p.Ready(now)
			if ok {
				break
			}
			now = now.Add(wait)
		}
		a := p.Sent(now)
		p.Headers(now, &a)
		p.Settled(now, &a, OK, 0)
		p.setRate(p.at(now), limit) // which it is known to be
	}
	if ok, _ := p.Ready(now); ok {
		t.Fatal("nothing holds the next one back, who is to wait and leave")
	}
	now = now.Add(10 * time.Minute)
	if ok, _ := p.Ready(now); !ok {
		t.Fatal("held back after 10 minutes")
	}
	p.Sent(now)
	if got := p.rate.value(); got > 1.1*limit {
		t.Errorf("%.3g/s after 10 minutes in which nobody waited, want about %v/s", got, limit)
	}
}

// A share that is taken for chance may come to be tried again when hardly any calls
// are made. That must not bring those down who come next.
func TestPaceTriesChanceAgainInALull(t *testing.T) {
	luck := rand.New(rand.NewPCG(3, 4))
	r := newRig(Config{}, func(time.Time, int) reply {
		if luck.Float64() < 0.2 {
			return reply{Rejected, 0, 40 * time.Millisecond, 0}
		}
		return answer
	})
	l := &r.p.luck[rejection]
	for range 600 {
		if l.share > 0 {
			break
		}
		r.run(time.Second, 50)
	}
	if l.share == 0 {
		t.Fatal("chance was not found")
	}
	for r.p.seq+60 < l.next { // until the trial is near
		r.run(time.Second, 50)
	}
	for range 1000 {
		if r.p.bet.trial.on {
			break
		}
		r.run(10*time.Second, 0.1)
	}
	if !r.p.bet.trial.on {
		t.Fatal("chance was not tried again")
	}
	r.reset()
	r.run(30*time.Second, 0)
	if got := len(r.sent); got < 300 {
		t.Errorf("%d attempts in the 30 s after a trial that began in a lull, want some hundreds", got)
	}
}
