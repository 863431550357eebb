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
// request that makes it, and the body of an answer that is all there with its headers
// (see wholeBody).
//
// It hears of the caller's end, and of the end of its own time, from when somebody
// first asks for its Done or Err: until then nobody could be told.
type attempt struct {
	t    *attemptTransport
	call *call        // whose attempt it is; it began at call.at
	req  http.Request // the one that makes it

	text  []byte        // the answer, if that is all there with its headers
	ready time.Duration // when it was, since the call began

	tracking atomic.Pointer[tracking] // nil until it is needed; made by track

	mu    sync.Mutex // guards ended and due, and what the tracking says
	ended attemptEnd // whether it has, and why
	due   due        // what must come in time

	early bool   // somebody asked for its end before there was an answer
	read  uint32 // how much of text its reader has had
}

// tracking is what it takes to tell those who wait for the end of an attempt that it has
// come, and an observer what became of it. It is no part of the attempt, since a base that
// answers at once asks for nothing of it.
type tracking struct {
	values context.Context // the caller's, and what net/http's traces report to
	report report          // for the observer

	// The attempt's mu guards the rest.
	armed    bool          // the attempt hears of its caller's end, and of its own time's
	timer    *time.Timer   // for what is due, once armed
	stop     func() bool   // ends the registration with the caller; nil if there is none
	body     *watchedBody  // of the response, while it is to be read
	done     chan struct{} // made when it is asked for
	children *child        // the one that was registered last
	first    child         // room for the one that was registered first
}

// track returns a's tracking, and makes it if there is none yet. a.mu must be held, unless
// nobody else has a yet.
func (a *attempt) track() *tracking {
	tr := a.tracking.Load()
	if tr == nil {
		tr = &tracking{values: a.call.Context}
		a.tracking.Store(tr)
	}
	return tr
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
// has ended. It returns its tracking. a.mu must be held.
func (a *attempt) arm() *tracking {
	tr := a.track()
	if tr.armed || a.ended != endNotYet {
		return tr
	}
	tr.armed = true
	if a.call.Context.Done() != nil {
		tr.stop = context.AfterFunc(a.call.Context, a.interrupt)
	}
	left := a.within()
	if left <= 0 {
		return tr
	}
	if a.due == dueHeaders {
		left -= a.took()
	}
	if left <= 0 {
		a.ended = endLate
		return tr
	}
	tr.timer = time.AfterFunc(left, a.interrupt)
	return tr
}

// took is the time since the attempt's start.
func (a *attempt) took() time.Duration { return time.Since(a.call.began) - a.call.at }

// answered ends the time for the headers, and reports whether they came in it. A base
// that has not asked for the attempt's end could not keep to it, and is not late. If
// more is due, the time for the first content begins.
func (a *attempt) answered(more bool) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	inTime := a.ended == endNotYet
	tr := a.tracking.Load()
	a.early = tr != nil && tr.armed
	if a.early && tr.timer != nil {
		inTime = tr.timer.Stop() && inTime
	}
	a.due = dueNothing
	if more && inTime {
		a.due = dueContent
	}
	switch within := a.within(); {
	case !a.early || within == 0:
	case tr.timer != nil:
		tr.timer.Reset(within)
	default:
		tr.timer = time.AfterFunc(within, a.interrupt)
	}
	return inTime
}

// inTime ends the time for the first content, and reports whether that came in it.
func (a *attempt) inTime() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	tr := a.tracking.Load()
	timed := a.within() > 0 && tr != nil && tr.timer != nil
	a.due = dueNothing
	return !timed || tr.timer.Stop()
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
	body := a.tracking.Load().body
	a.mu.Unlock()
	if body != nil {
		body.callerLeft(err)
	}
}

// received takes the answer, and sees that the attempt lives as long as is needed.
func (a *attempt) received(req *http.Request, resp *http.Response, usual bool) {
	if a.t.cfg.observer != nil {
		a.tracking.Load().report.headers = a.took()
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
	tr := a.arm()
	a.mu.Unlock()
	body.begin(a.call.Context, resp, a, g, a)
	a.mu.Lock()
	tr.body = body
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
	tr := a.tracking.Load()
	if tr == nil {
		return
	}
	if tr.stop != nil { // which nobody sets any more
		tr.stop()
	}
	if tr.timer != nil {
		tr.timer.Stop()
	}
}

// tell reports the attempt's end.
func (a *attempt) tell(v verdict) {
	if a.t.cfg.observer == nil {
		return
	}
	r := &a.tracking.Load().report
	a.t.cfg.observer.Observe(a.call.Context, AttemptEnded{
		Key: r.key, Attempt: a.call.attempt, Status: v.status, Outcome: v.outcome.String(), Class: v.className(), Err: v.err,
		Written: int(r.written.Load()), Input: v.usage.Input, Output: v.usage.Output, Headers: r.headers, Took: a.took(),
	})
}
