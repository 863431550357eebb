package steady_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/steadyhttp/steady"
)

const answerJSON = `{"choices":[{"index":0,"message":{"role":"assistant","content":"x"},"finish_reason":"stop"}],"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}}`

// answering is a base whose answers are plain and whole, and tell this usage.
func answering(in, out int64, header http.Header) roundTripFunc {
	return func(req *http.Request) (*http.Response, error) {
		if req.Body != nil {
			if _, err := io.Copy(io.Discard, req.Body); err != nil {
				return nil, err
			}
			req.Body.Close()
		}
		text := fmt.Sprintf(answerJSON, in, out, in+out)
		h := http.Header{"Content-Type": {"application/json"}}
		maps.Copy(h, header)
		resp := respond(req, 200, h, io.NopCloser(strings.NewReader(text)))
		resp.ContentLength = int64(len(text))
		return resp, nil
	}
}

// A request without a URL is the base's to refuse, or to answer if it is a fake.
func TestARequestNeedNotHaveAURL(t *testing.T) {
	rt := must(t)(steady.New(steady.WithBase(answering(1, 1, nil)), steady.TokensPerMinute(1000)))
	resp, err := rt.RoundTrip(&http.Request{Method: http.MethodPost, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("{}"))})
	if err != nil {
		t.Fatal(err)
	}
	read(t, resp)
}

const asking = `{"messages":[{"role":"user","content":"hi"}],"max_tokens":%d}`

// What an answer has cost is known however it came.
func TestTheUsageOfEveryAnswerSetsTheTokensRight(t *testing.T) {
	for name, length := range map[string]func(resp *http.Response){
		"whole with its headers": func(*http.Response) {},
		"of unknown length":      func(resp *http.Response) { resp.ContentLength = -1 },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rt := must(t)(steady.New(steady.TokensPerMinute(60_000), steady.WithBase(roundTripFunc(func(req *http.Request) (*http.Response, error) {
					resp, err := answering(10, 10, nil)(req)
					length(resp)
					return resp, err
				}))))
				start := time.Now()
				for range 3 { // each reserves almost all there is
					if _, err := call(t, rt, t.Context(), fmt.Sprintf(asking, 59_900)); err != nil {
						t.Fatal(err)
					}
				}
				if took := time.Since(start); took != 0 {
					t.Errorf("took %v, want no wait", took)
				}
			})
		})
	}
}

// An answer that lies about what it has cost costs minutes, not the key.
func TestALieAboutUsageCostsMinutes(t *testing.T) {
	for _, usage := range []int64{1e12, math.MaxInt64 / 2} {
		synctest.Test(t, func(t *testing.T) {
			lies := true
			rt := must(t)(steady.New(steady.TokensPerMinute(60_000), steady.MaxWait(time.Hour), steady.WithBase(roundTripFunc(func(req *http.Request) (*http.Response, error) {
				n := int64(1)
				if lies {
					n, lies = usage, false
				}
				return answering(n, n, nil)(req)
			}))))
			start := time.Now()
			for range 2 {
				if _, err := call(t, rt, t.Context(), fmt.Sprintf(asking, 10)); err != nil {
					t.Error(err)
				}
			}
			if took := time.Since(start); took > 4*time.Minute+time.Second { // and it costs something itself
				t.Errorf("the next call waited %v", took)
			}
		})
	}
}

// passOn is a layer that is none of ours and does nothing.
func passOn(next http.RoundTripper) http.RoundTripper {
	return roundTripFunc(func(req *http.Request) (*http.Response, error) { return next.RoundTrip(req) })
}

// Who looks at a copy of the body does not put an end to the one that is to be sent.
func TestALookAtTheBodyInsideRetry(t *testing.T) {
	text := `{"model":"m","messages":[{"content":"` + strings.Repeat("word ", 10_000) + `"}]}`
	for _, inner := range []struct {
		name  string
		layer steady.Middleware
	}{
		{"for its tokens", steady.RateLimit(1000, 1000, steady.TokensPerMinute(1e9))},
		{"for its model", steady.Breaker(steady.WithKey(steady.KeyByModel))},
	} {
		for _, body := range []struct {
			name string
			of   func(*http.Request)
		}{
			{"that can be had again", func(*http.Request) {}},
			{"that shares its cursor", shareCursor(text)},
			{"that comes once", func(req *http.Request) { req.GetBody = nil }},
		} {
			t.Run(inner.name+", "+body.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					heard := &events{}
					rt := steady.Chain(statuses(503, 200), steady.Retry(steady.ReplayBuffer(100_000)), passOn, inner.layer, steady.Attempt(steady.WithObserver(heard)))
					req := post(t, t.Context(), text)
					body.of(req)
					resp, err := rt.RoundTrip(req)
					if err != nil {
						t.Fatal(err)
					}
					read(t, resp)
					if got := len(of[steady.AttemptEnded](heard)); resp.StatusCode != 200 || got != 2 {
						t.Errorf("status %d after %d attempts, want 200 after 2", resp.StatusCode, got)
					}
				})
			})
		}
	}
}

// shareCursor gives a request such bodies as some SDKs do.
func shareCursor(text string) func(*http.Request) {
	return func(req *http.Request) {
		cursor := strings.NewReader(text)
		req.Body = io.NopCloser(cursor)
		req.GetBody = func() (io.ReadCloser, error) {
			_, err := cursor.Seek(0, io.SeekStart)
			return io.NopCloser(cursor), err
		}
	}
}

func TestKeyByModelWithBodiesThatShareACursor(t *testing.T) {
	base := statuses(200)
	rt := must(t)(steady.New(steady.WithBase(base), steady.WithKey(steady.KeyByModel)))
	const text = `{"model":"m","stream":true}`
	req := post(t, t.Context(), text)
	shareCursor(text)(req)
	resp, err := rt.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	read(t, resp)
	if got := base.seen[0].body; got != text {
		t.Errorf("sent %q", got)
	}
}

// A provider may ask for a wait of years. That is for a call to heed, and holds the
// queue for a minute at most: others may want another model, or have more credit.
func TestNoRetryAfterShutsTheKey(t *testing.T) {
	for _, seconds := range []string{"9999999999999999999", "9000000000", "86400", "Fri, 31 Dec 9999 23:59:59 GMT"} {
		t.Run(seconds, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				refuses := atomic.Bool{}
				sent := atomic.Int64{}
				rt := must(t)(steady.New(steady.WithBase(roundTripFunc(func(req *http.Request) (*http.Response, error) {
					sent.Add(1)
					if refuses.Load() {
						return respond(req, 429, after(seconds), nil), nil
					}
					return answering(1, 1, nil)(req)
				}))))
				calls := func(n int) (served int) {
					for range n {
						if status, _ := call(t, rt, t.Context(), "q"); status == 200 {
							served++
						}
						time.Sleep(50 * time.Millisecond)
					}
					return served
				}
				calls(100)
				refuses.Store(true)
				sent.Store(0)
				calls(200)
				if got := sent.Load(); got > 5 {
					t.Errorf("%d attempts while all are refused, want a hold", got)
				}
				refuses.Store(false)
				time.Sleep(time.Minute)
				if got := calls(20); got != 20 {
					t.Errorf("%d of 20 calls were served a minute later", got)
				}
			})
		})
	}
}

// Good answers that say that nobody may ask are beside the point.
func TestALimitOfNoneIsNotHeeded(t *testing.T) {
	for _, what := range []string{"", "-Requests", "-Tokens"} {
		synctest.Test(t, func(t *testing.T) {
			rt := must(t)(steady.New(steady.WithBase(answering(1, 1, http.Header{
				"X-Ratelimit-Limit" + what: {"0"}, "X-Ratelimit-Remaining" + what: {"0"}, "X-Ratelimit-Reset" + what: {"60"},
			}))))
			start := time.Now()
			for range 20 {
				if _, err := call(t, rt, t.Context(), fmt.Sprintf(asking, 10)); err != nil {
					t.Fatal(err)
				}
				time.Sleep(100 * time.Millisecond)
			}
			if took := time.Since(start); took != 2*time.Second {
				t.Errorf("20 calls took %v, want no wait", took)
			}
		})
	}
}

// A layer of others may send one request several times at once.
func TestAHedgeBetweenLayers(t *testing.T) {
	hedge := func(next http.RoundTripper) http.RoundTripper {
		return roundTripFunc(func(req *http.Request) (*http.Response, error) {
			type res struct {
				resp *http.Response
				err  error
			}
			ch := make(chan res, 3)
			for range 3 {
				r := req.Clone(req.Context())
				r.Body, _ = req.GetBody()
				go func() {
					resp, err := next.RoundTrip(r)
					ch <- res{resp, err}
				}()
			}
			first := <-ch
			for range 2 {
				if r := <-ch; r.err == nil {
					r.resp.Body.Close()
				}
			}
			return first.resp, first.err
		})
	}
	var n atomic.Int64
	base := roundTripFunc(func(req *http.Request) (*http.Response, error) {
		b, err := io.ReadAll(req.Body)
		req.Body.Close()
		if err != nil {
			return nil, err
		}
		if string(b) != "question" {
			t.Errorf("sent %q", b)
		}
		if n.Add(1)%5 == 0 {
			return respond(req, 503, after("0"), nil), nil
		}
		return respond(req, 200, nil, nil), nil
	})
	rt := steady.Chain(base, steady.RateLimit(1e6, 1000), hedge, steady.Retry(steady.Delays(time.Millisecond, time.Millisecond)), steady.Attempt())
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				resp, err := rt.RoundTrip(post(t, t.Context(), "question"))
				if err != nil {
					t.Error(err)
					return
				}
				resp.Body.Close()
			}
		})
	}
	wg.Wait()
}

// A hedge may return the first answer and leave the other attempts to themselves.
func TestAHedgeThatDoesNotWait(t *testing.T) {
	var left sync.WaitGroup
	hedge := func(next http.RoundTripper) http.RoundTripper {
		return roundTripFunc(func(req *http.Request) (*http.Response, error) {
			ch := make(chan *http.Response, 3)
			for range 3 {
				r := req.Clone(req.Context())
				r.Body, _ = req.GetBody()
				left.Go(func() {
					resp, err := next.RoundTrip(r)
					if err != nil {
						resp = respond(r, 599, nil, nil)
					}
					ch <- resp
				})
			}
			return <-ch, nil
		})
	}
	for seed := range uint64(200) {
		synctest.Test(t, func(t *testing.T) {
			left = sync.WaitGroup{}
			rnd := rand.New(rand.NewPCG(seed, 1))
			var mu sync.Mutex
			var n int
			base := roundTripFunc(func(req *http.Request) (*http.Response, error) {
				mu.Lock()
				takes, status := time.Duration(rnd.Int64N(int64(time.Second))), 200
				if n++; rnd.Float64() < 0.5 {
					status = 503
				}
				mu.Unlock()
				time.Sleep(takes)
				return respond(req, status, after("0"), nil), nil
			})
			rt := steady.Chain(base, steady.RateLimit(1e6, 1000, steady.MaxInFlight(1)), hedge, steady.Breaker(steady.TripAfter(100)), steady.Retry(steady.MaxAttempts(50)), steady.Attempt())
			for range 3 {
				resp, err := rt.RoundTrip(post(t, t.Context(), "question"))
				if err != nil {
					t.Fatal(err)
				}
				read(t, resp)
			}
			left.Wait()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if _, err := call(t, rt, ctx, "q"); err != nil {
				t.Errorf("seed %d: a slot is lost: %v", seed, err)
			}
			left.Wait()
		})
	}
}
