package pace

import (
	"math"
	"testing"
	"time"
)

// Of a window of a second the last attempts are refused in a bunch. That is no reason
// to fall far below what the window allows.
func TestPaceIsNotCutAgainAndAgainAtTheEndOfAWindow(t *testing.T) {
	const count = 63
	provider := windows(count, time.Second, false)
	r := newRig(Config{}, func(now time.Time, serving int) reply {
		got := provider(now, serving)
		if got.outcome != OK {
			got.after = 15 * time.Millisecond
		}
		return got
	})
	r.run(20*time.Second, 0)
	r.reset()
	r.run(time.Minute, 0)
	if got := float64(r.count[OK]) / (60 * count); got < 0.9 {
		t.Errorf("%.2f of the windows is used, want nearly all", got)
	}
}

// A search that went far beyond a limit of a few a second has cut its way down at once.
// The refusals on the way do not speak for chance.
func TestPaceNeedsNoTrialOnTheWayDownFromASearch(t *testing.T) {
	for _, limit := range []float64{2, 4, 6} {
		r := newRig(Config{}, tokens(limit, 1, 0))
		for range 300 {
			r.run(100*time.Millisecond, 1.75*limit)
			if r.p.bet.trial.on {
				t.Errorf("%v/s: a trial after %v", limit, r.now.Sub(start))
				break
			}
		}
	}
}

// Far above what was accepted a cut goes down to that, and not by steps.
func TestPaceFallsAtOnceFromASearchThatWentFarBeyond(t *testing.T) {
	r := newRig(Config{}, tokens(240, 20, 0))
	r.run(20*time.Second, 100)
	r.p.rate = limit{base: 1400, searching: true} // as after an outage
	r.reset()
	r.run(3*time.Second, 0)
	if got := r.count[Rejected]; got > 300 {
		t.Errorf("%d refused on the way from 1400/s down to 240/s, want at most 300", got)
	}
}

// A provider whose refusals cost it nearly as much as answers serves nobody who goes on
// as before: the cuts go on until something passes, also while nothing does.
func TestPaceDoesNotKeepACostlyProviderBusyWithRefusals(t *testing.T) {
	r := newRig(Config{Breaker: true}, tokensAt(func(time.Time) float64 { return 1.2 }, 1, 0.8, Overloaded))
	r.run(2*time.Minute, 0)
	if ok, refused := r.count[OK], r.count[Overloaded]; ok < 90 || refused > 40 {
		t.Errorf("%d answered and %d refused in 2 minutes, want some 130 and few", ok, refused)
	}
}

// Where few are sent a limit that has clearly risen is still approached step by step.
func TestPaceDoesNotLeapWhereFewAreSent(t *testing.T) {
	for _, perSecond := range []float64{0.5, 1, 2} {
		r := newRig(Config{}, tokens(perSecond, 1, 0.3))
		r.run(2*time.Minute, 0)
		r.reset()
		r.run(20*time.Minute, 0)
		ok, refused := float64(r.count[OK]), float64(r.count[Rejected])
		if used := ok / (1200 * perSecond); used < 0.8 || refused > 0.11*ok {
			t.Errorf("%v/s: %.2f of it is used, %.2f refused per answer", perSecond, used, refused/ok)
		}
	}
}

// Two holds one after the other are no two windows unless a count lies between them.
func TestTwoHoldsAreNoWindowUnlessACountLiesBetween(t *testing.T) {
	for _, accepted := range []float64{windowCount - 1, windowCount} {
		var w window
		w.usedUp(longAgo, 10)
		w.usedUp(longAgo.Add(3*time.Second), 10+accepted)
		if got, want := w.known(longAgo.Add(4*time.Second)), accepted >= windowCount; got != want {
			t.Errorf("%v accepted between two holds: a window is known %v, want %v", accepted, got, want)
		}
	}
}

// A bet may be as old as its last refusal but one. What has held since it began is what
// an outage leads back to.
func TestPaceGoesBackToTheRateOfLateAfterAnOutage(t *testing.T) {
	p := New(Config{Start: 20})
	p.rate = found(10, 1)
	p.bet = bet{on: true, from: Pass{at: p.at(start), seq: 1}, last: 1, rate: 1, held: 1}
	now := start
	for range 30 {
		now = now.Add(100 * time.Millisecond)
		p.heldBy = byRate
		p.Sent(now)
	}
	a := p.Sent(now.Add(100 * time.Millisecond))
	p.recent.mark(&a)
	p.cut(p.at(now), &a, rejection)
	p.undoCuts()
	if got := p.rate.value(); got < 9 {
		t.Errorf("back at %.1f/s, want the 10/s of before, and not the 1/s at which the bet began", got)
	}
}

// A trial is as fast as what was accepted, if that is not just what was asked for.
func TestPaceTriesInALullAtTheRateThatIsAllowed(t *testing.T) {
	for _, lull := range []bool{true, false} {
		p := New(Config{Start: 20})
		p.rate = found(10, 1)
		now := p.at(start)
		p.accepted = tally{sum: 2, at: now, from: now.Add(-time.Minute)} // per second
		p.cycle = cycle{from: now, sent: 40}
		if lull {
			p.cycle.unheld = 30
		}
		p.seq = 50
		p.bet = bet{on: true, from: Pass{at: now.Add(-5 * time.Second), seq: 1}, rate: 10, lows: lows{sent: 40}}
		p.bet.lows.by[rejection].refused = 4
		p.beginTrial(now, &Pass{at: now, seq: 50, heldBy: byRate}, rejection)
		if got := p.rate.value() > 5; got != lull {
			t.Errorf("lull %v: on trial at %.1f/s", lull, p.rate.value())
		}
	}
}

// An outage that follows soon upon another may be our speed, if it met calls that we had
// held back or has ended before the first probe. There is no search after it, which would
// lead there again, and no way back to a rate that was never accepted.
func TestPaceDoesNotSearchAfterAnOutageThatItMakesItself(t *testing.T) {
	for _, tt := range []struct {
		rushed, probed bool // and the probe failed
		ours           bool
	}{
		{true, true, true},
		{false, false, true},
		{false, true, false},
	} {
		p := New(Config{Start: 20, Breaker: true})
		p.rate = found(300, 1)
		now := start.Add(time.Minute)
		send := func() Pass {
			now = now.Add(time.Millisecond)
			if tt.rushed {
				p.heldBy = byRate
			}
			return p.Sent(now)
		}
		fail := func() {
			a := send()
			p.Settled(now, &a, Failed, 0)
		}
		for _, first := range []bool{true, false} {
			for range 4000 {
				a := send()
				p.Headers(now, &a)
				p.Settled(now, &a, OK, 0)
			}
			for range 5 {
				fail()
			}
			p.bet = bet{on: true, from: Pass{at: p.at(now)}, rate: 200}
			p.Down(now, true)
			if tt.probed {
				fail()
			}
			now = now.Add(4 * time.Second)
			p.Down(now, false)
			searches := first || !tt.ours
			if got := p.rate.searching; got != searches {
				t.Errorf("%+v, first %v: searches %v", tt, first, got)
			}
			if !searches && math.Abs(p.rate.value()-againRate*200) > 1e-9 {
				t.Errorf("%+v: on at %v/s, want a little less than what was accepted, 200/s", tt, p.rate.value())
			}
			p.rate = found(300, 1)
		}
	}
}

// Nothing can be accepted in an outage, and its refusals are none of chance. So neither
// shows in what is known after it.
func TestPaceKnowsAfterAnOutageWhatItKnewBefore(t *testing.T) {
	p := New(Config{Start: 20, Breaker: true})
	now := start
	send := func(n int, o Outcome) {
		for range n {
			now = now.Add(50 * time.Millisecond)
			a := p.Sent(now)
			p.Settled(now, &a, o, 0)
		}
	}
	send(200, OK)
	send(1, Unavailable)
	send(20, OK)
	send(8, Unavailable)
	p.Down(now, true)
	for range 10 { // probes
		now = now.Add(2 * time.Second)
		a := p.Sent(now)
		p.Settled(now, &a, Unavailable, 0)
	}
	p.Down(now, false)
	if got := p.accepted.rate(p.at(now)); got < 15 || got > 21 {
		t.Errorf("%.1f/s accepted, want some 18: 20 and then less while 8 were refused", got)
	}
	if got := p.recent.refused(historyLen); got != 1 {
		t.Errorf("%d of the attempts before remembered as refused, want the 1 that was by chance", got)
	}
}

// Where a limit falls to a small part of what calls come to, hardly any of what is sent at
// half of that passes, which looks like chance: a trial is slower then.
func TestPaceFollowsALimitThatFallsFar(t *testing.T) {
	for _, to := range []float64{0.5, 1, 2} {
		limit := 20.0
		r := newRig(Config{}, tokensAt(func(time.Time) float64 { return limit }, 2, 0, Rejected))
		r.run(time.Minute, 10)
		limit = to
		r.reset()
		r.run(time.Minute, 10)
		if ok, refused := r.count[OK], r.count[Rejected]; float64(ok) < 50*to || refused > 50 {
			t.Errorf("from 20 to %v/s: %d answered, %d refused in a minute", to, ok, refused)
		}
	}
}
