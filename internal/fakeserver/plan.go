package fakeserver

import (
	"net/http"
	"strconv"
	"time"
)

// An Ending is how the server ends an answer, or the connection instead of one.
type Ending int

const (
	Clean   Ending = iota // the end of a whole HTTP message
	FIN                   // the connection is closed; on HTTP/2 the stream is reset
	Reset                 // the connection is reset; on HTTP/2 the stream is reset
	Stalled               // nothing more comes until the client leaves
)

// String returns the name that the log prints.
func (e Ending) String() string {
	return [...]string{"clean", "FIN", "reset", "stalled"}[e]
}

// A plan is all that a door needs in order to answer one request.
type plan struct {
	unread   bool          // act before the request body has been read
	drain    drain         // after an early answer
	wait     time.Duration // before the headers, or before the failure in their place
	noAnswer bool          // end without a response
	status   int
	header   http.Header
	length   int64 // the Content-Length, or -1
	steps    []step
	end      Ending
	keep     keepAlive // goes on during a stall
	billed   bool
}

// A step is a piece of the body and the time to wait before it.
type step struct {
	delay time.Duration
	data  []byte
}

// A drain says what becomes of the request body after an answer that came before it was read: chunk bytes are read
// in each pause; none if chunk is 0, and the connection is cut.
type drain struct {
	chunk int
	pause time.Duration
}

type keepAlive struct {
	every time.Duration
	data  []byte
}

// plan turns the wishes of the effects into a plan. It is pure: it takes no time and touches no counter.
func (x *Exchange) plan() plan {
	w := &x.want
	p := plan{
		unread: w.unread, drain: w.drain, noAnswer: w.noAnswer, end: w.end, wait: w.latency.v,
		status: w.status, header: http.Header{}, length: -1,
	}
	if p.status == 0 {
		p.status = x.ownStatus()
	}
	p.billed = x.kind == generate && !p.unread && !x.bad && (p.noAnswer || p.status == http.StatusOK || w.billed)
	if p.noAnswer {
		return p
	}
	events := x.events(p.status, p.header)
	p.header.Set("Date", x.at.Add(p.wait).UTC().Format(http.TimeFormat))
	if x.d != nil {
		x.d.identify(p.header, x.N)
	}
	x.pace(&p, events)
	for name, values := range w.header {
		p.header[name] = values
	}
	return p
}

// ownStatus is the status of a request that no effect settled.
func (x *Exchange) ownStatus() int {
	switch {
	case x.kind == unknownPath:
		return http.StatusNotFound
	case x.bad:
		return http.StatusBadRequest
	}
	return http.StatusOK
}

// events returns the body of the answer, one element for each server-sent event, and sets its content type.
func (x *Exchange) events(status int, h http.Header) []event {
	w := &x.want
	h.Set("Content-Type", "application/json")
	switch {
	case w.replaced:
		h.Del("Content-Type")
		if w.contentType != "" {
			h.Set("Content-Type", w.contentType)
		}
		return []event{{data: w.body}}
	case status == http.StatusNoContent || status == http.StatusNotModified:
		h.Del("Content-Type")
		return nil
	case status != http.StatusOK:
		return []event{{data: x.dialect().fault(x.problem(status))}}
	case x.kind == listModels:
		return []event{{data: models(x.s.start)}}
	case x.kind == countTokens:
		return []event{{data: []byte(`{"input_tokens":` + strconv.Itoa(inputTokens(x.body)) + `}`)}}
	case !x.ask.Stream:
		return []event{{data: x.dialect().whole(x.generation())}}
	}
	h.Set("Content-Type", x.dialect().mediaType())
	h.Set("Cache-Control", "no-cache")
	events := x.dialect().stream(x.generation())
	if w.frame != nil {
		n := min(w.frameAfter, len(events))
		events = append(events[:n:n], event{data: x.dialect().frame(*w.frame)})
	}
	return events
}

func (x *Exchange) generation() generation {
	return generation{
		n: x.N, model: x.ask.Model, Answer: x.s.Answer(x.body),
		withUsage: x.ask.StreamOptions.IncludeUsage, created: x.s.start.Unix(),
	}
}

// dialect returns the dialect of the request's path, and OpenAI's for paths of nobody.
func (x *Exchange) dialect() dialect {
	if x.d == nil {
		return openAI{}
	}
	return x.d
}

// pace lays the body out in time, cuts it where the wishes say so, and puts keep-alives into the gaps.
func (x *Exchange) pace(p *plan, events []event) {
	w := &x.want
	answered := p.status == http.StatusOK && x.kind == generate
	streamed := w.streamed || x.ask.Stream && answered && !w.replaced
	switch {
	case w.streamed, w.pieceSize > 0:
		p.steps = w.recorded()
	case streamed:
		p.steps = timed(events, w.first.v, w.generation.v)
	default:
		p.steps = timed(events, 0, 0)
		if answered {
			x.paceWhole(p)
		}
	}
	if !streamed {
		p.length = int64(length(events))
	}
	if w.cut != nil {
		at := w.cut(events)
		p.steps = cut(p.steps, at)
		if p.end == Clean && p.length >= 0 {
			p.length = min(int64(at), p.length)
		}
	}
	if k := w.keep.v; k.every > 0 && p.status == http.StatusOK && (streamed || !w.replaced) {
		x.keepAlive(p, k, streamed)
	}
}

// keepAlive fills the waits of the body.
func (x *Exchange) keepAlive(p *plan, k keepAlive, streamed bool) {
	if k.data == nil {
		k.data = x.dialect().keepAlive()
	}
	if !streamed {
		k.data = []byte("\n")
	}
	p.keep, p.length = k, -1
	p.steps = withKeepAlives(p.steps, k)
}

// paceWhole gives an answer that is not a stream its generation time: before the headers, as most hosts do, or after
// them if keep-alives have to be seen.
func (x *Exchange) paceWhole(p *plan) {
	generation := x.want.first.v + x.want.generation.v
	if x.want.keep.v.every > 0 && len(p.steps) > 0 {
		p.steps[0].delay = generation
		return
	}
	p.wait += generation
}

// timed puts first before the first event and spreads generation evenly over the others.
func timed(events []event, first, generation time.Duration) []step {
	steps := make([]step, len(events))
	gaps := time.Duration(len(events) - 1)
	for i, e := range events {
		steps[i] = step{first, e.data}
		if n := time.Duration(i); i > 0 {
			steps[i].delay = generation*n/gaps - generation*(n-1)/gaps
		}
	}
	return steps
}

// cut drops everything from byte at on.
func cut(steps []step, at int) []step {
	for i := range steps {
		if at <= len(steps[i].data) {
			if at == 0 {
				return steps[:i]
			}
			steps[i].data = steps[i].data[:at]
			return steps[:i+1]
		}
		at -= len(steps[i].data)
	}
	return steps
}

// withKeepAlives fills every wait that is longer than the interval.
func withKeepAlives(steps []step, k keepAlive) []step {
	var filled []step
	for _, st := range steps {
		for st.delay > k.every {
			filled = append(filled, step{k.every, k.data})
			st.delay -= k.every
		}
		filled = append(filled, st)
	}
	return filled
}
