package steady

import (
	"context"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"
)

// attempt is one attempt from its start to the end of its body, and the context
// of the request that makes it.
//
// It hears of the caller's end, and of the end of its own time, from when somebody
// first asks for its Done: until then nobody could be told.
type attempt struct {
	attemptContext
	t      *attemptTransport
	call   *call
	req    http.Request  // the one that makes it
	start  time.Duration // of the attempt, since the call began
	report *report       // for the observer; nil without one
	plain  wholeBody     // of the response, if that is over with its headers

	early bool // somebody asked for its end before there was an answer

	// The context's mu guards the rest.
	armed bool         // it hears of its caller's end, and of its own time's
	due   due          // what must come in time
	timer *time.Timer  // for that, once armed
	stop  func() bool  // ends the registration with the caller; nil if there is none
	body  *watchedBody // of the response, while it is to be read
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

// Value makes the call findable, and passes everything else on.
func (a *attempt) Value(key any) any {
	if _, ok := key.(callContextKey); ok {
		return a.call
	}
	return a.Context.Value(key)
}

// Done returns a channel that is closed at the end.
func (a *attempt) Done() <-chan struct{} {
	a.arm()
	return a.attemptContext.Done()
}

// Err returns why the attempt ended.
func (a *attempt) Err() error {
	a.arm()
	return a.attemptContext.Err()
}

// arm has the attempt hear of its caller's end and of the end of its time.
func (a *attempt) arm() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.armed || a.ended != endNotYet {
		return
	}
	a.armed = true
	if a.call.Context.Done() != nil {
		a.stop = context.AfterFunc(a.call.Context, a.interrupt)
	}
	left := a.within()
	if left <= 0 {
		return
	}
	if a.due == dueHeaders {
		left -= a.took()
	}
	if left <= 0 {
		a.ended = endLate
		return
	}
	a.timer = time.AfterFunc(left, a.interrupt)
}

// took is the time since the attempt's start.
func (a *attempt) took() time.Duration { return time.Since(a.call.began) - a.start }

// answered ends the time for the headers, and reports whether they came in it; who
// has not asked for the attempt's end could not keep to it, and is not late. If
// more is due, the time for the first content begins.
func (a *attempt) answered(more bool) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.early = a.armed
	inTime := (a.timer == nil || a.timer.Stop()) && a.ended == endNotYet
	if a.due = dueNothing; more && inTime {
		a.due = dueContent
	}
	switch within := a.within(); {
	case !a.armed || within == 0:
	case a.timer != nil:
		a.timer.Reset(within)
	default:
		a.timer = time.AfterFunc(within, a.interrupt)
	}
	return inTime
}

// inTime ends the time for the first content, and reports whether that came in it.
func (a *attempt) inTime() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	timed := a.within() > 0 && a.timer != nil
	a.due = dueNothing
	return !timed || a.timer.Stop()
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
	body := a.body
	a.mu.Unlock()
	if body != nil {
		body.callerLeft(err)
	}
}

// begun takes the answer, and sees that the attempt lives as long as is needed.
func (a *attempt) begun(req *http.Request, resp *http.Response, usual bool) {
	if a.report != nil {
		a.report.headers = a.took()
	}
	if usual && a.whole(resp) {
		a.settle(resp)
	} else {
		a.watch(req, resp)
	}
}

// settle ends an attempt whose answer is all there.
func (a *attempt) settle(resp *http.Response) {
	if a.report == nil {
		a.release()
		return
	}
	a.over(a.plain.verdict(resp))
}

// watch keeps the attempt alive until resp's body has ended, and has the body
// judged.
func (a *attempt) watch(req *http.Request, resp *http.Response) {
	g := a.t.cfg.guard(req, resp, a.stalled)
	if bodyless(resp) {
		a.over(judge(a.call.Context, resp, nil))
		return
	}
	a.arm()
	body := new(watchedBody)
	body.begin(a.call.Context, resp, a, g, a)
	a.mu.Lock()
	a.body = body
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
	if a.stop != nil { // which nobody sets any more
		a.stop()
	}
	if a.timer != nil {
		a.timer.Stop()
	}
}

// tell reports the attempt's end.
func (a *attempt) tell(v verdict) {
	if a.report == nil {
		return
	}
	a.t.cfg.observer.Observe(a.call.Context, AttemptEnded{
		Key: a.report.key, Attempt: a.call.attempt, Status: v.status, Outcome: v.outcome.String(), Class: v.className(), Err: v.err,
		Written: int(a.report.written.Load()), Input: v.usage.Input, Output: v.usage.Output, Headers: a.report.headers, Took: a.took(),
	})
}
