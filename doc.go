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
// # Words
//
// A call is one RoundTrip on the stack. An attempt is one request handed to the
// base. A re-send is an attempt after the first of a call. A key is what limits,
// breakers and budgets are kept per: the host, unless [WithKey] says otherwise.
//
// # Responses and errors
//
// As [net/http.RoundTripper] demands, a status is never an error: when retries
// run out on a 429 the caller gets that 429, with its body whole. An error means
// that there is no response: see [ErrBreakerOpen], [ErrRateLimited] and
// [RetryError]. An attempt is over when its body is: its slot is held, its
// context lives and its verdict is open until then. So read bodies to their end
// or close them.
package steady
