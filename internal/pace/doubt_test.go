package pace

import (
	"math/rand/v2"
	"testing"
	"time"
)

// A bucket of one refuses, like one slot, while an attempt is out.
func TestPaceDoesNotTakeASmallBucketForAFewSlots(t *testing.T) {
	served := 0.0
	for seed := range uint64(10) {
		luck := rand.New(rand.NewPCG(seed, 1))
		bucket := tokens(2, 1, 0)
		r := newRig(Config{}, func(now time.Time, serving int) reply {
			got := bucket(now, serving)
			if got.outcome == OK {
				took := 800*time.Millisecond + time.Duration(luck.Float64()*4e8)
				got = reply{OK, 300 * time.Millisecond, took, 0}
			}
			return got
		})
		r.run(4*time.Minute, 3.5)
		got := float64(r.count[OK]) / 240
		if served += got / 10; got < 1.3 {
			t.Errorf("seed %d: %.2f served a second of 2 that the provider allows: one slot would serve 1", seed, got)
		}
	}
	if served < 1.5 {
		t.Errorf("%.2f served a second of 2 that the provider allows, on the average", served)
	}
}

func TestPaceSaysThatNothingPassesOnlyWhenALimitWouldHaveLetSomeThrough(t *testing.T) {
	p := New(Config{Start: 20, Burst: 100, Breaker: true, Random: func() float64 { return 0.5 }})
	now := start
	send := func(o Outcome) {
		a := p.Sent(now)
		now = now.Add(20 * time.Millisecond)
		if o == OK {
			p.Headers(now, &a)
		}
		p.Settled(now, &a, o, 0)
	}
	for range 50 {
		send(OK)
		now = now.Add(30 * time.Millisecond)
	}
	began := now
	for range 12 {
		send(Overloaded)
		now = now.Add(20 * time.Millisecond)
	}
	if now.Sub(began) > 500*time.Millisecond || !p.Passing(now) {
		t.Errorf("nothing passes after a run of %v, in which a bucket may have been empty", now.Sub(began))
	}
	for now.Sub(began) < time.Second {
		send(Overloaded)
	}
	for _, after := range []time.Duration{0, 10 * time.Second} { // in which nothing is sent
		if p.Passing(now.Add(after)) {
			t.Errorf("attempts pass although for %v all were refused", now.Sub(began))
		}
	}
	p.Sent(now) // whose answer takes long
	if soon := now.Add(20 * time.Millisecond); p.Passing(soon) {
		t.Error("attempts pass before the latest could have been refused")
	}
	if late := now.Add(time.Second); !p.Passing(late) {
		t.Error("nothing passes although the latest would have been refused by now")
	}
}
