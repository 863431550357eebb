package steady_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/steadyhttp/steady"
)

// ruled is a provider, a base that answers by a rule, and keeps count.
type ruled struct {
	// rule says what becomes of an attempt that comes at that time, counted from
	// the making of the provider, while so many are being answered. It is called
	// by one at a time.
	rule func(at time.Duration, busy int) step

	start time.Time

	mu    sync.Mutex // guards the rest
	busy  int        // with answers of status 200
	peak  int
	at    []time.Duration
	count map[int]int // of answers, by status
}

func newRuled(rule func(at time.Duration, busy int) step) *ruled {
	return &ruled{rule: rule, start: time.Now(), count: map[int]int{}}
}

func (p *ruled) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		_, _ = io.Copy(io.Discard, req.Body)
		req.Body.Close()
	}
	s := p.begin()
	if s.status == 200 {
		defer p.end()
	}
	if s.takes > 0 {
		select {
		case <-time.After(s.takes):
		case <-req.Context().Done():
			return nil, req.Context().Err()
		}
	}
	if s.err != nil {
		return nil, s.err
	}
	return respond(req, s.status, s.header, s.body), nil
}

func (p *ruled) begin() step {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := time.Since(p.start)
	s := p.rule(at, p.busy)
	p.at = append(p.at, at)
	p.count[s.status]++
	if s.status == 200 {
		p.busy++
		p.peak = max(p.peak, p.busy)
	}
	return s
}

func (p *ruled) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.busy--
}

// seen returns how many attempts came in the time from, up to and without to.
func (p *ruled) seen(from, to time.Duration) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, at := range p.at {
		if at >= from && at < to {
			n++
		}
	}
	return n
}

// answers returns how many answers had that status.
func (p *ruled) answers(status int) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.count[status]
}

// alike is the rule of a provider that answers everybody alike.
func alike(s step) func(time.Duration, int) step {
	return func(time.Duration, int) step { return s }
}

// bucketOf is the rule of a provider that rejects what comes faster than its token
// bucket fills.
func bucketOf(perSecond, burst float64, good, bad step) func(time.Duration, int) step {
	level, last := burst, time.Duration(0)
	return func(at time.Duration, _ int) step {
		level = min(burst, level+(at-last).Seconds()*perSecond)
		if last = at; level < 1 {
			return bad
		}
		level--
		return good
	}
}

// tally is what became of calls.
type tally struct {
	mu   sync.Mutex
	good int
	bad  map[string]int // by status or error
}

// add counts a call.
func (c *tally) add(status int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.bad == nil {
		c.bad = map[string]int{}
	}
	switch {
	case err != nil:
		c.bad[err.Error()]++
	case status != 200:
		c.bad[fmt.Sprint(status)]++
	default:
		c.good++
	}
}

// workers lets n callers call one after the other until d has passed.
func workers(t *testing.T, rt http.RoundTripper, n int, d time.Duration) *tally {
	t.Helper()
	var c tally
	var wg sync.WaitGroup
	start := time.Now()
	for range n {
		wg.Go(func() {
			for time.Since(start) < d {
				c.add(call(t, rt, t.Context(), "q"))
				time.Sleep(ms) // so that a refusal does not make the loop a hot one
			}
		})
	}
	wg.Wait()
	return &c
}

// perSecond makes calls at that rate for d, whatever becomes of those before.
func perSecond(t *testing.T, rt http.RoundTripper, n float64, d time.Duration) *tally {
	t.Helper()
	var c tally
	var wg sync.WaitGroup
	for range int(n * d.Seconds()) {
		wg.Go(func() { c.add(call(t, rt, t.Context(), "q")) })
		time.Sleep(time.Duration(float64(time.Second) / n))
	}
	wg.Wait()
	return &c
}

// chance returns a source of chance that is the same in every run.
func chance() func(share float64) bool {
	luck := rand.New(rand.NewPCG(7, 11))
	return func(share float64) bool { return luck.Float64() < share }
}

var (
	good     = step{status: 200, takes: 300 * ms}
	rejected = step{status: 429, takes: 40 * ms}
)

func TestCallsMadeOneAfterTheOtherNeverWaitForThePace(t *testing.T) {
	none := steady.WithRetry(steady.MaxAttempts(1))
	for _, test := range []struct {
		name  string
		every []int // statuses, in turn
		takes time.Duration
	}{
		{"answers at once", []int{200}, 0},
		{"answers that take their time", []int{200}, 700 * ms},
		{"all declined", []int{400}, 0},
		{"all not found", []int{404}, 30 * ms},
		{"all failed", []int{500}, 0},
		{"all failed after a while", []int{500}, 30 * ms},
		{"all overloaded", []int{529}, 0},
		{"some of each", []int{200, 500, 400, 200, 529}, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := 0
				p := newRuled(func(time.Duration, int) step {
					n++
					return step{status: test.every[n%len(test.every)], takes: test.takes}
				})
				heard := &events{}
				rt := must(t)(steady.New(steady.WithBase(p), neverTrips(), none, steady.WithObserver(heard)))
				for range 700 {
					if _, err := call(t, rt, t.Context(), "q"); err != nil {
						t.Fatal(err)
					}
				}
				if took, want := time.Since(p.start), 700*test.takes; took != want {
					t.Errorf("700 calls took %v, want %v", took, want)
				}
				if waits := of[steady.LimitWaited](heard); len(waits) != 0 {
					t.Errorf("%d calls waited, the first %+v", len(waits), waits[0])
				}
			})
		})
	}
}

func TestTenGoAtOnceAndTheOthersFollowEverFaster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newRuled(alike(step{status: 200, takes: 10 * time.Second})) // nothing is known meanwhile
		rt := must(t)(steady.New(steady.WithBase(p)))
		var wg sync.WaitGroup
		for range 200 {
			wg.Go(func() {
				if status, err := call(t, rt, t.Context(), "q"); status != 200 || err != nil {
					t.Errorf("got %d, %v", status, err)
				}
			})
		}
		wg.Wait()
		if got := p.seen(0, 1); got != 10 {
			t.Errorf("%d attempts at once, want 10", got)
		}
		for from, before := time.Duration(0), 0; from < 750*ms; from += 250 * ms {
			n := p.seen(max(from, 1), from+250*ms)
			if n <= before {
				t.Errorf("%d attempts in the quarter second from %v, after %d, want more", n, from, before)
			}
			before = n
		}
		if got := p.seen(0, 3*time.Second); got != 200 {
			t.Errorf("%d attempts in 3s, want all 200", got)
		}
	})
}

func TestAThousandCallsAtOnceLoseFewAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newRuled(bucketOf(45, 45, good, rejected))
		rt := must(t)(steady.New(steady.WithBase(p), steady.Patience(time.Minute)))
		var c tally
		var wg sync.WaitGroup
		for range 1000 {
			wg.Go(func() { c.add(call(t, rt, t.Context(), "q")) })
		}
		wg.Wait()
		lost, took := float64(p.answers(429))/float64(p.answers(200)), time.Since(p.start)
		t.Logf("%.3f rejected per success, in %v", lost, took)
		if c.good != 1000 {
			t.Errorf("%d calls succeeded, the others ended in %v", c.good, c.bad)
		}
		if lost >= 0.05 {
			t.Errorf("%.3f attempts rejected per success, want fewer than 0.05", lost)
		}
		if took > 25*time.Second { // 955 at 45 a second are 21.2s
			t.Errorf("it took %v, want little more than the 21s that the server needs", took)
		}
	})
}

var _ = slices.Contains[[]int]
var _ = strings.Contains
