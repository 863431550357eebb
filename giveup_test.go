package steady_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/steadyhttp/steady"
)

// givenUp is a call and what is to be heard of its end.
type givenUp struct {
	name     string
	base     *script
	retry    []steady.RetryOption // on top of one-second delays without jitter
	opts     []steady.Option
	deadline time.Duration         // 0 for none
	cancel   time.Duration         // when the caller leaves; 0 for never
	request  func(r *http.Request) // changes it
	want     string                // the line in the log, from the level on; "" for none
}

func givenUps() []givenUp {
	hangs := step{status: 200, takes: time.Minute}
	down := step{err: errRefused()}
	return []givenUp{
		{name: "all is well", base: statuses(200)},
		{name: "well in the end", base: statuses(503, 503, 200)},
		{name: "an answer that no other attempt would change", base: statuses(400),
			want: "DEBUG reason=final attempts=1 status=400 outcome=declined class=invalid_request"},
		{name: "such an answer after a re-send", base: statuses(503, 400),
			want: "WARN reason=final attempts=2 status=400 outcome=declined class=invalid_request"},
		{name: "no attempt is left", base: statuses(503), retry: []steady.RetryOption{steady.MaxAttempts(3)},
			want: "WARN reason=attempts attempts=3 status=503 outcome=overloaded class=overloaded"},
		{name: "retries are off", base: statuses(503), retry: []steady.RetryOption{steady.MaxAttempts(1)},
			want: "DEBUG reason=attempts attempts=1 status=503 outcome=overloaded class=overloaded"},
		{name: "it may have been done", base: play(hangs),
			want: "WARN reason=unknown attempts=2 status=0 outcome=unknown err"},
		{name: "a body that cannot be sent again", base: statuses(503), retry: []steady.RetryOption{steady.ReplayBuffer(0)},
			request: func(r *http.Request) { r.GetBody = nil },
			want:    "WARN reason=body attempts=1 status=503 outcome=overloaded class=overloaded"},
		{name: "a body that is not given again", base: statuses(503),
			request: func(r *http.Request) {
				r.GetBody = func() (io.ReadCloser, error) { return nil, errors.New("gone") }
			},
			want: "WARN reason=body attempts=1 status=503 outcome=overloaded class=overloaded"},
		{name: "no budget", base: play(down), retry: []steady.RetryOption{steady.RetryBudget(0, 0.3), steady.MaxAttempts(20), steady.Delays(ms, ms)},
			want: "WARN reason=budget attempts=11 status=0 outcome=failed err"},
		{name: "the deadline is near", base: play(down), deadline: 2500 * ms,
			want: "WARN reason=deadline attempts=3 status=0 outcome=failed err"},
		{name: "the deadline is nearer than the named wait", base: play(step{status: 429, header: after("20")}), deadline: 2500 * ms,
			want: "WARN reason=deadline attempts=1 status=429 outcome=rejected class=rate_limit"},
		{name: "the deadline passes", base: play(step{status: 503}, hangs), deadline: 2500 * ms,
			opts: []steady.Option{steady.WithTimeouts(steady.HeaderTimeout(time.Minute))},
			want: "WARN reason=deadline attempts=2 status=503 outcome=unknown err"},
		{name: "Within is over", base: play(down), retry: []steady.RetryOption{steady.Within(2500 * ms)},
			want: "WARN reason=within attempts=3 status=0 outcome=failed err"},
		{name: "Within is over before the named wait", base: play(step{status: 429, header: after("20")}),
			retry: []steady.RetryOption{steady.Within(2500 * ms)},
			want:  "WARN reason=within attempts=1 status=429 outcome=rejected class=rate_limit"},
		{name: "the named wait is too long", base: play(step{status: 429, header: after("61")}),
			want: "WARN reason=retry-after attempts=1 status=429 outcome=rejected class=rate_limit"},
		{name: "the breaker is open by now", base: statuses(503), opts: []steady.Option{steady.WithBreaker(steady.TripAfter(2)), steady.Patience(0)},
			want: "WARN reason=refused attempts=2 status=503 outcome=overloaded class=overloaded"},
		{name: "the caller leaves an attempt", base: play(step{status: 503}, hangs), cancel: 2500 * ms},
		{name: "the caller leaves while an answer is read", base: play(step{status: 503, body: silent()}), cancel: 100 * ms},
		{name: "the deadline passes while an answer is read", base: play(step{status: 503, body: silent()}), deadline: 100 * ms,
			want: "WARN reason=deadline attempts=1 status=503 outcome=overloaded"},
		{name: "the caller leaves a wait", base: statuses(503), cancel: 500 * ms},
	}
}

// silent is a body that says nothing until it is closed.
func silent() io.ReadCloser {
	r, _ := io.Pipe()
	return r
}

func TestWhoListensHearsWhyACallIsGivenUp(t *testing.T) {
	for i, tt := range givenUps() {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tt := givenUps()[i] // whose pipes are the bubble's
				heard, logged := &events{}, &bytes.Buffer{}
				log := steady.LogTo(slog.New(slog.NewTextHandler(logged, &slog.HandlerOptions{Level: slog.LevelDebug})))
				both := steady.ObserverFunc(func(ctx context.Context, e steady.Event) { heard.Observe(ctx, e); log.Observe(ctx, e) })
				retry := append([]steady.RetryOption{steady.Delays(time.Second, time.Second), steady.PlusMinus(0)}, tt.retry...)
				rt := must(t)(steady.New(append([]steady.Option{
					steady.WithBase(tt.base), neverTrips(), steady.WithRetry(retry...), steady.WithObserver(both),
					steady.WithTimeouts(steady.HeaderTimeout(time.Second)),
				}, tt.opts...)...))
				ctx, cancel := context.WithCancel(t.Context())
				if tt.deadline > 0 {
					ctx, cancel = context.WithTimeout(ctx, tt.deadline)
				}
				defer cancel()
				if tt.cancel > 0 {
					time.AfterFunc(tt.cancel, cancel)
				}
				req := post(t, ctx, "q")
				if tt.request != nil {
					tt.request(req)
				}
				resp, err := rt.RoundTrip(req)
				if err == nil {
					read(t, resp)
				}
				if got := gaveUpLine(logged.String()); !strings.HasPrefix(got, tt.want) || tt.want == "" && got != "" {
					t.Errorf("logged %q, want %q", got, tt.want)
				}
				wantGaveUp(t, of[steady.GaveUp](heard), tt.want != "", err)
			})
		})
	}
}

// wantGaveUp checks that there is one event if there is to be one, about what the
// caller got.
func wantGaveUp(t *testing.T, got []steady.GaveUp, want bool, err error) {
	t.Helper()
	if !want {
		if len(got) != 0 {
			t.Errorf("heard %+v, want nothing", got)
		}
		return
	}
	if len(got) != 1 || got[0].Key != "llm.test" || !errors.Is(got[0].Err, err) || (got[0].Err == nil) != (err == nil) {
		t.Errorf("heard %+v, want one about a call that ended in %v", got, err)
	}
}

// gaveUpLine returns the line that says so, without its time, message and key.
func gaveUpLine(logged string) string {
	for line := range strings.Lines(logged) {
		level, rest, ok := strings.Cut(line, ` msg="steady: gave up" key=llm.test `)
		if _, level, _ = strings.Cut(level, "level="); ok {
			return level + " " + strings.TrimSpace(strings.ReplaceAll(rest, `class="" `, ""))
		}
	}
	return ""
}

// A layer inside Retry may refuse, too.
func TestACallThatALayerInsideRetryRefusesIsGivenUpIfItWasSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		heard := &events{}
		rt := steady.Chain(statuses(503), steady.Retry(steady.WithObserver(heard)), steady.Breaker(steady.TripAfter(1)))
		if status, err := call(t, rt, t.Context(), "q"); status != 503 || err != nil {
			t.Errorf("got %d, %v, want the 503", status, err)
		}
		got := of[steady.GaveUp](heard)
		want := steady.GaveUp{Key: "llm.test", Reason: "refused", Attempts: 1, Status: 503, Outcome: "overloaded", Class: "overloaded"}
		if len(got) != 1 || got[0] != want {
			t.Errorf("heard %+v, want %+v", got, want)
		}
		if _, err := call(t, rt, t.Context(), "q"); !errors.Is(err, steady.ErrBreakerOpen) {
			t.Errorf("got %v, want ErrBreakerOpen", err)
		}
		if n := len(of[steady.GaveUp](heard)); n != 1 {
			t.Errorf("%d events, want no other for a call that was never sent", n)
		}
	})
}

func TestTheLogOfACallThatIsGivenUpHasNoURL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		logged := &bytes.Buffer{}
		base := play(step{err: &url.Error{Op: "Post", URL: "https://user:secret@llm.test/v1?key=secret", Err: errRefused()}})
		rt := must(t)(steady.New(steady.WithBase(base), steady.WithObserver(steady.LogTo(slog.New(slog.NewTextHandler(logged, nil))))))
		if _, err := call(t, rt, t.Context(), "q"); err == nil {
			t.Fatal("no error")
		}
		if got := gaveUpLine(logged.String()); !strings.Contains(got, "refused") || strings.Contains(logged.String(), "secret") {
			t.Errorf("logged %q, want the reason and no secret", got)
		}
	})
}

// Nobody but Retry has the response when the observer hears of it.
func TestAPanicOfAnObserverWhoHearsOfAGiveUpLeavesNoBodyOpen(t *testing.T) {
	for _, codes := range [][]int{{400}, {503, 400}} {
		synctest.Test(t, func(t *testing.T) {
			base := &script{}
			bodies := []*spy{}
			for _, code := range codes {
				bodies = append(bodies, spyOf(strings.Repeat("x", 100<<10))) // more than is read of an error
				base.steps = append(base.steps, step{status: code, body: bodies[len(bodies)-1]})
			}
			rt := steady.Chain(base, steady.Retry(steady.WithObserver(steady.ObserverFunc(func(_ context.Context, e steady.Event) {
				if _, ok := e.(steady.GaveUp); ok {
					panic("observer")
				}
			}))))
			func() {
				defer func() {
					if recover() != "observer" {
						t.Error("the panic is not the observer's")
					}
				}()
				resp, err := rt.RoundTrip(post(t, t.Context(), "q"))
				t.Errorf("got %v, %v", resp, err)
			}()
			for i, b := range bodies {
				if b.closes() == 0 {
					t.Errorf("the body of answer %d is open", i+1)
				}
			}
		})
	}
}
