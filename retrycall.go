package steady

import (
	"context"
	"net/http"
	"time"
)

// retrying is what Retry knows of a call that has come to it, used by the goroutine of
// the call alone.
type retrying struct {
	t      *retryTransport
	cfg    *retryConfig
	outer  *call
	req    *http.Request // as it came to Retry
	gate   gate          // the innermost of those that are to be told, or nil
	budget *budget
	body   *replay
	began  time.Duration // when it came to Retry, since the outer call began
	key    string
}

// retryCall is a call that has had an attempt.
type retryCall struct {
	retrying
	ctx   context.Context // the caller's
	gates []gate          // outermost first, once an attempt has failed

	attempts int
	probes   int            // of those, the ones that a gate spares the call
	spared   bool           // the last was one of them
	sentAt   time.Duration  // when the last was let go, since the outer call began
	queued   time.Duration  // of the time since began, what is the gates'
	unknown  int            // re-sends of what may have been done
	lastWait time.Duration  // what backoff said before
	resp     *http.Response // of the last attempt; what the call ends in
	err      error
	verdict  verdict
	kept     *aheadBody // the body of the last response, once it is to be followed by another
	status   int        // of the last response, 0 if there was none
	wait     time.Duration
	paid     bool   // the re-send that is due, or under way, costs the budget nothing
	end      string // why there is no other attempt, "" if nobody is to be told
}

// ending is what an attempt ended in.
type ending struct {
	resp    *http.Response
	err     error
	verdict verdict
}

// sendOn sends the request down with inner, whose attempt it is. The first goes with the
// call that came, whose gates Retry has taken, and each of the others with a fresh one.
func (c *retrying) sendOn(inner *call) (*http.Response, error) {
	if c.body.has() {
		inner.body = c.body
	}
	resp, err := c.t.below.carry(inner, c.req)
	if inner.body != nil { // it has not come to the base
		inner.body = nil
	}
	return resp, err
}

// goOn judges the first attempt, which ended in resp and err, and makes the others. It
// stays out of the frame of its caller, as the kilobyte that it needs would be there in
// every call. Only a call that is retried pays for a place on the heap.
//
//go:noinline
func (c *retrying) goOn(resp *http.Response, err error) (*http.Response, error) {
	first := retryCall{retrying: *c, ctx: c.req.Context(), attempts: 1, sentAt: c.began, resp: resp, err: err}
	first.sent(nil)
	if !first.another() {
		first.tellGaveUp()
		return first.resp, first.err
	}
	rest := first
	rest.retry()
	return rest.resp, rest.err
}

// send makes another attempt. before is what the one before it ended in.
func (c *retryCall) send(before *ending) {
	c.attempts++
	inner := c.outer.fresh(c.attempts, c.req)
	c.resp, c.err = c.sendOn(inner)
	inner.leave(c.req, c.resp)
	if c.err == nil && wholeIn(c.resp) != nil { // as it mostly is
		c.verdict = verdict{outcome: outcomeOK}
		c.refund()
		return
	}
	c.sent(before)
}

// sent judges the attempt that has been made, after the one that ended in before.
func (c *retryCall) sent(before *ending) {
	c.verdict = c.judge()
	switch {
	case c.err == nil:
		c.status = c.resp.StatusCode
	case c.verdict.outcome == outcomeRefused:
		c.refused(before)
		return
	}
	if c.attempts > 1 && (c.verdict.outcome == outcomeOK || c.verdict.outcome == outcomeDeclined) {
		c.refund() // it has helped, or is no sign of overload
	}
}

// refused ends the call whose attempt a layer further in did not let go. What
// the attempt before it ended in, if there was one, is the provider's word, and
// better than a layer's.
func (c *retryCall) refused(before *ending) {
	if c.attempts--; c.attempts == 0 {
		return
	}
	c.refund()
	tellEnded(c.gates, c.verdict)
	refusal := c.err
	if c.resp, c.err = before.resp, before.err; c.resp != nil {
		c.resp.Body = c.kept
	} else {
		c.giveUp(refusal)
	}
	c.verdict, c.end = before.verdict, endRefused
}

// refund gives back to the budget what the last re-send took from it.
func (c *retryCall) refund() {
	if !c.paid {
		c.budget.refund()
	}
}

// another decides whether there is to be another attempt, and its wait. If so the
// last one is put away and the gates hear of its end.
func (c *retryCall) another() bool {
	if c.end == endRefused || c.verdict.outcome == outcomeOK || c.verdict.outcome == outcomeRefused {
		return false // see refused
	}
	if c.ctx.Err() != nil && c.resp != nil { // the caller left while the answer was judged
		c.resp.Body.Close()
		c.resp, c.end = nil, c.byContext()
		c.giveUp(contextError(c.ctx))
		return false
	}
	c.spare()
	if c.ctx.Err() != nil || c.usedUp() || !c.worth() || !c.body.possible() {
		c.end = c.whyOver()
		c.giveUp(nil)
		return false
	}
	if !c.safe() {
		c.end = endUnknown
		c.giveUpFor(errMayBeDone)
		return false
	}
	now := time.Now()
	if !c.delay(now) {
		return false
	}
	if c.paid = c.spared || paid(c.gates, c.verdict); !c.paid && !c.budget.spend(now) {
		c.end = endBudget
		c.giveUpFor(errNoBudget)
		return false
	}
	if c.verdict.mayBeDone() {
		c.unknown++
	}
	if c.resp != nil {
		c.putAway()
		c.wait = max(0, c.wait-c.verdict.looked-time.Since(now)) // it counts from the answer
	}
	tellEnded(c.gates, c.verdict)
	return true
}

// spare notes whether a gate spares the call the last attempt. Before that none is asked.
func (c *retryCall) spare() {
	if c.gates == nil {
		c.gates = outermostFirst(c.gate)
	}
	if c.spared = c.cfg.maxAttempts > 1 && spared(c.gates, c.verdict); c.spared {
		c.probes++
	}
}

// usedUp reports whether the call has had all its attempts.
func (c *retryCall) usedUp() bool { return c.attempts-c.probes >= c.cfg.maxAttempts }

// putAway keeps what has been read ahead of the last response and gives up the
// rest, and its connection, now and not after the wait.
func (c *retryCall) putAway() {
	c.kept = aheadIn(c.resp.Body)
	if c.kept == nil { // an answer like any other, which the server wants retried
		c.kept = readAhead(c.ctx, c.resp.Body, aheadBytes, aheadFor, nil)
	}
	c.kept.drop()
	c.resp.Body.Close()
}

// retry goes through the loop with the first attempt already made.
func (c *retryCall) retry() {
	pending := true // the first attempt's end is what the loop is to see first
	send := func() {
		if !pending {
			c.send(&ending{c.resp, c.err, c.verdict})
		}
	}
	another := func() bool {
		if pending {
			pending = false
			return true
		}
		return c.another()
	}
	err := loop(c.ctx, send, another, c.scheduled, c.prepare)
	if err != nil {
		c.refund()
		c.stop(err)
	}
	c.tellGaveUp()
}

// scheduled reports the retry that is to follow and returns its wait.
func (c *retryCall) scheduled() time.Duration {
	if o := c.cfg.observer; o != nil {
		o.Observe(c.ctx, RetryScheduled{
			Key: c.key, Attempt: c.attempts, Status: c.verdict.status, Err: c.verdict.err,
			Outcome: c.verdict.outcome.String(), Wait: c.wait, Hinted: c.verdict.hinted, Probe: c.spared, Class: c.verdict.className(),
		})
	}
	return c.wait
}

// prepare asks the gates for another attempt and opens the body for it.
func (c *retryCall) prepare() error {
	asked := time.Since(c.outer.began)
	if c.spared {
		asked = c.sentAt
	}
	if err := askAgain(c.gates, c.req); err != nil {
		c.end = endRefused
		return err
	}
	c.sentAt = time.Since(c.outer.began)
	c.queued += c.sentAt - asked
	if err := c.body.next(); err != nil {
		c.end = endBody
		tellEnded(c.gates, verdict{outcome: outcomeRefused, err: err})
		return err
	}
	return nil
}

// stop ends the call before the attempt that was to follow. The caller gets the
// last real response if there was one, unless it is the caller who has left.
func (c *retryCall) stop(err error) {
	if c.ctx.Err() != nil {
		c.end = c.byContext()
		c.giveUp(contextError(c.ctx))
		c.resp = nil
		return
	}
	if c.resp != nil {
		c.resp.Body = c.kept
		return
	}
	c.giveUp(err)
}
