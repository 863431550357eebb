package steady

import (
	"context"
	"log/slog"
	"math"
	"time"

	"github.com/steadyhttp/steady/internal/pace"
)

// An Observer hears what the layers decide, as they decide it.
//
// Observe is called on the goroutine of the request, or of whoever reads its
// body, and holds it up, so it must not block. What the end of a context ends is
// reported on a goroutine of its own, perhaps a moment after the call has returned.
// It may be called concurrently. No layer holds a lock meanwhile. Events carry no header, no body and no URL. The
// context is the request's, by which the events of one call can be told from those of
// others; that of [BreakerChanged] and [PaceChanged], which are about all the calls of
// a key, is [context.Background].
type Observer interface {
	Observe(context.Context, Event)
}

// Event is one of [RetryScheduled], [GaveUp], [LimitWaited], [BreakerChanged],
// [PaceChanged] and [AttemptEnded]. There may be more one day: a type switch should
// pass over those that it does not know.
type Event interface{ event() }

// RetryScheduled reports that an attempt failed and that there is to be another.
type RetryScheduled struct {
	Key     string
	Attempt int           // the one that failed, from 1
	Status  int           // its status, or 0 with Err
	Err     error         // its error, or nil
	Outcome string        // as in AttemptEnded
	Class   string        // as in AttemptEnded
	Wait    time.Duration // before the next
	Hinted  bool          // whether the server named the wait
	Probe   bool          // whether the attempt was a probe, which counts for none of MaxAttempts
}

// GaveUp reports that [Retry] sends a call no more, although it has failed. There is
// none for a call that the caller has cancelled, nor for one of which no attempt was
// made, because a layer further in let none go.
//
// Reason is "final" (what the last attempt ended in does not get better),
// "attempts" ([MaxAttempts] were made), "unknown" (it may have been done, and
// [UnknownResends] allows no more), "body" (the request's cannot be sent again),
// "budget" (the [RetryBudget] is spent), "deadline" (of the request: it has passed or
// would have), "within" (the next attempt would begin later than [Within] allows),
// "retry-after" (the server named a longer wait than [MaxRetryAfter]) or "refused"
// (a limiter or breaker let no other attempt go).
type GaveUp struct {
	Key      string
	Reason   string // see above
	Attempts int    // that were made
	Status   int    // of the last response, 0 if there was none
	Outcome  string // of the last attempt, as in AttemptEnded
	Class    string // as in AttemptEnded
	Err      error  // what the call ends in, or nil when it ends in that response
}

// LimitWaited reports that a call waited for its turn, or was refused one.
type LimitWaited struct {
	Key  string
	Cost int           // in tokens of the rate limit
	Wait time.Duration // that it waited, also when it was refused then
	Err  error         // why it was refused; nil when its turn came
}

// BreakerChanged reports that the breaker of a key went from one state to
// another: "closed", "open" or "half-open".
type BreakerChanged struct {
	Key      string
	From, To string
}

// PaceChanged reports that the learned pace of a key went from one state to another:
// "search", "rate", "trial", "chance", "slots" or "hold", as in [KeyState].
//
// Reason is "refused" (a limit on the rate was met), "in flight" (one on the attempts
// under way was), "slow" (first bytes come late with so many under way), "no slots" (it
// was no limit on those after all), "doubt" (to go slower has not helped, and so a trial
// begins), "trial" (that has ended), "no chance" (the share that was refused whatever we
// did has changed), "rejected" (everything is, by 429), "failed" (everything does),
// "silence" (nothing is heard), "probe" (one has passed, which ends the hold),
// "breaker" (that holds the queue instead) or "anew" (the limit that was known says
// nothing any more, as after an outage, and is searched for).
type PaceChanged struct {
	Key       string
	From, To  string
	Reason    string    // see above
	Pace      float64   // attempts a second that are allowed, as in KeyState
	Slots     int       // attempts under way that are allowed, as in KeyState
	InFlight  int       // attempts under way
	Waiting   int       // calls in the queue
	HeldUntil time.Time // when the next probe may go, as in KeyState
}

// AttemptEnded reports that an attempt is over, its body included.
//
// Outcome is "ok", "declined" (a 4xx that is about the request), "rejected"
// (429), "overloaded" (498, 503, 529), "failed" (408, other 5xx, nothing was
// sent), "unknown" (sent, and no answer), "truncated", "stalled", "refused" (by a
// layer of this package) or "cancelled" (by the caller).
//
// Class is "invalid_request", "context_length", "content_policy", "too_large",
// "request_exceeds_limit", "auth", "permission", "not_found", "conflict", "cancelled",
// "quota_exhausted" (no money or no allowance), "quota_daily" (it comes back after
// hours), "rate_limit", "ramp" (the rate grew too fast), "overloaded", "timeout",
// "server_error" or "gateway" (a hop in front of the provider failed).
type AttemptEnded struct {
	Key     string
	Attempt int    // from 1
	Status  int    // 0 without a response
	Outcome string // see above
	Class   string // what an error answer means, see above; empty for no error answer
	Err     error  // what ended it, or nil
	Written int    // requests that went out whole: net/http may replay one by itself, as on a dead connection
	Input   int64  // tokens, as far as the answer has told its usage
	Output  int64
	Headers time.Duration // from its start to the response's headers, 0 without
	Took    time.Duration // from its start to its end
}

func (RetryScheduled) event() {}
func (GaveUp) event()         {}
func (LimitWaited) event()    {}
func (BreakerChanged) event() {}
func (PaceChanged) event()    {}
func (AttemptEnded) event()   {}

// ObserverFunc makes an [Observer] of a function.
type ObserverFunc func(context.Context, Event)

// Observe calls f.
func (f ObserverFunc) Observe(ctx context.Context, e Event) { f(ctx, e) }

// LogTo returns an [Observer] that logs to l: at Warn a closed breaker that opens, a pace
// that holds the queue, and a call that is given up although another attempt was
// wanted; at Info each retry, a call that is refused its turn, of which an overload
// makes many at once, and what else breakers and paces do; at Debug all the rest. A
// handler that takes an id from the context joins the lines of one call. It logs no
// header, no body and no URL; of an error that net/http made it logs what is behind
// the URL. It panics on a nil l, rather than at the first event.
func LogTo(l *slog.Logger) Observer {
	if l == nil {
		panic("steady: LogTo(nil): must not be nil")
	}
	return ObserverFunc(func(ctx context.Context, e Event) {
		if level, msg, attrs := logged(e); msg != "" {
			l.LogAttrs(ctx, level, msg, attrs...)
		}
	})
}

// logged returns what LogTo makes of e, or no message if it does not know it.
func logged(e Event) (level slog.Level, msg string, attrs []slog.Attr) {
	switch e := e.(type) {
	case RetryScheduled:
		return slog.LevelInfo, "steady: retry scheduled", []slog.Attr{
			slog.String("key", e.Key), slog.Int("attempt", e.Attempt), slog.Int("status", e.Status),
			slog.String("outcome", e.Outcome), slog.String("class", e.Class),
			slog.Duration("wait", e.Wait), slog.Bool("hinted", e.Hinted), slog.Bool("probe", e.Probe), errorAttr(e.Err),
		}
	case GaveUp:
		return e.level(), "steady: gave up", []slog.Attr{
			slog.String("key", e.Key), slog.String("reason", e.Reason), slog.Int("attempts", e.Attempts), slog.Int("status", e.Status),
			slog.String("outcome", e.Outcome), slog.String("class", e.Class), errorAttr(e.Err),
		}
	case LimitWaited:
		level, msg = slog.LevelDebug, "steady: waited for a turn"
		if e.Err != nil {
			level, msg = slog.LevelInfo, "steady: no turn in time"
		}
		return level, msg, []slog.Attr{
			slog.String("key", e.Key), slog.Int("cost", e.Cost), slog.Duration("wait", e.Wait), errorAttr(e.Err),
		}
	case BreakerChanged:
		return e.level(), "steady: breaker changed", []slog.Attr{
			slog.String("key", e.Key), slog.String("from", e.From), slog.String("to", e.To),
		}
	case PaceChanged:
		return e.level(), "steady: pace changed", []slog.Attr{
			slog.String("key", e.Key), slog.String("from", e.From), slog.String("to", e.To), slog.String("reason", e.Reason),
			slog.Float64("pace", math.Round(100*e.Pace)/100), slog.Int("slots", e.Slots), slog.Int("in_flight", e.InFlight), slog.Int("waiting", e.Waiting),
		}
	case AttemptEnded:
		return slog.LevelDebug, "steady: attempt ended", []slog.Attr{
			slog.String("key", e.Key), slog.Int("attempt", e.Attempt), slog.Int("status", e.Status),
			slog.String("outcome", e.Outcome), slog.String("class", e.Class),
			slog.Int64("input", e.Input), slog.Int64("output", e.Output),
			slog.Duration("headers", e.Headers), slog.Duration("took", e.Took), errorAttr(e.Err),
		}
	}
	return 0, "", nil
}

// level is the one at which LogTo logs e.
func (e GaveUp) level() slog.Level {
	if e.Attempts == 1 && (e.Reason == endFinal || e.Reason == endAttempts) {
		return slog.LevelDebug // no other was wanted, or retries are off
	}
	return slog.LevelWarn
}

// A probe that fails, every two seconds in an outage, opens the breaker again: that is
// no news.
func (e BreakerChanged) level() slog.Level {
	if e.From == "closed" && e.To == "open" {
		return slog.LevelWarn
	}
	return slog.LevelInfo
}

func (e PaceChanged) level() slog.Level {
	if e.To == pace.Hold.String() {
		return slog.LevelWarn
	}
	return slog.LevelInfo
}

// errorAttr is the attribute for err, without any URL, or nothing for nil.
func errorAttr(err error) slog.Attr {
	if err == nil {
		return slog.Attr{}
	}
	return slog.String("err", withoutURL(err))
}
