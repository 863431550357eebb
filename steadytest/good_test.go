package steadytest_test

import (
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/steadyhttp/steady/steadytest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

type layer = func(next http.RoundTripper) http.RoundTripper

// TestGoodLayersPass holds layers of the kinds that people write to the check:
// what is right must not be refused.
func TestGoodLayersPass(t *testing.T) {
	layers := map[string]layer{
		"no layer at all":                 func(next http.RoundTripper) http.RoundTripper { return next },
		"a function that passes calls on": func(next http.RoundTripper) http.RoundTripper { return roundTripper(next.RoundTrip) },
		"a header is set on a clone":      headerOnClone,
		"two retries with a backoff":      func(next http.RoundTripper) http.RoundTripper { return retrying{next} },
		"two calls in flight":             func(next http.RoundTripper) http.RoundTripper { return &limited{next, make(chan struct{}, 2)} },
		"two retries within two calls in flight": func(next http.RoundTripper) http.RoundTripper {
			return &limited{retrying{next}, make(chan struct{}, 2)}
		},
		"a refusal of the sixth call in flight": refusing,
	}
	for name, l := range layers {
		t.Run(name, func(t *testing.T) { steadytest.Check(t, l) })
	}
}

func headerOnClone(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		req = req.Clone(req.Context())
		if req.Header == nil {
			req.Header = http.Header{}
		}
		req.Header.Set("X-Key", "secret")
		return next.RoundTrip(req)
	})
}

// retrying tries three times, a second apart, and rewinds by GetBody.
type retrying struct{ next http.RoundTripper }

func (r retrying) CloseIdleConnections() {
	if c, ok := r.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

func (r retrying) RoundTrip(req *http.Request) (*http.Response, error) {
	for attempt := 1; ; attempt++ {
		resp, err := r.next.RoundTrip(req)
		if attempt == 3 || (err == nil && resp.StatusCode != http.StatusServiceUnavailable) {
			return resp, err
		}
		var body io.ReadCloser
		if req.Body != nil && req.Body != http.NoBody {
			if req.GetBody == nil {
				return resp, err
			}
			fresh, bodyErr := req.GetBody()
			if bodyErr != nil {
				return resp, err
			}
			body = fresh
		}
		select {
		case <-time.After(time.Second):
		case <-req.Context().Done():
			if body != nil {
				body.Close()
			}
			return resp, err
		}
		if err == nil {
			resp.Body.Close()
		}
		req = req.WithContext(req.Context())
		if body != nil {
			req.Body = body
		}
	}
}

// limited holds a slot for each call until its body is over.
type limited struct {
	next  http.RoundTripper
	slots chan struct{}
}

func (l *limited) RoundTrip(req *http.Request) (_ *http.Response, err error) {
	select {
	case l.slots <- struct{}{}:
	case <-req.Context().Done():
		if req.Body != nil {
			req.Body.Close()
		}
		return nil, req.Context().Err()
	}
	release := sync.OnceFunc(func() { <-l.slots })
	handedOver := false
	defer func() {
		if !handedOver {
			release()
		}
	}()
	resp, err := l.next.RoundTrip(req)
	if err != nil || resp.StatusCode == http.StatusSwitchingProtocols {
		return resp, err
	}
	handedOver = true
	resp.Body = &releasing{resp.Body, release}
	return resp, nil
}

type releasing struct {
	io.ReadCloser
	release func()
}

func (r *releasing) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	if err != nil {
		r.release()
	}
	return n, err
}

func (r *releasing) Close() error {
	defer r.release()
	return r.ReadCloser.Close()
}

// refusing lets five calls at once through and refuses the others.
func refusing(next http.RoundTripper) http.RoundTripper {
	slots := make(chan struct{}, 5)
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		select {
		case slots <- struct{}{}:
			defer func() { <-slots }()
			return next.RoundTrip(req)
		default:
			if req.Body != nil {
				req.Body.Close()
			}
			return nil, http.ErrSkipAltProtocol
		}
	})
}
