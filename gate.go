package steady

import (
	"net/http"
	"slices"
	"time"
)

// A gate is what a layer outside Retry registers with the call, so that every
// attempt passes it and not only the first. A layer inside Retry sees every
// attempt by itself; what it registers is never called.
//
// The methods are called one at a time, by the goroutine that is in RoundTrip.
type gate interface {
	// ended tells the gate that the attempt under way has ended with v and that
	// Retry means to send another. Nothing is under way then, until again.
	ended(v verdict)

	// pays reports whether the gate itself sees to it that a re-send after v, of
	// the attempt under way, cannot make things worse for the provider.
	pays(v verdict) bool

	// spares reports whether the attempt under way, which ended in v, was one to
	// answer a question of the gate's own, and failed to: then the call is as if it
	// had not been sent, and the gate, which keeps it until it asks again, sees to it
	// that this does not go on for ever.
	spares(v verdict) bool

	// again returns when the next attempt may go. After an error nothing is
	// under way, and nothing has been spent.
	again(req *http.Request) error

	// link leads to the gate next outside this one.
	link() *gateLink
}

// gateLink is what a gate embeds to be one of the list that its call has of them.
type gateLink struct{ outside gate }

func (l *gateLink) link() *gateLink { return l }

// register adds g, which is inside all those registered before it.
func (c *call) register(g gate) {
	c.lock()
	g.link().outside = c.gate
	c.gate = g
	c.unlock()
}

// takeGates returns the innermost of the registered gates, which leads to the others, to
// the Retry that is to tell them. Whoever else asks gets none.
func (c *call) takeGates() gate {
	c.lock()
	innermost := c.gate
	c.gate = nil
	c.unlock()
	switch {
	case c.outer == nil:
		return innermost
	case innermost == nil:
		return c.outer.takeGates()
	}
	last := innermost.link()
	for last.outside != nil {
		last = last.outside.link()
	}
	last.outside = c.outer.takeGates()
	return innermost
}

// outermostFirst returns innermost and all gates outside it.
func outermostFirst(innermost gate) []gate {
	gates := make([]gate, 0, 2) // as many as New has
	for g := innermost; g != nil; g = g.link().outside {
		gates = append(gates, g)
	}
	slices.Reverse(gates)
	return gates
}

// leavePermit leaves p, which the queue took from the holder, for the layer inside
// that will ask for it.
func (c *call) leavePermit(p *permit) {
	c.lock()
	c.permit = p
	c.unlock()
}

// takePermit returns what leavePermit left, once, or nil.
func (c *call) takePermit() *permit {
	c.lock()
	p := c.permit
	c.permit = nil
	c.unlock()
	return p
}

// paid reports whether one of gates pays for a re-send after v.
func paid(gates []gate, v verdict) bool {
	return slices.ContainsFunc(gates, func(g gate) bool { return g.pays(v) })
}

// spared reports whether one of gates spares the call the attempt that ended in v.
func spared(gates []gate, v verdict) bool {
	return slices.ContainsFunc(gates, func(g gate) bool { return g.spares(v) })
}

// tellEnded tells gates, innermost first, that an attempt has ended.
func tellEnded(gates []gate, v verdict) {
	for _, g := range slices.Backward(gates) {
		g.ended(v)
	}
}

// askAgain asks gates, outermost first, to let another attempt go. When one
// refuses, those before it take back what they gave.
func askAgain(gates []gate, req *http.Request) error {
	for i, g := range gates {
		if err := g.again(req); err != nil {
			tellEnded(gates[:i], verdict{outcome: outcomeRefused, err: err})
			return err
		}
	}
	return nil
}

// A holder can keep the queue of a key waiting. The breaker is one.
// Its methods must not call back into the queue.
type holder interface {
	// hold says whether attempts of key must wait as of now.
	hold(key string, now time.Time) hold

	// enter lets one attempt of key go, and leaves with c what it took for it.
	// It reports false when another got in first.
	enter(key string, c *call, now time.Time) bool

	// withdraw takes back what enter left with c, unless a layer inside has it.
	withdraw(c *call)

	// refusal returns the error for a call of key that cannot wait.
	refusal(key string) error
}

// hold is a holder's word on a key.
type hold struct {
	state holdState
	until time.Time // for holdWait: when to ask again; zero when the holder will tell
}

type holdState uint8

const (
	holdNone  holdState = iota // go on
	holdProbe                  // one attempt may go, to find out
	holdWait                   // nobody may go
)
