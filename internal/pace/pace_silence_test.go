package pace

import (
	"math/rand/v2"
	"testing"
	"time"
)

// silent is a pace that holds for silence, after answers in a tenth of a second, and
// the time at which a probe may go.
func silent(t *testing.T) (*Pace, time.Time) {
	t.Helper()
	p, now := New(Config{Start: 1000, Random: rand.Float64}), start
	for range 20 {
		a := p.Sent(now)
		now = now.Add(100 * time.Millisecond)
		p.Headers(now, &a)
		p.Settled(now, &a, OK, 0)
	}
	for range 50 {
		p.Sent(now)
	}
	now = now.Add(5 * time.Second)
	if on, _ := p.Holding(now); !on {
		t.Fatal("no hold after 5 s of silence")
	}
	return p, now.Add(time.Second)
}

func TestPaceEndsAHoldForSilenceWhenAnythingIsAnswered(t *testing.T) {
	for _, o := range []Outcome{Declined, OK} {
		p, now := silent(t)
		a := p.Sent(now)
		now = now.Add(100 * time.Millisecond)
		if o == OK {
			p.Headers(now, &a)
		}
		p.Settled(now, &a, o, 0)
		if on, _ := p.Holding(now); on {
			t.Errorf("outcome %d: still a hold for silence", o)
		}
	}
}

func TestPaceMayBeSlowUntilItIsRefused(t *testing.T) {
	p, now := silent(t)
	if !p.MayBeSlow(now) {
		t.Error("after 6 s of silence it cannot be slow")
	}
	if p.MayBeSlow(now.Add(55 * time.Second)) {
		t.Error("after 61 s of silence it may still be slow")
	}
	a := p.Sent(now)
	p.Settled(now, &a, Unknown, 0)
	if !p.MayBeSlow(now) {
		t.Error("a probe without an answer says that it is not slow")
	}
	now = now.Add(2 * time.Second)
	a = p.Sent(now)
	p.Settled(now, &a, Rejected, 0)
	p.Sent(now.Add(time.Second))
	if p.MayBeSlow(now.Add(2 * time.Second)) {
		t.Error("it has refused a probe, and may still be slow")
	}
}

// The silence of one attempt that was given up long ago says nothing about those that
// have just been sent.
func TestPaceCountsNoSilenceWhileNothingIsOut(t *testing.T) {
	for _, o := range []Outcome{Cancelled, Unknown} {
		p, now := New(Config{Start: 1000, Burst: 100, Random: rand.Float64}), start
		a := p.Sent(now)
		p.Headers(now.Add(100*time.Millisecond), &a)
		p.Settled(now.Add(time.Second), &a, OK, 0)
		b := p.Sent(now.Add(time.Second))
		p.Settled(now.Add(2*time.Second), &b, o, 0)
		now = now.Add(10 * time.Minute)
		for range 10 {
			p.Sent(now)
		}
		if on, _ := p.Holding(now.Add(time.Second)); on {
			t.Errorf("outcome %d: a hold for silence 1 s after the first attempts in 10 minutes", o)
		}
		if on, _ := p.Holding(now.Add(11 * time.Second)); !on {
			t.Errorf("outcome %d: no hold after 11 s of silence", o)
		}
	}
}
