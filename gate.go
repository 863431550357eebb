package steady

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
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

	// again returns when the next attempt may go. After an error nothing is
	// under way, and nothing has been spent.
	again(req *http.Request) error
}

// call is what the layers of one stack have in common about one RoundTrip. The
// outermost layer makes it and hands it down as the request's context; Retry
// hands down a fresh one with each attempt, so that a stack that is the base of
// another keeps gates of its own.
type call struct {
	context.Context // the caller's, to which call adds itself
	began           time.Time
	attempt         int         // the number of the attempt under way, from 1
	over            atomic.Bool // RoundTrip has returned; who still holds the context is on his own

	mu     sync.Mutex // guards the rest, for layers that send one call twice at once
	keyer  *keyer     // whose key is, so that layers with the same keyer share it
	url    *url.URL   // of which key is
	key    string
	gates  []gate  // outermost first
	permit permit  // what the queue took from the holder on the call's behalf
	space  [2]gate // gates' first array
}

type callContextKey struct{}

// Value makes the call findable and passes everything else on.
func (c *call) Value(key any) any {
	if _, ok := key.(callContextKey); ok {
		return c
	}
	return c.Context.Value(key)
}

// AfterFunc lets package context register a child with the caller's own context,
// if that has such a method. Else every child would cost a goroutine there.
func (c *call) AfterFunc(f func()) (stop func() bool) { return context.AfterFunc(c.Context, f) }

// enter returns the call that req belongs to. When there is none it makes one, in
// room if that is not nil, and a copy of req that carries it; made tells the layer
// that it is the outermost one and owes a leave.
func enter(req *http.Request, room *call) (c *call, inner *http.Request, made bool) {
	ctx := req.Context()
	if c, ok := ctx.Value(callContextKey{}).(*call); ok && !c.over.Load() {
		return c, req, false
	}
	if c = room; c == nil {
		c = new(call)
	}
	c.Context, c.began, c.attempt = ctx, time.Now(), 1
	return c, req.WithContext(c), true
}

// leave ends the call. The response names the caller's request again, and not
// the copy whose context would carry the call on into other requests.
func (c *call) leave(req *http.Request, resp *http.Response) {
	c.over.Store(true)
	if resp == nil || resp.Request == nil || resp.Request == req {
		return
	}
	if _, ok := resp.Request.Context().Value(callContextKey{}).(*call); ok {
		resp.Request = req
	}
}

// fresh makes inner the call that goes down with attempt number n of req, whose
// key by keyer is key.
func (c *call) fresh(inner *call, n int, req *http.Request, keyer *keyer, key string) {
	inner.Context, inner.began, inner.attempt = c.Context, c.began, n
	inner.keyer, inner.url, inner.key = keyer, req.URL, key
}

// roundTrip has next send req, and makes good what a fake may leave undone of the
// contract of http.RoundTripper: there is a response or an error, and a response
// has a body. Like http.Client, it takes no response beside an error.
func roundTrip(next http.RoundTripper, req *http.Request) (*http.Response, error) {
	resp, err := next.RoundTrip(req)
	switch {
	case err != nil:
		if resp != nil && resp.Body != nil {
			resp.Body.Close()
		}
		return nil, err
	case resp == nil:
		return nil, fmt.Errorf("steady: %T returned neither a response nor an error", next)
	case resp.Body == nil:
		resp.Body = http.NoBody
	}
	return resp, nil
}

// register adds g, which is inside all those registered before it.
func (c *call) register(g gate) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gates == nil {
		c.gates = c.space[:0]
	}
	c.gates = append(c.gates, g)
}

// take returns the registered gates, outermost first, to the Retry that is to
// tell them. Whoever else asks gets none.
func (c *call) take() []gate {
	c.mu.Lock()
	defer c.mu.Unlock()
	gates := c.gates
	c.gates = nil
	return gates
}

// A permit is a holder's word that one attempt may go, whatever it says to
// others by the time the attempt comes to it. Its fields are the holder's own.
type permit struct {
	of     any // nil for no permit
	period int
	probe  any
}

// leavePermit leaves p for the layer inside that will ask for it.
func (c *call) leavePermit(p permit) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.permit = p
}

// takePermit returns what leavePermit left, once.
func (c *call) takePermit() permit {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.permit
	c.permit = permit{}
	return p
}

// tellEnded tells gates, innermost first, that an attempt has ended.
func tellEnded(gates []gate, v verdict) {
	for i := len(gates) - 1; i >= 0; i-- {
		gates[i].ended(v)
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
