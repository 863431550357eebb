package steady

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"
)

// stainlessRetryCount is the header by which openai-go and anthropic-sdk-go
// number their own attempts, and by which their requests can be told.
const stainlessRetryCount = "X-Stainless-Retry-Count"

// answerBefore is how long before a deadline such an SDK gets its answer: it
// drops one that comes after it, and anthropic-sdk-go then sends everything
// again.
const answerBefore = 50 * time.Millisecond

// SDK returns the layer that answers the Stainless SDKs (openai-go,
// anthropic-sdk-go) in their own terms, so that their retries do not multiply
// those of this package. It belongs outside all other layers.
//
// These SDKs send a request three times on 408, 409, 429, 5xx and on any error of
// the transport. To a request that carries X-Stainless-Retry-Count the layer
// therefore marks every response with "X-Should-Retry: false", which they obey,
// and instead of an error it returns a carrier: a 503 with a JSON error as its
// body, in which the Go error stands where io.EOF would. The SDK asks once, and
// [errors.Is] and [errors.AsType] find the error at its caller. Their deadlines
// are answered 50 milliseconds early, or a tenth of what is left if that is less.
// Where a relay has stripped a stream of Anthropic's of the names of its events,
// without which anthropic-sdk-go would pass over all of them, it puts them back.
//
// A request without that header passes through as it is, and so do its errors.
// A cancelled one gets its plain error in any case.
func SDK() Middleware {
	return func(next http.RoundTripper) http.RoundTripper { return &sdkTransport{next} }
}

type sdkTransport struct{ next http.RoundTripper }

func (t *sdkTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if _, stainless := req.Header[stainlessRetryCount]; !stainless {
		return roundTrip(t.next, req)
	}
	inner, done := early(req)
	resp, err := roundTrip(t.next, inner)
	switch {
	case err == nil:
		if resp.Request == inner {
			resp.Request = req
		}
		if done != nil {
			own(req.Context(), resp, done) // an SDK reads on after the terminal event
		}
		nameEvents(req, resp)
	case errors.Is(req.Context().Err(), context.Canceled):
		done.release()
		return nil, err
	default:
		done.release()
		resp = carrier(req, err)
	}
	if resp.Header == nil {
		resp.Header = http.Header{}
	}
	resp.Header["X-Should-Retry"] = []string{"false"}
	return resp, nil
}

func (t *sdkTransport) CloseIdleConnections() { closeIdle(t.next) }

// earlyEnd ends the context of early. It may be nil.
type earlyEnd context.CancelFunc

func (e earlyEnd) release() {
	if e != nil {
		e()
	}
}

// early returns req with a deadline that leaves time for an answer, and what to
// call when it is over. Without a deadline that is req itself, and nil.
func early(req *http.Request) (*http.Request, earlyEnd) {
	deadline, ok := req.Context().Deadline()
	if !ok {
		return req, nil
	}
	margin := min(answerBefore, max(0, time.Until(deadline)/10))
	ctx, cancel := context.WithDeadline(req.Context(), deadline.Add(-margin))
	return req.WithContext(ctx), earlyEnd(cancel)
}

// carrier returns the response that carries err to an SDK's caller.
func carrier(req *http.Request, err error) *http.Response {
	code := "transport_error"
	switch {
	case errors.Is(err, ErrBreakerOpen):
		code = "circuit_open"
	case errors.Is(err, ErrRateLimited):
		code = "local_rate_limit"
	case errors.Is(err, context.DeadlineExceeded):
		code = "deadline_exceeded"
	}
	text := errorDetail{Type: "steady", Code: code, Message: withoutURL(err)}.body()
	return &http.Response{
		Status: "503 Service Unavailable", StatusCode: http.StatusServiceUnavailable,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header:        http.Header{"Content-Type": {"application/json"}},
		Body:          &carrierBody{text: strings.NewReader(string(text)), err: err},
		ContentLength: -1,
		Request:       req,
	}
}

// carrierBody reads as text, and then as err instead of io.EOF.
type carrierBody struct {
	text *strings.Reader
	err  error
}

func (b *carrierBody) Read(p []byte) (int, error) {
	n, err := b.text.Read(p)
	if err == io.EOF { //nolint:errorlint // strings.Reader returns io.EOF itself
		err = b.err
	}
	return n, err
}

func (b *carrierBody) Close() error { return nil }
