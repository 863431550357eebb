package steady

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// call is what the layers of one stack have in common about one RoundTrip. The
// outermost layer makes it and hands it down; Retry takes the gates from it, so that
// a stack that is the base of another has those of its own, and hands down a fresh
// one with each re-send.
type call struct {
	context.Context // the caller's, to which call adds itself
	began           time.Time
	at              time.Duration // since began, when a layer last looked at the clock on the call's way down
	attempt         int           // the number of the attempt under way, from 1
	body            *replay       // whose body the attempt sends, until a request has it; nil for the request's own
	outer           *call         // the one that c is a branch of, or nil
	rooms           *rooms        // whose call c is, or nil
	over            atomic.Bool   // RoundTrip has returned: whoever still holds the context is on their own

	shared bool       // others may have it, and send it twice at once; false while it has gone by hand only
	mu     sync.Mutex // guards the rest once it is shared: see lock
	keyer  *keyer     // whose key is, so that layers with the same keyer share it
	key    string
	gate   gate    // the innermost of those registered, or nil
	permit *permit // what the queue took from the holder on the call's behalf
}

// lock locks mu, unless nobody else can have c.
func (c *call) lock() {
	if c.shared {
		c.mu.Lock()
	}
}

func (c *call) unlock() {
	if c.shared {
		c.mu.Unlock()
	}
}

type callContextKey struct{}

// Value makes the call findable and passes everything else on.
func (c *call) Value(key any) any {
	if _, ok := key.(callContextKey); ok {
		return c
	}
	return c.Context.Value(key)
}

// seen is when a layer last looked at the clock on the call's way down.
func (c *call) seen() time.Time {
	if c.at == 0 {
		return c.began
	}
	return c.began.Add(c.at)
}

// AfterFunc lets package context register a child with the caller's own context,
// if that has such a method. Else every child would cost a goroutine there.
func (c *call) AfterFunc(f func()) (stop func() bool) { return context.AfterFunc(c.Context, f) }

// A layer takes the call by hand from the layer above it, and with it the request
// as it is. So the request is copied once on its way, by who hands it to the base,
// and not by each layer for a context of its own.
type layer interface {
	// carry is RoundTrip for a request that belongs to c, or to no call yet.
	carry(c *call, req *http.Request) (*http.Response, error)
}

// callOf returns the call that req's context carries, or nil.
func callOf(req *http.Request) *call {
	c, _ := req.Context().Value(callContextKey{}).(*call)
	for outer := c; outer != nil; outer = outer.outer {
		if outer.over.Load() {
			return nil
		}
	}
	return c
}

// branchOf returns a branch of the call that req's context carries, or nil. It is
// for a layer to which req has come through something that is no layer of ours, and
// that may send it several times at once: what goes by hand from one layer to the
// next must not come into the hands of others.
func branchOf(req *http.Request) *call {
	c := callOf(req)
	if c == nil {
		return nil
	}
	branch := c.fresh(c.attempt, req)
	branch.outer = c
	branch.keyer = nil // a base may use the context of its own request for one to another host
	return branch
}

// enter returns c, or if that is nil a new call that begins now by clock, in room if that
// is not nil; made tells the layer that it is the outermost one and owes a leave.
func enter(c *call, req *http.Request, room *call, clock *callClock) (_ *call, made bool) {
	if c != nil {
		return c, false
	}
	if c = room; c == nil {
		c = new(call)
	}
	c.Context, c.began, c.attempt = req.Context(), clock.now(), 1
	return c, true
}

// below is what a layer hands requests down to.
type below struct {
	layer // next, if it is one of ours, or what stands for it
	next  http.RoundTripper
}

func newBelow(next http.RoundTripper) below {
	l, ours := next.(layer)
	if !ours {
		l = foreign{next}
	}
	return below{l, next}
}

// foreign stands for a RoundTripper that is no layer of ours.
type foreign struct{ next http.RoundTripper }

// carry hands req on with c in its context, for it may come to a layer again.
func (f foreign) carry(c *call, req *http.Request) (*http.Response, error) {
	switch carried := callOf(req) == c; {
	case !carried:
		req = c.outgoing(c, req)
	case c.body != nil:
		req = c.outgoing(req.Context(), req)
	}
	return roundTrip(f.next, req)
}

// outgoing returns the copy of req, with ctx, that goes down in its stead. ctx may
// take c to whoever asks for it.
func (c *call) outgoing(ctx context.Context, req *http.Request) *http.Request {
	return c.outgoingIn(new(http.Request), ctx, req)
}

// outgoingIn is outgoing for who has room for the copy.
func (c *call) outgoingIn(room *http.Request, ctx context.Context, req *http.Request) *http.Request {
	if !c.shared { // once it is, nobody writes this
		c.shared = true
	}
	*room = *req.WithContext(ctx) // the one on the right takes no place on the heap
	req = room
	if c.body != nil {
		c.body.put(req)
		c.body = nil
	}
	return req
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

// fresh returns the call that goes down with attempt number n of req. It has no
// gates yet.
func (c *call) fresh(n int, req *http.Request) *call {
	c.lock()
	defer c.unlock()
	return &call{Context: req.Context(), began: c.began, at: time.Since(c.began), attempt: n, keyer: c.keyer, key: c.key}
}

// roundTrip has next send req, and makes good what a fake may leave undone of the
// contract of http.RoundTripper: there is a response or an error, and a response
// has a body. Like http.Client, it takes no response beside an error.
func roundTrip(next http.RoundTripper, req *http.Request) (*http.Response, error) {
	resp, err := next.RoundTrip(req)
	if err == nil && resp != nil && resp.Body != nil { // as it mostly is
		return resp, nil
	}
	return amended(next, resp, err)
}

// amended is roundTrip for what next has returned and may have left undone.
func amended(next http.RoundTripper, resp *http.Response, err error) (*http.Response, error) {
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

// closeBody closes the body of a request that no inner layer will see. c may be nil.
func (c *call) closeBody(req *http.Request) {
	switch {
	case c != nil && c.body != nil:
		c.body.close()
	case req.Body != nil:
		req.Body.Close()
	}
}
