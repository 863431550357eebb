// Package steady keeps calls to LLM APIs steady. It is a stack of
// [net/http.RoundTripper] layers for the Transport of a [net/http.Client], and so
// fits under any SDK that takes an http.Client:
//
//	rt, err := steady.New(steady.WithRateLimit(45, 45))
//	if err != nil {
//		log.Fatal(err)
//	}
//	client := openai.NewClient(
//		option.WithHTTPClient(&http.Client{Transport: rt}),
//		option.WithMaxRetries(0), // Steady retries
//	)
//
// # Layers
//
// A layer sees a request before the layers inside it, and what became of it after
// them. [New] stacks them so, outermost first; [Chain] stacks them as you say:
//
//	SDK         answers Stainless SDKs so that their retries do not multiply ours
//	RateLimit   the one queue: the limits that you set, the pace that the provider teaches
//	Breaker     says when the provider is down
//	Retry       full jitter, Retry-After, one limit per call, a budget for all
//	Attempt     timeouts, what an answer means, and that a broken one never looks whole
//	base        an http.Transport with timeouts and pool sizes fit for LLM calls
//
// RateLimit and Breaker stand outside Retry, and yet each attempt is paid for and
// judged: they register a gate with the call, which Retry tells how an attempt
// ended, and asks before it sends another. No slot is held while a call backs
// off. In New an open breaker holds the queue instead of refusing its calls: one
// of them goes as a probe, and when it succeeds the others follow at a pace that
// rises from a quarter of the former one. The queue holds in the same way when the
// provider rejects everything.
//
// The queue learns from what is accepted and what is refused how many attempts a
// second, and how many at a time, the provider takes ([WithPace]); docs/pace.md
// explains how. It also heeds what the provider's headers say is left.
//
// What an answer means is read from its status, its headers and the beginning of
// its body, by fields that providers use: a 429 may be an empty purse, which is
// not retried, and a 200 may be an error, which is. The body of an answer is judged
// as it passes: one that is not whole ends in [ErrStreamTruncated] and not in
// io.EOF, one that stops coming in [ErrStreamStalled], one that turns into an error
// in an [*AnswerError]. No byte is held back for that but those before the first
// content (see [FirstEvent]), and a [DONE] behind an error, at which SDKs would stop
// and take what they have for the whole.
//
// # Options
//
// Options are typed, so that a misplaced one does not compile:
//
//	New                  all that begin with With, and MaxWait Patience TokensPerMinute
//	WithRateLimit        MaxInFlight InitialTokens, and MaxWait Patience TokensPerMinute WithPace
//	WithPace             NoPace AdaptivePool
//	WithBreaker          TripAfter TripRatio OpenFor
//	WithRetry            MaxAttempts Delays Within MaxRetryAfter RetryBudget UnknownResends ReplayBuffer
//	                     FullJitter EqualJitter PlusMinus DecorrelatedJitter
//	ContextWithRetry     the same for one request, but for RetryBudget and WithKey
//	WithTimeouts         HeaderTimeout FirstContent Idle FirstEvent StreamGuard DialTimeout TLSTimeout
//	any of them          WithKey WithObserver
//
// Each layer alone takes what its With… takes. An option that is given again replaces
// itself, so that yours can be laid on top of defaults of your own. Two different
// options that set the same thing are an error that names both: nobody can have meant
// that, and which came last would decide.
//
// # Words
//
// A call is one RoundTrip on the stack. An attempt is one request handed to the
// base. A re-send is an attempt after the first of a call. A key is what limits,
// breakers and budgets are kept per: the host, unless [WithKey] says otherwise. A token
// is the rate limit's, of which an attempt takes one ([ContextWithCost]); the tokens that
// providers bill are called the model's. A probe is an attempt that is sent while the
// queue is held, to find out whether the provider is back.
//
// # Responses and errors
//
// As [net/http.RoundTripper] demands, a status is never an error: when retries
// run out on a 429 the caller gets that 429, with its body whole. An error means
// that there is no response. This is what a call of New ends in:
//
//	a response           from the provider, whatever its status: the last one, if there were several
//	*BreakerError        ErrBreakerOpen: the provider is down, and Patience or the deadline is too short
//	*LimitError          ErrRateLimited: no turn in time, under your limits or the learned pace
//	*RetryError          the last attempt had no response. Err says why, and why there was no other
//	context.Canceled     the caller left; with the cause, if there is one
//	DeadlineExceeded     matches what the request's deadline has ended, also one of the errors above, and an
//	                     attempt that its HeaderTimeout has; the request's own context tells them apart
//	any other            of the one attempt that was made, as the base returned it: the certificate, the name
//	                     of the host, the request itself. Or an invalid ContextWithRetry or ContextWithCost
//
// And this is what reading the body of a response may end in, besides io.EOF:
//
//	ErrStreamTruncated   the answer is not whole
//	ErrStreamStalled     it stopped coming
//	*AnswerError         it has turned into an error
//	any other            the connection or the context has ended
//
// An attempt is over when its body is: its slot is held, its
// context lives and its verdict is open until then. So read bodies to their end
// or close them.
package steady
