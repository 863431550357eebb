package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// workers is how many calls of the batch are on their way at a time.
const workers = 64

// sample is one call.
type sample struct {
	ended time.Duration // since the run began
	took  time.Duration
	ok    bool
}

// run is what one client made of the batch.
type run struct {
	Client           string  `json:"client"`
	Calls            int     `json:"calls"`
	Succeeded        int     `json:"succeeded"`
	Success          float64 `json:"success"`
	MeanMS           float64 `json:"mean_ms"`
	P99MS            float64 `json:"p99_ms"`
	RPS              float64 `json:"rps"`     // successes a second
	RPSUp            float64 `json:"rps_up"`  // successes a second in which the server was up
	Seconds          float64 `json:"seconds"` // until the last call ended
	Wire             int     `json:"wire"`    // requests that the server received
	WirePerSuccess   float64 `json:"wire_per_success"`
	Billed           int     `json:"billed"` // generations that the server began
	BilledPerSuccess float64 `json:"billed_per_success"`

	label   string
	samples []sample
}

// batch makes n calls through c and reports each one to progress.
func batch(ctx context.Context, c client, n int, progress func()) []sample {
	samples := make([]sample, n)
	jobs := make(chan int)
	start := time.Now()
	var wg sync.WaitGroup
	for range min(workers, n) {
		wg.Go(func() {
			for i := range jobs {
				began := time.Now()
				err := c.call(ctx, fmt.Sprintf("Summarize ticket %d in one sentence.", i))
				samples[i] = sample{ended: time.Since(start), took: time.Since(began), ok: err == nil}
				progress()
			}
		})
	}
feed:
	for i := range n {
		select {
		case jobs <- i:
		case <-ctx.Done():
			break feed
		}
	}
	close(jobs)
	wg.Wait()
	return samples
}

// runAll runs the batch through all clients at the same time, each against a
// server of its own.
func runAll(ctx context.Context, sc scenario, progress func(client string)) ([]run, error) {
	var urls [ways]string
	var counts [ways]func() (wire, billed int)
	for i := range urls {
		srv := sc.server()
		defer srv.Close()
		urls[i] = srv.Start().URL
		counts[i] = func() (int, int) { c := srv.Counts(); return c.Requests, c.Billed }
	}
	clients, err := newClients(sc.limit, urls)
	if err != nil {
		return nil, err
	}
	runs := make([]run, len(clients))
	var wg sync.WaitGroup
	for i, c := range clients {
		wg.Go(func() {
			samples := batch(ctx, c, sc.calls, func() { progress(c.label) })
			c.close()
			wire, billed := counts[i]()
			runs[i] = sc.sum(c, samples, wire, billed)
		})
	}
	wg.Wait()
	return runs, ctx.Err()
}

// sum makes the figures of a run.
func (s scenario) sum(c client, samples []sample, wire, billed int) run {
	r := run{Client: c.name, label: c.label, Calls: len(samples), Wire: wire, Billed: billed, samples: samples}
	var took []time.Duration
	var total, last time.Duration
	for _, s := range samples {
		last = max(last, s.ended)
		if s.ok {
			took = append(took, s.took)
			total += s.took
		}
	}
	r.Seconds = last.Seconds()
	if r.Succeeded = len(took); r.Succeeded == 0 {
		return r
	}
	slices.Sort(took)
	n := float64(r.Succeeded)
	r.Success = n / float64(r.Calls)
	r.MeanMS = total.Seconds() * 1000 / n
	r.P99MS = took[min(len(took)-1, len(took)*99/100)].Seconds() * 1000
	r.RPS = n / r.Seconds
	r.RPSUp = n / (last - s.down(last)).Seconds()
	r.WirePerSuccess = float64(wire) / n
	r.BilledPerSuccess = float64(billed) / n
	return r
}
