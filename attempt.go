package steady

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"time"
)

// TimeoutOption is an option of [WithTimeouts].
type TimeoutOption interface{ applyTimeout(*config) }

// AttemptOption is an option of [Attempt] and of [WithTimeouts].
type AttemptOption interface {
	TimeoutOption
	applyAttempt(*attemptConfig)
}

type timeoutOption func(*config)

func (f timeoutOption) applyTimeout(c *config) { f(c) }

type attemptOption func(*attemptConfig)

func (f attemptOption) applyAttempt(c *attemptConfig) { f(c) }
func (f attemptOption) applyTimeout(c *config)        { f(&c.attempt) }

type attemptConfig struct {
	header       time.Duration // 0 means no limit
	firstContent time.Duration // 0 means no limit
	idle         time.Duration // 0 means no limit
	firstEvent   time.Duration // 0 means not to look
	noGuard      bool
	observer     Observer // nil means none
	keyer        *keyer
}

func defaultAttemptConfig() attemptConfig {
	return attemptConfig{
		header: 10 * time.Minute, firstContent: 10 * time.Minute, idle: 2 * time.Minute,
		firstEvent: 2 * time.Second, keyer: &keyer{KeyByHost},
	}
}

func (c *attemptConfig) apply(opts []AttemptOption) {
	for _, opt := range opts {
		opt.applyAttempt(c)
	}
}

func (c *attemptConfig) validate() error {
	var f flaws
	f.add(c.header < 0, "HeaderTimeout(%v): must not be negative", c.header)
	f.add(c.firstContent < 0, "FirstContent(%v): must not be negative", c.firstContent)
	f.add(c.idle < 0, "Idle(%v): must not be negative", c.idle)
	f.add(c.firstEvent < 0, "FirstEvent(%v): must not be negative", c.firstEvent)
	return errors.Join(append(f, c.keyer.validate())...)
}

// HeaderTimeout bounds the time from the start of an attempt to the headers of
// its answer. A body may take as long as it likes. The default is 10 minutes,
// which is what the SDKs allow a plain answer, whose headers come when all of it
// has been generated; 0 means no limit.
//
// An attempt that runs into it has been sent, so that its outcome is unknown: see
// [UnknownResends]. The error's Timeout method reports true.
func HeaderTimeout(d time.Duration) AttemptOption {
	return attemptOption(func(c *attemptConfig) { c.header = d })
}

// FirstContent bounds the time that reads on the body of an answer wait for its
// first content: text, reasoning or a part of a tool call. Keep-alives are none.
// The body then ends in [ErrStreamStalled]. The default is 10 minutes, after which
// DeepSeek gives up by itself; 0 means no limit.
func FirstContent(d time.Duration) AttemptOption {
	return attemptOption(func(c *attemptConfig) { c.firstContent = d })
}

// Idle bounds the time that reads on the body of an answer wait between one piece
// of content and the next. Keep-alives do not count as content, and a slow reader
// does not make the clock run. The body then ends in [ErrStreamStalled]. The
// default is 2 minutes; 0 means no limit.
func Idle(d time.Duration) AttemptOption {
	return attemptOption(func(c *attemptConfig) { c.idle = d })
}

// FirstEvent sets how long the response of a model may be held back while nothing
// of its content has come, to see whether it begins with an error, which is then
// retried or handed up with the status that it deserves. What has been read ahead
// is passed on after that time at the latest. The default is 2 seconds; 0 means
// not to look.
func FirstEvent(d time.Duration) AttemptOption {
	return attemptOption(func(c *attemptConfig) { c.firstEvent = d })
}

// StreamGuard turns the judging of bodies on or off: with it an answer that is not
// whole never ends in io.EOF. It is on by default. Off, FirstContent, Idle and
// FirstEvent have no effect.
func StreamGuard(on bool) AttemptOption {
	return attemptOption(func(c *attemptConfig) { c.noGuard = !on })
}

// Attempt returns the layer that looks after one attempt: it bounds the wait for
// the headers, keeps the attempt's context alive until the body ends, judges the
// body as it passes ([StreamGuard]), and reports [AttemptEnded]. It belongs inside
// [Retry], next to the base.
//
// Attempt panics if an option is invalid.
func Attempt(opts ...AttemptOption) Middleware {
	c := defaultAttemptConfig()
	c.apply(opts)
	must(c.validate())
	return c.layer
}

func (c attemptConfig) layer(next http.RoundTripper) http.RoundTripper {
	return &attemptTransport{cfg: c, next: next}
}

type attemptTransport struct {
	cfg      attemptConfig
	next     http.RoundTripper
	decoders sync.Pool // of *wire.Decoder, for whole
}

// errHeaderTimeout is the error of an attempt for which no headers come in time.
// Like net/http's own it is a net.Error and a timeout, and matches
// context.DeadlineExceeded.
type errHeaderTimeout struct{ after time.Duration }

func (e errHeaderTimeout) Error() string {
	return fmt.Sprintf("steady: no response headers within %v", e.after)
}
func (errHeaderTimeout) Timeout() bool        { return true }
func (errHeaderTimeout) Temporary() bool      { return true } // or it were no net.Error
func (errHeaderTimeout) Is(target error) bool { return target == context.DeadlineExceeded }

func (t *attemptTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	c, inner, made := enter(req, nil)
	a := &attempt{t: t, caller: req.Context(), number: c.attempt}
	a.begin(inner.Context())
	ctx := context.Context(a)
	if t.cfg.observer != nil {
		a.began, a.key = time.Now(), t.cfg.keyer.key(c, req)
		ctx = httptrace.WithClientTrace(a, &httptrace.ClientTrace{WroteRequest: a.wrote})
	}
	returned := false
	defer func() { // after a panic of next
		if !returned {
			a.inTime()
			a.over(verdict{outcome: outcomeFailed, err: errPanicked})
		}
	}()
	resp, err := roundTrip(t.next, inner.WithContext(ctx))
	returned = true
	inTime := a.inTime()
	if made {
		c.leave(req, resp)
	}
	if resp != nil && resp.Request != nil && resp.Request.Context() == ctx {
		resp.Request = inner
	}
	if !inTime && req.Context().Err() == nil {
		if resp != nil { // the headers came in the very moment in which their time was over
			resp.Body.Close()
		}
		resp, err = nil, errHeaderTimeout{t.cfg.header}
	}
	if err != nil {
		a.over(judge(a.caller, nil, err))
		return nil, err
	}
	a.watch(req, resp)
	return resp, nil
}

func (t *attemptTransport) CloseIdleConnections() { closeIdle(t.next) }

// attempt is one attempt from its start to the end of its body, and the context
// of the request that makes it.
type attempt struct {
	lifetime
	t      *attemptTransport
	caller context.Context
	timer  *time.Timer // for the headers; nil without a timeout
	stop   func() bool // ends the registration with caller; nil if that has no end
	body   watchedBody // of the response, once there is one
	ahead  aheadBody   // under it, if it was read at once

	// For the observer alone.
	began   time.Time
	headers time.Duration // 0 until they came
	number  int
	key     string
	written atomic.Int32
}

// wrote counts the requests that net/http has written whole for this attempt.
func (a *attempt) wrote(info httptrace.WroteRequestInfo) {
	if info.Err == nil {
		a.written.Add(1)
	}
}

// begin starts the attempt's clock and has it hear of the caller's end.
func (a *attempt) begin(ctx context.Context) {
	a.Context = ctx
	var interrupt func()
	if a.caller.Done() != nil || a.t.cfg.header > 0 {
		interrupt = a.interrupt
	}
	if a.caller.Done() != nil {
		a.stop = context.AfterFunc(a.caller, interrupt)
	}
	if a.t.cfg.header > 0 {
		a.timer = time.AfterFunc(a.t.cfg.header, interrupt)
	}
}

// interrupt ends the attempt when the caller's context has ended, or else the
// time for the headers.
func (a *attempt) interrupt() {
	err := a.caller.Err()
	if err == nil {
		a.end(context.DeadlineExceeded)
		return
	}
	a.end(err)
	a.body.callerLeft(err)
}

// inTime stops the timer and reports whether the headers came in time.
func (a *attempt) inTime() bool { return a.timer == nil || a.timer.Stop() }

// watch keeps the attempt alive until resp's body has ended, and has the body
// judged.
func (a *attempt) watch(req *http.Request, resp *http.Response) {
	if a.t.cfg.observer != nil {
		a.headers = time.Since(a.began)
	}
	var g *guard
	if !a.whole(req, resp) {
		g = a.t.cfg.guard(req, resp, a.stalled)
	}
	if bodyless(resp) {
		a.over(judge(a.caller, resp, nil))
		return
	}
	a.body.begin(a.caller, resp, a, g, a)
	if err := a.caller.Err(); err != nil { // before interrupt could see the body
		a.body.callerLeft(err)
	}
}

// stalled ends the attempt because its answer does not go on.
func (a *attempt) stalled() { a.end(context.DeadlineExceeded) }

func (a *attempt) bodyEnded(v verdict) { a.tell(v) }

// over ends an attempt that has no body to be read.
func (a *attempt) over(v verdict) {
	a.release()
	a.tell(v)
}

// release ends the attempt's context.
func (a *attempt) release() {
	if a.stop != nil {
		a.stop()
	}
	a.end(context.Canceled)
}

// tell reports the attempt's end.
func (a *attempt) tell(v verdict) {
	if a.t.cfg.observer == nil {
		return
	}
	a.t.cfg.observer.Observe(a.caller, AttemptEnded{
		Key: a.key, Attempt: a.number, Status: v.status, Outcome: v.outcome.String(), Class: v.className(), Err: v.err,
		Written: int(a.written.Load()), Input: v.usage.Input, Output: v.usage.Output, Headers: a.headers, Took: time.Since(a.began),
	})
}
