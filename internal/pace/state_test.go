package pace

import "testing"

// One state is told where several would fit: the one that explains most of why calls
// wait. Each step adds to those before it.
func TestTheStateIsTheOneThatExplainsMost(t *testing.T) {
	p := New(Config{Start: 20, Burst: 10})
	for _, step := range []struct {
		happens func()
		state   State
		why     string
	}{
		{func() {}, Search, ""},
		{func() { p.setRate(p.lastSent, 20) }, Rate, "refused"},
		{func() { p.luck[overload].share = 0.2 }, Chance, "refused"},
		{func() { p.slots.on = true }, Slots, "in flight"},
		{func() { p.slots.on, p.slow.cap = false, 8 }, Slots, "slow"},
		{func() { p.bet.trial.on = true }, Trial, "doubt"},
		{func() { p.hold.on = true }, Hold, "rejected"},
		{func() { p.hold.failing = true }, Hold, "failed"},
		{func() { p.hold.silent = true }, Hold, "silence"},
		{func() { p.hold = hold{} }, Trial, "probe"},
		{func() { p.bet.trial.on = false }, Slots, "trial"},
		{func() { p.slow.cap = 0 }, Chance, "no slots"},
		{func() { p.luck[overload].share = 0 }, Rate, "no chance"},
		{func() { p.rate.searching = true }, Search, "anew"},
		{func() { p.setRate(p.lastSent, 20) }, Rate, "refused"},
	} {
		before := p.State()
		step.happens()
		if got := p.State(); got != step.state {
			t.Errorf("%v after %v, want %v", got, before, step.state)
		}
		if got := p.Why(before); step.why != "" && got != step.why {
			t.Errorf("from %v to %v: %q, want %q", before, step.state, got, step.why)
		}
	}
	if got := New(Config{Start: 20, Ceiling: 20}).State(); got != Rate {
		t.Errorf("%v under a rate that is set, want %v", got, Rate)
	}
	p.down = true
	if got := p.Why(Hold); got != "breaker" {
		t.Errorf("%q where a breaker took over, want breaker", got)
	}
}
