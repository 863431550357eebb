package pace

import (
	"testing"
	"time"
)

func TestPoolFollowsTheShareOf429(t *testing.T) {
	for _, tt := range []struct {
		name     string
		feedback string // x is a 429, . another answer
		want     int
	}{
		{"starts at 16", "", 16},
		{"grows by one with each answer", "....", 20},
		{"shrinks by two at the first 429", "x", 14},
		{"goes on shrinking while the share is above 5 %: .3, .21, .147, .103, .072, .0504", "x.....", 4},
		{"stands still between 1 % and 5 %: .035 ... .012", "x.........", 4},
		{"grows again below 1 %", "x..........", 5},
		{"never goes below 4", "xxxxxxxxxxxxxxxx", 4},
		{"counts the latest most: two 429 weigh .51", "....xx", 16},
	} {
		p := NewPool()
		for _, c := range tt.feedback {
			p.Feedback(c == 'x')
		}
		if got := p.Capacity(); got != tt.want {
			t.Errorf("%s: capacity %d, want %d", tt.name, got, tt.want)
		}
		if got := p.PerSecond(); got != tt.want {
			t.Errorf("%s: %d a second, want %d", tt.name, got, tt.want)
		}
	}
}

func TestPoolNeverGrowsAbove64(t *testing.T) {
	p := NewPool()
	for range 100 {
		p.Feedback(false)
	}
	if p.Capacity() != 64 || p.PerSecond() != 64 {
		t.Errorf("capacity %d, %d a second, want 64 of both", p.Capacity(), p.PerSecond())
	}
}

func TestPaceTakesItsNumbersFromThePool(t *testing.T) {
	quick := reply{OK, 10 * time.Millisecond, 20 * time.Millisecond, 0}
	for _, tt := range []struct {
		name    string
		r       reply
		ceiling float64
		want    int // attempts in 10 s, once the pool is full
	}{
		{"64 a second where answers are quick", quick, 0, 640},
		{"64 in flight where they take 2 s", answer, 0, 320},
		{"no more than the ceiling", quick, 30, 300},
	} {
		r := newRig(Config{Pool: NewPool(), Ceiling: tt.ceiling}, func(time.Time, int) reply { return tt.r })
		r.run(60*time.Second, 0)
		r.reset()
		r.run(10*time.Second, 0)
		if got := len(r.sent); got < tt.want-1 || got > tt.want+1 {
			t.Errorf("%s: sent %d in 10 s, want %d", tt.name, got, tt.want)
		}
	}
}

func TestPaceWithPoolStillHoldsWhenNothingPasses(t *testing.T) {
	r := newRig(Config{Pool: NewPool()}, func(now time.Time, _ int) reply {
		if now.Sub(start) > 20*time.Second {
			return reply{Rejected, 0, 40 * time.Millisecond, 0}
		}
		return answer
	})
	r.run(25*time.Second, 0)
	r.reset()
	r.run(60*time.Second, 0)
	if got := len(r.sent); got > 60 {
		t.Errorf("sent %d in a minute in which nothing passed, want one in about 2 s", got)
	}
	if got := r.p.cfg.Pool.Capacity(); got != 4 {
		t.Errorf("capacity %d, want the least", got)
	}
}
