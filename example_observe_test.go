package steady_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"

	"github.com/steadyhttp/steady"
)

func ExampleWithObserver() {
	observer := steady.ObserverFunc(func(_ context.Context, e steady.Event) {
		switch e := e.(type) {
		case steady.RetryScheduled:
			fmt.Printf("%s: attempt %d was %s with %d, another follows\n", e.Key, e.Attempt, e.Outcome, e.Status)
		case steady.AttemptEnded:
			fmt.Printf("%s: attempt %d: %s\n", e.Key, e.Attempt, e.Outcome)
		}
	})
	rt, err := steady.New(steady.WithBase(&provider{}), steady.WithObserver(observer))
	if err != nil {
		log.Fatal(err)
	}
	resp, err := (&http.Client{Transport: rt}).Get("https://llm.example/v1/models")
	if err != nil {
		log.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, resp.Body) // an attempt ends with its body
	resp.Body.Close()
	// Output:
	// llm.example: attempt 1: overloaded
	// llm.example: attempt 1 was overloaded with 503, another follows
	// llm.example: attempt 2: overloaded
	// llm.example: attempt 2 was overloaded with 503, another follows
	// llm.example: attempt 3: ok
}
