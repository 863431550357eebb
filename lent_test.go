package steady_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/steadyhttp/steady"
)

// countingConn counts what is written in one go.
type countingConn struct {
	net.Conn
	writes *atomic.Int32
}

func (c countingConn) Write(p []byte) (int, error) {
	c.writes.Add(1)
	return c.Conn.Write(p)
}

// A write of its own for the headers costs a call of the system, and wakes the
// server twice.
func TestASmallRequestGoesOutInOneWrite(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if string(body) != question || err != nil {
			t.Errorf("the server read %d bytes, %v, want %d", len(body), err, len(question))
		}
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, answer) //nolint:errcheck // the client would report it
	}))
	defer srv.Close()
	text := []byte(question)
	bodies := map[string]func() io.Reader{
		"bytes.Reader":   func() io.Reader { return bytes.NewReader(text) },
		"strings.Reader": func() io.Reader { return strings.NewReader(question) },
		"bytes.Buffer":   func() io.Reader { return bytes.NewBuffer(text) },
	}
	for name, body := range bodies {
		var writes atomic.Int32
		base := &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, addr)
			return countingConn{conn, &writes}, err
		}}
		rt := must(t)(steady.New(steady.WithBase(base)))
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL+"/v1/chat/completions", body())
		if err != nil {
			t.Fatal(err)
		}
		resp, err := rt.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		read(t, resp)
		base.CloseIdleConnections()
		if got := writes.Load(); got != 1 {
			t.Errorf("%s: %d writes, want 1", name, got)
		}
	}
}

// For what has had no connection UnknownResends is no limit.
func TestARequestThatHadNoConnectionWasNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var dials atomic.Int32
		base := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
			dials.Add(1)
			time.Sleep(time.Minute) // longer than any of them waits
			return nil, errors.New("no route")
		}}
		rt := steady.Chain(base, steady.Retry(steady.MaxAttempts(4), steady.UnknownResends(0)), steady.Attempt(steady.HeaderTimeout(time.Second)))
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://llm.test/v1/chat/completions", strings.NewReader(question))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := rt.RoundTrip(req); err == nil { //nolint:bodyclose // there is none
			t.Error("no error")
		}
		if got := dials.Load(); got != 4 {
			t.Errorf("%d attempts, want 4", got)
		}
		time.Sleep(2 * time.Minute) // until the dials are over
	})
}

// What the connection took may have been done, though no answer came.
func TestASmallRequestThatWentOutIsNotSentTwiceUnasked(t *testing.T) {
	var requests atomic.Int32
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body) //nolint:errcheck // what matters is that it came
		requests.Add(1)
		panic(http.ErrAbortHandler)
	}))
	defer srv.Close()
	base := &http.Transport{}
	defer base.CloseIdleConnections()
	rt := steady.Chain(base, steady.Retry(steady.MaxAttempts(4), steady.UnknownResends(0)), steady.Attempt())
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL+"/v1/chat/completions", strings.NewReader(question))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := rt.RoundTrip(req); err == nil { //nolint:bodyclose // there is none
		t.Error("no error")
	}
	if got := requests.Load(); got != 1 {
		t.Errorf("%d requests, want 1", got)
	}
}
