package steady_test

import (
	"fmt"
	"log"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/steadyhttp/steady"
)

// A batch is submitted all at once. MaxWait lets its calls wait for their turn for as
// long as they need, and Patience lets them wait out an outage. For neither to be cut
// short, the client has no Timeout and the contexts no deadline.
func ExampleNew_batch() {
	up := time.Now().Add(100 * time.Millisecond)
	provider := roundTripFunc(func(req *http.Request) (*http.Response, error) { // it is down at first
		if time.Now().Before(up) {
			return respond(req, http.StatusServiceUnavailable, nil, nil), nil
		}
		return respond(req, http.StatusOK, nil, nil), nil
	})

	rt, err := steady.New(
		steady.MaxWait(time.Hour),
		steady.Patience(time.Hour),
		steady.WithBase(provider), steady.WithBreaker(steady.OpenFor(20*time.Millisecond)), // for this example alone
	)
	if err != nil {
		log.Fatal(err)
	}
	client := &http.Client{Transport: rt}

	var good atomic.Int64
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			resp, err := client.Post("https://api.deepseek.com/v1/chat/completions", "application/json", strings.NewReader(fmt.Sprintf(`{"messages": [%d]}`, i)))
			if err != nil {
				log.Print(err)
				return
			}
			defer resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				good.Add(1)
			}
		})
	}
	wg.Wait()
	fmt.Println(good.Load(), "of 20")
	// Output: 20 of 20
}
