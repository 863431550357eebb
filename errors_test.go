package steady_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/steadyhttp/steady"
	"github.com/steadyhttp/steady/internal/wire"
)

// Who reads the error in a log is to know which option, or whose deadline, to change.
func TestALimitErrorSaysWhatDecided(t *testing.T) {
	for _, tt := range []struct {
		name     string
		opts     []steady.Option
		deadline time.Duration // of the last call, or none
		calls    int           // that come before the last
		want     string
	}{
		{"a turn beyond MaxWait", []steady.Option{steady.WithRateLimit(1, 1), steady.MaxWait(2 * time.Second)}, 0, 3,
			"a turn needs 3s, longer than MaxWait (2s) allows"},
		{"a turn beyond the default", []steady.Option{steady.WithRateLimit(1.0/60, 1)}, 0, 1,
			"a turn needs 1m0s, longer than MaxWait (30s, the default) allows"},
		{"a turn beyond the Patience, which is both", []steady.Option{steady.WithRateLimit(1.0/60, 1), steady.Patience(20 * time.Second)}, 0, 1,
			"a turn needs 1m0s, longer than Patience (20s) allows"},
		{"a turn beyond the deadline", []steady.Option{steady.WithRateLimit(1, 1)}, 2 * time.Second, 3,
			"a turn needs 3s, longer than the deadline allows"},
		{"no slot within MaxWait", []steady.Option{steady.WithConcurrency(1), steady.MaxWait(2 * time.Second)}, 0, 1,
			"waited 2s, as long as MaxWait (2s) allows"},
		{"no slot within the deadline", []steady.Option{steady.WithConcurrency(1)}, 2 * time.Second, 1,
			"waited 2s, as long as the deadline allows"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				base := play(step{status: 200, takes: 5 * time.Second})
				rt := must(t)(steady.New(append(tt.opts, steady.WithBase(base))...))
				var wg sync.WaitGroup
				defer wg.Wait()
				for range tt.calls {
					wg.Go(func() { _, _ = call(t, rt, t.Context(), "before") })
					synctest.Wait()
				}
				ctx := t.Context()
				if tt.deadline > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, tt.deadline)
					defer cancel()
				}
				_, err := call(t, rt, ctx, "last")
				limited, ok := errors.AsType[*steady.LimitError](err)
				if !ok {
					t.Fatalf("error %v, want a LimitError", err)
				}
				if got, want := limited.Error(), "steady: rate limited for llm.test: "+tt.want; got != want {
					t.Errorf("got %q, want %q", got, want)
				}
			})
		})
	}
}

// A turn under the learned pace is known only when it is near.
func TestALimitErrorSaysHowLongTheCallHasWaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		free := time.Now()
		base := roundTripFunc(func(req *http.Request) (*http.Response, error) {
			mu.Lock()
			defer mu.Unlock()
			if time.Now().Before(free) {
				return respond(req, 429, nil, nil), nil
			}
			free = free.Add(100 * ms)
			return respond(req, 200, nil, nil), nil
		})
		rt := must(t)(steady.New(steady.WithBase(base)))
		said := []*regexp.Regexp{
			regexp.MustCompile(`^steady: rate limited for llm\.test: waited \S+s, and more calls are before it than can be served in the time that MaxWait \(30s, the default\) allows$`),
			regexp.MustCompile(`^steady: rate limited for llm\.test: waited (29\.\d+|30)s, (and a turn needs \S+ more, longer than|as long as) MaxWait \(30s, the default\) allows$`),
		}
		var wg sync.WaitGroup
		var found atomic.Int64
		for range 600 {
			wg.Go(func() {
				_, err := call(t, rt, t.Context(), "q")
				if limited, ok := errors.AsType[*steady.LimitError](err); ok {
					found.Add(1)
					if !slices.ContainsFunc(said, func(r *regexp.Regexp) bool { return r.MatchString(limited.Error()) }) {
						t.Errorf("got %q, want one of %v", limited, said)
					}
				}
			})
		}
		wg.Wait()
		if found.Load() == 0 {
			t.Error("no call was refused")
		}
	})
}

func TestALimitErrorSaysThatTheProviderRejectsEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt := must(t)(steady.New(steady.WithBase(play(step{status: 429, header: after("20")})),
			steady.Patience(3*time.Second), steady.WithRetry(steady.MaxAttempts(1))))
		for range 30 {
			_, err := call(t, rt, t.Context(), "q")
			if err == nil {
				continue
			}
			limited, ok := errors.AsType[*steady.LimitError](err)
			if !ok || limited.Wait < 20*time.Second || limited.Wait > 25*time.Second { // up to a quarter comes on top
				t.Fatalf("got %v, want a turn that is 20s off or a little more", err)
			}
			want := fmt.Sprintf("steady: rate limited for llm.test: a turn needs %v, longer than Patience (3s) allows", limited.Wait.Round(ms))
			if limited.Error() != want {
				t.Errorf("got %q, want %q", limited, want)
			}
			return
		}
		t.Error("30 calls were rejected, and none was held")
	})
}

func TestARetryErrorSaysWhyThereWasNoOtherAttempt(t *testing.T) {
	hangs := step{status: 200, takes: time.Minute}
	refused := step{err: errRefused()}
	for _, tt := range []struct {
		name     string
		base     step
		opts     []steady.RetryOption
		deadline time.Duration
		want     string
	}{
		{"it may have been done", hangs, nil, 0,
			"steady: gave up after 2 attempts: the request may have been done, and UnknownResends allows no more: steady: no response headers within 1s"},
		{"no budget", refused, []steady.RetryOption{steady.RetryBudget(0, 0.3), steady.MaxAttempts(20), steady.Delays(ms, ms)}, 0,
			"steady: gave up after 11 attempts: the RetryBudget is spent: "},
		{"Within is over", refused, []steady.RetryOption{steady.Within(2500 * ms)}, 0,
			"steady: gave up after 3 attempts: the next would begin later than Within allows: "},
		{"the deadline is near", refused, nil, 2500 * ms,
			"steady: gave up after 3 attempts: the next would begin after the deadline: "},
		{"no attempt is left", refused, []steady.RetryOption{steady.MaxAttempts(2)}, 0,
			"steady: gave up after 2 attempts: dial"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				opts := append([]steady.RetryOption{steady.Delays(time.Second, time.Second), steady.PlusMinus(0)}, tt.opts...)
				rt := must(t)(steady.New(steady.WithBase(play(tt.base)), neverTrips(), steady.WithRetry(opts...),
					steady.WithTimeouts(steady.HeaderTimeout(time.Second))))
				ctx := t.Context()
				if tt.deadline > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, tt.deadline)
					defer cancel()
				}
				_, err := call(t, rt, ctx, "q")
				if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
					t.Errorf("got %v, want %q", err, tt.want)
				}
				if got := errors.Is(err, context.DeadlineExceeded); got != (tt.deadline > 0 || tt.base.err == nil) {
					t.Errorf("matches context.DeadlineExceeded: %v", got)
				}
			})
		})
	}
}

// With a MaxWait beside it the Patience is about the provider alone, and a call may
// have waited for longer. In the log it is one of many, and no warning.
func TestALimitErrorSaysFromWhenThePatienceCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var logged bytes.Buffer
		rt := must(t)(steady.New(steady.WithBase(play(rejected)), steady.MaxWait(time.Hour), steady.Patience(5*time.Second),
			steady.WithObserver(steady.LogTo(slog.New(slog.NewTextHandler(&logged, nil))))))
		said := regexp.MustCompile(`waited \S+s, .* Patience \(5s\) allows, which counts from when the provider began to hold the queue$`)
		var found atomic.Int64
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				if _, err := call(t, rt, t.Context(), "q"); err != nil {
					found.Add(1)
					if !said.MatchString(err.Error()) {
						t.Errorf("got %q, want %v", err, said)
					}
				}
			})
		}
		wg.Wait()
		if n := strings.Count(logged.String(), `level=INFO msg="steady: no turn in time"`); found.Load() == 0 || n < int(found.Load()) {
			t.Errorf("%d calls were refused, and %d lines at Info say so", found.Load(), n)
		}
	})
}

// The classes are documented in words, for callers to compare with.
func TestTheDocOfAttemptEndedNamesAllClasses(t *testing.T) {
	source, err := os.ReadFile("observe.go")
	if err != nil {
		t.Fatal(err)
	}
	doc, _, _ := strings.Cut(string(source), "type AttemptEnded struct")
	_, doc, _ = strings.Cut(doc[strings.LastIndex(doc, "// AttemptEnded reports"):], "// Class is ")
	for c := wire.ClassNone + 1; c <= wire.ClassGateway; c++ {
		if !strings.Contains(doc, `"`+c.String()+`"`) {
			t.Errorf("%s is not named", c)
		}
	}
}
