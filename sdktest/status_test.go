package sdktest

import (
	"strconv"
	"strings"
	"testing"

	"github.com/steadyhttp/steady/internal/fakeserver"
)

func contains(s, part string) bool { return strings.Contains(s, part) }

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

func TestAPersistentFailureCostsAsManyRequestsAsMaxAttempts(t *testing.T) {
	for _, code := range []int{429, 500, 503, 529} {
		t.Run(strconv.Itoa(code), func(t *testing.T) {
			each(t, paths(), func(t *testing.T, p path) { persistent(t, p, code, settings{}) })
		})
	}
}
