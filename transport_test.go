package steady_test

import (
	"errors"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/steadyhttp/steady"
)

// The sentences of the package documentation, in numbers.

func TestACallThatFailsTwiceSucceedsAtTheThirdAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := statuses(503, 503, 200)
		rt := must(t)(steady.New(steady.WithBase(base)))
		resp, err := rt.RoundTrip(post(t, t.Context(), "question"))
		if err != nil || resp.StatusCode != 200 {
			t.Fatalf("got %v, %v", resp, err)
		}
		if got := read(t, resp); got != "OK" {
			t.Errorf("body %q", got)
		}
		for i, a := range base.seen {
			if a.body != "question" {
				t.Errorf("attempt %d sent %q", i+1, a.body)
			}
		}
		if got := base.attempts(); got != 3 {
			t.Errorf("%d attempts, want 3", got)
		}
	})
}

func TestAHundredCallsAtFiftyASecondAfterABurstOfTen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		rt := must(t)(steady.New(steady.WithBase(statuses(200)), steady.WithRateLimit(50, 10)))
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() {
				resp, err := rt.RoundTrip(post(t, t.Context(), "q"))
				if err != nil {
					t.Error(err)
					return
				}
				read(t, resp)
			})
		}
		wg.Wait()
		if took, want := time.Since(start), 1800*time.Millisecond; took != want {
			t.Errorf("took %v, want %v", took, want)
		}
	})
}

func TestAnOpenBreakerHoldsTheQueueAndOneProbeEndsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		down := func() bool { return time.Since(start) < 5*time.Second }
		var mu sync.Mutex
		var at []time.Duration
		base := roundTripFunc(func(req *http.Request) (*http.Response, error) {
			mu.Lock()
			at = append(at, time.Since(start))
			mu.Unlock()
			status := 200
			if down() {
				status = 503
			}
			time.Sleep(10 * time.Millisecond)
			return respond(req, status, nil, nil), nil
		})
		rt := must(t)(steady.New(steady.WithBase(base), steady.WithPace(steady.NoPace())))
		var wg sync.WaitGroup
		for range 40 {
			wg.Go(func() {
				resp, err := rt.RoundTrip(post(t, t.Context(), "q"))
				if err != nil || resp.StatusCode != 200 {
					t.Error(resp, err)
					return
				}
				read(t, resp)
			})
		}
		wg.Wait()
		want := make([]time.Duration, 40) // all at once, and all fail
		for probe := range 3 {            // 2s after the end of what failed before
			want = append(want, 2010*ms+time.Duration(probe)*2010*ms)
		}
		for n := range 39 { // the third probe succeeded
			want = append(want, 6040*ms+due(n, 40))
		}
		if !slices.Equal(at, want) {
			t.Errorf("attempts at %v, want %v", at, want)
		}
	})
}

func TestAWaitThatCannotFitIsRefusedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt := must(t)(steady.New(steady.WithBase(statuses(200)), steady.WithRateLimit(1, 1), steady.Patience(0)))
		resp, err := rt.RoundTrip(post(t, t.Context(), "q"))
		if err != nil {
			t.Fatal(err)
		}
		read(t, resp)
		if _, err = rt.RoundTrip(post(t, t.Context(), "q")); !errors.Is(err, steady.ErrRateLimited) {
			t.Errorf("error %v, want ErrRateLimited", err)
		}
	})
}
