package steady

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"time"

	"github.com/steadyhttp/steady/internal/wire"
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
	amiss        flaws         // nil options, and such as contradict each other
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
		if !c.amiss.missing(opt == nil) {
			opt.applyAttempt(c)
		}
	}
}

func (c *attemptConfig) validate() error {
	f := c.amiss
	f.short(c.header, "HeaderTimeout")
	f.short(c.firstContent, "FirstContent")
	f.short(c.idle, "Idle")
	f.short(c.firstEvent, "FirstEvent")
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
	cfg   attemptConfig
	next  http.RoundTripper
	clock callClock
	usual wire.Glancer // of answers that are all there
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
	return t.carry(branchOf(req), req)
}

func (t *attemptTransport) carry(c *call, req *http.Request) (*http.Response, error) {
	c, made := enter(c, req, nil, &t.clock)
	a := c.newAttempt()
	a.t, a.call, a.due = t, c, dueHeaders
	a.trace(req)
	returned := false
	defer func() { // after a panic of next
		if !returned {
			a.over(verdict{outcome: outcomeFailed, err: errPanicked})
		}
	}()
	resp, err := roundTrip(t.next, c.outgoingIn(&a.req, a, req))
	returned = true
	usual := resp != nil && a.usual(req, resp)
	inTime := a.answered(usual)
	if made {
		c.leave(req, resp)
	}
	if resp != nil && resp.Request != nil && resp.Request.Context() == context.Context(a) {
		resp.Request = req
	}
	if !inTime {
		resp, err = a.late(resp, err)
	}
	if err != nil {
		a.failed(err)
		return nil, err
	}
	a.received(req, resp, usual)
	return resp, nil
}

// late returns what resp and err come to that the base has returned when a had ended.
func (a *attempt) late(resp *http.Response, err error) (*http.Response, error) {
	switch left := a.call.Context.Err(); {
	case left == nil:
		if resp != nil { // the headers came in the very moment in which their time was over
			resp.Body.Close()
		}
		return nil, errHeaderTimeout{a.t.cfg.header}
	case err != nil && !errors.Is(err, left): // it was late before the caller left, and err tells only that
		return nil, &reasons{contextError(a.call.Context), err}
	}
	return resp, err
}

// trace has net/http tell what it does with req, where somebody is to hear of it.
func (a *attempt) trace(req *http.Request) {
	if a.t.cfg.observer != nil {
		tr := a.track()
		tr.report.key = a.t.cfg.keyer.key(a.call, req)
		tr.values = httptrace.WithClientTrace(tr.values, &httptrace.ClientTrace{WroteRequest: tr.report.wrote})
	}
	if body := a.call.body; body != nil && lends(a.t.next, req) {
		tr := a.track()
		tr.values = body.current.lend(tr.values, req.ContentLength)
	}
}

func (t *attemptTransport) CloseIdleConnections() { closeIdle(t.next) }
