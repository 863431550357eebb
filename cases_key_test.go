package steady_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/steadyhttp/steady"
)

func TestKeyByHostIsTheHostAndItsPort(t *testing.T) {
	tests := []struct{ url, want string }{
		{"https://api.test/v1/messages", "api.test"},
		{"https://API.Test/v1/messages", "api.test"},
		{"http://api.test:8080/", "api.test:8080"},
		{"https://[::1]:443/", "[::1]:443"},
		{"https://user:secret@api.test/?key=secret", "api.test"},
	}
	for _, tt := range tests {
		req, err := http.NewRequest(http.MethodGet, tt.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := steady.KeyByHost(req); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.url, got, tt.want)
		}
	}
	if got := steady.KeyByHost(&http.Request{Host: "Virtual.Test"}); got != "virtual.test" {
		t.Errorf("without a URL: %q", got)
	}
}

// keyed makes a call to host for a tenant, and reads its answer.
func keyed(t *testing.T, rt http.RoundTripper, host, tenant string) (int, error) {
	t.Helper()
	req := post(t, t.Context(), "q")
	req.URL.Host = host
	req.Header.Set("Tenant", tenant)
	resp, err := rt.RoundTrip(req)
	if err != nil {
		return 0, err
	}
	read(t, resp)
	return resp.StatusCode, nil
}

func byTenant(req *http.Request) string { return req.Header.Get("Tenant") }

func TestWhatIsKeptPerKeyIsKeptApart(t *testing.T) {
	tests := []struct {
		name     string
		opt      steady.Option
		together [2]string // two calls that share a key
		apart    [2]string // and one that does not share it
	}{
		{"by host", steady.WithObserver(nil), [2]string{"a.test", "blue"}, [2]string{"b.test", "blue"}},
		{"by tenant", steady.WithKey(byTenant), [2]string{"b.test", "blue"}, [2]string{"a.test", "red"}},
	}
	limits := []struct {
		name    string
		opts    []steady.Option
		status  int
		refused error // at the second call of a key
	}{
		{"rate", []steady.Option{steady.WithRateLimit(0.001, 1), steady.MaxWait(0)}, 200, steady.ErrRateLimited},
		{"breaker", []steady.Option{steady.WithBreaker(steady.TripAfter(1)), steady.Patience(0), steady.WithRetry(steady.MaxAttempts(1))}, 503, steady.ErrBreakerOpen},
	}
	for _, tt := range tests {
		for _, l := range limits {
			t.Run(tt.name+"/"+l.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					rt := must(t)(steady.New(append([]steady.Option{steady.WithBase(statuses(l.status)), tt.opt}, l.opts...)...))
					if status, err := keyed(t, rt, "a.test", "blue"); status != l.status || err != nil {
						t.Fatal(status, err)
					}
					if _, err := keyed(t, rt, tt.together[0], tt.together[1]); !errors.Is(err, l.refused) {
						t.Errorf("the same key: %v, want %v", err, l.refused)
					}
					if status, err := keyed(t, rt, tt.apart[0], tt.apart[1]); status != l.status || err != nil {
						t.Errorf("another key: %d, %v", status, err)
					}
				})
			})
		}
	}
}

func TestTheRetryBudgetIsKeptPerKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := statuses(503)
		rt := must(t)(steady.New(steady.WithBase(base), neverTrips(),
			steady.WithRetry(steady.RetryBudget(0, 0), steady.MaxAttempts(11), steady.Delays(ms, ms))))
		for _, tt := range []struct {
			host string
			want int
		}{{"a.test", 11}, {"a.test", 1}, {"b.test", 11}} {
			before := base.attempts()
			keyed(t, rt, tt.host, "")
			if got := base.attempts() - before; got != tt.want {
				t.Errorf("%s: %d attempts, want %d", tt.host, got, tt.want)
			}
		}
		for key, want := range map[string]float64{"a.test": 0, "b.test": 0} {
			if got := stateOf(rt, key).Budget; got != want {
				t.Errorf("%s: budget %v, want %v", key, got, want)
			}
		}
	})
}

func TestTheHoldOfOneKeyDoesNotHoldAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		rt := must(t)(steady.New(steady.WithBreaker(steady.TripAfter(1)), steady.WithRetry(steady.MaxAttempts(1)),
			steady.WithBase(roundTripFunc(func(req *http.Request) (*http.Response, error) {
				status := 200
				if req.URL.Host == "down.test" && time.Since(start) < time.Second {
					status = 503
				}
				return respond(req, status, nil, nil), nil
			}))))
		keyed(t, rt, "down.test", "")
		var wg sync.WaitGroup
		wg.Go(func() { keyed(t, rt, "down.test", "") })
		synctest.Wait()
		if status, err := keyed(t, rt, "up.test", ""); status != 200 || err != nil || time.Since(start) != 0 {
			t.Errorf("up.test: %d, %v after %v", status, err, time.Since(start))
		}
		wg.Wait()
		if took := time.Since(start); took != 2*time.Second {
			t.Errorf("down.test was held for %v, want 2s", took)
		}
	})
}

// A key func is the user's and may look at anything, so it must see the request
// as it is, and is asked once.
func TestTheKeyFuncSeesTheCallersRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type tenant struct{}
		var asked []string
		rt := must(t)(steady.New(steady.WithBase(statuses(503, 200)), steady.WithKey(func(req *http.Request) string {
			key := fmt.Sprintf("%v/%s/%s%s", req.Context().Value(tenant{}), req.Header.Get("X-Team"), req.Method, req.URL.Path)
			asked = append(asked, key)
			return key
		})))
		req := post(t, context.WithValue(t.Context(), tenant{}, "blue"), "q")
		req.Header.Set("X-Team", "one")
		resp, err := rt.RoundTrip(req)
		if err != nil || resp.StatusCode != 200 {
			t.Fatal(resp, err)
		}
		read(t, resp)
		if want := []string{"blue/one/POST/v1/chat/completions"}; !reflect.DeepEqual(asked, want) {
			t.Errorf("asked for %q, want %q", asked, want)
		}
	})
}

func TestNewWithoutAKeyFuncIsAnError(t *testing.T) {
	if rt, err := steady.New(steady.WithKey(nil)); err == nil || rt != nil {
		t.Errorf("got %v, %v", rt, err)
	}
}

func TestStateTellsWhatTheLayersKnow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		rt := must(t)(steady.New(steady.WithConcurrency(2), steady.WithBreaker(steady.TripAfter(1)), steady.WithRetry(steady.MaxAttempts(1)),
			steady.WithBase(roundTripFunc(func(req *http.Request) (*http.Response, error) {
				status := 200
				if req.URL.Host == "down.test" {
					status = 503
				}
				return respond(req, status, nil, nil), nil
			}))))
		if got := rt.State(); len(got) != 0 {
			t.Errorf("a new one: %+v, want nothing", got)
		}
		keyed(t, rt, "down.test", "")
		var open []*http.Response
		for range 2 {
			resp, err := rt.RoundTrip(post(t, t.Context(), "q"))
			if err != nil {
				t.Fatal(err)
			}
			open = append(open, resp)
		}
		var wg sync.WaitGroup
		for _, host := range []string{"llm.test", "llm.test", "llm.test", "down.test"} {
			wg.Go(func() { keyed(t, rt, host, "") })
		}
		synctest.Wait()
		want := []steady.KeyState{
			{Key: "down.test", Waiting: 1, Breaker: "open", Budget: 100, PaceState: "search", HeldUntil: start.Add(2 * time.Second)},
			{Key: "llm.test", InFlight: 2, Waiting: 3, Breaker: "closed", Budget: 100, PaceState: "search"},
		}
		if got := rt.State(); !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v\nwant %+v", got, want)
		}
		for _, resp := range open {
			read(t, resp)
		}
		wg.Wait()
		want = []steady.KeyState{ // the probe at 2s has failed
			{Key: "down.test", Breaker: "open", Budget: 100, PaceState: "search", HeldUntil: start.Add(4 * time.Second)},
			{Key: "llm.test", Breaker: "closed", Budget: 100, PaceState: "search"},
		}
		if got := rt.State(); !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v\nwant %+v", got, want)
		}
		time.Sleep(2 * time.Second)
		if got := stateOf(rt, "down.test").Breaker; got != "half-open" {
			t.Errorf("%s, want half-open", got)
		}
	})
}

// Gauges are polled while calls come and go: the race detector watches.
func TestStateCanBeAskedAtAnyTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt := must(t)(steady.New(steady.WithBase(statuses(503, 200)), steady.WithConcurrency(2), steady.WithBreaker(steady.TripAfter(2))))
		var wg sync.WaitGroup
		for i := range 50 {
			wg.Go(func() { keyed(t, rt, fmt.Sprintf("h%d.test", i%5), "") })
			wg.Go(func() {
				for range 20 {
					for _, s := range rt.State() {
						if s.InFlight < 0 || s.InFlight > 2 || s.Waiting < 0 {
							t.Errorf("state %+v", s)
						}
					}
					time.Sleep(ms)
				}
			})
		}
		wg.Wait()
	})
}
