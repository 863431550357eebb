package steady_test

import (
	"fmt"
	"log"
	"net/http"

	"github.com/steadyhttp/steady"
)

// Chain stacks the layers as you say, your own among them. Here the header is
// set anew for each attempt, since that layer stands inside Retry.
func ExampleChain() {
	attempt := 0
	number := func(next http.RoundTripper) http.RoundTripper {
		return roundTripFunc(func(req *http.Request) (*http.Response, error) {
			attempt++
			req = req.Clone(req.Context()) // a RoundTripper must not change what it is given
			if req.Header == nil {
				req.Header = http.Header{}
			}
			req.Header.Set("X-Attempt", fmt.Sprint(attempt))
			resp, err := next.RoundTrip(req)
			if err == nil {
				fmt.Println("attempt", req.Header.Get("X-Attempt"), "got", resp.StatusCode)
			}
			return resp, err
		})
	}
	rt := steady.Chain(&provider{},
		steady.RateLimit(45, 45),
		steady.Breaker(),
		steady.Retry(steady.MaxAttempts(4)),
		number,
		steady.Attempt(),
	)
	resp, err := (&http.Client{Transport: rt}).Get("https://llm.example/v1/models")
	if err != nil {
		log.Fatal(err)
	}
	resp.Body.Close()
	// Output:
	// attempt 1 got 503
	// attempt 2 got 503
	// attempt 3 got 200
}
