package steady

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"strings"
)

// outcome is what became of an attempt.
type outcome uint8

const (
	outcomeOK         outcome = iota
	outcomeDeclined           // the provider says that this request is wrong: 4xx but 408 and 429
	outcomeRejected           // 429
	outcomeOverloaded         // 498, 503, 529
	outcomeFailed             // 408 and 5xx, or an error before all of the request was sent
	outcomeUnknown            // sent, and no answer: it may have been done, and billed
	outcomeTruncated          // the answer broke off
	outcomeStalled            // the answer stopped coming
	outcomeRefused            // a layer of ours did not let it go
	outcomeCancelled          // the caller left
)

var outcomeNames = [...]string{
	"ok", "declined", "rejected", "overloaded", "failed", "unknown", "truncated", "stalled", "refused", "cancelled",
}

func (o outcome) String() string { return outcomeNames[o] }

// bad reports whether o speaks against the provider's health. Only ok speaks
// for it; the others are neutral.
func (o outcome) bad() bool {
	switch o {
	case outcomeOverloaded, outcomeFailed, outcomeUnknown, outcomeTruncated, outcomeStalled:
		return true
	}
	return false
}

// verdict is an outcome and what it was read from.
type verdict struct {
	outcome outcome
	status  int   // 0 without a response
	err     error // nil with a response
}

// judge says what became of an attempt that ended in resp or err, up to the
// response's headers. ctx is the caller's: that it is done, and not what err
// says, tells that the caller has left.
func judge(ctx context.Context, resp *http.Response, err error) verdict {
	if err != nil {
		return verdict{outcome: judgeError(ctx, err), err: err}
	}
	return verdict{outcome: judgeStatus(resp.StatusCode), status: resp.StatusCode}
}

func judgeStatus(status int) outcome {
	switch {
	case status < 400:
		return outcomeOK
	case status == http.StatusTooManyRequests:
		return outcomeRejected
	case status == 498, status == http.StatusServiceUnavailable, status == 529:
		return outcomeOverloaded
	case status == http.StatusGatewayTimeout, status == 524:
		return outcomeUnknown
	case status == http.StatusRequestTimeout, status >= 500:
		return outcomeFailed
	}
	return outcomeDeclined
}

func judgeError(ctx context.Context, err error) outcome {
	switch {
	case errors.Is(err, ErrBreakerOpen), errors.Is(err, ErrRateLimited):
		return outcomeRefused
	case errors.Is(ctx.Err(), context.Canceled):
		return outcomeCancelled
	case ctx.Err() != nil:
		return outcomeUnknown // the caller's deadline passed while the attempt was out
	case callersFault(err):
		return outcomeDeclined
	case neverSent(err):
		return outcomeFailed
	}
	return outcomeUnknown
}

// errPanicked is the error of an attempt during which a layer further in panicked.
var errPanicked = errors.New("steady: a layer below panicked")

// errRequest marks an error that is about the caller's request, such as that of
// its body's reader, so that no layer further out blames the provider for it.
type errRequest struct{ error }

func (e errRequest) Unwrap() error { return e.error }

// callersFault reports whether err is about the request, so that no provider
// can be blamed and no re-send can help. Most such errors of net/http have no
// type; these are their texts.
func callersFault(err error) bool {
	if _, ok := errors.AsType[errRequest](err); ok {
		return true
	}
	text := err.Error()
	for _, s := range [...]string{
		"unsupported protocol scheme", "net/http: invalid ", "http: no Host in request URL", "http: nil Request.",
		"http: ContentLength=", "http2: request body larger than specified",
	} {
		if strings.Contains(text, s) {
			return true
		}
	}
	return false
}

// neverSent reports whether err proves that no server can have acted on the
// request: there was no connection, or the server says so.
func neverSent(err error) bool {
	if op, ok := errors.AsType[*net.OpError](err); ok && (op.Op == "dial" || op.Op == "proxyconnect" || op.Op == "socks connect") {
		return true
	}
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return true
	}
	if badCertificate(err) || brokenTLS(err) {
		return true
	}
	text := err.Error()
	for _, s := range [...]string{"REFUSED_STREAM", "http: server closed idle connection", "http2: no cached connection", "can't assign requested address"} {
		if strings.Contains(text, s) {
			return true
		}
	}
	return false
}

// brokenTLS reports whether err is one of TLS. Most are about the handshake, but
// a connection that has carried a request can break with the same ones.
func brokenTLS(err error) bool {
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return true
	}
	text := err.Error()
	return strings.Contains(text, "TLS handshake timeout") || strings.Contains(text, "tls: ")
}

func badCertificate(err error) bool {
	_, ok := errors.AsType[*tls.CertificateVerificationError](err)
	return ok
}
