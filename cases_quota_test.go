package steady_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/steadyhttp/steady"
)

// allowance is a provider's limit of requests, as it stands when it answers one.
type allowance struct {
	limit, left int
	reset       time.Duration // until the window is over, or the bucket full
	at          time.Time
}

func (a allowance) openAI() http.Header {
	return header("X-Ratelimit-Limit-Requests", a.limit, "X-Ratelimit-Remaining-Requests", a.left, "X-Ratelimit-Reset-Requests", a.reset)
}

func (a allowance) anthropic() http.Header {
	reset := a.at.Add(a.reset + time.Second - 1).UTC().Format(time.RFC3339) // which has whole seconds
	return header("Anthropic-Ratelimit-Requests-Limit", a.limit, "Anthropic-Ratelimit-Requests-Remaining", a.left, "Anthropic-Ratelimit-Requests-Reset", reset)
}

func (a allowance) seconds() int { return int((a.reset + time.Second - 1) / time.Second) }

func (a allowance) ietf() http.Header {
	return header("Ratelimit-Policy", fmt.Sprintf(`"default";q=%d;w=10`, a.limit), "Ratelimit", fmt.Sprintf(`"default";r=%d;t=%d`, a.left, a.seconds()))
}

func (a allowance) draft03() http.Header {
	return header("Ratelimit-Limit", a.limit, "Ratelimit-Remaining", a.left, "Ratelimit-Reset", a.seconds())
}

func (a allowance) github() http.Header {
	return header("X-Ratelimit-Limit", a.limit, "X-Ratelimit-Remaining", a.left, "X-Ratelimit-Reset", a.at.Add(a.reset+time.Second-1).Unix())
}

// header makes a header of names and values in turn.
func header(pairs ...any) http.Header {
	h := http.Header{}
	for i := 0; i < len(pairs); i += 2 {
		h.Set(fmt.Sprint(pairs[i]), fmt.Sprint(pairs[i+1]))
	}
	return h
}

// refilling is a bucket of so many requests, of which one comes back in every.
func refilling(limit int, every time.Duration, form func(allowance) http.Header) func(time.Duration, int) step {
	missing, last := time.Duration(0), time.Duration(0)
	return func(at time.Duration, _ int) step {
		missing = max(0, missing-(at-last))
		last = at
		status := 429
		if missing <= time.Duration(limit-1)*every {
			status, missing = 200, missing+every
		}
		left := limit - int((missing+every-1)/every)
		return step{status: status, takes: 300 * ms, header: form(allowance{limit, left, missing, time.Now()})}
	}
}

// windowed is a limit of so many requests in each window of its length.
func windowed(limit int, length time.Duration, form func(allowance) http.Header) func(time.Duration, int) step {
	used, window := 0, time.Duration(0)
	return func(at time.Duration, _ int) step {
		if n := at / length; n != window {
			used, window = 0, n
		}
		status := 429
		if used < limit {
			status = 200
			used++
		}
		return step{status: status, takes: 300 * ms, header: form(allowance{limit, limit - used, length - at%length, time.Now()})}
	}
}

// RA4 for the queue: what the provider says is left is not exceeded, so that it need
// hardly ever reject anybody.
func TestRA4_AProviderThatSaysWhatIsLeftNeedNotReject(t *testing.T) {
	for _, test := range []struct {
		name string
		rule func(time.Duration, int) step
		most int // rejected in a minute
	}{
		{"OpenAI", refilling(5, 2*time.Second, allowance.openAI), 5}, // attempts may overtake each other
		{"Anthropic", refilling(5, 2*time.Second, allowance.anthropic), 5},
		// The first calls of a window go before any answer has told of it.
		{"IETF", windowed(5, 10*time.Second, allowance.ietf), 30},
		{"drafts 03 to 06", windowed(5, 10*time.Second, allowance.draft03), 30},
		{"seconds since 1970", windowed(5, 10*time.Second, allowance.github), 30},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newRuled(test.rule)
				rt := must(t)(steady.New(steady.WithBase(p), steady.Patience(time.Hour), steady.WithRetry(steady.MaxAttempts(1))))
				call(t, rt, t.Context(), "the first, of which the queue learns")
				workers(t, rt, 20, time.Minute)
				good, bad := p.seen(0, time.Minute)-p.answers(429), p.answers(429)
				t.Logf("%d answered and %d rejected in a minute", good, bad)
				if bad > test.most {
					t.Errorf("%d attempts were rejected, want at most %d", bad, test.most)
				}
				if good < 25 { // of the 30 and some that the limit allows, less a window that is found late
					t.Errorf("%d calls in a minute, want nearly all that the limit allows", good)
				}
			})
		})
	}
}

func TestRA4_WhatTheHeadersSayIsLeftHoldsNobodyForNothing(t *testing.T) {
	const s, minute = time.Second, time.Minute
	left := func(limit, left int, reset time.Duration, form func(allowance) http.Header) func() http.Header {
		return func() http.Header { return form(allowance{limit, left, reset, time.Now()}) }
	}
	plain := func(pairs ...any) func() http.Header {
		return func() http.Header { return header(pairs...) }
	}
	for _, test := range []struct {
		name   string
		header func() http.Header
		at     []time.Duration // when five more calls go, after the answer with that header
	}{
		{"nothing left until the window ends", left(5, 0, 10*s, allowance.ietf), []time.Duration{10 * s, 10 * s, 10 * s, 10 * s, 10 * s}},
		{"nothing left, in the form of the drafts", left(5, 0, 10*s, allowance.draft03), []time.Duration{10 * s, 10 * s, 10 * s, 10 * s, 10 * s}},
		{"nothing left of what fills bit by bit", left(5, 0, 10*s, allowance.openAI), []time.Duration{2 * s, 4 * s, 6 * s, 8 * s, 10 * s}},
		{"nothing left, by Anthropic's word", left(5, 0, 10*s, allowance.anthropic), []time.Duration{2 * s, 4 * s, 6 * s, 8 * s, 10 * s}},
		{"two left", left(5, 2, 9*s, allowance.openAI), []time.Duration{0, 0, 3 * s, 6 * s, 9 * s}},
		{"enough left", left(100, 60, 10*s, allowance.ietf), make([]time.Duration, 5)},
		{"nothing left of another limit", plain("X-Ratelimit-Remaining-Images", 0, "X-Ratelimit-Reset-Images", "10s"), make([]time.Duration, 5)},
		{"a placeholder", plain("X-Ratelimit-Limit-Requests", -1, "X-Ratelimit-Remaining-Requests", -1, "X-Ratelimit-Reset-Requests", "10s"), make([]time.Duration, 5)},
		{"None", plain("X-Ratelimit-Limit-Requests", "None", "X-Ratelimit-Remaining-Requests", "None", "X-Ratelimit-Reset-Requests", "None"), make([]time.Duration, 5)},
		{"no reset", plain("X-Ratelimit-Limit-Requests", 5, "X-Ratelimit-Remaining-Requests", 0), make([]time.Duration, 5)},
		{"a reset that is no time", plain("Ratelimit-Remaining", 0, "Ratelimit-Reset", "soon"), make([]time.Duration, 5)},
		{"a limit per day", plain("X-Ratelimit-Limit-Requests-Day", 1000, "X-Ratelimit-Remaining-Requests-Day", 0, "X-Ratelimit-Reset-Requests-Day", 33011), make([]time.Duration, 5)},
		{"a window of more than a minute", plain("Ratelimit-Policy", `"default";q=5;w=3600`, "Ratelimit", `"default";r=0;t=20`), make([]time.Duration, 5)},
		{"a reset in more than a minute", left(5, 0, minute+s, allowance.ietf), make([]time.Duration, 5)},
		{"a reset in more than a minute, bit by bit", left(200, 0, 24*time.Hour, allowance.openAI), make([]time.Duration, 5)},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newRuled(func(at time.Duration, _ int) step {
					if at == 0 {
						return step{status: 200, header: test.header()}
					}
					return step{status: 200}
				})
				rt := must(t)(steady.New(steady.WithBase(p), steady.Patience(time.Hour)))
				call(t, rt, t.Context(), "q")
				time.Sleep(time.Nanosecond) // so that the rule can tell them apart
				var wg sync.WaitGroup
				for range 5 {
					wg.Go(func() { call(t, rt, t.Context(), "q") })
				}
				wg.Wait()
				if len(p.at) != 6 {
					t.Fatalf("attempts at %v", p.at)
				}
				for i, at := range p.at[1:] {
					if d := at - test.at[i]; d < -1 || d > 1+at/1000 {
						t.Fatalf("attempts at %v, want %v", p.at[1:], test.at)
					}
				}
			})
		})
	}
}

// Who waits for a reset learns at once that there is more than was thought.
func TestRA4_AnAnswerThatTellsOfMoreWakesWhoWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClock()
		var n atomic.Int32
		base := roundTripFunc(func(req *http.Request) (*http.Response, error) {
			c.note("")
			switch n.Add(1) {
			case 1: // slow, and its word is the later one
				time.Sleep(2 * time.Second)
				body := newFeed(req.Context(), piece{data: roleEvent + wordEvent}, piece{at: 20 * time.Second, data: stopEvent + doneEvent, err: io.EOF})
				h := allowance{limit: 50, left: 40, reset: 50 * time.Second}.ietf()
				h.Set("Content-Type", "text/event-stream")
				return respond(req, 200, h, body), nil
			case 2:
				return respond(req, 200, allowance{limit: 50, left: 0, reset: 50 * time.Second}.ietf(), nil), nil
			}
			return respond(req, 200, nil, nil), nil
		})
		rt := must(t)(steady.New(steady.WithBase(base), steady.Patience(time.Hour)))
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() { call(t, rt, t.Context(), "q") })
			time.Sleep(100 * ms)
		}
		wg.Wait()
		if want := []time.Duration{0, 100 * ms, 2 * time.Second}; !slices.Equal(c.at, want) {
			t.Errorf("attempts at %v, want %v", c.at, want)
		}
	})
}

// The headers of an answer are its caller's, who may write to them: an answer that
// ends in another goroutine must not read them.
func TestTheHeadersThatACallerHasChangedAreNotRead(t *testing.T) {
	for _, status := range []int{200, 500} {
		synctest.Test(t, func(t *testing.T) {
			p := newRuled(alike(step{status: status, header: header("Ratelimit", `"default";r=90;t=5`)}))
			rt := must(t)(steady.New(steady.WithBase(p), neverTrips(), steady.WithRetry(steady.MaxAttempts(1))))
			resp, err := rt.RoundTrip(post(t, t.Context(), "q"))
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
			resp.Header.Set("Ratelimit", `"default";r=0;t=20`)
			read(t, resp)
			if call(t, rt, t.Context(), "q"); p.at[1] != time.Second {
				t.Errorf("after %d: attempts at %v, want the second at once", status, p.at)
			}
		})
	}
}
