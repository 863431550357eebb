//go:build !race

package steady_test

// raceEnabled reports whether the race detector is on.
const raceEnabled = false
