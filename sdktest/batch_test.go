package sdktest

import (
	"context"
	"syscall"
	"testing"

	"github.com/steadyhttp/steady/internal/fakeserver"
)

type batcher struct {
	path   // for what its errors tell
	create func(ctx context.Context, to connection) (id string, err error)
}

func batchers() []batcher {
	return []batcher{{path{anthropicV1(), false}, anthropicV1Batch}, {path{anthropicV2(), false}, anthropicV2Batch}}
}

// A batch that is created twice is paid for twice. anthropic-sdk-go v2 therefore
// sends it again only after a 429 or when there was no connection, but tells the
// transport nothing of that; v1 sends it again as anything else.
func TestABatchIsCreatedAgainOnlyWhenItWasNotCreated(t *testing.T) {
	created := fakeserver.Status(200, fakeserver.Body("application/json", `{"id":"msgbatch_1","type":"message_batch"}`))
	rows := []struct {
		name     string
		first    fakeserver.Effect
		requests int
		status   int // of the error, 0 for none
	}{
		{"after 429", status(429), 2, 0},
		{"not after 500", status(500), 1, 500},
		{"not after 503", status(503), 1, 503},
		{"not after 504", status(504), 1, 504},
		{"not after 529", status(529), 1, 529},
	}
	for _, row := range rows {
		for _, b := range batchers() {
			t.Run(row.name+"/"+b.name, func(t *testing.T) {
				t.Parallel()
				r := newRig(t)
				r.play(fakeserver.Sequence(row.first, created))
				id, err := b.create(t.Context(), connection{url: r.url, client: r.client})
				wantCount(t, "requests", r.requests(), row.requests)
				wantCount(t, "round trips", r.roundTrips.Load(), 1)
				if row.status != 0 {
					wantTold(t, b.path, answer{}, err, told{status: row.status, body: "(request 1)"})
				} else if err != nil || id != "msgbatch_1" {
					t.Errorf("got %q, %v", id, err)
				}
			})
		}
	}
}

func TestABatchWhoseConnectionBrokeIsNotCreatedAgain(t *testing.T) {
	for _, b := range batchers() {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.play(fakeserver.ResetAfterBody())
			_, err := b.create(t.Context(), connection{url: r.url, client: r.client})
			wantCount(t, "requests", r.requests(), 1)
			wantCount(t, "round trips", r.roundTrips.Load(), 1)
			wantError(t, b.path, err, syscall.ECONNRESET)
		})
	}
}

func TestABatchIsCreatedAgainWhenThereWasNoConnection(t *testing.T) {
	for _, b := range batchers() {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.refuse.Store(true)
			_, err := b.create(t.Context(), connection{url: r.url, client: r.client})
			wantCount(t, "dials", r.dials.Load(), 3)
			wantCount(t, "round trips", r.roundTrips.Load(), 1)
			wantError(t, b.path, err, syscall.ECONNREFUSED)
		})
	}
}
