package main

import (
	"net/http"
	"slices"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/PuerkitoBio/rehttp"
	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/adaptivelimiter"
	"github.com/failsafe-go/failsafe-go/bulkhead"
	"github.com/failsafe-go/failsafe-go/circuitbreaker"
	"github.com/failsafe-go/failsafe-go/failsafehttp"
	"github.com/failsafe-go/failsafe-go/ratelimiter"
	"github.com/failsafe-go/failsafe-go/timeout"
	"github.com/gojek/heimdall/v7"
	"github.com/gojek/heimdall/v7/httpclient"
	"github.com/hashicorp/go-retryablehttp"

	"github.com/steadyhttp/steady"
)

// settings are what all stacks are given alike. For everything else each has the
// defaults that its own documentation shows.
type settings struct {
	attempts       int           // in all, the first included
	delay          time.Duration // before the second
	attemptTimeout time.Duration // 0 for none
	inFlight       int           // 0 for no limit
	failures       int           // for the breaker; 0 for its default
}

// happy is for calls that never fail.
var happy = settings{attempts: 3, delay: 500 * time.Millisecond, attemptTimeout: 10 * time.Minute, inFlight: 1 << 20}

// plenty is a rate, per second, that a limiter is asked for and that is never reached.
const plenty = 1e8

// stack makes a RoundTripper over base.
type stack func(base http.RoundTripper, s settings) http.RoundTripper

type roundTripFunc func(*http.Request) (*http.Response, error)

func (f roundTripFunc) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func newSteady(base http.RoundTripper, s settings, opts ...steady.Option) http.RoundTripper {
	breaker := []steady.BreakerOption{}
	if s.failures > 0 {
		breaker = append(breaker, steady.TripAfter(s.failures))
	}
	rt, err := steady.New(slices.Concat([]steady.Option{
		steady.WithBase(base),
		// No peer has a budget: with it, Steady would send less than they do.
		steady.WithRetry(steady.MaxAttempts(s.attempts), steady.Delays(s.delay, max(s.delay, 30*time.Second)), steady.RetryBudget(100, 1000)),
		steady.WithBreaker(breaker...),
	}, opts)...)
	if err != nil {
		panic(err)
	}
	return rt
}

// steadyLimits is New with a rate and a number in flight.
func steadyLimits(base http.RoundTripper, s settings) http.RoundTripper { return steadyWith()(base, s) }

// steadyWith is steadyLimits with timeouts, or without a guard.
func steadyWith(timeouts ...steady.TimeoutOption) stack {
	return func(base http.RoundTripper, s settings) http.RoundTripper {
		return withLimits(base, s, timeouts)
	}
}

func withLimits(base http.RoundTripper, s settings, timeouts []steady.TimeoutOption) http.RoundTripper {
	opts := []steady.Option{steady.WithRateLimit(plenty, plenty), steady.WithTimeouts(timeouts...)}
	if s.inFlight > 0 {
		opts = append(opts, steady.WithConcurrency(s.inFlight))
	}
	if s.attemptTimeout > 0 {
		opts = append(opts, steady.WithTimeouts(steady.HeaderTimeout(s.attemptTimeout)))
	}
	return newSteady(base, s, opts...)
}

func steadyPlain(base http.RoundTripper, s settings) http.RoundTripper { return newSteady(base, s) }

func steadyLayer(layer steady.Middleware) stack {
	return func(base http.RoundTripper, _ settings) http.RoundTripper { return steady.Chain(base, layer) }
}

// failsafePolicies says which of its policies a failsafe-go stack has besides
// retry. They stand in the order that its documentation recommends.
type failsafePolicies struct{ breaker, limiter, adaptive bool }

func failsafeStack(p failsafePolicies) stack {
	return func(base http.RoundTripper, s settings) http.RoundTripper {
		policies := []failsafe.Policy[*http.Response]{
			failsafehttp.NewRetryPolicyBuilder().WithMaxAttempts(s.attempts).WithBackoff(s.delay, 60*max(s.delay, time.Second)).Build(),
		}
		if p.breaker {
			policies = append(policies, circuitbreaker.NewBuilder[*http.Response]().WithFailureThreshold(uint(max(5, s.failures))).Build())
		}
		if p.limiter {
			policies = append(policies, ratelimiter.NewBurstyBuilder[*http.Response](plenty, time.Second).WithMaxWaitTime(time.Second).Build())
		}
		if p.adaptive {
			policies = append(policies, adaptivelimiter.NewBuilder[*http.Response]().WithLimits(2048, 4096, 2048).Build())
		}
		if s.inFlight > 0 && !p.adaptive {
			policies = append(policies, bulkhead.NewBuilder[*http.Response](uint(s.inFlight)).WithMaxWaitTime(time.Minute).Build())
		}
		if s.attemptTimeout > 0 && s.attemptTimeout < time.Minute {
			policies = append(policies, timeout.New[*http.Response](s.attemptTimeout))
		}
		return failsafehttp.NewRoundTripper(base, policies...)
	}
}

func retryablehttpStack(base http.RoundTripper, s settings) http.RoundTripper {
	c := retryablehttp.NewClient()
	c.HTTPClient = &http.Client{Transport: base}
	if s.attemptTimeout < time.Minute { // longer ones are about the happy path, where it has none
		c.HTTPClient.Timeout = s.attemptTimeout
	}
	c.Logger = nil
	c.RetryMax, c.RetryWaitMin = s.attempts-1, s.delay
	return &retryablehttp.RoundTripper{Client: c}
}

func rehttpStack(base http.RoundTripper, s settings) http.RoundTripper {
	t := rehttp.NewTransport(base,
		rehttp.RetryAll(rehttp.RetryMaxRetries(s.attempts-1),
			rehttp.RetryAny(rehttp.RetryStatuses(429, 500, 502, 503, 504, 529), rehttp.RetryIsErr(func(err error) bool { return err != nil }))),
		rehttp.ExpJitterDelay(s.delay, max(s.delay, 30*time.Second)))
	t.PerAttemptTimeout = s.attemptTimeout
	return t
}

func rehttpNoTimeout(base http.RoundTripper, s settings) http.RoundTripper {
	s.attemptTimeout = 0
	return rehttpStack(base, s)
}

func heimdallStack(base http.RoundTripper, s settings) http.RoundTripper {
	doer := &http.Client{Transport: base}
	if s.attemptTimeout < time.Minute {
		doer.Timeout = s.attemptTimeout
	}
	c := httpclient.NewClient(
		httpclient.WithHTTPClient(doer),
		httpclient.WithRetryCount(s.attempts-1),
		httpclient.WithRetrier(heimdall.NewRetrier(heimdall.NewExponentialBackoff(s.delay, max(s.delay, 30*time.Second), 2, s.delay))),
	)
	return roundTripFunc(c.Do)
}

// transporter is a RoundTripper as azcore wants it.
type transporter struct{ http.RoundTripper }

func (t transporter) Do(req *http.Request) (*http.Response, error) { return t.RoundTrip(req) }

func azcoreStack(base http.RoundTripper, s settings) http.RoundTripper {
	retry := policy.RetryOptions{MaxRetries: int32(s.attempts - 1), RetryDelay: s.delay}
	if s.attempts == 1 {
		retry.MaxRetries = -1
	}
	if s.attemptTimeout < time.Minute {
		retry.TryTimeout = s.attemptTimeout
	}
	p := runtime.NewPipeline("bench", "v0.1.0", runtime.PipelineOptions{}, &policy.ClientOptions{Transport: transporter{base}, Retry: retry})
	return roundTripFunc(func(req *http.Request) (*http.Response, error) {
		r, err := runtime.NewRequestFromRequest(req)
		if err != nil {
			return nil, err
		}
		runtime.SkipBodyDownload(r) // as every client does whose answers are streams
		return p.Do(r)
	})
}
