package steady_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
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

// become gives p another rule.
func (p *ruled) become(rule func(time.Duration, int) step) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rule = rule
}

// alike is the rule of a provider that answers everybody alike.
func alike(s step) func(time.Duration, int) step {
	return func(time.Duration, int) step { return s }
}

// bucketOf is the rule of a provider that rejects what comes faster than its token
// bucket fills. A rejection, too, costs it some of a token.
func bucketOf(perSecond, burst, cost float64, good, bad step) func(time.Duration, int) step {
	level, last := burst, time.Duration(0)
	return func(at time.Duration, _ int) step {
		level = min(burst, level+(at-last).Seconds()*perSecond)
		if last = at; level < 1 {
			level = max(0, level-cost)
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
	case errors.Is(err, steady.ErrRateLimited):
		c.bad["rate limited"]++
	case errors.Is(err, steady.ErrBreakerOpen):
		c.bad["breaker open"]++
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

// atRandom makes calls at random until then, gap apart on average, and hands each that has
// ended to ended, one after the other.
func atRandom(t *testing.T, rt http.RoundTripper, luck *rand.Rand, gap time.Duration, until time.Time, ended func(began time.Time, failed bool)) {
	t.Helper()
	var mu sync.Mutex
	var wg sync.WaitGroup
	for time.Now().Before(until) {
		wg.Go(func() {
			began := time.Now()
			status, err := call(t, rt, t.Context(), question)
			mu.Lock()
			defer mu.Unlock()
			ended(began, err != nil || status != 200)
		})
		time.Sleep(time.Duration(luck.ExpFloat64() * float64(gap)))
	}
	wg.Wait()
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
		p := newRuled(bucketOf(45, 45, 0, good, rejected))
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
		if lost > 0.032 {
			t.Errorf("%.3f attempts rejected per success, want at most 0.032", lost)
		}
		if took > 25*time.Second { // 955 at 45 a second are 21.2s
			t.Errorf("it took %v, want little more than the 21s that the server needs", took)
		}
	})
}

// BU1 with the pace: what the queue paces, the budget need not bound.
func TestBU1_TheBudgetPaysForWhatThePaceDoesNot(t *testing.T) {
	for _, test := range []struct {
		status int
		header http.Header
		paid   bool // from the budget
	}{
		{429, nil, false},
		{429, after("1"), false},
		{500, nil, true},
		{502, nil, true},
		{503, nil, true},
		{529, nil, true},
	} {
		t.Run(fmt.Sprint(test.status, test.header), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newRuled(func(time.Duration, int) step { return step{status: test.status, header: test.header} })
				rt := must(t)(steady.New(steady.WithBase(p), neverTrips(),
					steady.WithRetry(steady.RetryBudget(0, 0), steady.MaxAttempts(2))))
				for range 5 {
					if status, err := call(t, rt, t.Context(), "q"); status != test.status || err != nil {
						t.Errorf("got %d, %v", status, err)
					}
				}
				want := 10.0
				if test.paid {
					want = 5
				}
				if got := budgetOf(t, rt); got != want {
					t.Errorf("5 re-sends after %d left %v in a budget of 10, want %v", test.status, got, want)
				}
			})
		})
	}
}

// Without the pace a 429 is paid for like any other failure.
func TestBU1_WithoutThePaceARejectionIsPaidFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt := must(t)(steady.New(steady.WithBase(statuses(429)), steady.WithPace(steady.NoPace()),
			steady.WithRetry(steady.RetryBudget(0, 0), steady.MaxAttempts(2))))
		if status, err := call(t, rt, t.Context(), "q"); status != 429 || err != nil {
			t.Errorf("got %d, %v", status, err)
		}
		if got := budgetOf(t, rt); got != 9 {
			t.Errorf("%v left of 10, want 9", got)
		}
	})
}

// brownout is the rule of a provider that answers a share of the attempts with 529,
// by chance, from the tenth second on: three in ten, and after five seconds share.
func brownout(share float64) func(time.Duration, int) step {
	luck := rand.New(rand.NewPCG(7, 11))
	return func(at time.Duration, _ int) step {
		now := share
		switch {
		case at < 10*time.Second:
			now = 0
		case at < 15*time.Second:
			now = min(share, 0.3)
		}
		if luck.Float64() < now {
			return step{status: 529, takes: 40 * ms}
		}
		return good
	}
}

// In a brown-out that slowing down does not help, re-sends are no burden that a
// budget would have to bound, and without them calls would fail.
func TestBU1_ABrownOutThatIsChanceCostsTheBudgetNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newRuled(brownout(0.3))
		rt := must(t)(steady.New(steady.WithBase(p), steady.WithRetry(steady.RetryBudget(0, 0)))) // 10 for ever
		c := perSecond(t, rt, 100, 70*time.Second)
		t.Logf("%d calls succeeded, the others ended in %v, of %d attempts", c.good, c.bad, len(p.at))
		if n := c.bad["529"]; n > 400 { // without re-sends 1800 would
			t.Errorf("%d of 7000 calls ended in 529", n)
		}
	})
}

// The breaker beside the pace.

func TestFiveOverloadAnswersInARowOpenTheBreaker(t *testing.T) {
	for _, status := range []int{503, 529, 500} {
		synctest.Test(t, func(t *testing.T) {
			base := statuses(status)
			rt := must(t)(steady.New(steady.WithBase(base), steady.WithRetry(steady.MaxAttempts(1)), steady.Patience(0)))
			for i := range 5 {
				if got, err := call(t, rt, t.Context(), "q"); got != status || err != nil {
					t.Errorf("call %d: %d, %v", i+1, got, err)
				}
			}
			if _, err := call(t, rt, t.Context(), "q"); !errors.Is(err, steady.ErrBreakerOpen) || base.attempts() != 5 {
				t.Errorf("after five times %d: %v, and %d attempts", status, err, base.attempts())
			}
		})
	}
}

func TestABrownOutDoesNotOpenTheBreakerAndATotalOutageAfterItDoes(t *testing.T) {
	for _, share := range []float64{0.3, 0.6} {
		t.Run(fmt.Sprint(share), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const down = 90 * time.Second
				partly := brownout(share)
				p := newRuled(func(at time.Duration, busy int) step {
					if at >= down {
						return step{status: 529, takes: 40 * ms}
					}
					return partly(at, busy)
				})
				heard := &events{}
				rt := must(t)(steady.New(steady.WithBase(p), steady.WithObserver(heard), steady.Patience(10*time.Second)))
				c := perSecond(t, rt, 100, 70*time.Second)
				t.Logf("%d calls succeeded, the others ended in %v", c.good, c.bad)
				if changes := of[steady.BreakerChanged](heard); len(changes) != 0 || c.bad["breaker open"] > 0 {
					t.Errorf("the breaker went %v in the brown-out", changes)
				}
				if n := c.bad["529"]; n > 600 { // six attempts fail for one call in 21, or in 1372
					t.Errorf("%d of 7000 calls ended in 529", n)
				}
				time.Sleep(time.Until(p.start.Add(down)))
				go perSecond(t, rt, 100, 30*time.Second)
				for llmBreaker(rt) == "closed" && time.Since(p.start) < down+30*time.Second {
					time.Sleep(10 * ms)
				}
				n := p.seen(down, time.Hour)
				t.Logf("%d attempts of the total outage in %v, until the breaker was %s", n, time.Since(p.start)-down, llmBreaker(rt))
				if llmBreaker(rt) == "closed" || n > 120 {
					t.Errorf("the breaker is %s after %d attempts of a total outage", llmBreaker(rt), n)
				}
				time.Sleep(2 * time.Minute)
			})
		})
	}
}

// The calls of a provider that takes long to answer end long after the refusals that
// came before them. Its limit, met now and then, is no outage.
func TestALimitThatIsMetWhileAnswersTakeLongDoesNotOpenTheBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit = 19
		p := newRuled(bucketOf(limit, 5, 0.8, step{status: 200, takes: 8 * time.Second}, step{status: 529, takes: 40 * ms}))
		opened := steady.ObserverFunc(func(_ context.Context, e steady.Event) {
			if e, ok := e.(steady.BreakerChanged); ok && e.To == "open" && time.Since(p.start) > 10*time.Second { // the limit is known by then
				t.Errorf("the breaker opened after %v", time.Since(p.start))
			}
		})
		rt := must(t)(steady.New(steady.WithBase(p), steady.WithObserver(opened), steady.Patience(time.Minute)))
		c := perSecond(t, rt, 25, 3*time.Minute)
		if c.good < 0.95*limit*180 {
			t.Errorf("%d calls succeeded, the others ended in %v", c.good, c.bad)
		}
		time.Sleep(time.Minute)
	})
}

// At the beginning of a brown-out a run of failures may open the breaker after all,
// which takes it for an outage. It does not do so again and again.
func TestABreakerThatABrownOutHasOpenedLearnsOfIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		p := newRuled(func(time.Duration, int) step {
			if n++; n%7 == 6 { // the first five fail, and then six in seven
				return step{status: 200}
			}
			return step{status: 529}
		})
		heard := &events{}
		rt := must(t)(steady.New(steady.WithBase(p), steady.WithObserver(heard), steady.WithRetry(steady.MaxAttempts(1))))
		for range 200 {
			call(t, rt, t.Context(), "q")
		}
		opened := 0
		for _, e := range of[steady.BreakerChanged](heard) {
			if e.From == "closed" {
				opened++
			}
		}
		t.Logf("opened %d times in %v", opened, time.Since(p.start))
		if opened == 0 || opened > 3 {
			t.Errorf("the breaker opened %d times, want once or twice", opened)
		}
	})
}

// Who has said when the breaker is to open is taken at their word.
func TestABreakerWithLimitsOfItsOwnCountsOverloadAnswers(t *testing.T) {
	for _, test := range []struct {
		name  string
		share float64 // that is answered with 529
		opts  []steady.Option
	}{
		{"TripAfter", 0.6, []steady.Option{steady.WithBreaker(steady.TripAfter(4))}},
		{"TripRatio", 0.6, []steady.Option{steady.WithBreaker(steady.TripRatio(0.5, 30*time.Second, 20))}},
		{"without the pace", 0.9, []steady.Option{steady.WithPace(steady.NoPace())}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newRuled(brownout(test.share))
				heard := &events{}
				rt := must(t)(steady.New(append(test.opts, steady.WithBase(p), steady.WithObserver(heard))...))
				perSecond(t, rt, 100, 30*time.Second)
				if changes := of[steady.BreakerChanged](heard); len(changes) == 0 {
					t.Errorf("the breaker did not open in 15s in which %v of the answers were 529", test.share)
				}
			})
		})
	}
}

// Whoever holds the queue, those who wait see the same: one probe at a time while it
// lasts, no attempt beside it, a gathering of pace when it is over, and then no other
// hold for the same outage.
func TestAHoldIsTheSameWhoeverHolds(t *testing.T) {
	for _, status := range []int{429, 503, 500} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const down, up = 10 * time.Second, 25 * time.Second
				out, most := 0, 0 // attempts under way in the hold
				var mu sync.Mutex
				p := newRuled(func(at time.Duration, _ int) step {
					if at >= down && at < up {
						return step{status: status, takes: 200 * ms}
					}
					return good
				})
				base := roundTripFunc(func(req *http.Request) (*http.Response, error) {
					mu.Lock()
					out++
					if at := time.Since(p.start); at > down+3*time.Second && at < up {
						most = max(most, out)
					}
					mu.Unlock()
					defer func() {
						mu.Lock()
						out--
						mu.Unlock()
					}()
					return p.RoundTrip(req)
				})
				rt := must(t)(steady.New(steady.WithBase(base), steady.Patience(time.Minute)))
				c := workers(t, rt, 30, 40*time.Second)
				held := p.seen(down+3*time.Second, up)
				t.Logf("%d attempts in the hold, and then %d in 3s and %d in 3s; %d good, %v", held, p.seen(up, up+3*time.Second), p.seen(up+3*time.Second, up+6*time.Second), c.good, c.bad)
				if most != 1 {
					t.Errorf("up to %d attempts under way in the hold, want one at a time", most)
				}
				if held < 4 || held > 12 {
					t.Errorf("%d attempts in the last 12s of the outage, want a probe in about 2s", held)
				}
				if n := p.seen(up+5*time.Second, up+8*time.Second); n < 150 {
					t.Errorf("%d attempts in the 3s after that, want about the 300 of before the outage", n)
				}
				if n := p.seen(up, up+5*time.Second); n < 50 { // the probe may be one of 2.4s later
					t.Errorf("%d attempts in the 5s after the outage, want the calls resumed", n)
				}
				p.mu.Lock()
				defer p.mu.Unlock()
				probed := time.Duration(0)
				for i, at := range p.at {
					switch {
					case at < up || at > 38*time.Second:
					case probed == 0:
						probed = at
					case at > probed+good.takes && at-max(p.at[i-1], probed+good.takes) > 1200*ms:
						t.Errorf("no attempt from %v to %v, after the outage", p.at[i-1], at)
					case at < probed+good.takes:
						t.Errorf("an attempt at %v beside the probe of %v", at, probed)
					}
				}
				if len(c.bad) > 0 {
					t.Errorf("calls ended in %v, want none of them lost: to be the probe costs nothing", c.bad)
				}
			})
		})
	}
}

// The pace is an option of RateLimit alone, too, and one for each key.
func TestThePaceOfALayerAloneIsKeptPerKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow, quick := bucketOf(5, 5, 0, good, rejected), alike(good)
		sent := map[string]int{}
		start := time.Now()
		var mu sync.Mutex
		base := roundTripFunc(func(req *http.Request) (*http.Response, error) {
			b, _ := io.ReadAll(req.Body)
			req.Body.Close()
			model, rule := "quick", quick
			if strings.Contains(string(b), "slow") {
				model, rule = "slow", slow
			}
			mu.Lock()
			sent[model]++
			s := rule(time.Since(start), 0)
			if s.status == 429 && time.Since(start) > 20*time.Second {
				sent[model+" rejected"]++
			}
			mu.Unlock()
			time.Sleep(s.takes)
			return respond(req, s.status, nil, nil), nil
		})
		rt := steady.Chain(base, steady.RateLimit(200, 20, steady.WithPace(), steady.WithKey(steady.KeyByModel), steady.MaxWait(time.Hour)))
		var wg sync.WaitGroup
		for _, model := range []string{"slow", "quick"} {
			for range 30 {
				wg.Go(func() {
					for time.Since(start) < time.Minute {
						if _, err := call(t, rt, t.Context(), fmt.Sprintf(`{"model":%q,"messages":[]}`, model)); err != nil {
							t.Error(err)
						}
					}
				})
			}
		}
		wg.Wait()
		t.Log(sent)
		if full := 30 * 200; sent["quick"] < full*9/10 {
			t.Errorf("%d calls to the quick model, want nearly %d: the pace of the other is not its own", sent["quick"], full)
		}
		if n := sent["slow rejected"]; n > 200 { // as many as it answers; without the pace it is 7800
			t.Errorf("%d calls to the slow model rejected in the last 40s", n)
		}
	})
}

func TestALayerWithoutARateHasItsOtherLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		none := math.Inf(1)
		for _, tt := range []struct {
			name  string
			limit steady.Middleware
			first int // of 50 calls, how many go at once
		}{
			{"the pace", steady.RateLimit(none, 0, steady.WithPace()), 10},
			{"the adaptive pool", steady.RateLimit(none, 0, steady.WithPace(steady.AdaptivePool())), 16},
			{"the number in flight", steady.RateLimit(none, 0, steady.MaxInFlight(3)), 3},
			{"the tokens of the model", steady.RateLimit(none, 0, steady.TokensPerMinute(1e9)), 50},
		} {
			p := newRuled(alike(good))
			rt := steady.Chain(p, tt.limit)
			var wg sync.WaitGroup
			for range 50 {
				wg.Go(func() {
					if status, err := call(t, rt, t.Context(), "q"); status != 200 || err != nil {
						t.Errorf("%s: %d, %v", tt.name, status, err)
					}
				})
			}
			synctest.Wait()
			if got := p.seen(0, 1); got != tt.first {
				t.Errorf("%s: %d went at once, want %d", tt.name, got, tt.first)
			}
			wg.Wait()
		}
	})
}

// A pace that was not asked for does nothing.
func TestRateLimitAloneHasNoPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newRuled(alike(rejected))
		rt := steady.Chain(p, steady.RateLimit(1000, 1000))
		var wg sync.WaitGroup
		for range 500 {
			wg.Go(func() { call(t, rt, t.Context(), "q") })
		}
		wg.Wait()
		if got := p.seen(0, 1); got != 500 {
			t.Errorf("%d attempts at once, want all 500", got)
		}
	})
}

// A layer alone has no breaker to tell it of outages, and must not take for one what
// is about the requests or by their callers.
func TestDeclinedAndCancelledCallsHoldNobodyInALayerAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newRuled(alike(step{status: 400, takes: 20 * ms}))
		rt := steady.Chain(p, steady.RateLimit(1000, 1000, steady.WithPace()))
		for range 300 {
			call(t, rt, t.Context(), "q")
		}
		p.become(alike(step{status: 200, takes: time.Second}))
		for range 300 {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(20*ms, cancel)
			call(t, rt, ctx, "q")
		}
		if took := time.Since(p.start); took != 12*time.Second {
			t.Errorf("300 declined and 300 cancelled calls of 20ms took %v, want 12s", took)
		}
		if len(p.at) != 600 {
			t.Errorf("%d attempts, want all 600 calls sent", len(p.at))
		}
	})
}

// While the pace holds, whoever cannot wait until the time that the provider has
// named is refused at once, also behind one who can.
func TestACallThatCannotWaitInAHoldOfThePaceIsRefusedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newRuled(alike(step{status: 429, header: after("20"), takes: 10 * ms}))
		rt := must(t)(steady.New(steady.WithBase(p), steady.Patience(time.Minute), steady.WithRetry(steady.MaxAttempts(1))))
		for range 30 { // until it holds
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			_, err := call(t, rt, ctx, "q")
			if cancel(); err != nil {
				break
			}
		}
		p.become(alike(good))
		var wg sync.WaitGroup
		wg.Go(func() {
			if status, err := call(t, rt, t.Context(), "patient"); status != 200 || err != nil {
				t.Errorf("a patient call: %d, %v", status, err)
			}
		})
		synctest.Wait()
		start, sent := time.Now(), p.seen(0, time.Hour)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		_, err := call(t, rt, ctx, "q")
		limited, ok := errors.AsType[*steady.LimitError](err)
		if !ok || !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 0 {
			t.Errorf("%v after %v, want a refusal at once", err, time.Since(start))
		} else if limited.Wait < 10*time.Second || limited.Wait > 25*time.Second {
			t.Errorf("the refusal says %v, want the time until the next probe, about 20s", limited.Wait)
		}
		if n := p.seen(0, time.Hour); n != sent {
			t.Errorf("%d attempts while it holds", n-sent)
		}
		wg.Wait()
	})
}
