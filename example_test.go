package steady_test

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"strings"

	"github.com/steadyhttp/steady"
)

// provider stands for the network: it is out of order twice, then answers.
type provider struct{ requests int }

func (p *provider) RoundTrip(req *http.Request) (*http.Response, error) {
	p.requests++
	status, header, body := http.StatusOK, http.Header{}, `{"content":"Hello!"}`
	if p.requests <= 2 {
		status, body = http.StatusServiceUnavailable, `{"error":"overloaded"}`
		header.Set("Retry-After-Ms", "1")
	}
	return &http.Response{
		StatusCode: status, Header: header, Request: req,
		Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)),
	}, nil
}

// The transport goes under any SDK that takes an http.Client. Here it goes under
// a plain one, and over a provider within the program.
func Example() {
	rt, err := steady.New(
		steady.WithRateLimit(45, 45),
		steady.WithBase(&provider{}), // the default is an http.Transport
	)
	if err != nil {
		log.Fatal(err)
	}
	client := &http.Client{Transport: rt}

	resp, err := client.Post("https://llm.example/v1/messages", "application/json", strings.NewReader(`{"messages":[]}`))
	if err != nil {
		log.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(resp.StatusCode, string(body))
	// Output: 200 {"content":"Hello!"}
}
