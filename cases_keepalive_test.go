package steady_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/steadyhttp/steady"
)

// CN3: a kept-alive connection that the server drops.

// dropping answers the first request on its first connection, and closes that
// when it has the second one, whole. On any other it answers all.
type dropping struct {
	mu    sync.Mutex
	posts []int // on which connection each came
}

func (d *dropping) serve(conn net.Conn, n int) {
	r := bufio.NewReader(conn)
	for i := 1; ; i++ {
		req, _, err := readRequest(r)
		if err != nil {
			return
		}
		if req.Method == http.MethodPost {
			d.mu.Lock()
			d.posts = append(d.posts, n)
			d.mu.Unlock()
		}
		if n == 1 && i == 2 {
			return
		}
		if _, err := io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"); err != nil {
			return
		}
	}
}

// A POST with a key net/http sends again by itself, below all layers: one attempt
// then, and two requests. Written tells.
func TestCN3_TheBooksAreRightWhenTheServerDropsAKeptAliveConnection(t *testing.T) {
	key := http.Header{"Idempotency-Key": {"k"}}
	for _, test := range []struct {
		name    string
		header  http.Header
		below   http.Header // what a layer of the caller's adds, next to the base
		resends int
		written []int // by each attempt of the second call
		fails   bool
	}{
		{name: "without a key", resends: 1, written: []int{1, 1}},
		{name: "without a key, and without re-sends of what may be done", resends: 0, written: []int{1}, fails: true},
		{name: "with the caller's key", header: key, resends: 0, written: []int{2}},
		{name: "with a key from below", below: key, resends: 0, written: []int{2}},
		{name: "with a key of no value", header: http.Header{"Idempotency-Key": {}}, resends: 0, written: []int{2}},
	} {
		t.Run(test.name, func(t *testing.T) {
			srv := &dropping{}
			url := "http://" + rawServer(t, srv.serve)
			tr := &http.Transport{}
			t.Cleanup(tr.CloseIdleConnections)
			base := roundTripFunc(func(req *http.Request) (*http.Response, error) {
				if test.below != nil {
					req = req.Clone(req.Context())
					req.Header["Idempotency-Key"] = test.below["Idempotency-Key"]
				}
				return tr.RoundTrip(req)
			})
			heard := &events{}
			rt := must(t)(steady.New(steady.WithBase(base), steady.WithObserver(heard),
				steady.WithRetry(steady.Delays(time.Millisecond, time.Millisecond), steady.UnknownResends(test.resends))))

			first, err := rt.RoundTrip(wireRequest(t, http.MethodPost, url, nil))
			if err != nil {
				t.Fatal(err)
			}
			read(t, first)
			resp, err := rt.RoundTrip(wireRequest(t, http.MethodPost, url, test.header))
			switch {
			case test.fails != (err != nil):
				t.Fatalf("got %v, want an error: %v", err, test.fails)
			case err == nil:
				if got := read(t, resp); got != "ok" {
					t.Errorf("got %q", got)
				}
			}

			var written []int
			total := 0
			for _, e := range of[steady.AttemptEnded](heard) {
				written = append(written, e.Written)
				total += e.Written
			}
			if want := append([]int{1}, test.written...); !slices.Equal(written, want) {
				t.Errorf("the attempts have written %v, want %v", written, want)
			}
			srv.mu.Lock()
			defer srv.mu.Unlock()
			if total != len(srv.posts) {
				t.Errorf("%d written, and %d at the server", total, len(srv.posts))
			}
			want := []int{1, 1, 2} // what follows is on another connection than the dead one
			if test.fails {
				want = want[:2]
			}
			if !slices.Equal(srv.posts, want) {
				t.Errorf("on connections %v, want %v", srv.posts, want)
			}
		})
	}
}
