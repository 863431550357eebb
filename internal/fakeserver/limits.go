package fakeserver

import (
	"math"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// A Hint is the form in which a rejection says when to come back.
type Hint int

const (
	NoHint   Hint = iota
	Seconds       // Retry-After in whole seconds, rounded up
	Millis        // Retry-After-Ms, rounded up
	HTTPDate      // Retry-After as a date, rounded up to a whole second
)

func (h Hint) effect(x *Exchange, wait time.Duration) Effect {
	switch h {
	case Seconds:
		return RetryAfter(strconv.Itoa(ceil(wait, time.Second)))
	case Millis:
		return Header("Retry-After-Ms", strconv.Itoa(ceil(wait, time.Millisecond)))
	case HTTPDate:
		at := x.at.Add(wait + time.Second - 1)
		return RetryAfter(at.UTC().Format(http.TimeFormat))
	}
	return OK()
}

func ceil(d, unit time.Duration) int { return int((d + unit - 1) / unit) }

// A Bucket is a token bucket: it starts full, holds Burst tokens, and gains PerSecond.
type Bucket struct {
	PerSecond     float64
	Burst         float64
	RejectionCost float64 // tokens that a rejected request takes; the debt never exceeds Burst
	Hint          Hint
	Pacing        bool // tell limit, remaining and reset in the dialect's headers on every answer
}

// RateLimit answers 429 to requests that find no whole token in the bucket. The effects in with apply to rejections.
func RateLimit(b Bucket, with ...Effect) Effect {
	var mu sync.Mutex
	var last time.Time
	tokens := b.Burst
	take := func(now time.Time) (ok bool, left float64) {
		mu.Lock()
		defer mu.Unlock()
		if !last.IsZero() {
			tokens = min(b.Burst, tokens+b.PerSecond*max(now.Sub(last), 0).Seconds())
		}
		last = now
		// Refilling in floating point may end a hair below the whole token that is due.
		if ok = tokens > 1-1e-9; ok {
			tokens--
		} else {
			tokens = max(tokens-b.RejectionCost, -b.Burst)
		}
		return ok, tokens
	}
	return func(x *Exchange) {
		if x.want.settled {
			return
		}
		ok, left := take(x.at)
		if b.Pacing {
			full := x.at.Add(b.until(b.Burst - left))
			x.dialect().pacing(x.want.headers(), int(b.Burst), int(max(left, 0)), x.at, full)
		}
		if !ok {
			Status(http.StatusTooManyRequests, append([]Effect{b.Hint.effect(x, b.until(1-left))}, with...)...)(x)
		}
	}
}

// until is the time that n tokens take, to the nanosecond above.
func (b Bucket) until(n float64) time.Duration {
	return time.Duration(math.Ceil(n/b.PerSecond*1e9 - 1e-3))
}

// A Window is a fixed window: Limit requests in each Per, counted from the start of the server's clock.
type Window struct {
	Limit int
	Per   time.Duration
	Hint  Hint
}

// FixedWindow answers 429 to requests above the limit of their window. Rejections do not count against it.
func FixedWindow(w Window, with ...Effect) Effect {
	var mu sync.Mutex
	window, used := time.Duration(-1), 0
	take := func(now time.Duration) bool {
		mu.Lock()
		defer mu.Unlock()
		if n := now / w.Per; n > window {
			window, used = n, 0
		}
		if used >= w.Limit {
			return false
		}
		used++
		return true
	}
	return func(x *Exchange) {
		if x.want.settled || take(x.Since) {
			return
		}
		wait := w.Per - x.Since%w.Per
		Status(http.StatusTooManyRequests, append([]Effect{w.Hint.effect(x, wait)}, with...)...)(x)
	}
}

// InFlight rejects with a status, 429 or 529 for instance, the requests that arrive while limit others are in flight.
// A request is in flight from its arrival until the server has sent the last byte of its answer or the client left;
// rejected ones do not count.
func InFlight(limit, status int, with ...Effect) Effect {
	var mu sync.Mutex
	n := 0
	enter := func() bool {
		mu.Lock()
		defer mu.Unlock()
		if n >= limit {
			return false
		}
		n++
		return true
	}
	leave := func() {
		mu.Lock()
		defer mu.Unlock()
		n--
	}
	return func(x *Exchange) {
		if x.want.settled && x.want.status != 0 {
			return
		}
		if enter() {
			x.atEnd = append(x.atEnd, leave)
			return
		}
		Status(status, with...)(x)
	}
}
