package sdktest

import (
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/steadyhttp/steady"
	"github.com/steadyhttp/steady/internal/fakeserver"
)

// These rows are about answers with status 200 that are no good answers.

func streams() []path {
	return slices.DeleteFunc(paths(), func(p path) bool { return !p.stream })
}

// Nothing has been delivered, so that the answer can be asked for again; but it
// may have been made, so that it is asked for once more and not twice.
func TestAnAnswerThatBreaksOffBeforeItsContentIsAskedForOnceMore(t *testing.T) {
	cut := fakeserver.Status(200, fakeserver.Cut(fakeserver.AfterBytes(60), fakeserver.FIN))
	t.Run("and then it is whole", func(t *testing.T) {
		each(t, paths(), func(t *testing.T, p path) { succeeds(t, p, []fakeserver.Effect{cut}) })
	})
	t.Run("and then it breaks off again", func(t *testing.T) {
		each(t, paths(), func(t *testing.T, p path) {
			r := newRig(t)
			r.play(cut)
			_, err := r.ask(t, p, settings{})
			wantCount(t, "requests", r.requests(), 2)
			wantCount(t, "round trips", r.roundTrips.Load(), 1)
			if err == nil {
				t.Error("no error")
			}
		})
	})
}

// Most SDKs take a stream that ends too early, but in good form, for a whole
// one. The error comes with the body, not from the transport, and so even
// langchaingo's openai passes it on.
func TestAStreamThatBreaksOffAfterContentIsAnErrorAndIsAskedForOnce(t *testing.T) {
	for _, ending := range []fakeserver.Ending{fakeserver.Clean, fakeserver.FIN, fakeserver.Reset} {
		t.Run(ending.String(), func(t *testing.T) {
			each(t, streams(), func(t *testing.T, p path) {
				r := newRig(t)
				r.play(fakeserver.Status(200, fakeserver.Cut(afterContent(p), ending)))
				_, err := r.ask(t, p, settings{})
				wantCount(t, "requests", r.requests(), 1)
				wantCount(t, "round trips", r.roundTrips.Load(), 1)
				if !errors.Is(err, steady.ErrStreamTruncated) || !errors.Is(err, io.ErrUnexpectedEOF) {
					t.Errorf("error %v, want ErrStreamTruncated", err)
				}
			})
		})
	}
}

// afterContent is before the end of a stream and between two of its events.
func afterContent(p path) fakeserver.Point {
	if p.name == "genai" {
		return fakeserver.AfterBytes(len("data: \r\n\r\n") + len(geminiChunk("0123abcd ", "")))
	}
	return fakeserver.BeforeFinish()
}

// An error in place of the content, under status 200, is retried as its status
// would be, and handed over with that status: of the frame alone several SDKs
// would make an empty answer.
func TestAStreamThatBeginsWithAnErrorIsAskedForAgain(t *testing.T) {
	over := slices.DeleteFunc(streams(), func(p path) bool { return p.name == "genai" })
	overloaded := fakeserver.StreamError(0, "overloaded_error", "server_is_overloaded")
	t.Run("and then it is whole", func(t *testing.T) {
		each(t, over, func(t *testing.T, p path) { succeeds(t, p, []fakeserver.Effect{overloaded, overloaded}) })
	})
	t.Run("and then it is an error again", func(t *testing.T) {
		each(t, over, func(t *testing.T, p path) {
			r := newRig(t)
			r.play(overloaded)
			a, err := r.ask(t, p, settings{})
			wantCount(t, "requests", r.requests(), 3)
			wantCount(t, "round trips", r.roundTrips.Load(), 1)
			wantTold(t, p, a, err, told{status: 529, body: "The server had an error"})
		})
	})
}

func TestAStreamThatTurnsIntoAnErrorIsAnErrorAndIsAskedForOnce(t *testing.T) {
	over := slices.DeleteFunc(streams(), func(p path) bool { return p.name == "genai" })
	each(t, over, func(t *testing.T, p path) {
		r := newRig(t)
		r.play(fakeserver.StreamError(4, "overloaded_error", "server_is_overloaded"))
		_, err := r.ask(t, p, settings{})
		wantCount(t, "requests", r.requests(), 1)
		wantCount(t, "round trips", r.roundTrips.Load(), 1)
		if err == nil {
			t.Error("no error")
		}
	})
}
