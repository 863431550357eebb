package main

import (
	"context"
	"flag"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/steadyhttp/steady/steadytest"
)

// The environment names the peer that a process is to hold to the duties of a
// RoundTripper. Each has a process of its own, since one that blocks for good ends
// the process.
const (
	contractOf     = "BENCH_CONTRACT_OF"
	contractShield = "BENCH_CONTRACT_SHIELD"
)

// contractProcess does what such a process is for, if this is one, and ends it.
func contractProcess() {
	name, shield := os.Getenv(contractOf), os.Getenv(contractShield) != ""
	for _, p := range peers() {
		if p.name != name {
			continue
		}
		testing.Init()
		if err := flag.CommandLine.Parse([]string{"-test.v"}); err != nil {
			panic(err)
		}
		layer := func(next http.RoundTripper) http.RoundTripper {
			rt := p.make(next, brisk)
			if shield {
				rt = shielded{rt}
			}
			return rt
		}
		all := func(string, string) (bool, error) { return true, nil }
		check := func(t *testing.T) { steadytest.Check(t, layer) }
		testing.Main(all, []testing.InternalTest{{Name: "Duties", F: check}}, nil, nil)
	}
}

// shielded gives a layer a copy of each request, and closes the body itself. Every
// duty asks for these two things besides its own, so that a layer which fails at
// them fails everywhere; what else it keeps shows behind the shield.
type shielded struct{ next http.RoundTripper }

func (s shielded) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := s.next.RoundTrip(req.Clone(req.Context()))
	if req.Body != nil {
		req.Body.Close()
	}
	return resp, err
}

// contracts counts the duties that each peer keeps. The quick form asks Steady alone.
func contracts(all []peer, quick bool) []finding {
	type count struct{ kept, broken int }
	plain, behind := make([]count, len(all)), make([]count, len(all))
	var wg sync.WaitGroup
	for i, p := range all {
		if p.sdk || quick && i > 0 {
			continue
		}
		wg.Go(func() { plain[i].kept, plain[i].broken = contract(p, false) })
		wg.Go(func() { behind[i].kept, behind[i].broken = contract(p, true) })
	}
	wg.Wait()
	total := 0
	for i := range all {
		total = max(total, plain[i].kept+plain[i].broken)
	}
	cells := make([]finding, len(all))
	for i, p := range all {
		switch {
		case p.sdk || quick && i > 0:
			cells[i] = notAsked
		case plain[i].kept == total:
			cells[i] = found(total > 0, "%d of %d", total, total)
		default:
			cells[i] = found(false, "%d of %d, %d if it gets a copy of the request", plain[i].kept, total, behind[i].kept)
		}
	}
	return cells
}

// contract counts the duties that p keeps and breaks. After a duty at which it
// blocks for good, none is counted.
func contract(p peer, shield bool) (kept, broken int) {
	self, err := os.Executable()
	if err != nil {
		return 0, 0
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), contractOf+"="+p.name)
	if shield {
		cmd.Env = append(cmd.Env, contractShield+"=1")
	}
	out, _ := cmd.Output() // a failed duty is an error of the process
	for line := range strings.Lines(string(out)) {
		switch {
		case strings.HasPrefix(line, "    --- PASS: Duties/"):
			kept++
		case strings.HasPrefix(line, "    --- FAIL: Duties/"):
			broken++
		}
	}
	return kept, broken
}
