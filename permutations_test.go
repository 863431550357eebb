package steady_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/steadyhttp/steady"
)

// order is the names of some layers, outermost first.
type order []string

func (o order) String() string { return strings.Join(o, ">") }

func (o order) at(name string) int {
	for i, n := range o {
		if n == name {
			return i
		}
	}
	return -1
}

func (o order) has(name string) bool { return o.at(name) >= 0 }

// orders returns every order of every subset of the three layers, each with and
// without Attempt inside them all.
func orders() (all []order) {
	names := []string{"RateLimit", "Breaker", "Retry"}
	var extend func(o order)
	extend = func(o order) {
		if len(o) > 0 {
			all = append(all, o, append(o[:len(o):len(o)], "Attempt"))
		}
		for _, n := range names {
			if !o.has(n) {
				extend(append(o[:len(o):len(o)], n))
			}
		}
	}
	extend(nil)
	return all
}

// The layers of the table: a bucket of 10 tokens that hardly fills, a breaker
// that opens after 4 failures for an hour, 3 attempts a second apart.
const (
	permTokens   = 10
	permTrip     = 4
	permAttempts = 3
)

func (o order) stack(base http.RoundTripper, heard *events) http.RoundTripper {
	watch := steady.WithObserver(heard)
	var layers []steady.Middleware
	for _, name := range o {
		switch name {
		case "RateLimit":
			layers = append(layers, steady.RateLimit(1e-6, permTokens, steady.MaxInFlight(1), steady.MaxWait(0), watch))
		case "Breaker":
			layers = append(layers, steady.Breaker(steady.TripAfter(permTrip), steady.OpenFor(time.Hour), watch))
		case "Retry":
			layers = append(layers, steady.Retry(steady.MaxAttempts(permAttempts), steady.Delays(time.Second, time.Second), steady.PlusMinus(0), watch))
		case "Attempt":
			layers = append(layers, steady.Attempt(watch))
		}
	}
	return steady.Chain(base, layers...)
}

// forEachOrder runs test in a bubble for each order.
func forEachOrder(t *testing.T, test func(t *testing.T, o order)) {
	if got, want := len(orders()), 2*(3+6+6); got != want {
		t.Fatalf("%d orders, want %d", got, want)
	}
	for _, o := range orders() {
		t.Run(o.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, o) })
		})
	}
}

// attemptsOf returns how many attempts a call has of which all fail alike.
func (o order) attemptsOf() int {
	if o.has("Retry") {
		return permAttempts
	}
	return 1
}

// tokensLeft drains the limiter and returns how many attempts it let through.
func tokensLeft(t *testing.T, rt http.RoundTripper, base *answers) int {
	t.Helper()
	base.status = 200
	before := base.n
	for range permTokens + 1 {
		if _, err := call(t, rt, t.Context(), "question"); errors.Is(err, steady.ErrRateLimited) {
			break
		}
		time.Sleep(10 * time.Second) // for New's ramp after a hold
	}
	return base.n - before
}

// answers is a base that answers with its status, or its error, and counts.
type answers struct {
	status int
	err    error
	n      int
}

func (a *answers) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		b, _ := io.ReadAll(req.Body)
		req.Body.Close()
		if string(b) != "question" {
			return nil, fmt.Errorf("the request body is %q", b)
		}
	}
	a.n++
	if a.err != nil {
		return nil, a.err
	}
	return respond(req, a.status, nil, nil), nil
}

// In each order every attempt is paid for, whether the limiter stands inside
// Retry, where it sees each, or outside, where it has registered a gate.
func TestInEachOrderEachAttemptPaysTheLimiter(t *testing.T) {
	forEachOrder(t, func(t *testing.T, o order) {
		base := &answers{status: 429}
		rt := o.stack(base, &events{})
		if status, body, err := ask(t, rt, t.Context(), "question"); status != 429 || body != "Too Many Requests" {
			t.Fatalf("got %d %q, %v, want the last 429, whole", status, body, err)
		}
		if base.n != o.attemptsOf() {
			t.Errorf("%d attempts, want %d", base.n, o.attemptsOf())
		}
		if !o.has("RateLimit") {
			return
		}
		if got, want := tokensLeft(t, rt, base), permTokens-o.attemptsOf(); got != want {
			t.Errorf("%d tokens left, want %d", got, want)
		}
	})
}

// In each order every attempt is judged: the breaker opens at its fourth
// failure, be that the second attempt of the second call or the fourth call.
func TestInEachOrderEachAttemptIsJudgedByTheBreaker(t *testing.T) {
	forEachOrder(t, func(t *testing.T, o order) {
		base := &answers{status: 503}
		var heard events
		rt := o.stack(base, &heard)
		for base.n < permTrip {
			if status, body, err := ask(t, rt, t.Context(), "question"); status != 503 || body != "Service Unavailable" {
				t.Fatalf("got %d %q, %v, want a 503, whole", status, body, err)
			}
		}
		if !o.has("Breaker") {
			return
		}
		if base.n != permTrip {
			t.Errorf("%d attempts, want %d: the breaker refuses the fifth", base.n, permTrip)
		}
		if got := of[steady.BreakerChanged](&heard); len(got) != 1 || got[0].To != "open" {
			t.Errorf("the breaker went through %v, want open once", got)
		}
		began := time.Now()
		_, err := call(t, rt, t.Context(), "question")
		if !errors.Is(err, steady.ErrBreakerOpen) || base.n != permTrip {
			t.Errorf("error %v after %d attempts, want ErrBreakerOpen and no other attempt", err, base.n)
		}
		if e, ok := errors.AsType[*steady.RetryError](err); ok {
			t.Errorf("a refusal before any attempt is a %T of %d attempts, want it as it is", e, e.Attempts)
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("a refusal took %v: it was retried", took)
		}
		retried := of[steady.RetryScheduled](&heard)
		for _, r := range retried {
			if r.Outcome == "refused" {
				t.Errorf("a refusal was retried: %+v", r)
			}
		}
	})
}

// A call that the breaker refuses costs no token, whichever stands outside.
func TestInEachOrderARefusalOfTheBreakerCostsNoToken(t *testing.T) {
	forEachOrder(t, func(t *testing.T, o order) {
		if !o.has("Breaker") || !o.has("RateLimit") {
			return
		}
		base := &answers{status: 503}
		rt := o.stack(base, &events{})
		for base.n < permTrip {
			_, _ = call(t, rt, t.Context(), "question")
		}
		for range 20 {
			if _, err := call(t, rt, t.Context(), "question"); !errors.Is(err, steady.ErrBreakerOpen) {
				t.Fatalf("error %v, want ErrBreakerOpen", err)
			}
		}
		time.Sleep(time.Hour)
		if got, want := tokensLeft(t, rt, base), permTokens-permTrip; got != want {
			t.Errorf("%d tokens left, want %d", got, want)
		}
	})
}

// A call that the limiter refuses is no attempt: the breaker hears nothing of
// it, Retry does not repeat it, and what the provider said last is kept.
func TestInEachOrderARefusalOfTheLimiterIsFinal(t *testing.T) {
	forEachOrder(t, func(t *testing.T, o order) {
		if !o.has("RateLimit") {
			return
		}
		base := &answers{status: 429}
		var heard events
		rt := o.stack(base, &heard)
		var err error
		status := 0
		for range permTokens + 1 { // the bucket runs dry in mid-call where there is Retry
			if status, err = call(t, rt, t.Context(), "question"); err != nil {
				break
			}
			if status != 429 {
				t.Fatalf("status %d, want the 429", status)
			}
		}
		if !errors.Is(err, steady.ErrRateLimited) || base.n != permTokens {
			t.Errorf("error %v after %d attempts, want ErrRateLimited after %d", err, base.n, permTokens)
		}
		for range 2 * permTrip {
			began := time.Now()
			if _, err := call(t, rt, t.Context(), "question"); !errors.Is(err, steady.ErrRateLimited) || time.Since(began) != 0 {
				t.Errorf("error %v after %v, want ErrRateLimited at once", err, time.Since(began))
			}
		}
		if got := of[steady.BreakerChanged](&heard); len(got) != 0 {
			t.Errorf("the breaker changed by refusals: %v", got)
		}
	})
}

// MaxInFlight is 1 and nobody may wait: a slot that is not given back refuses
// whoever comes next, and one held during a backoff refuses the call's own
// re-send.
func TestInEachOrderTheSlotIsFreeWhenTheCallIsOver(t *testing.T) {
	ends := map[string]func(t *testing.T, rt http.RoundTripper, base *answers){
		"a good answer": func(t *testing.T, rt http.RoundTripper, base *answers) {
			base.status = 200
			_, _ = call(t, rt, t.Context(), "question")
		},
		"retries used up": func(t *testing.T, rt http.RoundTripper, base *answers) {
			base.status = 429
			_, _ = call(t, rt, t.Context(), "question")
		},
		"a refused request": func(t *testing.T, rt http.RoundTripper, base *answers) {
			base.status = 400
			_, _ = call(t, rt, t.Context(), "question")
		},
		"an error": func(t *testing.T, rt http.RoundTripper, base *answers) {
			base.err = errRefused()
			if _, err := call(t, rt, t.Context(), "question"); !errors.Is(err, syscall.ECONNREFUSED) {
				t.Errorf("error %v, want the refused connection", err)
			}
			base.err = nil
		},
		"a body closed unread": func(t *testing.T, rt http.RoundTripper, base *answers) {
			base.status = 200
			if resp, err := rt.RoundTrip(post(t, t.Context(), "question")); err == nil {
				resp.Body.Close()
			}
		},
		"a panic": func(t *testing.T, rt http.RoundTripper, base *answers) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			req := post(t, t.Context(), "question")
			req.Body = panics{}
			resp, err := rt.RoundTrip(req)
			t.Errorf("got %v, %v", resp, err)
		},
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			forEachOrder(t, func(t *testing.T, o order) {
				base := &answers{status: 200}
				rt := o.stack(base, &events{})
				end(t, rt, base)
				base.status = 200
				if status, err := call(t, rt, t.Context(), "question"); status != 200 {
					t.Errorf("the next call got %d, %v", status, err)
				}
			})
		})
	}
}

type panics struct{}

func (panics) Read([]byte) (int, error) { panic("the reader of the caller") }
func (panics) Close() error             { return nil }

// While a body is open its slot is taken, in each order; the refused call says
// so, and the breaker holds nothing against it.
func TestInEachOrderAnOpenBodyHoldsItsSlot(t *testing.T) {
	forEachOrder(t, func(t *testing.T, o order) {
		if !o.has("RateLimit") {
			return
		}
		rt := o.stack(&answers{status: 200}, &events{})
		resp, err := rt.RoundTrip(post(t, t.Context(), "question"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := call(t, rt, t.Context(), "question"); !errors.Is(err, steady.ErrRateLimited) {
			t.Errorf("a second call got %v, want ErrRateLimited", err)
		}
		read(t, resp)
		if status, err := call(t, rt, t.Context(), "question"); status != 200 {
			t.Errorf("after the body's end a call got %d, %v", status, err)
		}
	})
}

// The breaker opens at the second attempt of a call: the third is refused, and
// the caller gets the 503 of the second, not the refusal.
func TestInEachOrderTheLastResponseBeatsARefusal(t *testing.T) {
	forEachOrder(t, func(t *testing.T, o order) {
		if !o.has("Retry") || !o.has("Breaker") {
			return
		}
		base := &answers{status: 503}
		rt := o.stack(base, &events{})
		for base.n < 3 { // one call of three
			_, _ = call(t, rt, t.Context(), "question")
		}
		began := time.Now()
		status, body, err := ask(t, rt, t.Context(), "question")
		if status != 503 || body != "Service Unavailable" || err != nil {
			t.Errorf("got %d %q, %v, want the 503 of the fourth attempt", status, body, err)
		}
		if base.n != permTrip || time.Since(began) != time.Second {
			t.Errorf("%d attempts and %v, want %d and the one backoff of 1s after which the breaker was asked", base.n, time.Since(began), permTrip)
		}
	})
}

// Without a response to keep, the error names both: the refusal and what the
// attempts before it ended in.
func TestInEachOrderARefusalAfterAnErrorKeepsTheError(t *testing.T) {
	forEachOrder(t, func(t *testing.T, o order) {
		if !o.has("Retry") || !o.has("Breaker") {
			return
		}
		base := &answers{err: errRefused()}
		rt := o.stack(base, &events{})
		for base.n < 3 {
			_, _ = call(t, rt, t.Context(), "question")
		}
		_, err := call(t, rt, t.Context(), "question")
		e, ok := errors.AsType[*steady.RetryError](err)
		if !ok || e.Attempts != 1 || base.n != permTrip {
			t.Errorf("error %v after %d attempts, want a RetryError of 1 attempt and %d in all", err, base.n, permTrip)
		}
		if !errors.Is(err, steady.ErrBreakerOpen) || !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("error %v, want it to match ErrBreakerOpen and ECONNREFUSED", err)
		}
	})
}

// In New's order the gates are asked outermost first and told innermost first,
// so that a re-send neither takes a slot that the breaker then leaves unused nor
// spends a token for nothing.
func TestNewsOwnOrderPaysAndJudgesEachAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := &answers{status: 503}
		var heard events
		rt := must(t)(steady.New(
			steady.WithBase(base), steady.WithObserver(&heard), steady.WithRateLimit(1e-6, permTokens), steady.WithConcurrency(1), steady.Patience(0),
			steady.WithBreaker(steady.TripAfter(permTrip), steady.OpenFor(time.Hour)),
			steady.WithRetry(steady.MaxAttempts(permAttempts), steady.Delays(time.Second, time.Second), steady.PlusMinus(0)),
		))
		for range 2 {
			if status, err := call(t, rt, t.Context(), "question"); status != 503 {
				t.Fatalf("got %d, %v", status, err)
			}
		}
		if base.n != permTrip {
			t.Errorf("%d attempts, want %d", base.n, permTrip)
		}
		s := rt.State()
		if len(s) != 1 || s[0].InFlight != 0 || s[0].Waiting != 0 || s[0].Breaker != "open" {
			t.Errorf("state %+v, want an open breaker and nothing in flight", s)
		}
		for range 5 {
			if _, err := call(t, rt, t.Context(), "question"); !errors.Is(err, steady.ErrBreakerOpen) {
				t.Errorf("error %v, want ErrBreakerOpen", err)
			}
		}
		time.Sleep(time.Hour)
		if got, want := tokensLeft(t, rt, base), permTokens-permTrip; got != want {
			t.Errorf("%d tokens left, want %d", got, want)
		}
		var ended []int
		for _, e := range of[steady.AttemptEnded](&heard)[:permTrip] {
			ended = append(ended, e.Attempt)
		}
		if fmt.Sprint(ended) != "[1 2 3 1]" {
			t.Errorf("attempts numbered %v, want [1 2 3 1]", ended)
		}
	})
}

// A layer of somebody else's between ours hides no attempt from those outside it.
func TestAStrangerBetweenTheLayersHidesNoAttempt(t *testing.T) {
	stranger := func(next http.RoundTripper) http.RoundTripper {
		return roundTripFunc(func(req *http.Request) (*http.Response, error) { return next.RoundTrip(req.Clone(req.Context())) })
	}
	limit := steady.RateLimit(1e-6, permTokens, steady.MaxWait(0))
	breaker := steady.Breaker(steady.TripAfter(permTrip), steady.OpenFor(time.Hour))
	retry := steady.Retry(steady.MaxAttempts(permAttempts), steady.Delays(time.Second, time.Second), steady.PlusMinus(0))
	tests := []struct {
		name   string
		layers []steady.Middleware
	}{
		{"outside Retry", []steady.Middleware{limit, breaker, stranger, retry}},
		{"between two that are outside Retry", []steady.Middleware{limit, stranger, breaker, retry}},
		{"between one and two others", []steady.Middleware{limit, stranger, breaker, steady.Breaker(steady.TripAfter(100)), retry}},
		{"everywhere", []steady.Middleware{stranger, limit, stranger, breaker, stranger, retry, stranger}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				base := &answers{status: 503}
				rt := steady.Chain(base, tt.layers...)
				for range 2 {
					if status, err := call(t, rt, t.Context(), "question"); status != 503 {
						t.Fatalf("got %d, %v", status, err)
					}
				}
				if base.n != permTrip {
					t.Errorf("%d attempts, want %d: the breaker sees each", base.n, permTrip)
				}
				time.Sleep(time.Hour)
				if got, want := tokensLeft(t, rt, base), permTokens-permTrip; got != want {
					t.Errorf("%d tokens left, want %d: each is paid for", got, want)
				}
			})
		})
	}
}
