package sim

import (
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// Main runs f where bubbles of virtual time may be opened, and exits. A bubble needs
// a *testing.T; outside of go test this is how the testing package lends one.
func Main(f func(t *testing.T)) {
	all := func(string, string) (bool, error) { return true, nil }
	testing.Main(all, []testing.InternalTest{{Name: "goodput", F: func(t *testing.T) {
		f(t)
		os.Exit(0) // before the testing package prints PASS below the table
	}}}, nil, nil)
}

// Play runs one scenario with one contender in a bubble of its own.
func Play(t *testing.T, sc *Scenario, c Contender, seed uint64) (r *Result) {
	begin := time.Now()
	t.Run(sc.Name+"/"+c.Name, func(t *testing.T) {
		synctest.Test(t, func(*testing.T) {
			r = Run(sc, c, seed)
			time.Sleep(10 * time.Minute) // let generations nobody waits for end
		})
	})
	r.Seed, r.Real = seed, time.Since(begin).Seconds()
	return r
}
