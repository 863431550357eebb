package steady

import (
	"errors"
	"net/http"
	"sync/atomic"
	"time"
)

// BreakerOption is an option of [Breaker] and [WithBreaker].
type BreakerOption interface{ applyBreaker(*breakerConfig) }

type breakerOption func(*breakerConfig)

func (f breakerOption) applyBreaker(c *breakerConfig) { f(c) }

type breakerConfig struct {
	amiss    flaws // nil options, and such as contradict each other
	inARow   int
	ratio    float64
	window   time.Duration
	minimum  int
	openFor  time.Duration
	own      bool // the caller has said when to trip
	paced    bool // the queue slows down for overload answers
	keyer    *keyer
	observer Observer // nil means none
}

func defaultBreakerConfig() breakerConfig {
	return breakerConfig{
		inARow: 5, ratio: 0.5, window: 30 * time.Second, minimum: 20,
		openFor: 2 * time.Second, keyer: &keyer{KeyByHost},
	}
}

func (c *breakerConfig) apply(opts []BreakerOption) {
	for _, opt := range opts {
		if !c.amiss.missing(opt == nil) {
			opt.applyBreaker(c)
		}
	}
}

// leavesOverload reports whether overload answers are first of all the pace's.
func (c *breakerConfig) leavesOverload() bool { return c.paced && !c.own }

func (c *breakerConfig) validate() error {
	f := c.amiss
	f.add(c.inARow < 1, "TripAfter(%d): must be at least 1", c.inARow)
	f.add(!(c.ratio > 0 && c.ratio <= 1) || c.window < time.Second || c.minimum < 1,
		"TripRatio(%v, %v, %d): the ratio must be above 0 and at most 1, the window at least 1s, the minimum at least 1",
		c.ratio, c.window, c.minimum)
	f.tooShort(c.openFor, "OpenFor")
	return errors.Join(append(f, c.keyer.validate())...)
}

// TripAfter sets how many failures in a row open the breaker. The default is 5
// where hardly any other attempt has failed in the last seconds, and else as many
// as chance brings once in a million attempts at the share that has failed in them:
// 9 where that is a fifth of the others, 11 where it is a quarter, since retries help
// there and a pause does not.
// An n that is set holds whatever the others did.
func TripAfter(n int) BreakerOption {
	return breakerOption(func(c *breakerConfig) { c.inARow, c.own = n, true })
}

// TripRatio sets the share of failures that opens the breaker, among all the
// attempts that ended well or badly within window, once there are minimum of
// them. The default is half of at least 20 in 30 seconds. If as many fail right after
// such a pause it becomes nine tenths, until fewer than a quarter fail: they fail at
// random then, and retries serve more calls than pauses do. A ratio that is set holds.
func TripRatio(ratio float64, window time.Duration, minimum int) BreakerOption {
	return breakerOption(func(c *breakerConfig) { c.ratio, c.window, c.minimum, c.own = ratio, window, minimum, true })
}

// OpenFor sets how long the breaker stays open before each probe. The default is
// 2 seconds: one probe in 2 seconds loads nobody, and shows within 2 seconds that
// the provider is back.
func OpenFor(d time.Duration) BreakerOption {
	return breakerOption(func(c *breakerConfig) { c.openFor = d })
}

// Breaker returns the layer that says when the provider is down. Each key, by
// default each host, has a breaker of its own.
//
// Failures are answers that mean that the provider is unwell (408, most 5xx, 529,
// an overload by whatever status), connection errors, timeouts, and a body that
// breaks off, stalls or turns into such an answer; an attempt is judged when its
// body has ended. Neutral are all other 4xx, a rate limit, what the caller gave
// up, and what a layer of this package refused: they neither count nor wipe out
// what was counted. The caller's own deadline passing while an attempt is out is
// a failure, since it may be the only sign of a provider that hangs.
//
// An open breaker refuses at once, with a [*BreakerError]. In [New] the calls
// wait for it in the queue of [RateLimit] instead, as long as their [Patience]
// lasts. After [OpenFor] one attempt at a time goes as a probe; it is judged by
// its headers, and when it has none for 10 seconds another one may go.
//
// Breaker panics if an option is invalid.
func Breaker(opts ...BreakerOption) Middleware {
	c := defaultBreakerConfig()
	c.apply(opts)
	must(c.validate())
	return c.layer
}

func (c breakerConfig) layer(next http.RoundTripper) http.RoundTripper {
	return c.transport().over(next)
}

func (c breakerConfig) transport() *breakerTransport {
	t := &breakerTransport{cfg: c, wake: func(string) {}, passing: func(string) bool { return false }}
	t.keys.make = func(key string) *breaker { return newBreaker(key, t) }
	t.keys.retire = (*breaker).retire
	return t
}

type breakerTransport struct {
	cfg     breakerConfig
	below   below
	clock   callClock
	keys    keyed[breaker]
	passing func(key string) bool // reports whether attempts of key pass, as the pace sees it
	wake    func(key string)      // told, with no lock held, when key's breaker has changed
}

func (t *breakerTransport) over(next http.RoundTripper) http.RoundTripper {
	t.below = newBelow(next)
	return t
}

// hold, enter, withdraw and refusal make it a holder.
func (t *breakerTransport) hold(key string, now time.Time) hold {
	b := t.keys.peek(key)
	if b == nil {
		return hold{} // as a new one would say
	}
	return b.hold(now)
}

func (t *breakerTransport) enter(key string, c *call, now time.Time) bool {
	got, ok := t.keys.get(key, now).allow()
	if ok {
		p := c.newPermit()
		*p = got
		c.leavePermit(p)
	}
	return ok
}

func (t *breakerTransport) withdraw(c *call) {
	if p := c.takePermit(); p != nil {
		p.settle(outcomeCancelled, time.Time{})
	}
}

func (t *breakerTransport) refusal(key string) error {
	return t.keys.get(key, time.Now()).refusal()
}

func (t *breakerTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	return t.carry(branchOf(req), req)
}

func (t *breakerTransport) carry(c *call, req *http.Request) (*http.Response, error) {
	c, made := enter(c, req, nil, &t.clock)
	p := c.newBreakerPass()
	p.b, p.c = t.keys.get(t.cfg.keyer.key(c, req), c.began), c
	if err := p.again(req); err != nil {
		c.closeBody(req)
		return nil, err
	}
	c.register(p)
	returned := false
	defer func() { // after a panic of next
		if !returned {
			p.settle(outcomeFailed, time.Time{})
		}
	}()
	resp, err := t.below.carry(c, req)
	returned = true
	if made {
		c.leave(req, resp)
	}
	if err != nil {
		p.settle(judgeError(p.c.Context, err), time.Time{})
		return nil, err
	}
	if b := wholeIn(resp); b != nil { // as it mostly is
		p.settle(outcomeOK, b.at())
	} else {
		p.answered(resp)
	}
	return resp, nil
}

func (t *breakerTransport) CloseIdleConnections() { closeIdle(t.below.next) }

// answered takes note of the answer to the attempt under way.
func (p *breakerPass) answered(resp *http.Response) {
	switch v := judge(p.c.Context, resp, nil); {
	case !p.underWay():
	case v.outcome != outcomeOK || p.probing() || settled(resp):
		p.settle(v.outcome, v.at)
	default:
		watch(p.c.Context, resp, p)
	}
}

// breakerPass is one call's way through the breaker. It is the call's gate.
type breakerPass struct {
	gateLink
	b *breaker
	c *call

	// permit is that of the attempt under way, nil between attempts. The end of a
	// body takes it from its own goroutine.
	permit atomic.Pointer[permit]
	first  permit // room for that of the first attempt
}

// newPermit returns room for a permit, that of the first attempt while it is free.
func (p *breakerPass) newPermit() *permit {
	if p.first.in != nil {
		return new(permit)
	}
	return &p.first
}

// again asks the breaker, unless the queue has done so for this call.
func (p *breakerPass) again(*http.Request) error {
	got := p.c.takePermit()
	over := p.c.Context.Err() != nil             // nothing of it will go out
	if got != nil && (over || got.in.b != p.b) { // the queue asked about another key
		got.settle(outcomeCancelled, time.Time{})
		got = nil
	}
	if over {
		return contextError(p.c.Context)
	}
	if got == nil {
		own, ok := p.b.allow()
		if !ok {
			return p.b.refusal()
		}
		got = p.newPermit()
		*got = own
	}
	p.permit.Store(got)
	if got.probe != nil {
		p.b.tellChanges() // of the queue's asking too, which had a lock
	}
	return nil
}

func (p *breakerPass) pays(verdict) bool   { return false }
func (p *breakerPass) spares(verdict) bool { return false } // that is for the queue, which keeps calls

func (p *breakerPass) ended(v verdict) { p.settle(v.outcome, v.at) }

func (p *breakerPass) bodyEnded(v verdict) { p.settle(v.outcome, v.at) }

func (p *breakerPass) underWay() bool { return p.permit.Load() != nil }

func (p *breakerPass) probing() bool {
	t := p.permit.Load()
	return t != nil && t.probe != nil
}

// settle counts the attempt under way, once. It has ended at that time, now if zero.
func (p *breakerPass) settle(o outcome, at time.Time) {
	if t := p.permit.Swap(nil); t != nil {
		t.settle(o, at)
	}
}
