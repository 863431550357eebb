package steady

import (
	"io"
	"net/http"
	"time"

	"github.com/steadyhttp/steady/internal/wire"
)

// TokensPerMinute limits the tokens of the model that the requests of a key cost
// together, n a minute. What a request costs is estimated from its body before it
// goes, without a tokenizer and by the rules of its provider, and set right by the
// usage that its answer tells, which [Attempt] reads: expect the estimate to be
// within a factor of 1.6. A request that is heavier than a whole minute goes when
// the bucket is full, and leaves it in debt. The default is no limit.
func TokensPerMinute(n int) QueueOption {
	return queueOption(func(c *limitConfig) { c.perMinute, c.perMinuteSet = n, true })
}

// charge is what an attempt costs in tokens of the model.
type charge struct {
	of       wire.Charge
	reserved int // what is taken when it goes
}

// chargeOf estimates what req, whose body begins with text, will cost.
func chargeOf(req *http.Request, text []byte) *charge {
	c := wire.ChargeOf(KeyByHost(req), pathOf(req), text, req.ContentLength)
	return &charge{of: c, reserved: int(c.Reserved())}
}

// reserved is what p's attempt takes in tokens of the model when it goes.
func (p *limitPass) reserved() int {
	if p.charge == nil {
		return 0
	}
	return p.charge.reserved
}

// weigh estimates what req, which comes to q, will cost, if that matters, and returns req
// with a body that has not been read. Inside Retry the body is Retry's, and its length
// has to do.
func (p *limitPass) weigh(q *queue, req *http.Request) *http.Request {
	if q.all.cfg.perMinute == 0 && !q.tight.Load() {
		return req
	}
	if p.c.body != nil {
		p.charge = chargeOf(req, nil)
		return req
	}
	text, fresh := peek(req)
	p.charge = chargeOf(req, text)
	if fresh == nil {
		return req
	}
	req.Body.Close()
	req = req.WithContext(req.Context())
	req.Body = fresh
	return req
}

// peek returns the beginning of req's body, as far as GetBody tells it. As the
// bodies that some SDKs return share one cursor it also returns the body that is to
// go in the place of req's, or nil if that has not been touched.
func peek(req *http.Request) (text []byte, fresh io.ReadCloser) {
	open := opener(req)
	if open == nil {
		return nil, nil
	}
	rc, err := opened(open)
	if err != nil {
		return nil, nil // Retry will find out
	}
	text, _ = io.ReadAll(io.LimitReader(rc, wire.MaxChargeBody)) // as far as it goes
	rc.Close()
	fresh, err = opened(open)
	_, retrys := req.Body.(*sentBody)
	switch {
	case err != nil:
		fresh = brokenBody{errCaller{err}} // the one that is left may have been read
	case retrys: // which must stay; the cursor is set back
		fresh.Close()
		fresh = nil
	}
	return text, fresh
}

// brokenBody is a request body that cannot be read.
type brokenBody struct{ err error }

func (b brokenBody) Read([]byte) (int, error) { return 0, b.err }
func (b brokenBody) Close() error             { return nil }

// settle sets right what p's attempt has cost, by the usage that v tells. q.mu
// must be held.
func (q *queue) settle(p *limitPass, v *verdict, now time.Time) {
	if p.charge == nil {
		return // nothing was reserved, and there is no limit
	}
	cost := p.charge.reserved
	switch {
	case v.outcome == outcomeRefused:
		cost = 0 // nothing was sent
	case v.outcome == outcomeDeclined && !v.usage.Known:
		cost = min(cost, int(p.charge.of.Input)) // no output was made
	case v.usage.Known:
		cost = int(p.charge.of.Settled(v.usage))
	}
	if back := p.charge.reserved - cost; back >= 0 {
		q.tokens.credit(back, now)
	} else { // answers that lie must not shut the key
		q.tokens.add(-back, now)
	}
}

// newTokens returns the bucket of tokens of a new queue, nil without a limit.
func (c *limitConfig) newTokens() *bucket {
	if c.perMinute == 0 {
		return nil
	}
	return newBucket(float64(c.perMinute)/time.Minute.Seconds(), c.perMinute)
}
