package sdktest

import (
	"syscall"
	"testing"
	"time"

	"github.com/steadyhttp/steady"
	"github.com/steadyhttp/steady/internal/fakeserver"
)

// atOnce is more than any refusal takes on a slow machine, and far less than
// anybody here would wait.
const atOnce = 10 * time.Second

func TestARefusedDialIsTriedAsOftenAsMaxAttempts(t *testing.T) {
	each(t, paths(), func(t *testing.T, p path) { refusedDials(t, p, settings{}) })
}

func refusedDials(t *testing.T, p path, with settings) {
	t.Helper()
	r := newRig(t)
	r.refuse.Store(true)
	_, err := r.ask(t, p, with)
	wantCount(t, "dials", r.dials.Load(), 3)
	wantCount(t, "round trips", r.roundTrips.Load(), 1)
	wantError(t, p, err, syscall.ECONNREFUSED)
}

func TestAnOpenBreakerIsToldAtOnce(t *testing.T) {
	each(t, paths(), func(t *testing.T, p path) { breakerOpen(t, p, settings{}) })
}

func breakerOpen(t *testing.T, p path, with settings) {
	t.Helper()
	r := newRig(t, steady.WithBreaker(steady.TripAfter(1), steady.OpenFor(time.Hour)))
	r.play(fakeserver.Sequence(status(500), r.good))
	r.spend(t)
	refused(t, r, p, with, steady.ErrBreakerOpen)
}

func TestASpentRateLimitIsToldAtOnce(t *testing.T) {
	each(t, paths(), func(t *testing.T, p path) { rateLimited(t, p, settings{}) })
}

func rateLimited(t *testing.T, p path, with settings) {
	t.Helper()
	r := newRig(t, steady.WithRateLimit(1.0/3600, 1))
	r.play(r.good)
	r.spend(t)
	refused(t, r, p, with, steady.ErrRateLimited)
}

// refused asks by p and checks that the stack was asked once and said why, and
// that the SDK did not ask again.
func refused(t *testing.T, r *rig, p path, with settings, why error) {
	t.Helper()
	before, start := r.requests(), time.Now()
	_, err := r.ask(t, p, with)
	if took := time.Since(start); took > atOnce {
		t.Errorf("took %v", took)
	}
	wantCount(t, "round trips", r.roundTrips.Load(), 1)
	wantCount(t, "dials", r.dials.Load(), 0)
	wantCount(t, "more requests", r.requests()-before, 0)
	wantError(t, p, err, why)
}
