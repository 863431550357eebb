package steady_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math"
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

// An invalid value of an option, and how its error begins.
type invalid struct {
	want  string
	new   steady.Option            // how New is given it
	layer func() steady.Middleware // how the layer is given it, if it can be
}

func invalidOptions() []invalid {
	var all []invalid
	retry := func(want string, o steady.RetryOption) {
		all = append(all, invalid{want, steady.WithRetry(o), func() steady.Middleware { return steady.Retry(o) }})
	}
	breaker := func(want string, o steady.BreakerOption) {
		all = append(all, invalid{want, steady.WithBreaker(o), func() steady.Middleware { return steady.Breaker(o) }})
	}
	limit := func(want string, perSecond float64, burst int, os ...steady.LimitOption) {
		all = append(all, invalid{want, steady.WithRateLimit(perSecond, burst, os...), func() steady.Middleware { return steady.RateLimit(perSecond, burst, os...) }})
	}
	attempt := func(want string, o steady.AttemptOption) {
		all = append(all, invalid{want, steady.WithTimeouts(o), func() steady.Middleware { return steady.Attempt(o) }})
	}
	only := func(want string, o steady.Option) { all = append(all, invalid{want, o, nil}) }
	nan, inf := math.NaN(), math.Inf(1)

	retry("MaxAttempts(0): ", steady.MaxAttempts(0))
	retry("MaxAttempts(-1): ", steady.MaxAttempts(-1))
	retry("Delays(0s, 1s): ", steady.Delays(0, time.Second))
	retry("Delays(-1s, 1s): ", steady.Delays(-time.Second, time.Second))
	retry("Delays(2s, 1s): ", steady.Delays(2*time.Second, time.Second))
	retry("Within(0s): ", steady.Within(0))
	retry("Within(-1ns): ", steady.Within(-1))
	retry("Delays(500ns, 30µs): ", steady.Delays(500, 30000))
	retry("Within(90ns): ", steady.Within(90))
	retry("MaxRetryAfter(60ns): ", steady.MaxRetryAfter(60))
	retry("MaxRetryAfter(-1s): ", steady.MaxRetryAfter(-time.Second))
	retry("RetryBudget(-0.1, 10): ", steady.RetryBudget(-0.1, 10))
	retry("RetryBudget(0.2, -1): ", steady.RetryBudget(0.2, -1))
	retry("RetryBudget(NaN, 10): ", steady.RetryBudget(nan, 10))
	retry("RetryBudget(0.2, NaN): ", steady.RetryBudget(0.2, nan))
	retry("RetryBudget(+Inf, 10): ", steady.RetryBudget(inf, 10))
	retry("RetryBudget(0.2, +Inf): ", steady.RetryBudget(0.2, inf))
	retry("UnknownResends(-1): ", steady.UnknownResends(-1))
	retry("ReplayBuffer(-1): ", steady.ReplayBuffer(-1))
	retry("PlusMinus(-0.1): ", steady.PlusMinus(-0.1))
	retry("PlusMinus(1.1): ", steady.PlusMinus(1.1))
	retry("PlusMinus(NaN): ", steady.PlusMinus(nan))
	retry("WithKey(nil): ", steady.WithKey(nil))

	breaker("TripAfter(0): ", steady.TripAfter(0))
	breaker("TripAfter(-1): ", steady.TripAfter(-1))
	breaker("TripRatio(0, 30s, 20): ", steady.TripRatio(0, 30*time.Second, 20))
	breaker("TripRatio(1.1, 30s, 20): ", steady.TripRatio(1.1, 30*time.Second, 20))
	breaker("TripRatio(NaN, 30s, 20): ", steady.TripRatio(nan, 30*time.Second, 20))
	breaker("TripRatio(0.5, 999ms, 20): ", steady.TripRatio(0.5, 999*time.Millisecond, 20))
	breaker("TripRatio(0.5, -1s, 20): ", steady.TripRatio(0.5, -time.Second, 20))
	breaker("TripRatio(0.5, 30s, 0): ", steady.TripRatio(0.5, 30*time.Second, 0))
	breaker("OpenFor(0s): ", steady.OpenFor(0))
	breaker("OpenFor(-1s): ", steady.OpenFor(-time.Second))
	breaker("OpenFor(1µs): ", steady.OpenFor(time.Microsecond))
	breaker("WithKey(nil): ", steady.WithKey(nil))

	limit("RateLimit(0, 1): ", 0, 1)
	limit("RateLimit(-1, 1): ", -1, 1)
	limit("RateLimit(NaN, 1): ", nan, 1)
	limit("RateLimit(1.7976931348623157e+308, 1): ", math.MaxFloat64, 1) // x/time's rate.Inf
	limit("RateLimit(1, 0): ", 1, 0)
	limit("RateLimit(1, -1): ", 1, -1)
	limit("InitialTokens(-1): ", 1, 5, steady.InitialTokens(-1))
	limit("InitialTokens(-7): ", 1, 5, steady.InitialTokens(-7))
	limit("InitialTokens(6): ", 1, 5, steady.InitialTokens(6))
	limit("MaxInFlight(-1): ", 1, 1, steady.MaxInFlight(-1))
	limit("MaxInFlight(0): ", 1, 1, steady.MaxInFlight(0))
	limit("TokensPerMinute(0): ", 1, 1, steady.TokensPerMinute(0))
	limit("TokensPerMinute(-1): ", 1, 1, steady.TokensPerMinute(-1))
	limit("TokensPerMinute(1000000000000): ", 1, 1, steady.TokensPerMinute(1e12))
	limit("MaxWait(-1s): ", 1, 1, steady.MaxWait(-time.Second))
	limit("Patience(-1s): ", 1, 1, steady.Patience(-time.Second))
	limit("MaxWait(3.6µs): ", 1, 1, steady.MaxWait(3600)) // forgotten units
	limit("Patience(30ns): ", 1, 1, steady.Patience(30))
	limit("WithKey(nil): ", 1, 1, steady.WithKey(nil))

	attempt("HeaderTimeout(-1s): ", steady.HeaderTimeout(-time.Second))
	attempt("FirstContent(-1s): ", steady.FirstContent(-time.Second))
	attempt("Idle(-1ns): ", steady.Idle(-1))
	attempt("FirstEvent(-2s): ", steady.FirstEvent(-2*time.Second))
	attempt("HeaderTimeout(600ns): ", steady.HeaderTimeout(600))
	attempt("FirstContent(600ns): ", steady.FirstContent(600))
	attempt("Idle(120ns): ", steady.Idle(120))
	attempt("FirstEvent(2µs): ", steady.FirstEvent(2000))
	attempt("WithKey(nil): ", steady.WithKey(nil))

	retry("an option is nil: ", nil)
	breaker("an option is nil: ", nil)
	limit("an option is nil: ", 1, 1, nil)
	attempt("an option is nil: ", nil)
	only("an option is nil: ", nil)
	only("an option is nil: ", steady.WithPace(nil))

	only("WithConcurrency(0): ", steady.WithConcurrency(0))
	only("WithConcurrency(-1): ", steady.WithConcurrency(-1))
	only("MaxWait(-2s): ", steady.MaxWait(-2*time.Second))
	only("Patience(-2s): ", steady.Patience(-2*time.Second))
	only("DialTimeout(10ns): ", steady.WithTimeouts(steady.DialTimeout(10)))
	only("DialTimeout(0s): ", steady.WithTimeouts(steady.DialTimeout(0)))
	only("TLSTimeout(-1s): ", steady.WithTimeouts(steady.TLSTimeout(-time.Second)))
	only("WithKey(nil): ", steady.WithKey(nil))
	return all
}

func TestNewNamesEachInvalidOptionAndItsValue(t *testing.T) {
	for _, o := range invalidOptions() {
		rt, err := steady.New(o.new)
		if err == nil {
			t.Errorf("%sno error", o.want)
			continue
		}
		if rt != nil {
			t.Errorf("%sa transport beside the error", o.want)
		}
		lines := strings.Split(err.Error(), "\n")
		if len(lines) != 1 || !strings.HasPrefix(lines[0], "steady: "+o.want) || len(lines[0]) < len("steady: "+o.want)+8 {
			t.Errorf("got %q, want one line that begins with %q and says why", err, "steady: "+o.want)
		}
	}
}

func TestALayerPanicsOnWhatNewReturns(t *testing.T) {
	for _, o := range invalidOptions() {
		if o.layer == nil {
			continue
		}
		_, want := steady.New(o.new)
		func() {
			defer func() {
				err, ok := recover().(error)
				if !ok || err.Error() != want.Error() {
					t.Errorf("%spanic %v, want the error of New, %v", o.want, err, want)
				}
			}()
			o.layer()
		}()
	}
}

func TestNewJoinsTheErrorsOfAllInvalidOptions(t *testing.T) {
	_, err := steady.New(
		steady.WithRetry(steady.MaxAttempts(0), steady.Within(0)), steady.WithBreaker(steady.OpenFor(0)),
		steady.WithRateLimit(0, 0, steady.MaxInFlight(-1)), steady.WithTimeouts(steady.HeaderTimeout(-1), steady.DialTimeout(0), steady.TLSTimeout(0)),
		steady.WithKey(nil),
	)
	if err == nil {
		t.Fatal("no error")
	}
	for _, name := range []string{
		"MaxAttempts(0)", "Within(0s)", "OpenFor(0s)", "RateLimit(0, 0)", "MaxInFlight(-1)",
		"HeaderTimeout(-1ns)", "DialTimeout(0s)", "TLSTimeout(0s)", "WithKey(nil)",
	} {
		if got := strings.Count(err.Error(), "steady: "+name+": "); got != 1 {
			t.Errorf("%s is named %d times, want once, in:\n%v", name, got, err)
		}
	}
	if _, ok := err.(interface{ Unwrap() []error }); !ok {
		t.Errorf("%T does not unwrap to a list", err)
	}
}

// What cannot both be meant is an error, in either order, and names both.
func TestOptionsThatContradictEachOtherAreAnError(t *testing.T) {
	three, five := steady.WithConcurrency(3), steady.WithRateLimit(45, 45, steady.MaxInFlight(5))
	for _, tt := range []struct {
		opts []steady.Option
		want string
	}{
		{[]steady.Option{three, five}, "WithConcurrency(3) and MaxInFlight(5): both limit the number in flight: give one of them"},
		{[]steady.Option{five, three}, "MaxInFlight(5) and WithConcurrency(3): both limit the number in flight: give one of them"},
		{[]steady.Option{steady.WithRetry(steady.EqualJitter()), steady.WithRetry(steady.PlusMinus(0.1))}, "EqualJitter and PlusMinus: both set the jitter: give one of them"},
		{[]steady.Option{steady.WithRetry(steady.DecorrelatedJitter(), steady.FullJitter())}, "DecorrelatedJitter and FullJitter: both set the jitter: give one of them"},
		{[]steady.Option{steady.WithPace(steady.NoPace(), steady.AdaptivePool())}, "NoPace and AdaptivePool: contradict each other: give one of them"},
		{[]steady.Option{steady.WithRateLimit(math.Inf(1), 0), steady.WithPace(steady.NoPace())}, "RateLimit(+Inf, 0): a rate of +Inf needs WithPace, TokensPerMinute or MaxInFlight beside it"},
	} {
		if _, err := steady.New(tt.opts...); err == nil || err.Error() != "steady: "+tt.want {
			t.Errorf("got %v, want %q", err, tt.want)
		}
	}
}

// Options can be laid on top of defaults of one's own.
func TestAnOptionThatIsGivenAgainReplacesItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := play(step{status: 500})
		rt := must(t)(steady.New(steady.WithBase(play(step{status: 200})), steady.WithBase(base), neverTrips(),
			steady.WithConcurrency(3), steady.WithConcurrency(5), steady.WithPace(steady.AdaptivePool()), steady.WithPace(steady.NoPace()),
			steady.WithRateLimit(1, 1), steady.WithRateLimit(100, 100),
			steady.WithRetry(steady.MaxAttempts(4), steady.PlusMinus(1)), steady.WithRetry(steady.MaxAttempts(3), steady.PlusMinus(0))))
		start := time.Now()
		if status, err := call(t, rt, t.Context(), "q"); status != 500 || err != nil || base.attempts() != 3 {
			t.Errorf("%d, %v after %d attempts, want the 500 of the third", status, err, base.attempts())
		}
		if took := time.Since(start); took != 1500*ms {
			t.Errorf("took %v, want 1.5s: 0.5s and 1s between the attempts", took)
		}
		jitters := steady.ContextWithRetry(steady.ContextWithRetry(t.Context(), steady.FullJitter()), steady.EqualJitter())
		if status, err := call(t, rt, jitters, "q"); status != 500 || err != nil {
			t.Errorf("%d, %v, want that the jitter of a request replaces the layer's", status, err)
		}
		both := steady.ContextWithRetry(t.Context(), steady.FullJitter(), steady.EqualJitter())
		if _, err := call(t, rt, both, "q"); err == nil || err.Error() != "steady: FullJitter and EqualJitter: both set the jitter: give one of them" {
			t.Errorf("%v, want both named", err)
		}
	})
}

func TestChainNamesTheLayerThatIsNil(t *testing.T) {
	defer func() {
		if got := fmt.Sprint(recover()); got != "steady: Chain: layer 1 is nil" {
			t.Errorf("panic %q", got)
		}
	}()
	steady.Chain(nil, steady.SDK(), nil, steady.Retry())
}

// What is wrong with a request is said before it waits, and all of it.
func TestInvalidOptionsOfARequestDoNotWaitInTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt := must(t)(steady.New(steady.WithBase(statuses(200)), steady.WithRateLimit(1, 1)))
		if status, err := call(t, rt, t.Context(), "q"); status != 200 || err != nil {
			t.Fatal(status, err)
		}
		start := time.Now()
		ctx := steady.ContextWithRetry(t.Context(), steady.MaxAttempts(0), steady.Within(-1), steady.RetryBudget(1, 1), steady.WithKey(steady.KeyByModel))
		_, err := call(t, rt, ctx, "q")
		for _, want := range []string{"MaxAttempts(0): ", "Within(-1ns): ", "RetryBudget: is the layer's", "WithKey: is the layer's"} {
			if err == nil || !strings.Contains(err.Error(), "steady: "+want) {
				t.Errorf("error %v, want one that names %q", err, want)
			}
		}
		if took := time.Since(start); took != 0 {
			t.Errorf("it waited %v", took)
		}
	})
}

func TestATimeoutOfTheDefaultBaseDoesNotGoWithAnother(t *testing.T) {
	for _, o := range []steady.TimeoutOption{steady.DialTimeout(time.Second), steady.TLSTimeout(time.Second)} {
		if _, err := steady.New(steady.WithBase(statuses(200)), steady.WithTimeouts(o)); err == nil || !strings.Contains(err.Error(), "WithBase") {
			t.Errorf("error %v, want one that names WithBase", err)
		}
		if _, err := steady.New(steady.WithTimeouts(o), steady.WithBase(nil)); err != nil {
			t.Errorf("error %v with a nil base", err)
		}
	}
}

func TestAnInvalidOptionOfOneRequestIsTheErrorOfThatRequest(t *testing.T) {
	for _, test := range []struct {
		option steady.RetryOption
		want   string
	}{
		{steady.MaxAttempts(0), "MaxAttempts(0)"},
		{steady.Within(-1), "Within(-1ns)"},
		{steady.RetryBudget(1, 1), "RetryBudget"},
		{steady.RetryBudget(math.NaN(), 10), "RetryBudget"},
		{steady.WithKey(steady.KeyByHost), "WithKey"}, // the budget is kept by the layer's key
		{steady.WithKey(nil), "WithKey"},
	} {
		base := statuses(200)
		rt := must(t)(steady.New(steady.WithBase(base)))
		body := spyOf("q")
		req := post(t, steady.ContextWithRetry(t.Context(), test.option), "")
		req.Body, req.GetBody = body, nil
		resp, err := rt.RoundTrip(req)
		if err == nil || resp != nil || !strings.HasPrefix(err.Error(), "steady: "+test.want) {
			t.Errorf("got %v, %v, want an error that names %s", resp, err, test.want)
		}
		if base.attempts() != 0 || body.closes() != 1 {
			t.Errorf("%s: %d attempts, body closed %d times, want none and once", test.want, base.attempts(), body.closes())
		}
	}
}

func TestANegativeCostIsTheErrorOfTheRequest(t *testing.T) {
	base := statuses(200)
	rt := must(t)(steady.New(steady.WithBase(base), steady.WithRateLimit(1, 1)))
	_, err := rt.RoundTrip(post(t, steady.ContextWithCost(t.Context(), -3), "q"))
	if err == nil || !strings.HasPrefix(err.Error(), "steady: ContextWithCost(-3): ") || base.attempts() != 0 {
		t.Errorf("error %v and %d attempts, want one that names ContextWithCost(-3), and none", err, base.attempts())
	}
}

func TestNilsThatMeanTheDefault(t *testing.T) {
	rt := must(t)(steady.New(steady.WithBase(nil), steady.WithObserver(nil), steady.WithRetry(), steady.WithBreaker(), steady.WithTimeouts()))
	rt.CloseIdleConnections()
	if steady.Chain(nil) == nil {
		t.Error("Chain(nil) is nil, want a default base")
	}
	synctest.Test(t, func(t *testing.T) {
		var heard events
		base := statuses(503, 503, 200)
		quiet := must(t)(steady.New(steady.WithBase(base), steady.WithObserver(&heard), steady.WithObserver(nil), steady.WithBreaker(steady.TripAfter(2))))
		resp, err := quiet.RoundTrip(post(t, t.Context(), "q"))
		if err != nil {
			t.Fatal(err)
		}
		read(t, resp)
		if len(heard.all) != 0 {
			t.Errorf("an observer that was replaced by nil heard %v", heard.all)
		}
	})
}

// Who reads the warnings hears of an outage once, and not of each probe that fails.
func TestLogToWarnsOfAnOutageOnce(t *testing.T) {
	var logged bytes.Buffer
	log := steady.LogTo(slog.New(slog.NewTextHandler(&logged, nil)))
	states := []string{"closed", "open", "half-open", "open", "half-open", "closed"}
	for i := range len(states) - 1 {
		log.Observe(t.Context(), steady.BreakerChanged{Key: "k", From: states[i], To: states[i+1]})
	}
	log.Observe(t.Context(), steady.PaceChanged{Key: "k", From: "search", To: "rate", Pace: 19.108999999999998})
	if got := strings.Count(logged.String(), "level=WARN"); got != 1 {
		t.Errorf("%d warnings, want 1:\n%s", got, &logged)
	}
	if !strings.Contains(logged.String(), "pace=19.11 ") {
		t.Errorf("the pace is not rounded:\n%s", &logged)
	}
}

// A provider that says one thing three times is quoted once.
func TestAnAnswerErrorSaysEachWordOnce(t *testing.T) {
	for _, tt := range []struct {
		err  steady.AnswerError
		want string
	}{
		{steady.AnswerError{Class: "quota_exhausted", Type: "insufficient_quota", Code: "insufficient_quota"}, "quota_exhausted (insufficient_quota)"},
		{steady.AnswerError{Class: "overloaded", Type: "overloaded", Code: "overloaded"}, "overloaded"},
		{steady.AnswerError{Class: "overloaded", Type: "server_error", Code: "busy"}, "overloaded (server_error) (busy)"},
		{steady.AnswerError{Class: "overloaded", Code: "busy"}, "overloaded (busy)"},
	} {
		if got, want := tt.err.Error(), "steady: the answer is an error: "+tt.want; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestLogToNilPanicsAtOnce(t *testing.T) {
	defer func() {
		if got, _ := recover().(string); !strings.Contains(got, "LogTo(nil)") {
			t.Errorf("panic %q, want one that names LogTo(nil)", got)
		}
	}()
	steady.LogTo(nil)
}

func TestNewAloneIsGood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt := must(t)(steady.New())
		if got := rt.State(); len(got) != 0 {
			t.Errorf("state %v before the first call, want none", got)
		}
		rt.CloseIdleConnections()
	})
}

// The boundary values next to the invalid ones are taken as they are.
func TestValidExtremes(t *testing.T) {
	for name, o := range map[string]steady.Option{
		"MaxAttempts(1)":          steady.WithRetry(steady.MaxAttempts(1)),
		"MaxAttempts(MaxInt)":     steady.WithRetry(steady.MaxAttempts(math.MaxInt)),
		"Delays(1ms, 1ms)":        steady.WithRetry(steady.Delays(ms, ms)),
		"Delays(max, max)":        steady.WithRetry(steady.Delays(math.MaxInt64, math.MaxInt64), steady.Within(math.MaxInt64)),
		"MaxRetryAfter(0)":        steady.WithRetry(steady.MaxRetryAfter(0)),
		"RetryBudget(0, 0)":       steady.WithRetry(steady.RetryBudget(0, 0)),
		"UnknownResends(0)":       steady.WithRetry(steady.UnknownResends(0)),
		"ReplayBuffer(0)":         steady.WithRetry(steady.ReplayBuffer(0)),
		"PlusMinus(1)":            steady.WithRetry(steady.PlusMinus(1)),
		"TripRatio(1, 1s, 1)":     steady.WithBreaker(steady.TripRatio(1, time.Second, 1)),
		"OpenFor(1ms)":            steady.WithBreaker(steady.OpenFor(time.Millisecond)),
		"RateLimit(tiny, 1)":      steady.WithRateLimit(math.SmallestNonzeroFloat64, 1),
		"InitialTokens(0)":        steady.WithRateLimit(1, 1, steady.InitialTokens(0)),
		"Patience(0), MaxWait(0)": steady.WithRateLimit(1, 1, steady.Patience(0), steady.MaxWait(0)),
		"HeaderTimeout(0)":        steady.WithTimeouts(steady.HeaderTimeout(0)),
		"FirstEvent(0), Idle(0)":  steady.WithTimeouts(steady.FirstEvent(0), steady.Idle(0), steady.FirstContent(0)),
		"no rate, but the pace":   steady.WithRateLimit(math.Inf(1), 0),
	} {
		if _, err := steady.New(o); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What options do must not hang on their order. Each order plays the same
// scenario, in which every option shows, to an observer that writes it all down.
func TestTheOrderOfOptionsDoesNotMatter(t *testing.T) {
	want := ""
	for seed := range uint64(24) {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			var mu sync.Mutex
			var heard []string
			options := []steady.Option{
				steady.WithBase(play(step{status: 503, takes: time.Second}, step{status: 503}, step{status: 200, takes: 40 * time.Second}, step{status: 200})),
				steady.WithRateLimit(1, 2),
				steady.WithConcurrency(1),
				steady.WithBreaker(steady.TripAfter(2), steady.OpenFor(7*time.Second)),
				steady.WithRetry(steady.MaxAttempts(3), steady.Delays(time.Second, time.Minute), steady.PlusMinus(0)),
				steady.WithTimeouts(steady.HeaderTimeout(20 * time.Second)),
				steady.WithKey(func(req *http.Request) string { return "k" + req.URL.Path }),
				steady.Patience(50 * time.Second),
				steady.MaxWait(70 * time.Second),
				steady.WithObserver(steady.ObserverFunc(func(_ context.Context, e steady.Event) {
					mu.Lock()
					defer mu.Unlock()
					heard = append(heard, fmt.Sprintf("%v %T%+v", time.Since(start), e, e))
				})),
			}
			r := rand.New(rand.NewPCG(seed, 0))
			r.Shuffle(len(options), func(i, j int) { options[i], options[j] = options[j], options[i] })
			rt := must(t)(steady.New(options...))
			var wg sync.WaitGroup
			for range 4 {
				wg.Go(func() {
					if resp, err := rt.RoundTrip(post(t, t.Context(), "q")); err == nil {
						read(t, resp)
					}
				})
				synctest.Wait()
			}
			wg.Wait()
			slices.Sort(heard) // those of one moment come in any order
			got := strings.Join(heard, "\n")
			if want == "" {
				want = got
				if len(heard) < 10 {
					t.Errorf("the scenario shows too little:\n%s", got)
				}
			}
			if got != want {
				t.Errorf("seed %d: got\n%s\nwant\n%s", seed, got, want)
			}
		})
	}
}

// An option value can be given to several stacks, which share nothing by it.
func TestOptionsCanBeReused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		options := []steady.Option{steady.WithRateLimit(1, 1), steady.WithKey(steady.KeyByHost), steady.Patience(0)}
		for i := range 2 {
			rt := must(t)(steady.New(append([]steady.Option{steady.WithBase(statuses(200))}, options...)...))
			resp, err := rt.RoundTrip(post(t, t.Context(), "q"))
			if err != nil {
				t.Fatalf("stack %d: %v", i+1, err)
			}
			read(t, resp)
		}
	})
}
