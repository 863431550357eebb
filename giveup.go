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
