//go:build race

package steady_test

// raceEnabled reports whether the race detector is on, under which sync.Pool
// forgets at random.
const raceEnabled = true
