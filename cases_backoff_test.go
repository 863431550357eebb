package steady_test

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/steadyhttp/steady"
)

// waitsOf makes n calls at once, whose attempts all fail in the same way,
// and returns when the k-th attempts came, counted from the end of the one
// before, for k from 2 to attempts.
func waitsOf(t *testing.T, n, attempts int, st step, opts ...steady.RetryOption) [][]time.Duration {
	t.Helper()
	waits := make([][]time.Duration, attempts+1)
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			base, start := play(st), time.Now()
			opts := append([]steady.RetryOption{steady.MaxAttempts(attempts), steady.Within(time.Hour)}, opts...)
			resp, err := steady.Retry(opts...)(base).RoundTrip(post(t, t.Context(), "q"))
			if err != nil {
				t.Error(err)
				return
			}
			read(t, resp)
			mu.Lock()
			defer mu.Unlock()
			last := time.Duration(0)
			for i, at := range base.times(start) {
				waits[i+1] = append(waits[i+1], at-last)
				last = at
			}
		})
	}
	wg.Wait()
	for k := 2; k <= attempts; k++ {
		if len(waits[k]) != n {
			t.Fatalf("%d calls had a %d. attempt, want %d", len(waits[k]), k, n)
		}
	}
	return waits
}

func TestRA6_RetryAfterIsSpreadAndNeverEarly(t *testing.T) {
	const calls, named = 500, 2 * time.Second
	for name, opts := range map[string][]steady.RetryOption{
		"below the longest wait":                 nil,
		"at the longest wait":                    {steady.MaxRetryAfter(named)},
		"at the longest backoff":                 {steady.Delays(time.Second, named)},
		"with a jitter of nothing for backoffs":  {steady.PlusMinus(0)},
		"with another jitter, which is not used": {steady.DecorrelatedJitter()},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				waits := waitsOf(t, calls, 2, step{status: 429, header: after("2")}, opts...)[2]
				slices.Sort(waits)
				if first, last := waits[0], waits[calls-1]; first < named || last > named*5/4 {
					t.Errorf("waits from %v to %v, want from 2s to 2.5s", first, last)
				}
				if spread := waits[calls-1] - waits[0]; spread < named/5 { // of the quarter that is documented
					t.Errorf("spread over %v, want 400ms at least", spread)
				}
				inOne := map[time.Duration]int{}
				for _, w := range waits {
					ms := w / time.Millisecond
					if inOne[ms]++; inOne[ms] > calls/20 {
						t.Fatalf("%d calls came in millisecond %d", inOne[ms], ms)
					}
				}
			})
		})
	}
}

func TestRA6_WithoutRetryAfterTheJitterIsFull(t *testing.T) {
	const calls = 1000
	synctest.Test(t, func(t *testing.T) {
		waits := waitsOf(t, calls, 4, step{status: 429}, steady.Delays(time.Second, 3*time.Second))
		for k, ceiling := range map[int]time.Duration{2: time.Second, 3: 2 * time.Second, 4: 3 * time.Second} {
			checkUniform(t, fmt.Sprintf("before attempt %d", k), waits[k], 0, ceiling)
		}
	})
}

// checkUniform reports an error unless waits fill [low, high] evenly. With 1000
// of them the limits are five standard deviations off.
func checkUniform(t *testing.T, name string, waits []time.Duration, low, high time.Duration) {
	t.Helper()
	if first, last := slices.Min(waits), slices.Max(waits); first < low || last > high {
		t.Errorf("%s: waits from %v to %v, want from %v to %v", name, first, last, low, high)
	}
	var quarter [4]int
	var sum float64
	for _, w := range waits {
		sum += w.Seconds()
		quarter[min(3, 4*(w-low)/(high-low))]++
	}
	if mean, want := sum/float64(len(waits)), (low+high).Seconds()/2; math.Abs(mean-want) > (high-low).Seconds()*0.05 {
		t.Errorf("%s: mean %.3fs, want %.3fs", name, mean, want)
	}
	for i, n := range quarter {
		if share := float64(n) / float64(len(waits)); share < 0.18 || share > 0.32 {
			t.Errorf("%s: quarter %d has %.0f%% of the waits", name, i+1, 100*share)
		}
	}
}

func TestJitters_AreWhatTheyAreSaidToBe(t *testing.T) {
	const calls, s = 1000, time.Second
	for _, tc := range []struct {
		name      string
		opt       steady.RetryOption
		low, high [5]time.Duration // of the waits before attempts 2 to 4
	}{
		{"FullJitter", steady.FullJitter(), [5]time.Duration{}, [5]time.Duration{2: s, 3: 2 * s, 4: 3 * s}},
		{"EqualJitter", steady.EqualJitter(), [5]time.Duration{2: s / 2, 3: s, 4: 3 * s / 2}, [5]time.Duration{2: s, 3: 2 * s, 4: 3 * s}},
		{"PlusMinus", steady.PlusMinus(0.25), [5]time.Duration{2: s * 3 / 4, 3: 2 * s * 3 / 4}, [5]time.Duration{2: s * 5 / 4, 3: 2 * s * 5 / 4}},
		{"DecorrelatedJitter", steady.DecorrelatedJitter(), [5]time.Duration{2: s}, [5]time.Duration{2: 3 * s}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				waits := waitsOf(t, calls, 4, step{status: 429}, steady.Delays(s, 3*s), tc.opt)
				for k := 2; k <= 4; k++ {
					if tc.high[k] != 0 {
						checkUniform(t, fmt.Sprintf("before attempt %d", k), waits[k], tc.low[k], tc.high[k])
					}
				}
			})
		})
	}
}

// PlusMinus never exceeds the longest delay, and its ends are reached.
func TestJitters_PlusMinusAtTheCap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		waits := waitsOf(t, 1000, 2, step{status: 429}, steady.Delays(time.Second, time.Second), steady.PlusMinus(1))[2]
		atCap := 0
		for _, w := range waits {
			if w < 0 || w > time.Second {
				t.Fatalf("waited %v, want at most the longest delay", w)
			}
			if w == time.Second {
				atCap++
			}
		}
		if atCap < 400 || atCap > 600 {
			t.Errorf("%d of 1000 waits at the cap, want about half", atCap)
		}
	})
}

// Each wait of DecorrelatedJitter is from the first delay to three times the
// wait before it.
func TestJitters_DecorrelatedFollowsTheWaitBefore(t *testing.T) {
	first, longest, reached := time.Second, 20*time.Second, false
	for range 200 {
		waits, err := steady.Waits(50, steady.Delays(first, longest), steady.DecorrelatedJitter())
		if err != nil {
			t.Fatal(err)
		}
		before := first
		for i, w := range waits {
			if w < first || w > min(longest, 3*before) {
				t.Fatalf("wait %d is %v after %v, want from %v to %v", i+1, w, before, first, min(longest, 3*before))
			}
			before, reached = w, reached || w > longest/2
		}
	}
	if !reached {
		t.Error("no wait was longer than half the longest delay")
	}
}

func TestRA6_ProcessesDoNotShareASequence(t *testing.T) {
	if os.Getenv("STEADY_TEST_WAITS") != "" {
		waits, err := steady.Waits(20)
		fmt.Println("waits:", waits, err)
		return
	}
	var outs [2]string
	for i := range outs {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestRA6_ProcessesDoNotShareASequence$", "-test.count=1")
		cmd.Env = append(os.Environ(), "STEADY_TEST_WAITS=1")
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(out)) {
			if strings.HasPrefix(line, "waits:") {
				outs[i] = line
			}
		}
		if !strings.Contains(outs[i], "s ") {
			t.Fatalf("the child printed %q", out)
		}
	}
	if outs[0] == outs[1] {
		t.Errorf("two processes have the same waits: %s", outs[0])
	}
}

func TestRA7_BackoffArithmeticAtTheEdges(t *testing.T) {
	const largest = time.Duration(math.MaxInt64)
	jitters := map[string]steady.RetryOption{
		"full": steady.FullJitter(), "equal": steady.EqualJitter(), "plus or minus 0": steady.PlusMinus(0),
		"plus or minus 1": steady.PlusMinus(1), "decorrelated": steady.DecorrelatedJitter(),
	}
	durations := []time.Duration{math.MinInt64, -1, 0, 1, ms - 1, ms, ms + 1, 100 * time.Millisecond, time.Hour, largest / 3, largest/2 + 1, largest - 1, largest}
	for name, jitter := range jitters {
		for _, first := range durations {
			for _, longest := range durations {
				opts := []steady.RetryOption{steady.Delays(first, longest), jitter}
				waits, err := steady.Waits(200, opts...)
				if wrong := first < ms || longest < first; wrong != (err != nil) {
					t.Errorf("%s, Delays(%d, %d): error %v, want one: %v", name, first, longest, err, wrong)
				}
				for i, w := range waits {
					if w < 0 || w > longest {
						t.Fatalf("%s, Delays(%d, %d): wait %d is %d", name, first, longest, i+1, w)
					}
				}
			}
		}
	}
}

// Without jitter the waits are the ceilings: each is twice the one before, until
// the longest.
func TestRA7_TheCeilingDoublesAndNeverFalls(t *testing.T) {
	for _, tc := range []struct{ first, longest time.Duration }{
		{ms, ms}, {ms, math.MaxInt64}, {100 * time.Millisecond, time.Minute}, {100 * time.Millisecond, math.MaxInt64}, {ms + 1, 1 << 62}, {time.Hour, time.Hour},
	} {
		waits, err := steady.Waits(200, steady.Delays(tc.first, tc.longest), steady.PlusMinus(0))
		if err != nil {
			t.Fatal(err)
		}
		want := tc.first
		for i, got := range waits {
			if got != want {
				t.Errorf("Delays(%d, %d): ceiling %d is %d, want %d", tc.first, tc.longest, i+1, got, want)
				break
			}
			if want > tc.longest/2 {
				want = tc.longest
			} else {
				want *= 2
			}
		}
	}
}

func TestRA7_NonsenseIsRefusedWhenTheStackIsBuilt(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, tc := range []struct {
		text string // that the error has
		opt  steady.RetryOption
	}{
		{"MaxAttempts(0)", steady.MaxAttempts(0)},
		{"MaxAttempts(-1)", steady.MaxAttempts(-1)},
		{"Delays(0s, 1s)", steady.Delays(0, time.Second)},
		{"Delays(2s, 1s)", steady.Delays(2*time.Second, time.Second)},
		{"Delays(1s, 0s)", steady.Delays(time.Second, 0)},
		{"Within(0s)", steady.Within(0)},
		{"Within(-1s)", steady.Within(-time.Second)},
		{"MaxRetryAfter(-1s)", steady.MaxRetryAfter(-time.Second)},
		{"RetryBudget(-1, 0)", steady.RetryBudget(-1, 0)},
		{"RetryBudget(0, -1)", steady.RetryBudget(0, -1)},
		{"RetryBudget(NaN, 0)", steady.RetryBudget(nan, 0)},
		{"RetryBudget(0, NaN)", steady.RetryBudget(0, nan)},
		{"RetryBudget(0, +Inf)", steady.RetryBudget(0, inf)},
		{"RetryBudget(+Inf, 0)", steady.RetryBudget(inf, 0)},
		{"UnknownResends(-1)", steady.UnknownResends(-1)},
		{"ReplayBuffer(-1)", steady.ReplayBuffer(-1)},
		{"PlusMinus(-0.1)", steady.PlusMinus(-0.1)},
		{"PlusMinus(1.1)", steady.PlusMinus(1.1)},
		{"PlusMinus(NaN)", steady.PlusMinus(nan)},
		{"WithKey(nil)", steady.WithKey(nil)},
	} {
		t.Run(tc.text, func(t *testing.T) {
			if _, err := steady.New(steady.WithRetry(tc.opt)); err == nil || !strings.Contains(err.Error(), "steady: "+tc.text) {
				t.Errorf("New: error %v, want one about %s", err, tc.text)
			}
			defer func() {
				if err, ok := recover().(error); !ok || !strings.Contains(err.Error(), tc.text) {
					t.Errorf("Retry: panic %v, want one about %s", err, tc.text)
				}
			}()
			steady.Retry(tc.opt)
		})
	}
}

// Two hundred attempts through the whole loop, whose counter is not ours.
func TestRA7_TwoHundredAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base, start := statuses(429), time.Now()
		rt := steady.Retry(steady.MaxAttempts(200), steady.Delays(time.Second, time.Minute), steady.PlusMinus(0),
			steady.Within(24*time.Hour), steady.RetryBudget(0, 1000))(base)
		resp, err := rt.RoundTrip(post(t, t.Context(), "q"))
		if err != nil {
			t.Fatal(err)
		}
		read(t, resp)
		if got := base.attempts(); got != 200 {
			t.Errorf("%d attempts, want 200", got)
		}
		if took, want := time.Since(start), (1+2+4+8+16+32)*time.Second+193*time.Minute; took != want {
			t.Errorf("took %v, want %v", took, want)
		}
	})
}

// A wait counts from the end of the attempt, however long its body hangs.
func TestAHangingErrorBodyDoesNotLengthenTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hanging := &hangingBody{closed: make(chan struct{})}
		base, start := play(step{status: 429, body: hanging}, step{status: 200}), time.Now()
		resp, err := steady.Retry(steadyWaits...)(base).RoundTrip(post(t, t.Context(), "q"))
		if err != nil || resp.StatusCode != 200 {
			t.Fatalf("got %v, %v", resp, err)
		}
		read(t, resp)
		if got, want := base.times(start)[1], time.Second; got != want {
			t.Errorf("second attempt at %v, want %v", got, want)
		}
	})
}

// hangingBody gives nothing until it is closed.
type hangingBody struct {
	closed chan struct{}
	once   sync.Once
}

func (b *hangingBody) Read([]byte) (int, error) {
	<-b.closed
	return 0, os.ErrClosed
}

func (b *hangingBody) Close() error {
	b.once.Do(func() { close(b.closed) })
	return nil
}
