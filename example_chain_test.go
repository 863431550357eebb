package steady_test

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"sync/atomic"

	"github.com/steadyhttp/steady"
)

// numbered is a layer of one's own: it numbers the requests that go out.
type numbered struct {
	next http.RoundTripper
	sent atomic.Int64 // calls come concurrently
	out  io.Writer
}

func (n *numbered) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context()) // a RoundTripper must not change what it is given
	if req.Header == nil {         // http.Client makes one, but not who calls RoundTrip itself
		req.Header = http.Header{}
	}
	req.Header.Set("X-Attempt", fmt.Sprint(n.sent.Add(1)))
	resp, err := n.next.RoundTrip(req)
	if err == nil {
		fmt.Fprintln(n.out, "attempt", req.Header.Get("X-Attempt"), "got", resp.StatusCode)
	}
	return resp, err
}

// CloseIdleConnections reaches the base through all layers that hand it on.
func (n *numbered) CloseIdleConnections() {
	if next, ok := n.next.(interface{ CloseIdleConnections() }); ok {
		next.CloseIdleConnections()
	}
}

// Chain stacks the layers as you say, your own among them. Here the header is
// set anew for each attempt, since that layer stands inside Retry.
func ExampleChain() {
	number := func(next http.RoundTripper) http.RoundTripper { return &numbered{next: next, out: os.Stdout} }
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
