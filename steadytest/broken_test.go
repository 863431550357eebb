package steadytest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/steadyhttp/steady/steadytest"
)

// TestBrokenLayersFail runs Check on layers with one fault each, in a process of
// its own, and wants the duty that the fault breaks among those that failed.
func TestBrokenLayersFail(t *testing.T) {
	for _, tt := range broken {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel() // most of the time goes into starting processes
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestOneBrokenLayer$", "-test.v", "-test.timeout=50s")
			if racy := "requests that share one header map may be sent at once"; tt.duty != racy {
				// Two writers to one map kill the process before anything is reported.
				cmd.Args = append(cmd.Args, "-test.skip=/"+strings.ReplaceAll(racy, " ", "_"))
			}
			cmd.Env = append(os.Environ(), "STEADYTEST_BROKEN="+tt.name)
			out, err := cmd.CombinedOutput()
			if _, ok := errors.AsType[*exec.ExitError](err); !ok {
				t.Fatalf("Check passed the layer (%v)", err)
			}
			want := fmt.Sprintf("--- FAIL: TestOneBrokenLayer/%s (", strings.ReplaceAll(tt.duty, " ", "_"))
			if !bytes.Contains(out, []byte(want)) {
				t.Errorf("the duty %q did not fail; the output was\n%s", tt.duty, out)
			}
			if !bytes.Contains(out, []byte(tt.says)) {
				t.Errorf("nothing says %q; the output was\n%s", tt.says, out)
			}
		})
	}
}

// TestOneBrokenLayer is the process that TestBrokenLayersFail starts.
func TestOneBrokenLayer(t *testing.T) {
	name, ok := os.LookupEnv("STEADYTEST_BROKEN")
	if !ok {
		t.Skip("run by TestBrokenLayersFail")
	}
	for _, tt := range broken {
		if tt.name == name {
			steadytest.Check(t, tt.layer)
		}
	}
}

// broken lists the faults, the duty that each breaks, and words of the message.
var broken = []struct {
	name  string
	duty  string
	says  string
	layer layer
}{
	{
		"a status becomes an error", "status 429 is a response and not an error", "want a response",
		after(func(req *http.Request, resp *http.Response, err error) (*http.Response, error) {
			if err == nil && resp.StatusCode == http.StatusTooManyRequests {
				resp.Body.Close()
				return nil, errors.New("throttled")
			}
			return resp, err
		}),
	},
	{
		"a response and an error", "status 503 is a response and not an error", "together with the error",
		after(func(req *http.Request, resp *http.Response, err error) (*http.Response, error) {
			if err == nil && resp.StatusCode == http.StatusServiceUnavailable {
				return resp, errors.New("busy")
			}
			return resp, err
		}),
	},
	{
		"neither a response nor an error", "an error of the base is reachable with errors.Is", "neither a response nor an error",
		after(func(req *http.Request, resp *http.Response, err error) (*http.Response, error) { return resp, nil }),
	},
	{
		"the error is replaced by a text", "an error of the base is reachable with errors.Is", "does not wrap",
		after(func(req *http.Request, resp *http.Response, err error) (*http.Response, error) {
			if err != nil {
				err = fmt.Errorf("giving up: %v", err)
			}
			return resp, err
		}),
	},
	{
		"the body is read ahead", "each chunk of the body can be read at the moment it is sent", "after the header",
		onBody(func(b io.ReadCloser) io.ReadCloser {
			content, err := io.ReadAll(b)
			b.Close()
			return io.NopCloser(io.MultiReader(bytes.NewReader(content), errReader{err}))
		}),
	},
	{
		"the body is read in full buffers", "each chunk of the body can be read at the moment it is sent", "after it was sent",
		onBody(func(b io.ReadCloser) io.ReadCloser { return fullReads{b} }),
	},
	{
		"the body hides the connection", "the body of a 101 response can be written to, at any later time", "no io.ReadWriteCloser",
		onBody(func(b io.ReadCloser) io.ReadCloser { return struct{ io.ReadCloser }{b} }),
	},
	{
		"Close stops at the layer", "a response body may be closed unread", "neither read to its end nor closed",
		onBody(func(b io.ReadCloser) io.ReadCloser { return io.NopCloser(b) }),
	},
	{
		"one lock for Read and Close", "a Close ends a Read that waits", "while a Read was waiting",
		onBody(func(b io.ReadCloser) io.ReadCloser { return &lockedBody{ReadCloser: b} }),
	},
	{
		"a second Close is an error", "a response body may be closed twice", "already closed",
		onBody(func(b io.ReadCloser) io.ReadCloser { return &onceBody{ReadCloser: b} }),
	},
	{
		"a body that breaks off looks complete", "an error in the middle of the body reaches the reader, after all the bytes before it", "does not wrap",
		onBody(func(b io.ReadCloser) io.ReadCloser { return forgivingBody{b} }),
	},
	{
		"the response is a copy", "trailers that were not announced are there at the end of the body", "the trailer is",
		after(func(req *http.Request, resp *http.Response, err error) (*http.Response, error) {
			if err != nil {
				return nil, err
			}
			return new(*resp), nil
		}),
	},
	{
		"the protocol is forgotten", "the fields of the response are kept", "ProtoMajor",
		after(func(req *http.Request, resp *http.Response, err error) (*http.Response, error) {
			if err != nil {
				return nil, err
			}
			return &http.Response{StatusCode: resp.StatusCode, Header: resp.Header, Body: resp.Body, Request: req}, nil
		}),
	},
	{
		"redirects are followed", "status 307 is a response and not an error", "want",
		func(next http.RoundTripper) http.RoundTripper {
			client := &http.Client{Transport: next}
			return roundTripper(func(req *http.Request) (*http.Response, error) { return client.Do(req) })
		},
	},
	{
		"a header is set on the caller's request", "a request may be used 50 times and gathers nothing", "modified the request: Header",
		before(func(req *http.Request) *http.Request { req.Header.Add("X-Key", "secret"); return req }),
	},
	{
		"a header is set on the caller's request, which is said first", "a request may be used 50 times and gathers nothing", "mend it first, with req.Clone:",
		before(func(req *http.Request) *http.Request { req.Header.Add("X-Key", "secret"); return req }),
	},
	{
		"a header value is appended to a shallow copy", "the base gets the body, the headers and the context values of the caller", "the array behind",
		before(func(req *http.Request) *http.Request {
			copied := *req
			copied.Header = http.Header{}
			for name, values := range req.Header {
				copied.Header[name] = values
			}
			copied.Header.Add("X-One", "2")
			return &copied
		}),
	},
	{
		"a header is set in a nil map", "a request without a header map is sent, and keeps none", "must make the map where there is none",
		before(func(req *http.Request) *http.Request {
			req = req.Clone(req.Context())
			req.Header.Set("X-Key", "secret")
			return req
		}),
	},
	{
		"the body is replaced", "the base gets the body, the headers and the context values of the caller", "modified the request: Body",
		before(func(req *http.Request) *http.Request {
			if req.Body != nil {
				req.Body = struct{ io.ReadCloser }{req.Body}
			}
			return req
		}),
	},
	{
		"a nil body is wrapped", "a request without a body stays one", "an empty chunked one",
		before(func(req *http.Request) *http.Request {
			req = req.Clone(req.Context())
			if req.Body == nil {
				req.Body = io.NopCloser(strings.NewReader(""))
			}
			return req
		}),
	},
	{
		"the length is forgotten", "the base gets the body, the headers and the context values of the caller", "ContentLength -1",
		before(func(req *http.Request) *http.Request {
			req = req.Clone(req.Context())
			req.ContentLength = -1
			return req
		}),
	},
	{
		"the context is replaced", "a cancel ends a call while the base is working", "deadlock",
		before(func(req *http.Request) *http.Request { return req.Clone(context.Background()) }),
	},
	{
		"a refusal leaves the request body open", "a call whose context is already cancelled ends at once with context.Canceled", "a request body was not closed",
		func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(req *http.Request) (*http.Response, error) {
				if err := req.Context().Err(); err != nil {
					return nil, err
				}
				return next.RoundTrip(req)
			})
		},
	},
	{
		"a timeout that ends with RoundTrip", "the context of the attempt lives until the body has been read", "context canceled",
		func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(req *http.Request) (*http.Response, error) {
				ctx, cancel := context.WithTimeout(req.Context(), time.Minute)
				defer cancel()
				return next.RoundTrip(req.WithContext(ctx))
			})
		},
	},
	{
		"a backoff that sleeps through the cancel", "a cancel ends every wait of the layer's own", "the call took 5s",
		retry(func() { time.Sleep(5 * time.Second) }, true, true),
	},
	{
		"a retry that forgets the first response", "status 503 is a response and not an error", "neither read to its end nor closed",
		retry(func() {}, false, true),
	},
	{
		"a retry that sends the used body", "the base gets the body, the headers and the context values of the caller", "read after it had been closed",
		retry(func() {}, true, false),
	},
	{
		"idle connections are flushed on failure", "status 503 is a response and not an error", "unasked",
		func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(req *http.Request) (*http.Response, error) {
				resp, err := next.RoundTrip(req)
				if err == nil && resp.StatusCode == http.StatusServiceUnavailable {
					(&http.Client{Transport: next}).CloseIdleConnections()
				}
				return resp, err
			})
		},
	},
	{
		"CloseIdleConnections is swallowed", "CloseIdleConnections reaches the base, if the layer has it", "does not call",
		func(next http.RoundTripper) http.RoundTripper { return swallower{next} },
	},
	{
		"a goroutine for each call stays", "a response body may be closed unread", "blocked goroutines remain",
		before(func(req *http.Request) *http.Request { go func() { select {} }(); return req }),
	},
	{
		"a panic becomes an error", "a panic of the base reaches the caller", "recovered <nil>",
		func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(req *http.Request) (resp *http.Response, err error) {
				defer func() {
					if p := recover(); p != nil {
						err = fmt.Errorf("panic: %v", p)
					}
				}()
				return next.RoundTrip(req)
			})
		},
	},
	{
		"a slot is lost when the base panics", "calls leave room for the next one, however they end", "no slot",
		func(next http.RoundTripper) http.RoundTripper {
			slots := make(chan struct{}, 10)
			return roundTripper(func(req *http.Request) (*http.Response, error) {
				select {
				case slots <- struct{}{}:
				default:
					return nil, errors.New("no slot")
				}
				resp, err := next.RoundTrip(req)
				<-slots
				return resp, err
			})
		},
	},
	{
		"the answers are mixed up", "50 calls at once each get their own answer", "got the answer to",
		func(next http.RoundTripper) http.RoundTripper {
			var mu sync.Mutex
			var latest *http.Request
			return roundTripper(func(req *http.Request) (*http.Response, error) {
				mu.Lock()
				latest = req
				mu.Unlock()
				time.Sleep(time.Millisecond)
				mu.Lock()
				mixed := latest.Clone(req.Context())
				mu.Unlock()
				if mixed.GetBody != nil {
					mixed.Body, _ = mixed.GetBody()
				}
				if req.Body != nil {
					req.Body.Close()
				}
				return next.RoundTrip(mixed)
			})
		},
	},
}

// after makes a layer of what happens to the result of the base.
func after(f func(*http.Request, *http.Response, error) (*http.Response, error)) layer {
	return func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(req *http.Request) (*http.Response, error) {
			resp, err := next.RoundTrip(req)
			return f(req, resp, err)
		})
	}
}

// before makes a layer of what happens to the request.
func before(f func(*http.Request) *http.Request) layer {
	return func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(req *http.Request) (*http.Response, error) { return next.RoundTrip(f(req)) })
	}
}

// onBody makes a layer of what happens to the response body.
func onBody(f func(io.ReadCloser) io.ReadCloser) layer {
	return after(func(_ *http.Request, resp *http.Response, err error) (*http.Response, error) {
		if err == nil {
			resp.Body = f(resp.Body)
		}
		return resp, err
	})
}

// retry makes a layer that answers a 503 with one more attempt.
func retry(wait func(), closeFirst, rewind bool) layer {
	return func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(req *http.Request) (*http.Response, error) {
			resp, err := next.RoundTrip(req)
			if err != nil || resp.StatusCode != http.StatusServiceUnavailable || req.GetBody == nil {
				return resp, err
			}
			if closeFirst {
				resp.Body.Close()
			}
			wait()
			again := req.Clone(req.Context())
			if rewind {
				if again.Body, err = req.GetBody(); err != nil {
					return nil, err
				}
			}
			return next.RoundTrip(again)
		})
	}
}

type errReader struct{ err error }

func (r errReader) Read([]byte) (int, error) {
	if r.err == nil {
		return 0, io.EOF
	}
	return 0, r.err
}

type fullReads struct{ io.ReadCloser }

func (b fullReads) Read(p []byte) (int, error) {
	n, err := io.ReadFull(b.ReadCloser, p)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = io.EOF
	}
	return n, err
}

type lockedBody struct {
	io.ReadCloser
	mu sync.Mutex
}

func (b *lockedBody) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ReadCloser.Read(p)
}

func (b *lockedBody) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ReadCloser.Close()
}

type onceBody struct {
	io.ReadCloser
	closed bool
}

func (b *onceBody) Close() error {
	if b.closed {
		return errors.New("already closed")
	}
	b.closed = true
	return b.ReadCloser.Close()
}

type forgivingBody struct{ io.ReadCloser }

func (b forgivingBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		err = io.EOF
	}
	return n, err
}

type swallower struct{ next http.RoundTripper }

func (s swallower) RoundTrip(req *http.Request) (*http.Response, error) { return s.next.RoundTrip(req) }

func (s swallower) CloseIdleConnections() {}
