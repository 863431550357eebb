package steady_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/steadyhttp/steady"
)

// TO4: the context of an attempt lives until its body is done.

// parts is the body of the server of TO4: 1 MiB in three parts.
func parts() [][]byte {
	whole := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	return [][]byte{whole[:1000], whole[1000 : 600<<10], whole[600<<10:]}
}

// partsServer fails so many requests and answers the others with three parts
// over 300 milliseconds.
func partsServer(t *testing.T, http2 bool, failures int64) *httptest.Server {
	t.Helper()
	var n atomic.Int64
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if n.Add(1) <= failures {
			w.Header().Set("Retry-After-Ms", "1")
			w.WriteHeader(503)
			return
		}
		for i, part := range parts() {
			if i > 0 {
				time.Sleep(150 * time.Millisecond)
			}
			_, _ = w.Write(part)
			w.(http.Flusher).Flush()
		}
	}))
	srv.EnableHTTP2 = http2
	srv.StartTLS()
	t.Cleanup(srv.Close)
	return srv
}

func TestTO4_AnAttemptsContextLivesUntilItsBodyIsDone(t *testing.T) {
	want := sha256.Sum256(bytes.Join(parts(), nil))
	for _, http2 := range []bool{false, true} {
		for _, failures := range []int64{0, 2} {
			t.Run(fmt.Sprintf("HTTP/2 %v, %d failures", http2, failures), func(t *testing.T) {
				srv := partsServer(t, http2, failures)
				rt := must(t)(steady.New(steady.WithBase(srv.Client().Transport), steady.WithTimeouts(steady.HeaderTimeout(time.Minute))))
				parent := countChildren(t.Context())
				req, err := http.NewRequestWithContext(parent, http.MethodPost, srv.URL+"/v1/messages", strings.NewReader("q"))
				if err != nil {
					t.Fatal(err)
				}
				resp, err := rt.RoundTrip(req)
				if err != nil || resp.StatusCode != 200 {
					t.Fatalf("got %v, %v", resp, err)
				}
				if got := resp.ProtoMajor == 2; got != http2 {
					t.Errorf("HTTP/2 is %v", got)
				}
				if parent.children() == 0 {
					t.Error("no child context while the body is open: the check is void")
				}
				hash := sha256.New()
				if n, err := io.Copy(hash, resp.Body); err != nil || n != 1<<20 || [32]byte(hash.Sum(nil)) != want {
					t.Errorf("read %d bytes, %v, want the whole of 1 MiB", n, err)
				}
				settled(t, "child contexts at EOF", parent.children) // without Close
				resp.Body.Close()
			})
		}
	}
}

func TestTO4_CloseWithoutReadingReleasesTheContext(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		srv := partsServer(t, http2, 1)
		rt := must(t)(steady.New(steady.WithBase(srv.Client().Transport)))
		parent := countChildren(t.Context())
		req, err := http.NewRequestWithContext(parent, http.MethodPost, srv.URL+"/v1/messages", strings.NewReader("q"))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := rt.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		resp.Body.Close()
		settled(t, "child contexts at Close", parent.children)
		if s := rt.State(); len(s) != 1 || s[0].InFlight != 0 {
			t.Errorf("state %+v, want nothing in flight", s)
		}
	}
}

// The same at a base that says when the context it was given has ended.
func TestTO4_TheContextEndsWithTheBodyAndNotBefore(t *testing.T) {
	for _, test := range []struct {
		name string
		end  func(io.ReadCloser)
	}{
		{"EOF without Close", func(b io.ReadCloser) { _, _ = io.ReadAll(b) }},
		{"Close without reading", func(b io.ReadCloser) { b.Close() }},
		{"Close after a part", func(b io.ReadCloser) { _, _ = b.Read(make([]byte, 2)); b.Close() }},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var ctxs []context.Context
				inner := play(step{status: 503}, step{err: errRefused()}, step{status: 200})
				base := roundTripFunc(func(req *http.Request) (*http.Response, error) {
					ctxs = append(ctxs, req.Context())
					return inner.RoundTrip(req)
				})
				rt := must(t)(steady.New(steady.WithBase(base), steady.WithTimeouts(steady.HeaderTimeout(time.Minute))))
				parent := countChildren(t.Context())
				goroutines := bubbled()
				resp, err := rt.RoundTrip(post(t, parent, "q"))
				if err != nil {
					t.Fatal(err)
				}
				for i, ctx := range ctxs {
					if got, want := ctx.Err() != nil, i < 2; got != want {
						t.Errorf("context of attempt %d is over: %v, want %v", i+1, got, want)
					}
				}
				time.Sleep(time.Hour) // much longer than the header timeout
				if err := ctxs[2].Err(); err != nil {
					t.Errorf("the context ended before the body: %v", err)
				}
				if got := bubbled(); got != goroutines {
					t.Errorf("an open body costs %d goroutines, want none", got-goroutines)
				}
				test.end(resp.Body)
				if ctxs[2].Err() == nil {
					t.Error("the context outlives the body")
				}
				synctest.Wait()
				if parent.everRegistered() < 3 || parent.children() != 0 {
					t.Errorf("%d of %d child contexts left, want 0 of at least 3", parent.children(), parent.everRegistered())
				}
			})
		})
	}
}

// bubbled counts the goroutines in bubbles. Those outside may belong to the
// servers of earlier tests, which are on their way out.
func bubbled() int {
	stacks := make([]byte, 1<<20)
	return strings.Count(string(stacks[:runtime.Stack(stacks, true)]), "synctest bubble")
}

// A response without a body is over at its headers, and so is its context.
func TestTO4_NoBodyNoContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var last context.Context
		rt := must(t)(steady.New(steady.WithBase(roundTripFunc(func(req *http.Request) (*http.Response, error) {
			last = req.Context()
			resp := respond(req, 204, nil, http.NoBody)
			resp.ContentLength = 0
			return resp, nil
		}))))
		parent := countChildren(t.Context())
		resp, err := rt.RoundTrip(post(t, parent, "q"))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if last.Err() == nil || parent.children() != 0 {
			t.Errorf("context over: %v, %d children; want true and 0", last.Err() != nil, parent.children())
		}
	})
}
