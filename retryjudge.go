package steady

import (
	"errors"
	"net"
)

// judge adds to the common verdict what only the request body tells: that it belied
// its length, that a request of which only a part went out was not done, and that
// one whose whole body went out was past the handshake.
func (c *retryCall) judge() verdict {
	v := judge(c.ctx, c.resp, c.err)
	if c.err == nil {
		return v
	}
	switch read := c.body.read(c.req.ContentLength); {
	case read == extentOther: // net/http says so, or what the connection came to by it
		c.err = errCaller{c.err}
		v.outcome, v.err = outcomeDeclined, c.err
	case read == extentPart && v.outcome == outcomeUnknown && c.ctx.Err() == nil:
		v.outcome = outcomeFailed
	case read == extentWhole && v.outcome == outcomeFailed && brokenTLS(c.err) && !badCertificate(c.err):
		v.outcome = outcomeUnknown
	}
	return v
}

// worth reports whether another attempt may fare better.
func (c *retryCall) worth() bool {
	if c.err == nil {
		return c.verdict.retry
	}
	switch c.verdict.outcome {
	case outcomeFailed, outcomeUnknown:
		dns, ok := errors.AsType[*net.DNSError](c.err)
		return worthRetrying(c.err) && !(ok && dns.IsNotFound)
	}
	return false
}

// safe reports whether the request may be sent again although it may have been
// done, as the documentation of Retry says.
func (c *retryCall) safe() bool {
	if idempotent(c.req) || c.verdict.outcome == outcomeRejected || c.err != nil && c.verdict.outcome == outcomeFailed {
		return true
	}
	if c.resp != nil && c.resp.Header.Get("X-Should-Retry") == "true" {
		return true
	}
	return inference(c.req) && (!c.verdict.mayBeDone() || c.unknown < c.cfg.unknownResends)
}
