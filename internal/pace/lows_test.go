package pace

import (
	"strings"
	"testing"
)

// What is sent below the limit makes a trial due when a share of it is refused, though it
// is little at a time, and not when few are.
func TestRefusalsBelowTheLimitMakeATrialDue(t *testing.T) {
	for _, tt := range []struct {
		name string
		sent string // x is a refusal
		due  bool
	}{
		{"a third", strings.Repeat("..x", 9), true},
		{"the same after much that passed", strings.Repeat(".", 500) + strings.Repeat("..x", 9), true},
		{"nearly all", "xx.xxxxx", true},
		{"half of a few", ".x.x.x.x", false},
		{"one in twenty", strings.Repeat("...................x", 30), false},
		{"none", strings.Repeat(".", 100), false},
		{"four and then none for long", "xxxx" + strings.Repeat(".", 60) + "x", false},
	} {
		l := lows{}
		for _, c := range tt.sent {
			l.sent++
			if c == 'x' {
				l.refuse(rejection)
			}
		}
		if got := l.suspicious(rejection); got != tt.due {
			t.Errorf("%s: a trial is due: %v, want %v: %+v", tt.name, got, tt.due, l)
		}
		if l.suspicious(overload) {
			t.Errorf("%s: a trial of another kind is due", tt.name)
		}
	}
}

// The share that goes into a trial is that of now, and not of before.
func TestTheShareOfATrialIsThatSinceItShowed(t *testing.T) {
	l := lows{sent: 1000}
	for range 10 {
		l.sent++
		l.refuse(rejection)
		l.sent++
	}
	if share, sent := l.share(rejection); share < 0.45 || share > 0.55 || sent > 25 {
		t.Errorf("%.2f of %.0f, want half of some twenty", share, sent)
	}
}
