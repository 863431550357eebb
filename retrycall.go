package steady

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"time"
)

// retryCall is one call in Retry, used by its goroutine alone.
type retryCall struct {
	t      *retryTransport
	cfg    *retryConfig
	outer  *call
	req    *http.Request // as it came to Retry
	ctx    context.Context
	gates  []gate
	budget *budget
	body   replay
	began  time.Time
	key    string

	attempts int
	unknown  int // re-sends of what may have been done
	backoff  backoff
	resp     *http.Response // of the last attempt; what the call ends in
	err      error
	verdict  verdict
	held     *heldBody // the body of the last response, once it is to be followed by another
	status   int       // of the last response, 0 if there was none
	wait     time.Duration
	hinted   bool

	first call // goes down with the first attempt
}

// send makes an attempt.
func (c *retryCall) send() {
	c.attempts++
	inner := &c.first
	if c.attempts > 1 {
		inner = new(call)
	}
	c.outer.fresh(inner, c.attempts, c.req, c.t.cfg.keyer, c.key)
	req := c.req.WithContext(inner)
	c.body.put(req)
	last, lastErr := c.resp, c.err
	c.resp, c.err = c.t.next.RoundTrip(req)
	inner.leave(c.req, c.resp)
	c.verdict = c.judge()
	switch {
	case c.err == nil:
		c.status = c.resp.StatusCode
	case c.verdict.outcome == outcomeRefused:
		c.refused(last, lastErr)
	}
	if c.attempts > 1 && c.verdict.outcome == outcomeDeclined {
		c.budget.refund() // that answer is no sign of overload
	}
}

// refused ends the call when a layer inside Retry did not let the attempt go,
// which was none then. last and lastErr are what the one before ended in.
func (c *retryCall) refused(last *http.Response, lastErr error) {
	if c.attempts--; c.attempts == 0 {
		return // the refusal as it is
	}
	c.budget.refund()
	tellEnded(c.gates, c.verdict)
	why := c.err
	c.resp, c.err = last, lastErr
	if last != nil { // better the provider's word than a layer's
		c.resp.Body = c.held
		return
	}
	c.giveUp(why)
}

// judge adds to the common verdict what only the request body tells: whose
// reader failed, that a request of which only a part went out was not done, and
// that one whose whole body went out was past the handshake.
func (c *retryCall) judge() verdict {
	v := judge(c.ctx, c.resp, c.err)
	if c.err == nil {
		return v
	}
	switch err, read := c.body.fate(); {
	case err != nil && errors.Is(c.err, err):
		v.outcome = outcomeDeclined
	case read == extentPart && v.outcome == outcomeUnknown && c.ctx.Err() == nil:
		v.outcome = outcomeFailed
	case read == extentWhole && v.outcome == outcomeFailed && brokenTLS(c.err) && !badCertificate(c.err):
		v.outcome = outcomeUnknown
	}
	return v
}

// again decides whether there is to be another attempt, and its wait. If so the
// last one is put away and the gates hear of its end.
func (c *retryCall) again() bool {
	if c.verdict.outcome == outcomeRefused || c.ctx.Err() != nil || c.attempts >= c.cfg.maxAttempts ||
		!c.worth() || !c.safe() || !c.body.possible() {
		c.giveUp(nil)
		return false
	}
	now := time.Now()
	if !c.delay(now) {
		return false
	}
	if !c.budget.spend(now) {
		c.giveUp(nil)
		return false
	}
	if c.verdict.outcome == outcomeUnknown {
		c.unknown++
	}
	if c.resp != nil {
		c.held = holdBody(c.resp.Body, heldBytes, heldFor)
		c.held.drop()
	}
	tellEnded(c.gates, c.verdict)
	return true
}

// retry goes through the loop with the first attempt already made.
func (c *retryCall) retry() {
	pending := true // the first attempt's end is what the loop is to see first
	send := func() {
		if !pending {
			c.send()
		}
	}
	again := func() bool {
		if pending {
			pending = false
			return true
		}
		return c.again()
	}
	err := loop(c.ctx, c.cfg.maxAttempts, send, again, c.scheduled, c.prepare)
	if err != nil {
		c.budget.refund()
		c.stop(err)
	}
}

// scheduled reports the retry that is to follow and returns its wait.
func (c *retryCall) scheduled() time.Duration {
	if o := c.cfg.observer; o != nil {
		o.Observe(c.ctx, RetryScheduled{
			Key: c.key, Attempt: c.attempts, Status: c.verdict.status, Err: c.verdict.err,
			Outcome: c.verdict.outcome.String(), Wait: c.wait, Hinted: c.hinted,
		})
	}
	return c.wait
}

// prepare asks the gates for another attempt and opens the body for it.
func (c *retryCall) prepare() error {
	if err := askAgain(c.gates, c.req); err != nil {
		return err
	}
	if _, err := c.body.next(); err != nil {
		tellEnded(c.gates, verdict{outcome: outcomeRefused, err: err})
		return err
	}
	return nil
}

// stop ends the call before the attempt that was to follow. The caller gets the
// last real response if there was one, unless it is he who has left.
func (c *retryCall) stop(err error) {
	if c.ctx.Err() != nil {
		c.giveUp(contextError(c.ctx))
		c.resp = nil
		return
	}
	if c.resp != nil {
		c.resp.Body = c.held
		return
	}
	c.giveUp(err)
}

// giveUp makes the error of a call that ends in one. why is what kept it from
// another attempt, if that is not the last attempt's own error.
func (c *retryCall) giveUp(why error) {
	if why == nil && (c.err == nil || c.verdict.outcome == outcomeRefused) { // refused has seen to it
		return
	}
	switch {
	case why == nil && c.attempts <= 1:
		return // as it is
	case why == nil:
		why = c.err
	case c.err != nil:
		why = &reasons{why, c.err}
	}
	c.err = &RetryError{Attempts: c.attempts, Status: c.status, Err: why}
}

// worth reports whether another attempt may fare better.
func (c *retryCall) worth() bool {
	if c.err != nil {
		switch c.verdict.outcome {
		case outcomeFailed, outcomeUnknown:
			dns, ok := errors.AsType[*net.DNSError](c.err)
			return worthRetrying(c.err) && !(ok && dns.IsNotFound)
		}
		return false
	}
	if c.resp.StatusCode < 400 {
		return false
	}
	switch c.resp.Header.Get("X-Should-Retry") {
	case "true":
		return true
	case "false":
		return false
	}
	switch s := c.resp.StatusCode; s {
	case 408, 409, 425, 429, 498, 500, 502, 503, 504, 529:
		return true
	default:
		return s >= 520 && s <= 524
	}
}

// safe reports whether the request may be sent again although it may have been
// done (policy P7 of the design).
func (c *retryCall) safe() bool {
	if idempotent(c.req) || c.verdict.outcome == outcomeRejected || c.err != nil && c.verdict.outcome == outcomeFailed {
		return true
	}
	if c.resp != nil && c.resp.Header.Get("X-Should-Retry") == "true" {
		return true
	}
	if !inference(c.req) {
		return false
	}
	return c.verdict.outcome != outcomeUnknown || c.unknown < c.cfg.unknownResends
}

func idempotent(req *http.Request) bool {
	switch req.Method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, http.MethodPut, http.MethodDelete:
		return true
	}
	return req.Header.Get("Idempotency-Key") != ""
}

// inference reports whether req asks a model for an answer, so that doing it
// twice costs money and nothing else. Anything else may create something twice.
func inference(req *http.Request) bool {
	if req.Method != http.MethodPost || req.URL == nil {
		return false
	}
	path := strings.TrimSuffix(req.URL.Path, "/")
	if strings.Contains(path, "/threads/") {
		return false // .../threads/{id}/messages stores a message and asks no model
	}
	for _, s := range [...]string{
		"/chat/completions", "/completions", "/messages", "/count_tokens", "/responses", "/embeddings", "/rerank",
		":generateContent", ":streamGenerateContent", "/api/chat", "/api/generate",
	} {
		if strings.HasSuffix(path, s) {
			return true
		}
	}
	last := path[strings.LastIndexByte(path, '/')+1:]
	return strings.HasPrefix(last, "invoke") || strings.HasPrefix(last, "converse")
}

// delay computes the wait before the next attempt. It reports false, with the
// call's end in place, if that wait is not to be begun.
func (c *retryCall) delay(now time.Time) bool {
	room, byDeadline := c.cfg.within-now.Sub(c.began), false
	if deadline, ok := c.ctx.Deadline(); ok && deadline.Sub(now) <= room {
		room, byDeadline = deadline.Sub(now), true
	}
	hint, hinted := time.Duration(0), false
	if c.resp != nil {
		hint, hinted = retryAfter(c.resp.Header, now)
	}
	if c.hinted = hinted; hinted {
		c.wait = stretch(hint, room)
	} else {
		c.wait = c.ownWait()
	}
	if c.wait < room && (!hinted || hint <= c.cfg.maxRetryAfter) {
		return true
	}
	if byDeadline && c.err != nil {
		c.giveUp(context.DeadlineExceeded)
	} else {
		c.giveUp(nil)
	}
	return false
}

func (c *retryCall) ownWait() time.Duration {
	if c.backoff.longest == 0 {
		c.backoff = backoff{first: c.cfg.first, longest: c.cfg.longest, jitter: c.cfg.jitter, percent: c.cfg.percent}
	}
	least := c.cfg.first
	if c.verdict.status == http.StatusServiceUnavailable && least <= c.cfg.longest/2 {
		least *= 2
	}
	return c.backoff.next(c.attempts, least)
}
