package main

import (
	"math"
	"slices"
	"testing"

	"go.uber.org/goleak"

	"github.com/steadyhttp/steady/bench/goodput/internal/sim"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The package as it is imported, over a few servers that take a second or two each
// to simulate: what the README claims of all of them, with some room.
func TestSteadyReachesItsGoals(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates minutes of traffic")
	}
	for _, tt := range []struct {
		scenario              string
		success, share, waste float64
	}{
		{"S2a", 1, 0.95, 0.05},
		{"S2b", 1, 0.93, 0.05},
		{"S4", 0.95, 0.95, 0.03},
		{"S5d", 0.95, 0.90, 0.05},
		{"S10", 0.985, 0.97, 0.25},
	} {
		t.Run(tt.scenario, func(t *testing.T) {
			sc := sim.Scenarios()[slices.IndexFunc(sim.Scenarios(), func(s *sim.Scenario) bool { return s.Name == tt.scenario })]
			steady := choose(sim.Contenders(), "steady")[0]
			got, best := sim.Play(t, sc, steady, 1), sim.Play(t, sc, sim.Oracle(false), 1)
			share := got.Goodput / math.Max(best.Goodput, 1e-9)
			if got.SuccessPct < 100*tt.success || share < tt.share || got.WastePerOK > tt.waste {
				t.Errorf("success %.1f %%, goodput %.1f %% of the oracle's, %.3f wasted per success; want %.1f, %.1f and at most %.3f",
					got.SuccessPct, 100*share, got.WastePerOK, 100*tt.success, 100*tt.share, tt.waste)
			}
		})
	}
}

// Of more calls than can be served, for few slots, the oracle that knows how long each
// answer will be serves the short ones. The one that does not know is the bound for a client.
func TestTheBlindOracleDoesNotPickShortAnswers(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates minutes of traffic")
	}
	sc := sim.Random(60, 99)[47] // 8 slots, demand of 216 %
	good := func(c sim.Contender) float64 { return sim.Play(t, sc, c, 99).Goodput }
	sees, blind := good(sim.Oracle(false)), math.Max(good(sim.BlindOracle(false)), good(sim.BlindOracle(true)))
	if blind > 0.95*sees || blind < 0.5*sees {
		t.Errorf("the blind oracle answers %.2f/s, the other one %.2f/s, want clearly more but not far more", blind, sees)
	}
}
