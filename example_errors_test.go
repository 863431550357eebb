package steady_test

import (
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/steadyhttp/steady"
)

// What a call ends in tells what to do about it. The errors reach the caller through
// http.Client and through SDKs.
func ExampleLimitError() {
	rt, err := steady.New(
		steady.WithBase(&provider{requests: 2}),                      // it works
		steady.WithRateLimit(1.0/60, 1), steady.MaxWait(time.Second), // one call a minute, and nobody waits for the next
	)
	if err != nil {
		log.Fatal(err)
	}
	client := &http.Client{Transport: rt}
	for range 2 {
		resp, err := client.Get("https://llm.example/v1/models")
		switch {
		case errors.Is(err, steady.ErrRateLimited):
			fmt.Println("not sent: no turn in time")
		case errors.Is(err, steady.ErrBreakerOpen):
			fmt.Println("not sent: the provider is down")
		case err != nil:
			fmt.Println("sent, and no answer:", err)
		default:
			resp.Body.Close()
			fmt.Println(resp.StatusCode) // also a 429 or 503 on which retries were given up
		}
	}
	// Output:
	// 200
	// not sent: no turn in time
}

// State is for gauges and dashboards.
func ExampleTransport_State() {
	rt, err := steady.New(steady.WithBase(&provider{requests: 2})) // it works
	if err != nil {
		log.Fatal(err)
	}
	resp, err := (&http.Client{Transport: rt}).Get("https://llm.example/v1/models")
	if err != nil {
		log.Fatal(err)
	}
	for _, s := range rt.State() { // the answer has not been read yet
		fmt.Printf("%s: %d in flight, %d waiting, breaker %s, pace %s\n", s.Key, s.InFlight, s.Waiting, s.Breaker, s.PaceState)
	}
	resp.Body.Close()
	// Output: llm.example: 1 in flight, 0 waiting, breaker closed, pace search
}

// Without an observer nothing is logged.
func ExampleLogTo() {
	logger := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr { // leave out what differs from run to run
			switch a.Key {
			case slog.TimeKey, "wait":
				return slog.Attr{}
			}
			return a
		},
	}))
	statuses := []int{http.StatusInternalServerError, http.StatusOK}
	provider := roundTripFunc(func(req *http.Request) (*http.Response, error) {
		status := statuses[0]
		statuses = statuses[1:]
		return respond(req, status, nil, nil), nil
	})
	rt, err := steady.New(steady.WithBase(provider), steady.WithObserver(steady.LogTo(logger)))
	if err != nil {
		log.Fatal(err)
	}
	resp, err := (&http.Client{Transport: rt}).Get("https://llm.example/v1/models")
	if err != nil {
		log.Fatal(err)
	}
	resp.Body.Close()
	// Output: level=INFO msg="steady: retry scheduled" key=llm.example attempt=1 status=500 outcome=failed class=server_error hinted=false probe=false
}

// Providers have limits for each model. With KeyByModel each has a queue, a pace and a
// breaker of its own. For limits that differ, make a Transport for each model.
func ExampleKeyByModel() {
	rt, err := steady.New(steady.WithBase(&provider{requests: 2}), steady.WithKey(steady.KeyByModel))
	if err != nil {
		log.Fatal(err)
	}
	client := &http.Client{Transport: rt}
	for _, model := range []string{"deepseek-chat", "deepseek-reasoner"} {
		resp, err := client.Post("https://llm.example/v1/chat/completions", "application/json", strings.NewReader(`{"model": "`+model+`", "messages": []}`))
		if err != nil {
			log.Fatal(err)
		}
		resp.Body.Close()
	}
	for _, s := range rt.State() {
		fmt.Println(s.Key)
	}
	// Output:
	// llm.example/deepseek-chat
	// llm.example/deepseek-reasoner
}
