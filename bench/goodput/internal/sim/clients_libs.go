package sim

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/PuerkitoBio/rehttp"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/adaptivelimiter"
	"github.com/failsafe-go/failsafe-go/adaptivethrottler"
	"github.com/failsafe-go/failsafe-go/budget"
	"github.com/failsafe-go/failsafe-go/circuitbreaker"
	"github.com/failsafe-go/failsafe-go/failsafehttp"
	"github.com/hashicorp/go-retryablehttp"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

// openaiSDK is the real client with its defaults (2 retries, 0.5 s x2 up to 8 s,
// minus up to 25 % jitter, Retry-After honoured).
type openaiSDK struct{ c openai.Client }

func newOpenAI(rt http.RoundTripper, opts ...option.RequestOption) Doer {
	opts = append([]option.RequestOption{
		option.WithHTTPClient(&http.Client{Transport: rt}),
		option.WithAPIKey("sk-sim"), option.WithBaseURL("http://llm.test/v1"),
	}, opts...)
	return &openaiSDK{openai.NewClient(opts...)}
}

func (o *openaiSDK) Do(req *http.Request) (*http.Response, error) {
	var resp *http.Response
	err := o.c.Post(req.Context(), "chat/completions", map[string]any{"model": "m"}, &resp)
	if err != nil {
		return nil, err
	}
	return resp, nil
}

// awsAdaptive drives the real aws-sdk-go-v2 retryers around a RoundTripper, in
// the order of the SDK's own attempt middleware.
//
// The adaptive mode's own wait loop wakes every waiter for every token (N
// waiters x rate wake-ups per second, whoever comes first wins) and spins when the
// computed wait rounds to 0 ns, which never ends in virtual time. So the mode runs
// with FailOnNoAttemptTokens, one poller asks for a token every millisecond while
// anybody waits, and a random waiter gets it: the same rates and the same lottery
// without the storm.
type awsAdaptive struct {
	next    http.RoundTripper
	r       aws.RetryerV2
	poll    bool // adaptive mode
	mu      sync.Mutex
	rng     lcg
	waiters []chan func(error) error
	polling bool
}

func (a *awsAdaptive) token(ctx context.Context) (func(error) error, error) {
	if !a.poll {
		return a.r.GetAttemptToken(ctx)
	}
	a.mu.Lock()
	if len(a.waiters) == 0 {
		if rel, err := a.r.GetAttemptToken(ctx); err == nil {
			a.mu.Unlock()
			return rel, nil
		}
	}
	ch := make(chan func(error) error, 1)
	a.waiters = append(a.waiters, ch)
	if !a.polling {
		a.polling = true
		go a.serve()
	}
	a.mu.Unlock()
	select {
	case rel := <-ch:
		return rel, nil
	case <-ctx.Done():
		a.mu.Lock()
		defer a.mu.Unlock()
		for i, w := range a.waiters {
			if w == ch {
				a.take(i)
				break
			}
		}
		return nil, ctx.Err()
	}
}

func (a *awsAdaptive) take(i int) chan func(error) error {
	n := len(a.waiters) - 1
	ch := a.waiters[i]
	a.waiters[i] = a.waiters[n]
	a.waiters = a.waiters[:n]
	return ch
}

func (a *awsAdaptive) serve() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for len(a.waiters) > 0 {
		rel, err := a.r.GetAttemptToken(context.Background())
		if err != nil {
			a.mu.Unlock()
			time.Sleep(time.Millisecond)
			a.mu.Lock()
			continue
		}
		a.take(int(a.rng.float() * float64(len(a.waiters)))) <- rel
	}
	a.polling = false
}

type awsStatusError struct{ code int }

func (e *awsStatusError) Error() string       { return http.StatusText(e.code) }
func (e *awsStatusError) HTTPStatusCode() int { return e.code }

type awsConnError struct{ error }

func (awsConnError) ConnectionError() bool { return true }
func (awsConnError) RetryableError() bool  { return true }

func (a *awsAdaptive) Do(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	var releaseRetry func(error) error = func(error) error { return nil }
	for n := 1; ; n++ {
		rel, err := a.token(ctx)
		if err != nil {
			return nil, err
		}
		resp, err := a.next.RoundTrip(req)
		var opErr error
		switch {
		case err != nil && ctx.Err() != nil:
			opErr = err
		case err != nil:
			opErr = awsConnError{err}
		case resp.StatusCode >= 400:
			code := resp.StatusCode
			if code == 529 {
				code = 503 // the AWS list has no 529; give it the same chance
			}
			opErr = &awsStatusError{code}
		}
		rel(opErr)
		releaseRetry(opErr)
		if opErr == nil || ctx.Err() != nil || !a.r.IsErrorRetryable(opErr) || n >= a.r.MaxAttempts() {
			return resp, err
		}
		tok, terr := a.r.GetRetryToken(ctx, opErr)
		if terr != nil {
			return resp, err
		}
		releaseRetry = tok
		d, derr := a.r.RetryDelay(n, opErr)
		if derr != nil {
			return resp, err
		}
		drain(resp)
		if err := sleepCtx(ctx, d); err != nil {
			return nil, err
		}
	}
}

func failsafeRetry(max int) failsafe.Policy[*http.Response] {
	return failsafehttp.NewRetryPolicyBuilder().WithBackoff(time.Second, 30*time.Second).WithMaxRetries(max).ReturnLastFailure().Build()
}

func bad(r *http.Response, err error) bool { return retryable(r, err) }

func libContenders() []Contender {
	fs := func(name string, pol func() []failsafe.Policy[*http.Response]) Contender {
		return Contender{Name: name, New: func(e *Env, i int) Doer {
			return RT{failsafehttp.NewRoundTripper(e.Server, pol()...)}
		}}
	}
	return []Contender{
		{Name: "openai-go-sdk", New: func(e *Env, i int) Doer { return newOpenAI(e.Server) }},
		{Name: "go-retryablehttp", New: func(e *Env, i int) Doer {
			c := retryablehttp.NewClient()
			c.Logger = nil
			c.HTTPClient = &http.Client{Transport: e.Server}
			return RT{&retryablehttp.RoundTripper{Client: c}}
		}},
		{Name: "rehttp", New: func(e *Env, i int) Doer {
			seed := &lcg{e.Seed + uint64(i)}
			tr := rehttp.NewTransport(e.Server,
				rehttp.RetryAll(rehttp.RetryMaxRetries(3), rehttp.RetryAny(rehttp.RetryTemporaryErr(), rehttp.RetryStatuses(429), rehttp.RetryStatusInterval(500, 600))),
				rehttp.ExpJitterDelayWithRand(time.Second, 30*time.Second, func(n int64) int64 { return int64(seed.float() * float64(n)) }))
			return RT{tr}
		}},
		fs("failsafe-retry", func() []failsafe.Policy[*http.Response] {
			return []failsafe.Policy[*http.Response]{failsafeRetry(3)}
		}),
		fs("failsafe-retry+breaker", func() []failsafe.Policy[*http.Response] {
			// retry outside, breaker inside, opened by 429 for the time Retry-After says: their HTTP example
			cb := circuitbreaker.NewBuilder[*http.Response]().HandleIf(bad).WithDelay(time.Second).
				WithDelayFunc(failsafehttp.DelayFunc).Build()
			return []failsafe.Policy[*http.Response]{failsafeRetry(3), cb}
		}),
		fs("failsafe-retry+ratebreaker", func() []failsafe.Policy[*http.Response] {
			cb := circuitbreaker.NewBuilder[*http.Response]().HandleIf(bad).
				WithFailureRateThreshold(.5, 20, 10*time.Second).WithDelay(5 * time.Second).Build()
			return []failsafe.Policy[*http.Response]{failsafeRetry(3), cb}
		}),
		fs("failsafe-retry+limiter", func() []failsafe.Policy[*http.Response] {
			al := adaptivelimiter.NewBuilder[*http.Response]().WithLimits(1, 2000, 20).WithQueueing(2, 3).Build()
			rp := failsafehttp.NewRetryPolicyBuilder().WithBackoff(time.Second, 30*time.Second).WithMaxRetries(3).
				AbortOnErrors(adaptivelimiter.ErrExceeded).ReturnLastFailure().Build()
			return []failsafe.Policy[*http.Response]{rp, al}
		}),
		fs("failsafe-retry+throttler", func() []failsafe.Policy[*http.Response] {
			th := adaptivethrottler.NewBuilder[*http.Response]().HandleIf(bad).WithFailureRateThreshold(.1, 20, time.Minute).Build()
			rp := failsafehttp.NewRetryPolicyBuilder().WithBackoff(time.Second, 30*time.Second).WithMaxRetries(3).
				WithBudget(budget.New()).ReturnLastFailure().Build()
			return []failsafe.Policy[*http.Response]{rp, th}
		}),
		{Name: "aws-standard", New: func(e *Env, i int) Doer {
			return &awsAdaptive{next: e.Server, r: retry.NewStandard()}
		}},
		{Name: "aws-adaptive", New: func(e *Env, i int) Doer {
			return &awsAdaptive{next: e.Server, poll: true, rng: lcg{e.Seed},
				r: retry.NewAdaptiveMode(func(o *retry.AdaptiveModeOptions) { o.FailOnNoAttemptTokens = true })}
		}},
	}
}

var errGiveUp = errors.New("client gave up")
