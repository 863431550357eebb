package steady

import (
	"context"
	"errors"
	"net/http"
	"time"
)

// RetryOption is an option of [Retry], [WithRetry] and [ContextWithRetry].
type RetryOption interface{ applyRetry(*retryConfig) }

type retryOption func(*retryConfig)

func (f retryOption) applyRetry(c *retryConfig) { f(c) }

type retryConfig struct {
	amiss          flaws // nil options, and such as contradict each other
	maxAttempts    int
	backoff        backoff
	jitterBy       string // the option that has set it, "" for none
	within         time.Duration
	maxRetryAfter  time.Duration
	ratio          float64
	perSecond      float64
	unknownResends int
	replayBuffer   int
	keyer          *keyer
	observer       Observer // nil means none
}

func defaultRetryConfig() retryConfig {
	return retryConfig{
		maxAttempts: 6, backoff: backoff{first: 500 * time.Millisecond, longest: 30 * time.Second},
		within: 90 * time.Second, maxRetryAfter: time.Minute,
		ratio: 0.2, perSecond: 10, unknownResends: 1, replayBuffer: 1 << 20,
		keyer: &keyer{KeyByHost},
	}
}

func (c *retryConfig) apply(opts []RetryOption) {
	for _, opt := range opts {
		if !c.amiss.missing(opt == nil) {
			opt.applyRetry(c)
		}
	}
}

func (c *retryConfig) validate() error {
	f := c.amiss
	f.add(c.maxAttempts < 1, "MaxAttempts(%d): must be at least 1", c.maxAttempts)
	b := &c.backoff
	f.add(b.first < time.Millisecond || b.longest < b.first, "Delays(%v, %v): the first must be at least 1ms, the longest not shorter", b.first, b.longest)
	f.tooShort(c.within, "Within")
	f.short(c.maxRetryAfter, "MaxRetryAfter")
	f.add(!(c.ratio >= 0 && c.ratio <= 100) || !(c.perSecond >= 0 && c.perSecond <= 1e9),
		"RetryBudget(%v, %v): the ratio must be from 0 to 100, the number per second from 0 to 1e9", c.ratio, c.perSecond)
	f.add(c.unknownResends < 0, "UnknownResends(%d): must not be negative", c.unknownResends)
	f.add(c.replayBuffer < 0, "ReplayBuffer(%d): must not be negative", c.replayBuffer)
	f.add(!(b.share >= 0 && b.share <= 1), "PlusMinus(%v): must be from 0 to 1", b.share)
	return errors.Join(append(f, c.keyer.validate())...)
}

// MaxAttempts sets how many attempts a call may have, whatever they fail of. The
// default is 6; 1 means no retries. In [New] a probe that fails while other calls
// wait is none of them: it asks for all whether the provider is back, and its call goes
// on waiting as if it had not been sent, unless it may have been done and billed: see
// [UnknownResends]. So a call is sent at most n times on its own
// behalf, and besides for others while its [Patience] lasts: one call at a time, every
// [OpenFor].
func MaxAttempts(n int) RetryOption {
	return retryOption(func(c *retryConfig) { c.maxAttempts = n })
}

// Delays sets the backoff: the ceiling of the first wait, which doubles with each
// attempt, and the longest ceiling. After a 503 it starts at twice first. The
// default is 500 milliseconds and 30 seconds.
func Delays(first, longest time.Duration) RetryOption {
	return retryOption(func(c *retryConfig) { c.backoff.first, c.backoff.longest = first, longest })
}

// Within bounds how long Retry goes on: there is no re-send once the attempts of a
// call and the backoff between them have taken total. It does not cut an attempt that
// is under way. Waits in the queue do not count, neither the first one nor those
// before a re-send, and no probe that failed: [MaxWait] and [Patience] bound those.
// The default is 90 seconds. The request's own deadline holds besides.
func Within(total time.Duration) RetryOption {
	return retryOption(func(c *retryConfig) { c.within = total })
}

// MaxRetryAfter sets the longest wait that a server may name. A call that is told a
// longer one is not sent again: its response goes to the caller at once. Other calls
// to the same key go on; only when the provider refuses everybody do all pause. The
// default is one minute.
func MaxRetryAfter(d time.Duration) RetryOption {
	return retryOption(func(c *retryConfig) { c.maxRetryAfter = d })
}

// RetryBudget bounds the re-sends of all calls of a key together: each call earns
// ratio of a re-send, and perSecond more come with time; what ten seconds bring
// can be saved up, and at least 10. A re-send whose answer begins well costs nothing,
// as in the SDKs of AWS, so that the budget bounds those that do not help. The default
// is 0.2 and 10, which are Finagle's figures. Without budget the call ends with what
// its last attempt ended in. It cannot be set for one request.
func RetryBudget(ratio, perSecond float64) RetryOption {
	return retryOption(func(c *retryConfig) { c.ratio, c.perSecond = ratio, perSecond })
}

// UnknownResends sets how often a POST may be sent again when it may have been
// done, and billed, already: the connection broke, or the headers did not come in
// time, after it had been sent, or a gateway said 504 or 524. The default is 1. That
// goes for probes as well: a batch that is to outlast an outage of such answers needs
// as many as its calls have probes to make, and may pay for them.
// GET, HEAD, PUT, DELETE and requests with an Idempotency-Key are free of it.
func UnknownResends(n int) RetryOption {
	return retryOption(func(c *retryConfig) { c.unknownResends = n })
}

// ReplayBuffer sets how many bytes of a request body without GetBody are kept,
// while the first attempt reads it, so that it can be sent again. A longer one
// gets one attempt. The default is 1 MiB.
func ReplayBuffer(bytes int) RetryOption {
	return retryOption(func(c *retryConfig) { c.replayBuffer = bytes })
}

// FullJitter waits anything from nothing to the ceiling. It is the default: it
// spreads clients that failed together the most.
func FullJitter() RetryOption {
	return retryOption(func(c *retryConfig) { c.setJitter("FullJitter", jitterFull, 0) })
}

// EqualJitter waits half the ceiling and anything up to the other half.
func EqualJitter() RetryOption {
	return retryOption(func(c *retryConfig) { c.setJitter("EqualJitter", jitterEqual, 0) })
}

// PlusMinus waits the ceiling give or take up to the given share of it, from 0 to
// 1, but never more than the longest delay.
func PlusMinus(share float64) RetryOption {
	return retryOption(func(c *retryConfig) { c.setJitter("PlusMinus", jitterPlusMinus, share) })
}

// DecorrelatedJitter waits anything from the first delay to three times the wait
// before.
func DecorrelatedJitter() RetryOption {
	return retryOption(func(c *retryConfig) { c.setJitter("DecorrelatedJitter", jitterDecorrelated, 0) })
}

// setJitter sets the jitter on behalf of an option, of which there may be one kind.
func (c *retryConfig) setJitter(by string, j jitter, share float64) {
	c.amiss.add(c.jitterBy != "" && c.jitterBy != by, "%s and %s: both set the jitter: give one of them", c.jitterBy, by)
	c.jitterBy, c.backoff.jitter, c.backoff.share = by, j, share
}

type retryContextKey struct{}

// ContextWithRetry returns a context whose requests are retried with opts on top
// of what the layer was made with, and of what an outer ctx says. Invalid options,
// a [RetryBudget] and a [WithKey] are the error of the request, all of them in one.
func ContextWithRetry(ctx context.Context, opts ...RetryOption) context.Context {
	outer, _ := ctx.Value(retryContextKey{}).([][]RetryOption)
	return context.WithValue(ctx, retryContextKey{}, append(outer[:len(outer):len(outer)], opts))
}

// of returns the configuration for a request with ctx.
func (c *retryConfig) of(ctx context.Context) (*retryConfig, error) {
	all, ok := ctx.Value(retryContextKey{}).([][]RetryOption)
	if !ok {
		return c, nil
	}
	own := *c
	for _, opts := range all { // from the outermost context on
		own.jitterBy = "" // another one than outside is no contradiction
		own.apply(opts)
	}
	own.amiss.add(own.ratio != c.ratio || own.perSecond != c.perSecond, "RetryBudget: is the layer's and cannot be set for one request")
	own.amiss.add(own.keyer != c.keyer, "WithKey: is the layer's and cannot be set for one request")
	own.ratio, own.perSecond, own.keyer = c.ratio, c.perSecond, c.keyer
	if err := own.validate(); err != nil {
		return nil, errCaller{err}
	}
	return &own, nil
}

// check returns what is wrong with the options in ctx, for who would have the call wait
// before Retry comes to see them.
func (c *retryConfig) check(ctx context.Context) error {
	_, err := c.of(ctx)
	return err
}

// Retry returns the layer that sends a failed request again when that is safe and
// may help.
//
// It retries 408, 409, 425, 429, 498, 500, 502, 503, 504, 520 to 527, 529, 530
// and connection errors, but nothing that cannot get better, such as a certificate
// that is not trusted, a name that does not exist, a prompt that is too long or
// an empty purse, whatever the status. An X-Should-Retry header decides over all
// that. It waits with full jitter, or what Retry-After and its
// relatives name, with up to a quarter on top and never less. A wait that cannot
// end before the request's deadline is not begun.
//
// When it gives up on a response, the caller gets that response, whole. When it
// gives up on an error, a [*RetryError] says how many attempts there were.
//
// A POST that may have been done is sent again only as [UnknownResends] allows.
// One to a path that is not known to be inference, such as a batch that is to be
// created, is sent again only after a 429 or when it was never sent, unless it has
// an Idempotency-Key. Known are paths that end in chat/completions, completions,
// messages, count_tokens, responses, embeddings, rerank, moderations,
// :generateContent and its kin, api/chat, api/generate, api/embed, invoke… and
// converse….
//
// Retry panics if an option is invalid.
func Retry(opts ...RetryOption) Middleware {
	c := defaultRetryConfig()
	c.apply(opts)
	must(c.validate())
	return c.layer
}

func (c retryConfig) layer(next http.RoundTripper) http.RoundTripper {
	return c.transport().over(next)
}

func (c retryConfig) transport() *retryTransport {
	t := &retryTransport{cfg: c}
	t.budgets.make = func(string) *budget { return newBudget(c.ratio, c.perSecond) }
	t.budgets.retire = func(*budget) bool { return true }
	return t
}

func (t *retryTransport) over(next http.RoundTripper) http.RoundTripper {
	t.below = newBelow(next)
	return t
}

type retryTransport struct {
	cfg     retryConfig
	below   below
	clock   callClock
	budgets keyed[budget]
}

func (t *retryTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	return t.carry(branchOf(req), req)
}

func (t *retryTransport) carry(outer *call, req *http.Request) (*http.Response, error) {
	cfg, err := t.cfg.of(req.Context())
	if err == nil && req.Context().Err() != nil {
		err = contextError(req.Context())
	}
	if err != nil {
		outer.closeBody(req)
		return nil, err
	}
	outer, made := enter(outer, req, nil, &t.clock)
	if outer.body != nil { // of a Retry outside this one
		req = outer.outgoing(req.Context(), req)
	}
	c := &retrying{t: t, cfg: cfg, outer: outer, req: req, began: outer.at, gate: outer.takeGates(), body: outer.newReplay()}
	c.key = t.cfg.keyer.key(outer, req)
	c.body.of(req, cfg.replayBuffer)
	c.budget = t.budgets.get(c.key, outer.began)
	c.budget.earn()
	defer func() { c.body.finish(err != nil) }()

	// The first attempt is made here: only what does not go as it mostly does pays for
	// more than that.
	resp, err := c.sendOn(outer)
	if err != nil || wholeIn(resp) == nil {
		resp, err = c.goOn(resp, err)
	}
	if made {
		outer.leave(req, resp)
	}
	return resp, err
}

func (t *retryTransport) CloseIdleConnections() { closeIdle(t.below.next) }
