package steady

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// A Middleware wraps next with one concern and returns the result, which is safe
// for concurrent use if next is.
type Middleware func(next http.RoundTripper) http.RoundTripper

// Chain wraps base in layers, the first of which becomes the outermost:
//
//	Chain(base, a, b, c)  is  a(b(c(base)))
//
// A nil base means a new base transport like that of [New]. A layer of your own is
// any Middleware that keeps the contract of [http.RoundTripper], which package
// steadytest checks; to be transparent it also hands on CloseIdleConnections, as the
// example shows. Chain panics if a layer is nil.
func Chain(base http.RoundTripper, layers ...Middleware) http.RoundTripper {
	rt := baseOrDefault(base)
	for i, layer := range slices.Backward(layers) {
		if layer == nil {
			panic(fmt.Sprintf("steady: Chain: layer %d is nil", i))
		}
		rt = layer(rt)
	}
	return rt
}

// Transport is the stack of layers that [New] makes. It is safe for concurrent
// use, and meant to be made once and shared: limits, breakers and budgets are its
// own.
type Transport struct {
	base    http.RoundTripper
	outer   http.RoundTripper
	limit   *limitTransport
	breaker *breakerTransport
	retry   *retryTransport
}

// New returns the stack. Without options it finds out by itself how fast the
// provider may be called ([WithPace]), holds calls while the provider is down, and
// retries.
//
// A call has 6 attempts within 90 seconds ([MaxAttempts], [Within]) and waits in the
// queue for 30 seconds at most ([MaxWait], [Patience]). An attempt has 10 minutes for its
// headers and as long for its first content, and 2 minutes from one piece of content to
// the next ([HeaderTimeout], [FirstContent], [Idle]).
//
// The order of opts never changes the order of the layers; [Chain] does that.
// The error joins all invalid options, so that one run shows them all.
func New(opts ...Option) (*Transport, error) {
	c := defaultConfig()
	for _, opt := range opts {
		if !c.amiss.missing(opt == nil) {
			opt.apply(&c)
		}
	}
	if err := c.validate(); err != nil {
		return nil, err
	}
	c.breaker.paced = c.limit.pace.on
	t := &Transport{base: c.base, breaker: c.breaker.transport(), retry: c.retry.transport()}
	if t.base == nil {
		t.base = newBase(c.dial)
	}
	c.limit.holder = t.breaker // an open breaker holds the queue
	c.limit.check = t.retry.cfg.check
	t.limit = c.limit.transport()
	t.limit.newPass = newRooms
	t.breaker.wake, t.breaker.passing = t.limit.wake, t.limit.passing

	// The one place that fixes the order. doc.go repeats it as a table.
	t.outer = Chain(t.base,
		c.sdkLayer,
		t.limit.over,
		t.breaker.over,
		t.retry.over,
		c.attempt.layer,
	)
	return t, nil
}

// RoundTrip implements [http.RoundTripper].
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	return t.outer.RoundTrip(req)
}

// CloseIdleConnections closes the idle connections of the base transport, if it
// can. [http.Client.CloseIdleConnections] calls it.
func (t *Transport) CloseIdleConnections() { closeIdle(t.base) }

// KeyState is what the layers of a [Transport] know of one key at one moment.
type KeyState struct {
	Key      string
	InFlight int     // attempts under way
	Waiting  int     // calls in the queue
	Breaker  string  // "closed", "open" or "half-open"
	Budget   float64 // re-sends that the retry budget would allow now
	Pace     float64 // attempts a second that the learned pace allows, 0 while it knows no limit; see HeldUntil
	Slots    int     // attempts under way that the learned pace allows, 0 while it knows no limit

	// PaceState is what the learned pace is doing, in the words of docs/pace.md: "search"
	// (no limit was met yet), "rate" (so many a second), "trial" (deliberately slow for a
	// while, to see whether that helps), "chance" (a share is refused whatever we do),
	// "slots" (so many under way) or "hold" (nothing passes). It is empty with [NoPace].
	PaceState string

	// HeldUntil is when the next probe may go, while the queue is held: by the breaker
	// when Breaker is not "closed", by the pace when PaceState is "hold". It is zero when
	// that is now, when a probe is out, and when nothing is held. While a queue is held
	// nothing but probes goes, and Pace is the one from before.
	HeldUntil time.Time
}

// State returns the state of every key that the transport remembers, sorted by
// key. It is meant for gauges and dashboards.
func (t *Transport) State() []KeyState {
	states := map[string]*KeyState{}
	of := func(key string) *KeyState {
		s, ok := states[key]
		if !ok {
			s = &KeyState{Key: key, Breaker: "closed"}
			states[key] = s
		}
		return s
	}
	now := time.Now()
	t.limit.queues.each(func(key string, q *queue) { q.state(of(key)) })
	t.breaker.keys.each(func(key string, b *breaker) { of(key).Breaker = b.stateName() })
	t.retry.budgets.each(func(key string, b *budget) { of(key).Budget = b.left(now) })
	all := make([]KeyState, 0, len(states))
	for _, s := range states {
		all = append(all, *s)
	}
	slices.SortFunc(all, func(a, b KeyState) int { return strings.Compare(a.Key, b.Key) })
	return all
}

// Option is an option of [New].
type Option interface{ apply(*config) }

type option func(*config)

func (f option) apply(c *config) { f(c) }

type config struct {
	base    http.RoundTripper
	dial    baseConfig
	noSDK   bool // without the SDK layer
	limit   limitConfig
	breaker breakerConfig
	retry   retryConfig
	attempt attemptConfig
	errs    []error
	amiss   flaws // nil options, and such as contradict each other
}

func defaultConfig() config {
	c := config{
		dial: defaultBaseConfig(), limit: defaultLimitConfig(), breaker: defaultBreakerConfig(),
		retry: defaultRetryConfig(), attempt: defaultAttemptConfig(),
	}
	WithPace().apply(&c)
	WithKey(KeyByHost).apply(&c) // one keyer for all layers
	return c
}

func (c *config) validate() error {
	errs := append(append(c.errs, c.amiss...), c.limit.validate(), c.breaker.validate(), c.retry.validate(), c.attempt.validate(), c.dial.validate())
	if c.base != nil && c.dial.set {
		errs = append(errs, errors.New("steady: DialTimeout and TLSTimeout are for the default base; set them on the one given to WithBase"))
	}
	return errors.Join(errs...)
}

// WithBase sets the RoundTripper that talks to the network. The default is a new
// [http.Transport] with timeouts and pool sizes fit for LLM calls. A nil rt means
// the default.
func WithBase(rt http.RoundTripper) Option {
	return option(func(c *config) { c.base = rt })
}

// WithSDK turns the [SDK] layer on or off. It is on by default.
func WithSDK(on bool) Option {
	return option(func(c *config) { c.noSDK = !on })
}

// sdkLayer is SDK, unless it is turned off.
func (c *config) sdkLayer(next http.RoundTripper) http.RoundTripper {
	if c.noSDK {
		return next
	}
	return SDK()(next)
}

// WithRetry configures the [Retry] layer.
func WithRetry(opts ...RetryOption) Option {
	return option(func(c *config) { c.retry.apply(opts) })
}

// WithBreaker configures the [Breaker] layer.
func WithBreaker(opts ...BreakerOption) Option {
	return option(func(c *config) { c.breaker.apply(opts) })
}

// WithRateLimit sets the rate of the [RateLimit] layer: at most perSecond
// attempts a second for each key, in bursts of at most burst. The default is no
// limit but the pace that is learned.
func WithRateLimit(perSecond float64, burst int, opts ...LimitOption) Option {
	return option(func(c *config) { c.limit.apply(perSecond, burst, opts) })
}

// WithConcurrency sets how many attempts may be under way at a time for each
// key, with or without a rate limit: at least 1, and the default is no limit. It
// is [MaxInFlight] of the [RateLimit] layer, of which one may be given.
func WithConcurrency(max int) Option {
	return option(func(c *config) { c.limit.capInFlight("WithConcurrency", max) })
}

// WithTimeouts sets the timeouts of one attempt. The time for a whole call is
// bounded by [Within] and by the request's own deadline.
func WithTimeouts(opts ...TimeoutOption) Option {
	return option(func(c *config) {
		for _, opt := range opts {
			if !c.amiss.missing(opt == nil) {
				opt.applyTimeout(c)
			}
		}
	})
}

// CommonOption is an option of [New] and of every layer that has options.
type CommonOption interface {
	Option
	LimitOption
	BreakerOption
	RetryOption
	AttemptOption
}

// WithKey sets what shares a limit, a breaker and a budget. The default is
// [KeyByHost].
func WithKey(key KeyFunc) CommonOption { return keyOption{&keyer{key}} }

type keyOption struct{ keyer *keyer }

func (o keyOption) apply(c *config) {
	if err := o.keyer.validate(); err != nil { // once, and not once for each layer
		c.errs = append(c.errs, err)
		return
	}
	o.applyLimit(&c.limit)
	o.applyBreaker(&c.breaker)
	o.applyRetry(&c.retry)
	o.applyAttempt(&c.attempt)
}
func (o keyOption) applyLimit(c *limitConfig)     { c.keyer = o.keyer }
func (o keyOption) applyBreaker(c *breakerConfig) { c.keyer = o.keyer }
func (o keyOption) applyRetry(c *retryConfig)     { c.keyer = o.keyer }
func (o keyOption) applyAttempt(c *attemptConfig) { c.keyer = o.keyer }
func (o keyOption) applyTimeout(c *config)        { o.applyAttempt(&c.attempt) }

// WithObserver sends events to o: in New those of all layers, and given to one
// layer those of that layer. A nil o means none.
func WithObserver(o Observer) CommonOption { return observerOption{o} }

type observerOption struct{ observer Observer }

func (o observerOption) apply(c *config) {
	o.applyLimit(&c.limit)
	o.applyBreaker(&c.breaker)
	o.applyRetry(&c.retry)
	o.applyAttempt(&c.attempt)
}
func (o observerOption) applyLimit(c *limitConfig)     { c.observer = o.observer }
func (o observerOption) applyBreaker(c *breakerConfig) { c.observer = o.observer }
func (o observerOption) applyRetry(c *retryConfig)     { c.observer = o.observer }
func (o observerOption) applyAttempt(c *attemptConfig) { c.observer = o.observer }
func (o observerOption) applyTimeout(c *config)        { o.applyAttempt(&c.attempt) }
