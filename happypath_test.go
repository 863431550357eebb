package steady_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/steadyhttp/steady"
)

// A plain answer that has been read to its end and judged by the stack costs the
// provider nothing more, however slowly the caller takes it.
func TestAPlainAnswerHoldsNoSlotOnceItIsAllThere(t *testing.T) {
	rt := must(t)(steady.New(steady.WithBase(canned), steady.WithConcurrency(1)))
	unread, err := rt.RoundTrip(post(t, t.Context(), question))
	if err != nil {
		t.Fatal(err)
	}
	if got := stateOf(rt, "llm.test").InFlight; got != 0 {
		t.Errorf("%d in flight beside an answer that is all there, want 0", got)
	}
	if status, err := call(t, rt, t.Context(), question); status != http.StatusOK || err != nil {
		t.Errorf("the next call: %d, %v, want 200", status, err)
	}
	if got := read(t, unread); got != answer {
		t.Errorf("read %q, want %q", got, answer)
	}
}

// Without an end to its answer's body the attempt goes on, as does its slot.
func TestAnAnswerOfUnknownLengthHoldsItsSlotUntilItIsRead(t *testing.T) {
	base := roundTripFunc(func(req *http.Request) (*http.Response, error) {
		resp, err := canned(req)
		if err == nil {
			resp.ContentLength = -1
		}
		return resp, err
	})
	rt := must(t)(steady.New(steady.WithBase(base), steady.WithConcurrency(1)))
	resp, err := rt.RoundTrip(post(t, t.Context(), question))
	if err != nil {
		t.Fatal(err)
	}
	if got := stateOf(rt, "llm.test").InFlight; got != 1 {
		t.Errorf("%d in flight before the body is read, want 1", got)
	}
	if got := read(t, resp); got != answer {
		t.Errorf("read %q, want %q", got, answer)
	}
	if got := stateOf(rt, "llm.test").InFlight; got != 0 {
		t.Errorf("%d in flight after the body was read, want 0", got)
	}
}

type addedKey struct{}

// adds is a layer that is not of this package: it sends a copy of the request, with
// a value in its context and a header.
func adds(next http.RoundTripper) http.RoundTripper {
	return roundTripFunc(func(req *http.Request) (*http.Response, error) {
		req = req.Clone(context.WithValue(req.Context(), addedKey{}, "added"))
		req.Header.Set("X-Added", "added")
		return next.RoundTrip(req)
	})
}

// The layers of this package hand the request on by hand; whatever stands between
// them is still heard by those further in, at each attempt.
func TestWhatALayerBetweenAddsReachesTheBase(t *testing.T) {
	layers := []steady.Middleware{steady.SDK(), steady.RateLimit(plenty, plenty), steady.Breaker(), steady.Retry(), steady.Attempt()}
	for at := range len(layers) + 1 {
		synctest.Test(t, func(t *testing.T) {
			attempts := 0
			base := roundTripFunc(func(req *http.Request) (*http.Response, error) {
				attempts++
				body, err := io.ReadAll(req.Body)
				req.Body.Close()
				if added, _ := req.Context().Value(addedKey{}).(string); added != "added" || req.Header.Get("X-Added") != "added" || string(body) != question || err != nil {
					t.Errorf("at %d, attempt %d: context %q, header %q, body of %d bytes, %v", at, attempts, added, req.Header.Get("X-Added"), len(body), err)
				}
				if attempts < 3 {
					return respond(req, http.StatusServiceUnavailable, nil, nil), nil
				}
				return canned(req)
			})
			all := append(append(append([]steady.Middleware{}, layers[:at]...), adds), layers[at:]...)
			req := post(t, t.Context(), question)
			resp, err := steady.Chain(base, all...).RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			if read(t, resp); attempts != 3 {
				t.Errorf("at %d: %d attempts, want 3", at, attempts)
			}
			if at > 1 && resp.Request != req { // SDK leaves that of adds as it is
				t.Errorf("at %d: the answer names another request", at)
			}
		})
	}
}

// An attempt hears of the end of its time from when somebody asks, counted from its start.
func TestTheTimeForHeadersCountsFromTheStartOfTheAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := roundTripFunc(func(req *http.Request) (*http.Response, error) {
			req.Body.Close()
			time.Sleep(3 * time.Second) // before it asks
			<-req.Context().Done()
			return nil, req.Context().Err()
		})
		rt := steady.Chain(base, steady.Attempt(steady.HeaderTimeout(5*time.Second)))
		began := time.Now()
		_, err := rt.RoundTrip(post(t, t.Context(), question)) //nolint:bodyclose // there is none
		if err == nil || !strings.Contains(err.Error(), "no response headers within 5s") {
			t.Errorf("error %v, want that of the header timeout", err)
		}
		if took := time.Since(began); took != 5*time.Second {
			t.Errorf("took %v, want 5s", took)
		}
	})
}

// A base that asks when the time is over already is told so at once.
func TestTheTimeForHeadersMayBeOverWhenSomebodyAsks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		base := roundTripFunc(func(req *http.Request) (*http.Response, error) {
			req.Body.Close()
			time.Sleep(6 * time.Second)
			return nil, req.Context().Err()
		})
		rt := steady.Chain(base, steady.Attempt(steady.HeaderTimeout(5*time.Second)))
		_, err := rt.RoundTrip(post(t, t.Context(), question)) //nolint:bodyclose // there is none
		if err == nil || !strings.Contains(err.Error(), "no response headers within 5s") {
			t.Errorf("error %v, want that of the header timeout", err)
		}
	})
}
