package model

import (
	"testing"
	"time"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func at(s int) time.Time { return start.Add(time.Duration(s) * time.Second) }

// callers is a line of n calls, one a second, each with a deadline a minute later.
func callers(n int) *line {
	l := &line{}
	for i := range n {
		l.push(&waiting{arrival: at(i), deadline: at(i + 60), grant: make(chan bool, 1)})
	}
	return l
}

func TestLineGoesInOrderWhileAllOfItCanBeServed(t *testing.T) {
	l := callers(30)
	if got := l.next(at(30), 1, time.Second); got.arrival != at(0) {
		t.Errorf("the call of second %v is next, want the oldest", got.arrival.Sub(start))
	}
}

func TestLineServesFreshCallsFirstBeyondThat(t *testing.T) {
	l := callers(30)
	if got := l.next(at(30), 0.4, time.Second); got.arrival != at(28) {
		t.Errorf("the call of second %v is next, want the first that is fresh", got.arrival.Sub(start))
	}
}

func TestLineKeepsTheOldPlaceOfACallThatComesBack(t *testing.T) {
	l := callers(3)
	back := &waiting{arrival: at(1).Add(-time.Millisecond), deadline: at(70)}
	l.leave(l.oldest())
	l.push(back)
	if got := l.next(at(4), 10, time.Second); got != back {
		t.Errorf("the call of %v is next, want the one that came back", got.arrival.Sub(start))
	}
}

func TestLineRefusesWhatCannotBeAnsweredInTime(t *testing.T) {
	for _, tt := range []struct {
		name     string
		earliest time.Time
		room     float64
		want     bool
	}{
		{"in time and room", at(10), 100, false},
		{"held beyond the deadline", at(59), 100, true},
		{"more than will be served", at(10), 2, true},
	} {
		if got := callers(3).hopeless(tt.earliest, 2*time.Second, tt.room) != nil; got != tt.want {
			t.Errorf("%s: refused %v, want %v", tt.name, got, tt.want)
		}
	}
	if callers(1).hopeless(at(59), 2*time.Second, 100) != nil {
		t.Error("the only call was refused, want it to get its chance")
	}
}

func TestLineForgetsThoseThatLeft(t *testing.T) {
	l := callers(3)
	for _, w := range l.calls {
		l.leave(w)
		l.leave(w)
	}
	if got := l.next(at(5), 1, 0); got != nil || l.live != 0 {
		t.Errorf("next %v, live %d, want nobody", got, l.live)
	}
}
