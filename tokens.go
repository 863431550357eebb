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
func TokensPerMinute(n int) LimitOption {
	return limitOption(func(c *limitConfig) { c.perMinute, c.perMinuteSet = n, true })
}

// charge is what an attempt costs in tokens of the model.
type charge struct {
	of       wire.Charge
	reserved int // what is taken when it goes
}

// chargeOf estimates what req will cost. It reads the body by GetBody, and as the
// bodies that some SDKs return share one cursor it returns the body that is to go
// in the place of req's, or nil if that is untouched.
func chargeOf(req *http.Request) (charge, io.ReadCloser) {
	var text []byte
	var fresh io.ReadCloser
	if req.Body != nil && req.Body != http.NoBody && req.GetBody != nil {
		if rc, err := req.GetBody(); err == nil {
			text, _ = io.ReadAll(io.LimitReader(rc, wire.MaxChargeBody)) // as far as it goes
			rc.Close()
			if fresh, err = req.GetBody(); err != nil {
				fresh = nil
			}
		}
	}
	host := req.URL.Hostname()
	c := wire.ChargeOf(host, req.URL.Path, text, req.ContentLength)
	return charge{of: c, reserved: int(c.Reserved())}, fresh
}

// weigh estimates what req will cost, if that matters to q, and returns req with a
// body that has not been read.
func (p *limitPass) weigh(q *queue, req *http.Request) *http.Request {
	if p.t.cfg.perMinute == 0 && !q.tight.Load() {
		return req
	}
	c, fresh := chargeOf(req)
	p.charge = c
	if fresh == nil {
		return req
	}
	req.Body.Close()
	req = req.WithContext(req.Context())
	req.Body = fresh
	return req
}

// settle sets right what p's attempt has cost, by the usage that v tells. q.mu
// must be held.
func (q *queue) settle(p *limitPass, v verdict, now time.Time) {
	cost := p.charge.reserved
	switch {
	case v.outcome == outcomeRefused:
		cost = 0 // nothing was sent
	case v.usage.Known:
		cost = int(p.charge.of.Settled(v.usage))
	}
	if back := p.charge.reserved - cost; back >= 0 {
		q.tokens.credit(back, now)
	} else {
		q.tokens.pay(-back, now)
	}
}

// newTokens returns the bucket of tokens of a new queue, nil without a limit.
func (c *limitConfig) newTokens() *bucket {
	if c.perMinute == 0 {
		return nil
	}
	return newBucket(float64(c.perMinute)/time.Minute.Seconds(), c.perMinute)
}
