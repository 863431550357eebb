package steady

import (
	"context"
	"errors"
)

// What keeps Retry from another attempt, in the text of a RetryError.
var (
	errMayBeDone = errors.New("the request may have been done, and UnknownResends allows no more")
	errNoBudget  = errors.New("the RetryBudget is spent")
	errNotWithin = errors.New("the next would begin later than Within allows")
)

// errTooLate matches [context.DeadlineExceeded], but does not say that the deadline
// has passed: it would.
type errTooLate struct{}

func (errTooLate) Error() string        { return "the next would begin after the deadline" }
func (errTooLate) Timeout() bool        { return true }
func (errTooLate) Is(target error) bool { return target == context.DeadlineExceeded }

// Why a call is sent no more, in the words of GaveUp.
const (
	endFinal      = "final"
	endAttempts   = "attempts"
	endUnknown    = "unknown"
	endBody       = "body"
	endBudget     = "budget"
	endDeadline   = "deadline"
	endWithin     = "within"
	endRetryAfter = "retry-after"
	endRefused    = "refused"
)

// whyOver returns why there is no other attempt, whenever it would be.
func (c *retryCall) whyOver() string {
	switch {
	case c.ctx.Err() != nil:
		return c.byContext()
	case !c.worth():
		return endFinal
	case c.usedUp():
		return endAttempts
	}
	return endBody
}

// byContext is why a call whose context is done is over, "" if its caller has left.
func (c *retryCall) byContext() string {
	if errors.Is(c.ctx.Err(), context.DeadlineExceeded) {
		return endDeadline
	}
	return ""
}

// late ends a call whose next attempt would begin too late: for the deadline, for
// Within, or for the wait that the server has named.
func (c *retryCall) late(byDeadline bool) {
	switch {
	case c.verdict.hinted && c.verdict.wait > c.cfg.maxRetryAfter:
		c.end = endRetryAfter
	case byDeadline:
		c.end = endDeadline
	default:
		c.end = endWithin
	}
	switch {
	case byDeadline && c.err != nil:
		c.giveUp(errTooLate{})
	case !c.verdict.hinted:
		c.giveUpFor(errNotWithin)
	default:
		c.giveUp(nil)
	}
}

// tellGaveUp reports that the call is given up, if it is.
func (c *retryCall) tellGaveUp() {
	o := c.cfg.observer
	if o == nil || c.end == "" || c.err == nil && c.verdict.outcome == outcomeOK {
		return
	}
	returned := false
	defer func() {
		if !returned && c.resp != nil { // after a panic nobody else has it
			c.resp.Body.Close()
		}
	}()
	o.Observe(c.ctx, GaveUp{
		Key: c.key, Reason: c.end, Attempts: c.attempts, Status: c.status,
		Outcome: c.verdict.outcome.String(), Class: c.verdict.className(), Err: c.err,
	})
	returned = true
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

// giveUpFor is giveUp, but leaves a response and a first attempt's error as they are.
func (c *retryCall) giveUpFor(why error) {
	if c.err == nil || c.attempts <= 1 {
		why = nil
	}
	c.giveUp(why)
}
