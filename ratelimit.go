package steady

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"time"
)

// LimitOption is an option of [RateLimit] and [WithRateLimit].
type LimitOption interface{ applyLimit(*limitConfig) }

type limitOption func(*limitConfig)

func (f limitOption) applyLimit(c *limitConfig) { f(c) }

type limitConfig struct {
	amiss        flaws   // nil options, and such as contradict each other
	limited      bool    // by rate and burst
	endless      bool    // a rate without end was asked for
	rate         float64 // per second
	burst        int
	initial      int    // how full the bucket is at first
	initialSet   bool   // else it is full
	maxInFlight  int    // 0 without a limit
	inFlightBy   string // the option that has set it, "" for none
	perMinute    int    // tokens of the model; 0 without a limit
	perMinuteSet bool
	maxWait      time.Duration
	maxWaitSet   bool
	patience     time.Duration
	patienceSet  bool
	keyer        *keyer
	pace         paceConfig
	observer     Observer                    // nil means none
	check        func(context.Context) error // of what a layer further in will refuse; nil for none
	holder       holder                      // nil without one
}

func defaultLimitConfig() limitConfig {
	return limitConfig{patience: 30 * time.Second, keyer: &keyer{KeyByHost}}
}

func (c *limitConfig) apply(perSecond float64, burst int, opts []LimitOption) {
	c.endless = math.IsInf(perSecond, 1)
	c.limited, c.rate, c.burst = !c.endless, perSecond, burst
	for _, opt := range opts {
		if !c.amiss.missing(opt == nil) {
			opt.applyLimit(c)
		}
	}
}

func (c *limitConfig) validate() error {
	f := c.amiss
	f.add(c.limited && !(c.rate > 0 && c.rate < 1e9 && c.burst >= 1),
		"RateLimit(%v, %d): the rate must be positive and less than 1e9 per second, the burst at least 1", c.rate, c.burst)
	f.add(c.limitsNothing(), "RateLimit(%v, %d): a rate of +Inf needs WithPace, TokensPerMinute or MaxInFlight beside it", c.rate, c.burst)
	f.add(c.initialSet && (c.initial < 0 || c.initial > c.burst), "InitialTokens(%d): must be from 0 to the burst, %d", c.initial, c.burst)
	f.add(c.perMinuteSet && !(c.perMinute > 0 && c.perMinute < 1e12), "TokensPerMinute(%d): must be positive and less than 1e12", c.perMinute)
	f.add(c.inFlightBy != "" && c.maxInFlight < 1, "%s(%d): must be at least 1; leave it out for no limit", c.inFlightBy, c.maxInFlight)
	f.short(c.maxWait, "MaxWait")
	f.short(c.patience, "Patience")
	return errors.Join(append(f, c.keyer.validate())...)
}

// limitsNothing reports whether there is neither a rate nor another limit beside it.
func (c *limitConfig) limitsNothing() bool {
	return c.endless && !c.limited && !c.pace.on && !c.perMinuteSet && c.maxInFlight == 0
}

// ownWait is how long a call may wait for the limits that the user has set.
func (c *limitConfig) ownWait() time.Duration {
	if c.maxWaitSet {
		return c.maxWait
	}
	return c.patience
}

// InitialTokens sets how full the bucket is at first, from 0 to the burst. The
// default is a full one.
func InitialTokens(n int) LimitOption {
	return limitOption(func(c *limitConfig) { c.initial, c.initialSet = n, true })
}

// MaxInFlight sets how many attempts may be under way at a time. An attempt is
// under way until its body has been read or closed, or a plain answer is all there
// and good, and not while a call backs off. The default is no limit.
// In [New] it is the same as [WithConcurrency], of which one may be given.
func MaxInFlight(n int) LimitOption {
	return limitOption(func(c *limitConfig) { c.capInFlight("MaxInFlight", n) })
}

// capInFlight limits the number in flight on behalf of an option, of which there may be
// one kind.
func (c *limitConfig) capInFlight(by string, n int) {
	c.amiss.add(c.inFlightBy != "" && c.inFlightBy != by, "%s(%d) and %s(%d): both limit the number in flight: give one of them", c.inFlightBy, c.maxInFlight, by, n)
	c.maxInFlight, c.inFlightBy = n, by
}

// QueueOption is an option of [New], [RateLimit] and [WithRateLimit]. It is about
// the queue, which New has even when no limit is set.
type QueueOption interface {
	Option
	LimitOption
}

type queueOption func(*limitConfig)

func (f queueOption) apply(c *config)           { f(&c.limit) }
func (f queueOption) applyLimit(c *limitConfig) { f(c) }

// MaxWait sets how long a call may wait for its turn under the limits that you
// set, on the rate, the tokens and the number in flight, and under the pace that is
// learned ([WithPace]). A call whose wait is known to be longer is refused at once,
// with [ErrRateLimited], and costs nothing. The default is the [Patience]. 0
// means never to wait for a limit. It does not cover outages, so that a batch that is
// submitted all at once wants hours of both: MaxWait(time.Hour), Patience(time.Hour).
func MaxWait(d time.Duration) QueueOption {
	return queueOption(func(c *limitConfig) { c.maxWait, c.maxWaitSet = d, true })
}

// Patience sets how long a call may wait in the queue because of the provider:
// while its breaker is open or it rejects everything, until a probe has succeeded,
// and in the second and a half after that in which the queue gathers pace. A call that
// goes as the probe, and fails, waits on as if it had not left. It is
// also the default of [MaxWait], and then bounds both waits together. A call whose
// wait is known to be longer is refused at once, with [ErrBreakerOpen] when the
// breaker holds the queue and with [ErrRateLimited] when the pace does. While all that
// is wrong is that nothing was heard, for a minute at most, a call is not refused
// but goes when its patience ends: the provider may be slow. The default is 30
// seconds; 0 means never to wait.
func Patience(d time.Duration) QueueOption {
	return queueOption(func(c *limitConfig) { c.patience, c.patienceSet = d, true })
}

// RateLimit returns the layer in which calls wait for their turn: a token bucket
// of perSecond requests a second and at most burst at once, and the number in
// flight if [MaxInFlight] sets one. Calls of a key go in the order in which they
// came, unless [WithPace] finds that some come too late. Each attempt takes a token
// of its own, those of [Retry] too.
//
// A call whose turn cannot come before its deadline or within [MaxWait] is
// refused at once; a call that leaves gives its place to the one behind it. Both
// cost nothing. A request heavier than the bucket (see [ContextWithCost]) goes
// when the bucket is full and leaves it in debt.
//
// A rate of [math.Inf](1) is none, whatever the burst, and needs another limit beside
// it: [WithPace], [TokensPerMinute] or [MaxInFlight].
//
// RateLimit panics if an argument is invalid.
func RateLimit(perSecond float64, burst int, opts ...LimitOption) Middleware {
	c := defaultLimitConfig()
	c.apply(perSecond, burst, opts)
	must(c.validate())
	return c.layer
}

func (c limitConfig) layer(next http.RoundTripper) http.RoundTripper {
	return c.transport().over(next)
}

func (c limitConfig) transport() *limitTransport {
	t := &limitTransport{cfg: c, newPass: func() *limitPass { return new(limitPass) }}
	t.queues.make = func(key string) *queue { return newQueue(key, t) }
	t.queues.retire = (*queue).retire
	return t
}

func (t *limitTransport) over(next http.RoundTripper) http.RoundTripper {
	t.below = newBelow(next)
	return t
}

type costContextKey struct{}

// ContextWithCost returns a context whose requests cost n tokens of the rate
// limit instead of one. A negative n is refused when the request is made.
func ContextWithCost(ctx context.Context, n int) context.Context {
	return context.WithValue(ctx, costContextKey{}, n)
}

// costOf returns what a request with ctx costs.
func costOf(ctx context.Context) int {
	if n, ok := ctx.Value(costContextKey{}).(int); ok {
		return n
	}
	return 1
}

type limitTransport struct {
	cfg     limitConfig
	below   below
	clock   callClock
	queues  keyed[queue]
	newPass func() *limitPass
}

func (t *limitTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	return t.carry(branchOf(req), req)
}

func (t *limitTransport) carry(c *call, req *http.Request) (resp *http.Response, err error) {
	p := t.newPass()
	c, made := enter(c, req, &p.own, &t.clock)
	p.c, p.cost = c, costOf(c.Context)
	if p.cost < 0 {
		c.closeBody(req)
		return nil, errCaller{fmt.Errorf("steady: ContextWithCost(%d): must not be negative", p.cost)}
	}
	q := t.queues.get(t.cfg.keyer.key(c, req), c.began)
	sent := p.weigh(q, req)
	returned := false
	defer func() { // after a panic of next, or of an observer
		if !returned {
			p.undo(resp)
		}
	}()
	if err = p.await(q, c.seen()); err != nil {
		returned = true
		c.closeBody(sent)
		return nil, err
	}
	if p.waited() > 0 {
		c.at = time.Since(c.began)
	}
	c.register(p)
	resp, err = t.below.carry(c, sent)
	if p.state.Or(passReturned)&passAway != 0 {
		p.back()
	}
	if made {
		c.leave(req, resp)
	}
	if err != nil {
		p.failed(err)
	} else {
		p.answered(resp)
	}
	returned = true
	return resp, err
}

func (t *limitTransport) CloseIdleConnections() { closeIdle(t.below.next) }

// wake lets the head of key's queue look again.
func (t *limitTransport) wake(key string) {
	if q := t.queues.peek(key); q != nil {
		q.look()
	}
}

// passing reports whether attempts of key pass, as far as its pace can tell.
func (t *limitTransport) passing(key string) bool {
	q := t.queues.peek(key)
	return q != nil && q.passing.Load()
}
