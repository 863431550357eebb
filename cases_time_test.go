package steady_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/steadyhttp/steady"
)

// TO1: a cancel during a wait ends it now and leaves nothing behind.

// waitingStack is a stack in which a call waits for minutes.
type waitingStack struct {
	name    string
	options []steady.Option
	base    func() http.RoundTripper
	before  func(t *testing.T, rt http.RoundTripper) // what makes the others wait
	sent    int                                      // attempts that each waiting call makes before its wait
}

func waitingStacks() []waitingStack {
	long := []steady.RetryOption{steady.Within(time.Hour), steady.MaxRetryAfter(time.Hour), steady.RetryBudget(1, 1000)}
	one := func(t *testing.T, rt http.RoundTripper) {
		resp, err := rt.RoundTrip(post(t, t.Context(), "first"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { resp.Body.Close() })
	}
	return []waitingStack{
		{
			name:    "backoff",
			options: []steady.Option{steady.WithRetry(append(long, steady.Delays(10*time.Minute, 10*time.Minute), steady.PlusMinus(0))...), steady.WithPace(steady.NoPace())},
			base:    func() http.RoundTripper { return statuses(429) },
			sent:    1,
		}, {
			name:    "Retry-After",
			options: []steady.Option{steady.WithRetry(long...), steady.WithPace(steady.NoPace())},
			base:    func() http.RoundTripper { return play(step{status: 429, header: after("600")}) },
			sent:    1,
		}, {
			name:    "limiter queue",
			options: []steady.Option{steady.WithRateLimit(1.0/600, 1, steady.InitialTokens(0)), steady.MaxWait(1000 * time.Hour)},
			base:    func() http.RoundTripper { return statuses(200) },
		}, {
			name:    "concurrency queue",
			options: []steady.Option{steady.WithConcurrency(1), steady.MaxWait(time.Hour)},
			base:    func() http.RoundTripper { return statuses(200) },
			before:  one,
		}, {
			name:    "queue that an open breaker holds",
			options: []steady.Option{steady.WithBreaker(steady.TripAfter(1), steady.OpenFor(10*time.Minute)), steady.Patience(time.Hour), steady.WithRetry(steady.MaxAttempts(1))},
			base:    func() http.RoundTripper { return statuses(503) },
			before:  one,
		}, {
			name:    "queue that the pace holds",
			options: []steady.Option{steady.Patience(time.Hour), steady.WithRetry(steady.MaxAttempts(1))},
			base: func() http.RoundTripper {
				return play(step{status: 429, header: after("600"), takes: 10 * time.Millisecond})
			},
			before: rejectedAll,
		}, {
			name:    "limit of tokens",
			options: []steady.Option{steady.WithRateLimit(1e6, 1e6, steady.TokensPerMinute(1000)), steady.MaxWait(1000 * time.Hour)},
			base:    func() http.RoundTripper { return statuses(200) },
			before:  one,
		}, {
			name:    "queue of a provider with nothing left",
			options: []steady.Option{steady.Patience(time.Hour)},
			base: func() http.RoundTripper {
				return play(step{status: 200, header: http.Header{"Ratelimit": {`"default";r=0;t=60`}}})
			},
			before: one,
		},
	}
}

// rejectedAll makes calls until none is sent any more.
func rejectedAll(t *testing.T, rt http.RoundTripper) {
	for range 30 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		resp, err := rt.RoundTrip(post(t, ctx, "first"))
		if cancel(); errors.Is(err, steady.ErrRateLimited) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		read(t, resp)
	}
	t.Fatal("30 rejections, and no hold")
}

func TestTO1_ACancelDuringAWaitEndsItNowAndLeavesNothingBehind(t *testing.T) {
	const calls = 1000
	errGone := errors.New("the user closed the tab")
	for _, test := range waitingStacks() {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				base := &counting{next: test.base()}
				rt := must(t)(steady.New(append(test.options, steady.WithBase(base))...))
				if test.before != nil {
					test.before(t, rt)
				}
				base.reset()
				parent := countChildren(t.Context())
				ctx, cancel := context.WithCancelCause(parent)
				start := time.Now()
				bodies := make([]*spy, calls)
				var wg sync.WaitGroup
				for i := range bodies {
					bodies[i] = spyOf("q")
					req := post(t, ctx, "q")
					req.Body = bodies[i]
					wg.Go(func() {
						resp, err := rt.RoundTrip(req)
						if resp != nil || !errors.Is(err, context.Canceled) || !errors.Is(err, errGone) {
							t.Errorf("got %v, %v, want an error that matches context.Canceled and its cause", resp, err)
						}
						if took := time.Since(start); took != 50*time.Millisecond {
							t.Errorf("took %v, want 50ms", took)
						}
					})
				}
				time.Sleep(50 * time.Millisecond)
				synctest.Wait()
				waiting := base.count()
				if waiting != calls*test.sent {
					t.Errorf("%d attempts before the cancel, want %d", waiting, calls*test.sent)
				}
				cancel(errGone)
				wg.Wait()
				synctest.Wait()
				if got := parent.children(); got != 0 {
					t.Errorf("%d child contexts left", got)
				}
				for _, s := range rt.State() {
					if s.Waiting != 0 || test.before == nil && s.InFlight != 0 {
						t.Errorf("state %+v, want nobody waiting", s)
					}
				}
				time.Sleep(2 * time.Hour)
				if got := base.count() - waiting; got != 0 {
					t.Errorf("%d attempts after the cancel", got)
				}
				for i, b := range bodies {
					if b.closes() == 0 || b.late != 0 {
						t.Fatalf("request body %d was closed %d times and read %d times after that", i, b.closes(), b.late)
					}
				}
				if n := base.open(); test.before == nil && n != 0 {
					t.Errorf("%d response bodies left open", n)
				}
			})
		})
	}
}

// The tokens and the slot are there for whoever comes next.
func TestTO1_ACancelledWaitGivesTokensAndSlotsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := statuses(200)
		rt := must(t)(steady.New(steady.WithBase(base), steady.WithRateLimit(0.1, 1, steady.InitialTokens(0), steady.MaxInFlight(1)), steady.MaxWait(time.Hour)))
		start := time.Now()
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				if _, err := rt.RoundTrip(post(t, ctx, "gone")); !errors.Is(err, context.Canceled) {
					t.Errorf("error %v", err)
				}
			})
		}
		synctest.Wait()
		for range 2 { // they stand behind those that are going to leave
			wg.Go(func() {
				resp, err := rt.RoundTrip(post(t, t.Context(), "stays"))
				if err != nil {
					t.Error(err)
					return
				}
				read(t, resp)
			})
		}
		time.Sleep(4 * time.Second)
		cancel()
		synctest.Wait()
		wg.Go(func() { // there is no turn before 30s, and one then
			soon, cancel := context.WithDeadline(t.Context(), start.Add(31*time.Second))
			defer cancel()
			resp, err := rt.RoundTrip(post(t, soon, "newcomer"))
			if err != nil {
				t.Error(err)
				return
			}
			read(t, resp)
		})
		wg.Wait()
		if got := base.times(start); !slices.Equal(got, []time.Duration{10 * time.Second, 20 * time.Second, 30 * time.Second}) {
			t.Errorf("attempts at %v, want 10s, 20s and 30s: as if nobody else had come", got)
		}
	})
}

// The cancel and the end of the wait fall on the same instant. Whoever wins, the
// call is not half sent.
func TestTO1_ACancelAtTheVeryEndOfTheWait(t *testing.T) {
	for range 50 {
		synctest.Test(t, func(t *testing.T) {
			base := &counting{next: statuses(503, 200)}
			rt := must(t)(steady.New(steady.WithBase(base), steady.WithRetry(steady.Delays(time.Second, time.Second), steady.PlusMinus(0))))
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			time.AfterFunc(time.Second, cancel)
			resp, err := rt.RoundTrip(post(t, ctx, "q"))
			switch {
			case err == nil:
				resp.Body.Close()
			case !errors.Is(err, context.Canceled):
				t.Errorf("error %v", err)
			}
			synctest.Wait()
			if s := rt.State(); len(s) != 1 || s[0].InFlight != 0 || s[0].Waiting != 0 {
				t.Errorf("state %+v", s)
			}
			if base.open() != 0 {
				t.Errorf("%d response bodies left open", base.open())
			}
		})
	}
}

// The cancel comes while the failed body is being read, which hangs.
func TestTO1_ACancelWhileAFailedBodyIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		defer w.Close()
		base := play(step{status: 503, body: r}, step{status: 200})
		rt := must(t)(steady.New(steady.WithBase(base)))
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(50*time.Millisecond, cancel)
		start := time.Now()
		resp, err := rt.RoundTrip(post(t, ctx, "q"))
		if resp != nil || !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, %v, want context.Canceled", resp, err)
		}
		if took := time.Since(start); took > 250*time.Millisecond {
			t.Errorf("took %v, want at most the 250ms that a failed body is given", took)
		}
		if got := base.attempts(); got != 1 {
			t.Errorf("%d attempts, want 1", got)
		}
		if _, err := w.Write([]byte("x")); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("writing to the failed body: %v, want that it is closed", err)
		}
	})
}

// A layer that stands alone keeps to it by itself: no response beside the error.
func TestTO1_RetryAloneReturnsNoResponseBesideTheCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := &counting{next: play(step{status: 503, header: after("20")})}
		rt := steady.Chain(base, steady.Retry())
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(50*time.Millisecond, cancel)
		resp, err := rt.RoundTrip(post(t, ctx, "q"))
		if resp != nil || !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, %v, want no response and context.Canceled", resp, err)
		}
		if e, ok := errors.AsType[*steady.RetryError](err); !ok || e.Attempts != 1 || e.Status != 503 || e.Timeout() {
			t.Errorf("got %#v, want 1 attempt, status 503 and no timeout", e)
		}
		if base.open() != 0 {
			t.Error("the 503's body was left open")
		}
	})
}

// TO2: the next attempt does not fit before the deadline.

func TestTO2_AResponseWhoseWaitDoesNotFitComesBackAtOnce(t *testing.T) {
	for _, test := range []struct {
		name     string
		header   http.Header
		deadline time.Duration
		attempts int
	}{
		{"Retry-After is longer", after("10"), 3 * time.Second, 1},
		{"Retry-After ends at the deadline", after("3"), 3 * time.Second, 1},
		{"Retry-After ends a moment before", after("3"), 3*time.Second + 2, 2},
		{"the backoff is longer", nil, 999 * time.Millisecond, 1},
		{"the backoff ends at the deadline", nil, time.Second, 1},
		{"the backoff ends a moment before", nil, time.Second + 1, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				base := play(step{status: 503, header: test.header}, step{status: 200})
				rt := must(t)(steady.New(steady.WithBase(base), steady.WithRetry(steady.Delays(time.Second, time.Second), steady.PlusMinus(0))))
				ctx, cancel := context.WithTimeout(t.Context(), test.deadline)
				defer cancel()
				start := time.Now()
				resp, err := rt.RoundTrip(post(t, ctx, "q"))
				if err != nil {
					t.Fatal(err)
				}
				want := 503
				if test.attempts == 2 {
					want = 200
				}
				if resp.StatusCode != want || base.attempts() != test.attempts {
					t.Errorf("status %d after %d attempts, want %d after %d", resp.StatusCode, base.attempts(), want, test.attempts)
				}
				if took := time.Since(start); test.attempts == 1 && took != 0 {
					t.Errorf("took %v, want no time", took)
				}
				if got := read(t, resp); got != http.StatusText(want) {
					t.Errorf("body %q, want the whole", got)
				}
			})
		})
	}
}

func errRefused() error {
	return &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
}

func TestTO2_AnErrorWhoseWaitDoesNotFitComesBackAtOnceWithBothReasons(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := play(step{err: errRefused(), takes: 200 * time.Millisecond})
		rt := must(t)(steady.New(steady.WithBase(base), steady.WithRetry(steady.Delays(10*time.Second, 10*time.Second), steady.PlusMinus(0))))
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		start := time.Now()
		_, err := (&http.Client{Transport: rt}).Do(post(t, ctx, "q")) //nolint:bodyclose // there is none
		if took := time.Since(start); took != 200*time.Millisecond {
			t.Errorf("took %v, want the 200ms of the attempt", took)
		}
		checkBothReasons(t, err, "gave up after 1 attempt")
		if !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("error %v does not match ECONNREFUSED", err)
		}
		if op, ok := errors.AsType[*net.OpError](err); !ok || op.Op != "dial" {
			t.Errorf("error %v has no *net.OpError of a dial", err)
		}
	})
}

func checkBothReasons(t *testing.T, err error, text string) {
	t.Helper()
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v does not match context.DeadlineExceeded", err)
	}
	if err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("error %v does not say %q", err, text)
	}
	if u, ok := errors.AsType[*url.Error](err); !ok || !u.Timeout() {
		t.Errorf("error %v is no timeout", err)
	}
}

func TestTO2_ADeadlineDuringAnAttemptLeavesTheLastStatusReachable(t *testing.T) {
	for _, byClient := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			base := play(step{status: 503}, step{status: 503}, step{status: 200, takes: time.Hour})
			rt := must(t)(steady.New(steady.WithBase(base), steady.WithRetry(steady.Delays(time.Second, time.Second), steady.PlusMinus(0))))
			client, ctx := &http.Client{Transport: rt}, t.Context()
			if byClient {
				client.Timeout = 10 * time.Second
			} else {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, 10*time.Second)
				defer cancel()
			}
			start := time.Now()
			_, err := client.Do(post(t, ctx, "q")) //nolint:bodyclose // there is none
			if took := time.Since(start); took != 10*time.Second {
				t.Errorf("took %v, want 10s", took)
			}
			checkBothReasons(t, err, "gave up after 3 attempts (last status 503)")
			// Of an error after its own Timeout http.Client keeps only the text.
			if e, ok := errors.AsType[*steady.RetryError](err); !byClient && (!ok || e.Attempts != 3 || e.Status != 503) {
				t.Errorf("got %#v, want 3 attempts and status 503", e)
			}
			if base.attempts() != 3 {
				t.Errorf("%d attempts, want 3", base.attempts())
			}
		})
	}
}

// It is the limiter's wait, and not the backoff, that does not fit.
func TestTO2_ATurnThatDoesNotFitEndsTheCallWhenItIsAskedFor(t *testing.T) {
	for _, test := range []struct {
		name string
		step step
	}{{"after a response", step{status: 503}}, {"after an error", step{err: errRefused()}}} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				base := play(test.step)
				rt := must(t)(steady.New(steady.WithBase(base), steady.WithRateLimit(0.1, 1), steady.WithRetry(steady.Delays(time.Second, time.Second), steady.PlusMinus(0))))
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				defer cancel()
				start := time.Now()
				resp, err := (&http.Client{Transport: rt}).Do(post(t, ctx, "q"))
				if took := time.Since(start); took != time.Second {
					t.Errorf("took %v, want the 1s of the backoff", took)
				}
				if test.step.err == nil {
					if err != nil {
						t.Fatal(err)
					}
					if got := read(t, resp); resp.StatusCode != 503 || got != "Service Unavailable" {
						t.Errorf("got %d %q, want the 503, whole", resp.StatusCode, got)
					}
					return
				}
				checkBothReasons(t, err, "gave up after 1 attempt")
				if !errors.Is(err, steady.ErrRateLimited) || !errors.Is(err, syscall.ECONNREFUSED) {
					t.Errorf("error %v, want it to match ErrRateLimited and ECONNREFUSED", err)
				}
			})
		})
	}
}

func TestTO2_ARetryErrorIsATimeoutIfAnyOfItsReasonsIs(t *testing.T) {
	for _, test := range []struct {
		err  error
		want bool
	}{
		{context.DeadlineExceeded, true},
		{errors.Join(errRefused(), context.DeadlineExceeded), true},
		{&url.Error{Op: "Post", Err: &net.DNSError{IsTimeout: true}}, true},
		{&steady.LimitError{Deadline: true}, true},
		{&steady.LimitError{}, false},
		{&steady.BreakerError{}, false},
		{errRefused(), false},
		{context.Canceled, false},
		{io.ErrUnexpectedEOF, false},
	} {
		if got := (&steady.RetryError{Err: test.err}).Timeout(); got != test.want {
			t.Errorf("Timeout of %v is %v, want %v", test.err, got, test.want)
		}
	}
}

// Within bounds the waits as a deadline does, but it is not the caller's.
func TestTO2_AWaitThatDoesNotFitWithinIsNoTimeoutOfTheCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt := must(t)(steady.New(steady.WithBase(play(step{err: errRefused()})), steady.WithRetry(steady.Within(2500*time.Millisecond), steady.Delays(time.Second, time.Second), steady.PlusMinus(0))))
		start := time.Now()
		_, err := rt.RoundTrip(post(t, t.Context(), "q")) //nolint:bodyclose // there is none
		if took := time.Since(start); took != 2*time.Second {
			t.Errorf("took %v, want 2s", took)
		}
		e, ok := errors.AsType[*steady.RetryError](err)
		if !ok || e.Attempts != 3 || e.Timeout() || !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("got %v, want 3 attempts, the refusal and no timeout", err)
		}
	})
}

// counting is a base that counts attempts, and the response bodies that have
// neither been closed nor read to their end.
type counting struct {
	next http.RoundTripper
	mu   sync.Mutex
	n    int
	spy  []*spy
}

func (c *counting) RoundTrip(req *http.Request) (*http.Response, error) {
	c.mu.Lock()
	c.n++
	c.mu.Unlock()
	resp, err := c.next.RoundTrip(req)
	if err == nil {
		s := &spy{from: resp.Body}
		resp.Body = s
		c.mu.Lock()
		c.spy = append(c.spy, s)
		c.mu.Unlock()
	}
	return resp, err
}

func (c *counting) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n, c.spy = 0, nil
}

func (c *counting) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

func (c *counting) open() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.spy {
		if s.closes() == 0 {
			n++
		}
	}
	return n
}
