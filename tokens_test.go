package steady_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/steadyhttp/steady"
	"github.com/steadyhttp/steady/internal/wire"
)

// weighing returns the body of a request for a chat that is taken to cost exactly
// so many tokens of the model.
func weighing(tb testing.TB, tokens int) string {
	tb.Helper()
	question := strings.Repeat("What is the weight of a question of so many words? ", tokens/16)
	for answer := tokens; answer > 0; answer-- {
		body := fmt.Sprintf(`{"model":"m","max_tokens":%d,"messages":[{"role":"user","content":%q}]}`, answer, question)
		switch got := int(wire.ChargeOf("llm.test", chat, []byte(body), int64(len(body))).Reserved()); {
		case got == tokens:
			return body
		case got-tokens > 1:
			answer = max(1, answer-(got-tokens)+1)
		}
	}
	tb.Fatalf("no question weighs %d tokens", tokens)
	return ""
}

// answering is a base that answers with what usage says that a call has cost, in
// order, the last for ever; 0 says nothing. It notes when the calls came.
func (c *clock) answering(usage ...int) http.RoundTripper {
	var mu sync.Mutex
	return roundTripFunc(func(req *http.Request) (*http.Response, error) {
		_, _ = io.Copy(io.Discard, req.Body)
		req.Body.Close()
		mu.Lock()
		defer mu.Unlock()
		c.note(fmt.Sprint(len(c.at) + 1))
		said := ""
		if n := usage[0]; n > 0 {
			said = fmt.Sprintf(`,"usage":{"prompt_tokens":%d,"completion_tokens":10,"total_tokens":%d}`, n-10, n)
		}
		if len(usage) > 1 {
			usage = usage[1:]
		}
		return respond(req, 200, jsonType, io.NopCloser(strings.NewReader(`{"choices":[{"finish_reason":"stop","message":{"content":"x"}}]`+said+`}`))), nil
	})
}

// inTokens is how long a limit of n tokens a minute takes for so many.
func inTokens(n, perMinute int) time.Duration {
	return time.Duration(math.Round(float64(n) / float64(perMinute) * float64(time.Minute)))
}

// about reports whether two times are the same but for what float64 loses.
func about(a, b time.Duration) bool { return max(a-b, b-a) <= time.Microsecond }

// tokenStack is a stack whose only limit is one of tokens a minute.
func tokenStack(t *testing.T, base http.RoundTripper, perMinute int, opts ...steady.Option) *steady.Transport {
	t.Helper()
	return must(t)(steady.New(append([]steady.Option{
		steady.WithBase(base), steady.WithRateLimit(1000, 1000, steady.TokensPerMinute(perMinute)), steady.MaxWait(time.Hour),
	}, opts...)...))
}

// RL3, with the tokens of real bodies.
func TestRL3_ABodyHeavierThanAMinuteIsAdmittedWithDebt(t *testing.T) {
	for _, test := range []struct {
		name   string
		before int           // a call before the heavy one
		heavy  time.Duration // when that goes
	}{
		{"a full bucket", 0, 0},
		{"a bucket that is half empty", 500, 30 * time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newClock()
				rt := tokenStack(t, c.answering(0), 1000)
				var wg sync.WaitGroup
				ask := func(tokens int) {
					body := weighing(t, tokens)
					wg.Go(func() {
						if status, err := call(t, rt, t.Context(), body); status != 200 || err != nil {
							t.Errorf("%d tokens: %d, %v", tokens, status, err)
						}
					})
					synctest.Wait()
				}
				cost, want := []int{2000}, []time.Duration{test.heavy}
				if test.before > 0 {
					ask(test.before)
					cost, want = []int{test.before, 2000}, []time.Duration{0, test.heavy}
				}
				ask(2000)
				for i := range 10 {
					ask(100)
					cost = append(cost, 100)
					want = append(want, test.heavy+inTokens(1000+(i+1)*100, 1000)) // 1,000 of debt
				}
				wg.Wait()
				for i := range want {
					if len(c.at) != len(want) || !about(c.at[i], want[i]) {
						t.Fatalf("calls went at %v, want %v", c.at, want)
					}
				}
				for from := range c.at {
					sum := 0
					for i := from; i < len(c.at) && c.at[i] < c.at[from]+time.Minute; i++ {
						sum += cost[i]
					}
					if sum > 1000+1000+test.before {
						t.Errorf("%d tokens in the minute from %v, want at most 1000 and the debt", sum, c.at[from])
					}
				}
			})
		})
	}
}

func TestRL3_ABodyThatCannotBePaidForInTimeIsRefusedAtOnceAndCostsNothing(t *testing.T) {
	for _, test := range []struct {
		name     string
		deadline time.Duration
		opts     []steady.Option
		timely   bool // the deadline decides
	}{
		{"by its deadline", 5 * time.Second, nil, true},
		{"by MaxWait", time.Hour, []steady.Option{steady.MaxWait(5 * time.Second)}, false},
		{"as it may not wait", time.Hour, []steady.Option{steady.MaxWait(0)}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newClock()
				rt := tokenStack(t, c.answering(0), 1000, test.opts...)
				call(t, rt, t.Context(), weighing(t, 1000)) // the bucket is empty
				ctx, cancel := context.WithTimeout(t.Context(), test.deadline)
				defer cancel()
				for _, tokens := range []int{100, 1000, 2000} {
					_, err := call(t, rt, ctx, weighing(t, tokens))
					limited, ok := errors.AsType[*steady.LimitError](err)
					if !ok || !errors.Is(err, steady.ErrRateLimited) || limited.Deadline != test.timely || errors.Is(err, context.DeadlineExceeded) != test.timely {
						t.Fatalf("%d tokens: error %v", tokens, err)
					}
					if want := inTokens(min(tokens, 1000), 1000); !about(limited.Wait, want) {
						t.Errorf("%d tokens: the error says %v, want %v", tokens, limited.Wait, want)
					}
				}
				if took := time.Since(c.start); took != 0 {
					t.Errorf("the refusals took %v", took)
				}
				time.Sleep(6*time.Second + time.Microsecond) // for 100 tokens: none of those have cost any
				if _, err := call(t, rt, t.Context(), weighing(t, 100)); err != nil {
					t.Error(err)
				}
				if len(c.at) != 2 {
					t.Errorf("attempts at %v, want those two that could be paid for", c.at)
				}
			})
		})
	}
}

func TestTheUsageOfAnAnswerSetsRightWhatItCost(t *testing.T) {
	for _, test := range []struct {
		name  string
		usage int
		next  time.Duration // when a call of 500 goes that comes after one of 1,000
	}{
		{"as expected", 1000, 30 * time.Second},
		{"unknown", 0, 30 * time.Second},
		{"less", 700, 12 * time.Second},
		{"so little that the next goes at once", 400, 0},
		{"more", 1250, 45 * time.Second},
		{"far more", 3000, 150 * time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newClock()
				rt := tokenStack(t, c.answering(test.usage, 0), 1000)
				for _, tokens := range []int{1000, 500} {
					if status, err := call(t, rt, t.Context(), weighing(t, tokens)); status != 200 || err != nil {
						t.Errorf("%d, %v", status, err)
					}
				}
				if len(c.at) != 2 || !about(c.at[1], test.next) {
					t.Errorf("the next call went at %v, want %v", c.at, test.next)
				}
			})
		})
	}
}

// The one who waits already is served by what comes back.
func TestTokensThatComeBackWakeTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClock()
		base := roundTripFunc(func(req *http.Request) (*http.Response, error) {
			c.note("")
			return respond(req, 200, eventStream, newFeed(req.Context(), piece{data: roleEvent + wordEvent},
				piece{at: 3 * time.Second, data: stopEvent + usageEvent + doneEvent, err: io.EOF})), nil // 9 tokens
		})
		rt := tokenStack(t, base, 1000)
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() { call(t, rt, t.Context(), weighing(t, 1000)) })
			synctest.Wait()
		}
		wg.Wait()
		if len(c.at) != 2 || c.at[1] != 3*time.Second {
			t.Errorf("calls went at %v, want the second when the usage of the first is known, at 3s", c.at)
		}
	})
}

func TestARefusalByTheBreakerGivesTheTokensBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		base := statuses(503, 200)
		rt := steady.Chain(base,
			steady.RateLimit(1000, 1000, steady.TokensPerMinute(1000), steady.MaxWait(0)),
			steady.Breaker(steady.TripAfter(1)))
		if status, err := call(t, rt, t.Context(), weighing(t, 500)); status != 503 || err != nil {
			t.Fatal(status, err)
		}
		for range 100 {
			if _, err := call(t, rt, t.Context(), weighing(t, 500)); !errors.Is(err, steady.ErrBreakerOpen) {
				t.Fatalf("error %v, want ErrBreakerOpen", err)
			}
		}
		time.Sleep(2 * time.Second)
		if status, err := call(t, rt, t.Context(), weighing(t, 500)); status != 200 || err != nil {
			t.Errorf("the call that the tokens are left for: %d, %v", status, err)
		}
		if got := base.times(start); len(got) != 2 || got[1] != 2*time.Second {
			t.Errorf("attempts at %v", got)
		}
	})
}

// What is to be estimated has to be read, and must arrive all the same.
func TestABodyThatWasWeighedArrivesWhole(t *testing.T) {
	text := weighing(t, 3000)
	for name, prepare := range map[string]func(req *http.Request){
		"with a GetBody": func(*http.Request) {},
		"without":        func(req *http.Request) { req.GetBody = nil },
		"with a GetBody that shares its cursor": func(req *http.Request) {
			cursor := strings.NewReader(text)
			req.Body = io.NopCloser(cursor)
			req.GetBody = func() (io.ReadCloser, error) {
				_, err := cursor.Seek(0, io.SeekStart)
				return io.NopCloser(cursor), err
			}
		},
		"with a GetBody that fails": func(req *http.Request) {
			req.GetBody = func() (io.ReadCloser, error) { return nil, errors.New("no body") }
		},
		"of unknown length": func(req *http.Request) { req.ContentLength = -1 },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				base := statuses(503, 200)
				rt := must(t)(steady.New(steady.WithBase(base), steady.WithRateLimit(1000, 1000, steady.TokensPerMinute(1e6))))
				req := post(t, t.Context(), text)
				prepare(req)
				body := &spy{from: req.Body}
				req.Body = body
				resp, err := rt.RoundTrip(req)
				if err != nil {
					t.Fatal(err)
				}
				read(t, resp)
				for i, a := range base.seen {
					if a.body != text {
						t.Errorf("attempt %d of %d sent %d bytes, want %d", i+1, len(base.seen), len(a.body), len(text))
					}
				}
				if n := body.closes(); n != 1 {
					t.Errorf("the caller's body was closed %d times", n)
				}
				body.check(t, "the caller's body")
			})
		})
	}
}

// A call that is refused has its body closed once, too, weighed or not.
func TestTheBodyOfACallThatIsRefusedForItsTokensIsClosedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var opened []*spy
		rt := tokenStack(t, statuses(200), 100, steady.MaxWait(0))
		call(t, rt, t.Context(), weighing(t, 100))
		req := post(t, t.Context(), "")
		text := weighing(t, 100)
		open := func() (io.ReadCloser, error) {
			s := spyOf(text)
			opened = append(opened, s)
			return s, nil
		}
		req.Body, _ = open()
		req.GetBody, req.ContentLength = open, int64(len(text))
		if _, err := rt.RoundTrip(req); !errors.Is(err, steady.ErrRateLimited) {
			t.Fatalf("error %v, want ErrRateLimited", err)
		}
		for i, s := range opened {
			if n := s.closes(); n != 1 {
				t.Errorf("body %d of %d was closed %d times", i+1, len(opened), n)
			}
		}
	})
}

// By default a request costs tokens only when the provider has said that few are left.
func TestTokensThatTheProviderSaysAreLeft(t *testing.T) {
	for _, test := range []struct {
		name   string
		header http.Header
		next   time.Duration // when a call of 600 tokens goes
	}{
		{"none left of what fills bit by bit", header("X-Ratelimit-Limit-Tokens", 6000, "X-Ratelimit-Remaining-Tokens", 0, "X-Ratelimit-Reset-Tokens", "60s"), 6 * time.Second},
		{"a few", header("X-Ratelimit-Limit-Tokens", 6000, "X-Ratelimit-Remaining-Tokens", 500, "X-Ratelimit-Reset-Tokens", "55s"), time.Second},
		{"enough", header("X-Ratelimit-Limit-Tokens", 6000, "X-Ratelimit-Remaining-Tokens", 700, "X-Ratelimit-Reset-Tokens", "53s"), 0},
		{"nothing told", nil, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newClock()
				first := true
				base := roundTripFunc(func(req *http.Request) (*http.Response, error) {
					c.note("")
					if !first {
						return respond(req, 200, nil, nil), nil
					}
					first = false
					return respond(req, 200, test.header, nil), nil
				})
				rt := must(t)(steady.New(steady.WithBase(base)))
				for range 2 {
					if status, err := call(t, rt, t.Context(), weighing(t, 600)); status != 200 || err != nil {
						t.Errorf("%d, %v", status, err)
					}
				}
				if !about(c.at[1], test.next) {
					t.Errorf("calls went at %v, want the second at %v", c.at, test.next)
				}
			})
		})
	}
}

// What those in line will cost counts, too.
func TestTheTokensOfThoseBeforeItDecideWhetherACallCanBeServedInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClock()
		rt := tokenStack(t, c.answering(0), 1000)
		call(t, rt, t.Context(), weighing(t, 1000))
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() { call(t, rt, t.Context(), weighing(t, 500)) })
		}
		synctest.Wait()
		for _, test := range []struct {
			deadline time.Duration
			refused  bool
		}{{95 * time.Second, true}, {97 * time.Second, false}} { // its turn is at 96s
			ctx, cancel := context.WithTimeout(t.Context(), test.deadline)
			defer cancel()
			start := time.Now()
			_, err := call(t, rt, ctx, weighing(t, 100))
			if (err != nil) != test.refused || test.refused && (time.Since(start) != 0 || !errors.Is(err, steady.ErrRateLimited)) {
				t.Errorf("with a deadline in %v: %v after %v", test.deadline, err, time.Since(start))
			}
		}
		wg.Wait()
	})
}

// What is left of a body of which GetBody has given a reader that was read may have
// been read, too: it is not sent.
func TestABodyThatMayHaveBeenReadIsNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := statuses(200)
		rt := must(t)(steady.New(steady.WithBase(base), steady.TokensPerMinute(1e6)))
		req := post(t, t.Context(), "q")
		first := true
		req.GetBody = func() (io.ReadCloser, error) {
			if !first {
				return nil, errors.New("no more bodies")
			}
			first = false
			return io.NopCloser(strings.NewReader("q")), nil
		}
		if _, err := rt.RoundTrip(req); err == nil || !strings.Contains(err.Error(), "no more bodies") {
			t.Errorf("error %v, want that of GetBody", err)
		}
	})
}
