package steady

import (
	"context"
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"time"
)

// attempt is one attempt from its start to the end of its body, the context of the
// request that makes it, and the body of an answer that is over with its headers (see
// wholeBody).
//
// It hears of the caller's end, and of the end of its own time, from when somebody
// first asks for its Done: until then nobody could be told.
type attempt struct {
	t    *attemptTransport
	call *call        // by which it began at call.at
	req  http.Request // the one that makes it

	text  []byte        // the answer, if that is all there with its headers
	ready time.Duration // when it was, since the call began

	vigil atomic.Pointer[vigil] // made with mu held, or before there is a request; nil until it is needed
	mu    sync.Mutex            // guards what of the vigil is not the observer's, and
	ended attemptEnd            // whether it has, and why
	due   due                   // what must come in time

	early bool   // somebody asked for its end before there was an answer
	read  uint32 // how much of text its reader has had
}

// vigil is what an attempt needs from when somebody waits for its end, or is to be told
// of it. A base that answers from memory and asks for neither spares the call its price.
type vigil struct {
	values context.Context // the caller's, with what net/http's traces are to tell
	report                 // for the observer

	// The attempt's mu guards the rest.
	armed    bool          // the attempt hears of its caller's end, and of its own time's
	timer    *time.Timer   // for what is due, once armed
	stop     func() bool   // ends the registration with the caller; nil if there is none
	body     *watchedBody  // of the response, while it is to be read
	done     chan struct{} // made when it is asked for
	children *child        // the one that was registered last
	first    child         // room for the one that was registered first
}

// keepVigil returns a's vigil. a.mu must be held, unless nobody else has a yet.
func (a *attempt) keepVigil() *vigil {
	v := a.vigil.Load()
	if v == nil {
		v = &vigil{values: a.call.Context}
		a.vigil.Store(v)
	}
	return v
}

// due is what an attempt waits for.
type due uint8

const (
	dueNothing due = iota
	dueHeaders
	dueContent // the first
)

// within is how long what is due may take; 0 for ever. a.mu must be held.
func (a *attempt) within() time.Duration {
	switch a.due {
	case dueHeaders:
		return a.t.cfg.header
	case dueContent:
		return a.t.cfg.firstContent
	}
	return 0
}

// report is what the observer alone hears of an attempt.
type report struct {
	key     string
	headers time.Duration // from the attempt's start; 0 until they came
	written atomic.Int32
}

// wrote counts the requests that net/http has written whole for this attempt.
func (r *report) wrote(info httptrace.WroteRequestInfo) {
	if info.Err == nil {
		r.written.Add(1)
	}
}

// arm has the attempt hear of its caller's end and of the end of its time, unless it
// has ended. a.mu must be held.
func (a *attempt) arm() *vigil {
	v := a.keepVigil()
	if v.armed || a.ended != endNotYet {
		return v
	}
	v.armed = true
	if a.call.Context.Done() != nil {
		v.stop = context.AfterFunc(a.call.Context, a.interrupt)
	}
	left := a.within()
	if left <= 0 {
		return v
	}
	if a.due == dueHeaders {
		left -= a.took()
	}
	if left <= 0 {
		a.ended = endLate
		return v
	}
	v.timer = time.AfterFunc(left, a.interrupt)
	return v
}

// took is the time since the attempt's start.
func (a *attempt) took() time.Duration { return time.Since(a.call.began) - a.call.at }

// answered ends the time for the headers, and reports whether they came in it; who
// has not asked for the attempt's end could not keep to it, and is not late. If
// more is due, the time for the first content begins.
func (a *attempt) answered(more bool) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	inTime := a.ended == endNotYet
	v := a.vigil.Load()
	if a.early = v != nil && v.armed; a.early && v.timer != nil {
		inTime = v.timer.Stop() && inTime
	}
	if a.due = dueNothing; more && inTime {
		a.due = dueContent
	}
	switch within := a.within(); {
	case !a.early || within == 0:
	case v.timer != nil:
		v.timer.Reset(within)
	default:
		v.timer = time.AfterFunc(within, a.interrupt)
	}
	return inTime
}

// inTime ends the time for the first content, and reports whether that came in it.
func (a *attempt) inTime() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	v := a.vigil.Load()
	timed := a.within() > 0 && v != nil && v.timer != nil
	a.due = dueNothing
	return !timed || v.timer.Stop()
}

// interrupt ends the attempt when the caller's context has ended, or else the
// time for what is due.
func (a *attempt) interrupt() {
	err := a.call.Context.Err()
	if err == nil {
		a.end(endLate)
		return
	}
	a.end(endCaller)
	a.mu.Lock()
	body := a.vigil.Load().body
	a.mu.Unlock()
	if body != nil {
		body.callerLeft(err)
	}
}

// begun takes the answer, and sees that the attempt lives as long as is needed.
func (a *attempt) begun(req *http.Request, resp *http.Response, usual bool) {
	if a.t.cfg.observer != nil {
		a.vigil.Load().headers = a.took()
	}
	if usual && a.whole(resp) {
		a.settle(resp)
	} else {
		a.watch(req, resp)
	}
}

// settle ends an attempt whose answer is all there.
func (a *attempt) settle(resp *http.Response) {
	if a.t.cfg.observer == nil {
		a.release()
		return
	}
	a.over((*wholeBody)(a).verdict(resp))
}

// watch keeps the attempt alive until resp's body has ended, and has the body
// judged.
func (a *attempt) watch(req *http.Request, resp *http.Response) {
	g := a.t.cfg.guard(req, resp, a.stalled)
	if bodyless(resp) {
		a.over(judge(a.call.Context, resp, nil))
		return
	}
	body := new(watchedBody)
	a.mu.Lock()
	v := a.arm()
	a.mu.Unlock()
	body.begin(a.call.Context, resp, a, g, a)
	a.mu.Lock()
	v.body = body
	a.mu.Unlock()
	if err := a.call.Context.Err(); err != nil { // before interrupt could see the body
		body.callerLeft(err)
	}
}

// stalled ends the attempt because its answer does not go on.
func (a *attempt) stalled() { a.end(endLate) }

func (a *attempt) bodyEnded(v verdict) { a.tell(v) }

// failed ends an attempt that ended in err.
func (a *attempt) failed(err error) { a.over(judge(a.call.Context, nil, err)) }

// over ends an attempt that has no body to be read.
func (a *attempt) over(v verdict) {
	a.release()
	a.tell(v)
}

// release ends the attempt's context.
func (a *attempt) release() {
	a.end(endDone)
	v := a.vigil.Load()
	if v == nil {
		return
	}
	if v.stop != nil { // which nobody sets any more
		v.stop()
	}
	if v.timer != nil {
		v.timer.Stop()
	}
}

// tell reports the attempt's end.
func (a *attempt) tell(v verdict) {
	if a.t.cfg.observer == nil {
		return
	}
	r := &a.vigil.Load().report
	a.t.cfg.observer.Observe(a.call.Context, AttemptEnded{
		Key: r.key, Attempt: a.call.attempt, Status: v.status, Outcome: v.outcome.String(), Class: v.className(), Err: v.err,
		Written: int(r.written.Load()), Input: v.usage.Input, Output: v.usage.Output, Headers: r.headers, Took: a.took(),
	})
}
