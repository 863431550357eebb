package sdktest

import (
	"strconv"
	"strings"
	"testing"

	"github.com/steadyhttp/steady"
	"github.com/steadyhttp/steady/internal/fakeserver"
)

func TestAPersistentFailureCostsAsManyRequestsAsMaxAttempts(t *testing.T) {
	for _, code := range []int{429, 500, 503, 529} {
		t.Run(strconv.Itoa(code), func(t *testing.T) {
			each(t, paths(), func(t *testing.T, p path) { persistent(t, p, code, settings{}) })
		})
	}
}

// persistent has the server fail for ever and checks what the SDK's caller gets.
func persistent(t *testing.T, p path, code int, with settings) {
	t.Helper()
	r := newRig(t)
	r.play(status(code, fakeserver.RetryAfter("0.01")))
	a, err := r.ask(t, p, with)
	wantCount(t, "requests", r.requests(), 3)
	wantCount(t, "round trips", r.roundTrips.Load(), 1)
	wantTold(t, p, a, err, told{code, "(request 3)", "0.01"})
}

func TestARefusedRequestIsSentOnce(t *testing.T) {
	for _, code := range []int{400, 401, 403, 404, 422} {
		t.Run(strconv.Itoa(code), func(t *testing.T) {
			each(t, paths(), func(t *testing.T, p path) {
				r := newRig(t)
				r.play(status(code, fakeserver.RetryAfter("7")))
				a, err := r.ask(t, p, settings{})
				wantCount(t, "requests", r.requests(), 1)
				wantCount(t, "round trips", r.roundTrips.Load(), 1)
				wantTold(t, p, a, err, told{code, "(request 1)", "7"})
			})
		})
	}
}

func TestFailuresAreHiddenByTheSuccessThatFollows(t *testing.T) {
	for name, failures := range map[string][]fakeserver.Effect{
		"nothing":               {},
		"429 and 503":           {status(429), status(503)},
		"529 and a reset":       {status(529), fakeserver.ResetAfterBody()},
		"a closed connection":   {fakeserver.CloseAfterBody()},
		"500 in a page of HTML": {fakeserver.Status(500, fakeserver.Body("text/html", "<h1>oh</h1>"))},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, paths(), func(t *testing.T, p path) { succeeds(t, p, failures) })
		})
	}
}

func succeeds(t *testing.T, p path, failures []fakeserver.Effect) {
	t.Helper()
	r := newRig(t)
	r.play(fakeserver.Sequence(append(failures[:len(failures):len(failures)], r.good)...))
	got, err := r.ask(t, p, settings{})
	if err != nil || got.text != r.want() {
		t.Errorf("got %q, %v, want %q", got.text, err, r.want())
	}
	wantCount(t, "requests", r.requests(), len(failures)+1)
	wantCount(t, "round trips", r.roundTrips.Load(), 1)
	log := r.srv.Log()
	for i, e := range log {
		if e.BodyHash != log[0].BodyHash || e.BodyLen == 0 {
			t.Errorf("request %d had a body of %d bytes, another than the first", i+1, e.BodyLen)
		}
	}
}

// The header is for the client that retries, which is Steady; a provider's
// "true" must not reach the SDK, which would obey it even on a success.
func TestXShouldRetryFromTheProviderDoesNotReachTheSDK(t *testing.T) {
	yes := fakeserver.Header("X-Should-Retry", "true")
	t.Run("on a success", func(t *testing.T) {
		each(t, paths(), func(t *testing.T, p path) {
			r := newRig(t)
			r.play(yes, r.good)
			got, err := r.ask(t, p, settings{})
			if err != nil || got.text != r.want() {
				t.Errorf("got %q, %v, want %q", got.text, err, r.want())
			}
			wantCount(t, "requests", r.requests(), 1)
		})
	})
	t.Run("on a 429", func(t *testing.T) {
		each(t, paths(), func(t *testing.T, p path) {
			r := newRig(t)
			r.play(yes, status(429))
			a, err := r.ask(t, p, settings{})
			wantCount(t, "requests", r.requests(), 3)
			wantTold(t, p, a, err, told{429, "(request 3)", ""})
		})
	})
	t.Run("and no is no, on a 503", func(t *testing.T) {
		each(t, paths(), func(t *testing.T, p path) {
			r := newRig(t)
			r.play(fakeserver.Header("X-Should-Retry", "false"), status(503))
			a, err := r.ask(t, p, settings{})
			wantCount(t, "requests", r.requests(), 1)
			wantTold(t, p, a, err, told{503, "(request 1)", ""})
		})
	})
}

// Without the SDK layer the SDK's three attempts multiply Steady's three. That
// is what the rows above are for, and proof that they would notice.
func TestWithoutTheSDKLayerStainlessAttemptsMultiply(t *testing.T) {
	off := []steady.Option{steady.WithSDK(false), steady.WithBreaker(steady.TripAfter(1000))}
	soon := fakeserver.Header("Retry-After-Ms", "1")
	for _, code := range []int{429, 500, 503, 529} {
		t.Run(strconv.Itoa(code), func(t *testing.T) {
			each(t, stainless(), func(t *testing.T, p path) {
				r := newRig(t, off...)
				r.play(status(code, soon))
				a, err := r.ask(t, p, settings{})
				wantCount(t, "requests", r.requests(), 9)
				wantCount(t, "round trips", r.roundTrips.Load(), 3)
				wantTold(t, p, a, err, told{code, "(request 9)", ""})
			})
		})
	}
	t.Run("200 with X-Should-Retry", func(t *testing.T) {
		each(t, stainless(), func(t *testing.T, p path) {
			r := newRig(t, off...)
			r.play(soon, fakeserver.Header("X-Should-Retry", "true"))
			_, err := r.ask(t, p, settings{})
			if err != nil {
				t.Error(err)
			}
			wantCount(t, "requests", r.requests(), 3)
		})
	})
	t.Run("refused dials", func(t *testing.T) {
		each(t, stainless(), func(t *testing.T, p path) {
			r := newRig(t, off...)
			r.refuse.Store(true)
			if _, err := r.ask(t, p, settings{}); err == nil {
				t.Error("no error")
			}
			wantCount(t, "dials", r.dials.Load(), 9)
		})
	})
}

func TestWithMaxRetriesZeroGivesTheSameResults(t *testing.T) {
	zero := settings{noRetries: true}
	for _, code := range []int{429, 500, 503, 529} {
		t.Run(strconv.Itoa(code), func(t *testing.T) {
			each(t, stainless(), func(t *testing.T, p path) { persistent(t, p, code, zero) })
		})
	}
	t.Run("refused dials", func(t *testing.T) {
		each(t, stainless(), func(t *testing.T, p path) { refusedDials(t, p, zero) })
	})
	t.Run("an open breaker", func(t *testing.T) {
		each(t, stainless(), func(t *testing.T, p path) { breakerOpen(t, p, zero) })
	})
	t.Run("a spent rate limit", func(t *testing.T) {
		each(t, stainless(), func(t *testing.T, p path) { rateLimited(t, p, zero) })
	})
}

func contains(s, part string) bool { return strings.Contains(s, part) }
