package steady_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/steadyhttp/steady"
)

// changesOf returns what was heard of the pace, one "from → to: reason" after the other.
func changesOf(heard *events) (all []string) {
	for _, e := range of[steady.PaceChanged](heard) {
		all = append(all, fmt.Sprintf("%s → %s: %s", e.From, e.To, e.Reason))
	}
	return all
}

// Who is on call sees why calls wait: in the state, in the events and in the log.
func TestTheStateOfThePaceIsToldWhenItChanges(t *testing.T) {
	for _, tt := range []struct {
		name  string
		until time.Duration
		fails step
		want  []string // what is heard first
	}{
		{"while all is well", 0, step{}, nil},
		{"429 for everybody", 20 * time.Second, step{status: 429, takes: 50 * ms},
			[]string{"search → rate: refused", "rate → hold: rejected", "hold → rate: probe"}},
		{"nothing is heard", 15 * time.Second, step{status: 200, takes: 20 * time.Second},
			[]string{"search → hold: silence", "hold → search: probe"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newRuled(func(at time.Duration, _ int) step {
					if at >= 5*time.Second && at < 5*time.Second+tt.until {
						return tt.fails
					}
					return good
				})
				heard, log := &events{}, &bytes.Buffer{}
				toLog := steady.LogTo(slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelInfo})))
				var rt *steady.Transport
				rt = must(t)(steady.New(steady.WithBase(p), steady.Patience(time.Hour), steady.WithObserver(steady.ObserverFunc(func(ctx context.Context, e steady.Event) {
					heard.Observe(ctx, e)
					if c, ok := e.(steady.PaceChanged); ok {
						toLog.Observe(ctx, e)
						if s := stateOf(rt, c.Key); s.PaceState != c.To { // no lock is held
							t.Errorf("told of %s while the state says %+v", c.To, s)
						}
					}
				}))))
				var wg sync.WaitGroup
				defer wg.Wait()
				wg.Go(func() { perSecond(t, rt, 20, 40*time.Second) })
				time.Sleep(4 * time.Second)
				if s := stateOf(rt, "llm.test"); s.PaceState != "search" || !s.HeldUntil.IsZero() {
					t.Errorf("state %+v before the trouble, want that it searches", s)
				}
				time.Sleep(14 * time.Second)
				s := stateOf(rt, "llm.test")
				if held := s.PaceState == "hold"; held != (tt.until > 0) || s.HeldUntil.After(time.Now().Add(3*time.Second)) {
					t.Errorf("state %+v in the trouble", s)
				}
				wg.Wait()
				if got := changesOf(heard); !slices.Equal(got[:min(len(got), len(tt.want))], tt.want) || len(tt.want) == 0 && len(got) > 0 {
					t.Errorf("heard %q, want %q", got, tt.want)
				}
				for i, line := range strings.Split(strings.TrimSpace(log.String()), "\n") {
					level := "INFO"
					if i < len(tt.want) && strings.Contains(tt.want[i], "→ hold") {
						level = "WARN"
					}
					if want := "level=" + level + ` msg="steady: pace changed" key=llm.test from=`; line != "" && !strings.Contains(line, want) {
						t.Errorf("logged %s\nwant %s", line, want)
					}
				}
			})
		})
	}
}

// Nor may a panic at that moment cost a slot, or leave a call in the line.
func TestAPanicWhenThePaceChangesCostsNoSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newRuled(func(at time.Duration, _ int) step {
			switch {
			case at < 5*time.Second || at > time.Minute:
				return good
			case at < 20*time.Second:
				return step{status: 429, takes: 50 * ms}
			}
			return step{status: 200, takes: 40 * time.Second} // silence, which a waiter finds out
		})
		panics := map[string]int{}
		var mu sync.Mutex
		rt := must(t)(steady.New(steady.WithBase(p), steady.Patience(time.Hour), steady.WithObserver(steady.ObserverFunc(func(_ context.Context, e steady.Event) {
			if e, ok := e.(steady.PaceChanged); ok {
				mu.Lock()
				defer mu.Unlock()
				panics[e.Reason]++
				panic("observer")
			}
		}))))
		var wg sync.WaitGroup
		for range 1200 {
			wg.Go(func() {
				defer func() { _ = recover() }()
				_, _ = call(t, rt, t.Context(), "q")
			})
			time.Sleep(50 * ms)
		}
		wg.Wait()
		if s := stateOf(rt, "llm.test"); s.InFlight != 0 || s.Waiting != 0 {
			t.Errorf("state %+v at the end", s)
		}
		for _, reason := range []string{"refused", "rejected", "probe", "silence"} {
			if panics[reason] == 0 {
				t.Errorf("no panic for %q, of %v", reason, panics)
			}
		}
		if status, err := call(t, rt, t.Context(), "q"); status != 200 || err != nil {
			t.Errorf("a call after all that: %d, %v", status, err)
		}
	})
}

// What changes is told by the call that brings it about, and not by the next one.
func TestTheStateOfThePaceIsToldAtOnce(t *testing.T) {
	const whole = `{"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}]}`
	stream := http.Header{"Content-Type": {"text/event-stream"}}
	for _, tt := range []struct {
		name   string
		passes func() step
	}{
		{"by an answer that is whole", func() step {
			return step{status: 200, header: http.Header{"Content-Type": {"application/json"}}, body: io.NopCloser(strings.NewReader(whole))}
		}},
		{"by one that has begun", func() step {
			return step{status: 200, header: stream, body: io.NopCloser(strings.NewReader(roleEvent + wordEvent + "data: [DONE]\n\n"))}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newRuled(func(at time.Duration, _ int) step {
					if at < 5*time.Second {
						return rejected
					}
					return tt.passes()
				})
				base := roundTripFunc(func(req *http.Request) (*http.Response, error) {
					resp, err := p.RoundTrip(req)
					if err == nil && resp.Header.Get("Content-Type") == "application/json" {
						resp.ContentLength = int64(len(whole)) // so that it is read at once
					}
					return resp, err
				})
				heard := &events{}
				rt := must(t)(steady.New(steady.WithBase(base), steady.WithObserver(heard), steady.WithRetry(steady.MaxAttempts(1))))
				var wg sync.WaitGroup
				for range 5 {
					wg.Go(func() { _, _ = call(t, rt, t.Context(), "q") })
					time.Sleep(200 * ms)
				}
				wg.Wait()
				for !strings.Contains(fmt.Sprint(changesOf(heard)), "→ hold") && time.Since(p.start) < 4*time.Second {
					before := stateOf(rt, "llm.test").PaceState
					_, _ = call(t, rt, t.Context(), "q")
					if now := stateOf(rt, "llm.test").PaceState; now == "hold" && before != now && !strings.HasSuffix(fmt.Sprint(changesOf(heard)), "→ hold: rejected]") {
						t.Errorf("the state is hold, and heard was %q", changesOf(heard))
					}
				}
				time.Sleep(5 * time.Second)
				resp, err := rt.RoundTrip(post(t, t.Context(), "probe"))
				if err != nil {
					t.Fatal(err)
				}
				defer resp.Body.Close()
				if got := changesOf(heard); len(got) == 0 || !strings.HasSuffix(got[len(got)-1], ": probe") {
					t.Errorf("heard %q when the probe had passed", got)
				}
			})
		})
	}
}

// A call that waits finds the silence out. While it tells of that, its turn may come.
func TestAPanicOfWhoWaitsCostsNoSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newRuled(func(at time.Duration, _ int) step {
			return step{status: 200, takes: max(0, 62*time.Second-at)}
		})
		heard := &events{}
		rt := must(t)(steady.New(steady.WithBase(p), steady.Patience(time.Hour), steady.WithTimeouts(steady.HeaderTimeout(time.Hour)),
			steady.WithObserver(steady.ObserverFunc(func(ctx context.Context, e steady.Event) {
				heard.Observe(ctx, e)
				if e, ok := e.(steady.PaceChanged); ok && e.Reason == "silence" {
					if at := time.Since(p.start); at != 61*time.Second {
						t.Errorf("told of the silence at %v, want 61s", at)
					}
					time.Sleep(5 * time.Second)
					panic("observer")
				}
			}))))
		panics := 0
		var wg sync.WaitGroup
		for i := range 11 {
			if i == 10 {
				time.Sleep(61 * time.Second) // of silence
			}
			wg.Go(func() {
				defer func() {
					if recover() != nil {
						panics++
					}
				}()
				_, _ = call(t, rt, t.Context(), "q")
			})
		}
		wg.Wait()
		if s := stateOf(rt, "llm.test"); s.InFlight != 0 || s.Waiting != 0 || panics != 1 {
			t.Errorf("state %+v at the end, after %d panics and %q", s, panics, changesOf(heard))
		}
	})
}
