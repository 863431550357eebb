package steady

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/steadyhttp/steady/internal/wire"
)

// outcome is what became of an attempt.
type outcome uint8

const (
	outcomeOK         outcome = iota
	outcomeDeclined           // the provider is well and will not do this request: most 4xx, no money, too long
	outcomeRejected           // too many: 429, unless it means something else
	outcomeOverloaded         // 503, 529 and their kin
	outcomeFailed             // 408 and most 5xx, or an error before all of the request was sent
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
	status  int        // 0 without a response
	err     error      // nil with a response
	class   wire.Class // of an error answer
	retry   bool       // whether another attempt makes sense; for errors Retry decides
	wait    time.Duration
	hinted  bool          // the answer names wait
	looked  time.Duration // that the judging took, which counts as waiting
	usage   wire.Usage
	header  http.Header // of the response, if there is one
	at      time.Time   // when the attempt was over; zero for now
}

// orNow returns at, or the time of now if that is zero.
func orNow(at time.Time) time.Time {
	if at.IsZero() {
		return time.Now()
	}
	return at
}

// mayBeDone reports whether the request may have been done, and billed, although
// its answer is not there.
func (v verdict) mayBeDone() bool {
	return v.outcome == outcomeUnknown || v.outcome == outcomeTruncated
}

// className is the class for an event, empty for an answer that is no error.
func (v verdict) className() string {
	if v.class == wire.ClassNone {
		return ""
	}
	return v.class.String()
}

// judge says what became of an attempt that ended in resp or err, up to the
// response's headers and the beginning of its body. ctx is the caller's: that it
// is done, and not what err says, tells that the caller has left.
func judge(ctx context.Context, resp *http.Response, err error) verdict {
	if err != nil {
		return verdict{outcome: judgeError(ctx, err), err: err}
	}
	switch b := resp.Body.(type) {
	case *wholeBody:
		return b.verdict(resp)
	default:
		if b := aheadIn(b); b != nil && b.judged {
			return b.verdict
		}
	}
	if resp.StatusCode < 400 {
		return verdict{outcome: outcomeOK, status: resp.StatusCode, header: resp.Header}
	}
	return judgeAnswer(ctx, resp)
}

// judgeAnswer classifies an error answer by its status, its headers and the
// beginning of its body, which it reads ahead, within bounds of size and time.
// The verdict stays with the body for the layers further out.
func judgeAnswer(ctx context.Context, resp *http.Response) verdict {
	began := time.Now()
	var text []byte
	var ahead *aheadBody
	if !bodyless(resp) {
		ahead = readAhead(ctx, resp.Body, aheadBytes, aheadFor, nil)
		if text = ahead.soFar(); strings.EqualFold(resp.Header.Get("Content-Encoding"), "gzip") {
			text = wire.Inflate(text, aheadBytes)
		}
		resp.Body = ahead
	}
	w := wire.Classify(wire.Response{Status: resp.StatusCode, Header: resp.Header, Body: text, Now: time.Now()})
	v := verdictOf(w, resp.StatusCode)
	v.looked, v.header = time.Since(began), resp.Header
	if ahead != nil {
		ahead.judge(v)
	}
	return v
}

// verdictOf says in the words of this package what w says of an error answer.
func verdictOf(w wire.Verdict, status int) verdict {
	return verdict{
		outcome: outcomeOf(w, status), status: status, class: w.Class,
		retry: w.Retry, wait: w.Wait, hinted: w.WaitSource != "",
	}
}

// outcomeOf says in the words of outcomes what an error answer means.
func outcomeOf(w wire.Verdict, status int) outcome {
	switch {
	case w.Class == wire.ClassRateLimit, w.Class == wire.ClassRamp:
		return outcomeRejected
	case !w.BreakerFailure:
		return outcomeDeclined
	case w.Class == wire.ClassOverloaded:
		return outcomeOverloaded
	case status == http.StatusGatewayTimeout, status == 524:
		return outcomeUnknown
	}
	return outcomeFailed
}

// judgeError says what became of an attempt that ended in err, as far as err and
// the caller's ctx tell.
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

// errAnswered is the end of an attempt whose call has been answered by another one.
var errAnswered = errors.New("steady: the call is over")

// errCaller marks an error that came from the caller's own request body, or from
// what the caller put into the context.
type errCaller struct{ error }

func (e errCaller) Unwrap() error { return e.error }

// callersFault reports whether err is about the request, so that no provider
// can be blamed and no re-send can help. Most such errors of net/http have no
// type; these are their texts.
func callersFault(err error) bool {
	if _, ok := errors.AsType[errCaller](err); ok {
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
	for _, s := range [...]string{
		"REFUSED_STREAM", "http: server closed idle connection", "http2: no cached connection", "can't assign requested address",
	} {
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

// badCertificate reports whether err says that the server's certificate is not
// trusted, which is found out before anything is sent.
func badCertificate(err error) bool {
	_, ok := errors.AsType[*tls.CertificateVerificationError](err)
	return ok
}
