package steady_test

import (
	"context"
	"fmt"
	"log"
	"net/http"

	"github.com/steadyhttp/steady"
)

// A health check wants to know how things are, not to be helped.
func ExampleContextWithRetry() {
	rt, err := steady.New(steady.WithBase(&provider{}))
	if err != nil {
		log.Fatal(err)
	}
	ctx := steady.ContextWithRetry(context.Background(), steady.MaxAttempts(1))
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://llm.example/v1/models", nil)
	if err != nil {
		log.Fatal(err)
	}
	resp, err := rt.RoundTrip(req)
	if err != nil {
		log.Fatal(err)
	}
	defer resp.Body.Close()
	fmt.Println(resp.StatusCode)
	// Output: 503
}
