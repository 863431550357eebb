package steady

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"

	"github.com/steadyhttp/steady/internal/pace"
)

// breaker is the breaker of one key: gobreaker's state machine, and around it
// what gobreaker leaves to its users.
//
// Nothing is counted in gobreaker while an attempt is under way: in the closed
// state an attempt is admitted by looking at the state and counted when it has
// ended. gobreaker's own way, a slot at the start, would lose the results of
// attempts that take longer than the window, which are those that hang
// (gobreaker v2.4.0, counter.go, onFailure).
type breaker struct {
	key string
	all *breakerTransport
	cb  *gobreaker.TwoStepCircuitBreaker[struct{}]

	known  atomic.Uint32          // failures so far. Written with mu held
	closed atomic.Pointer[period] // the period, while the state is closed; else nil. Written with mu held

	mu      sync.Mutex // guards the rest; taken before gobreaker's lock
	state   gobreaker.State
	period  *period
	inARow  int // failures since the last success
	over    overload
	opened  time.Time // when it last opened
	probe   *probe    // the one that holds gobreaker's half-open slot
	changes []BreakerChanged

	before       results // what counted for chance when it last opened from closed,
	failedProbes int     // since then
	vain         bool    // opening for the ratio has not helped
}

// gobreaker judges errors, so an outcome is said as one.
var (
	errFailure = errors.New("failure")
	errNeutral = errors.New("neutral")
)

// permit is the breaker's word that one attempt may go, whatever it says to others
// by then. It is to be settled once.
type permit struct {
	in    *period // nil for no permit
	probe *probe  // nil but for a probe
	known uint32  // failures that were known when it was given
	nth   uint32  // its number in the period; 0 if nothing had failed in it
}

// probeFor is how long a probe may go without a verdict before another may go.
const probeFor = 10 * time.Second

// probe is an attempt that is to show whether the provider is back.
type probe struct {
	in    *period
	done  func(error) // frees gobreaker's slot; nil once called
	timer *time.Timer // frees it when the probe is lost
}

func newBreaker(key string, all *breakerTransport) *breaker {
	b := &breaker{key: key, all: all}
	b.cb = gobreaker.NewTwoStepCircuitBreaker[struct{}](settings(b))
	b.begin(gobreaker.StateClosed)
	return b
}

// begin begins a period, and carries over what counts for chance if the breaker closes
// after an opening for no outage. b.mu must be held, unless b is new.
func (b *breaker) begin(state gobreaker.State) {
	last := b.period
	b.period = &period{b: b, began: time.Now(), bucket: b.all.cfg.bucket()}
	switch {
	case state == gobreaker.StateClosed:
		if b.failedProbes < pace.OutageProbes {
			b.period.carried = b.before
		}
		b.closed.Store(b.period)
	case b.state == gobreaker.StateClosed:
		b.before, b.failedProbes = last.troubled(), 0
		b.closed.Store(nil)
	case state == gobreaker.StateOpen:
		b.failedProbes++
	}
	b.state = state
	b.inARow, b.over.run = 0, 0
}

// settings returns what gobreaker is told for b.
func settings(b *breaker) gobreaker.Settings {
	c := &b.all.cfg
	return gobreaker.Settings{
		MaxRequests: 1,
		// BucketPeriod divides the window so that old results leave one by one.
		Interval:     windowBuckets * c.bucket(),
		BucketPeriod: c.bucket(),
		// gobreaker lets a probe go after its timeout, not at it.
		Timeout:       c.openFor - 1,
		ReadyToTrip:   func(n gobreaker.Counts) bool { return b.trips(int(n.TotalFailures)) },
		OnStateChange: b.changed,
		IsExcluded:    func(err error) bool { return errors.Is(err, errNeutral) },
	}
}

// allow admits an attempt or reports false. A caller that gets a probe must call
// tellChanges once it holds no lock.
func (b *breaker) allow() (permit, bool) {
	if in := b.closed.Load(); in != nil {
		return permit{in: in, known: b.known.Load(), nth: in.next()}, true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.state == gobreaker.StateClosed { // since a moment ago
		return permit{in: b.period, known: b.known.Load(), nth: b.period.next()}, true
	}
	done, err := b.cb.Allow()
	if err != nil {
		return permit{}, false
	}
	p := &probe{in: b.period, done: done}
	b.probe = p
	p.timer = time.AfterFunc(probeFor, func() { b.lost(p) })
	return permit{in: p.in, probe: p}, true
}

// lost frees the slot of a probe that has had no verdict for too long, so that
// another one may go. Its own verdict, if it comes after all, still counts.
func (b *breaker) lost(p *probe) {
	b.mu.Lock()
	b.free(p, errNeutral)
	b.mu.Unlock()
	b.tellChanges()
	b.all.wake(b.key)
}

// free settles p's slot with err, once. b.mu must be held.
func (b *breaker) free(p *probe, err error) {
	if p.done == nil {
		return
	}
	done := p.done
	p.done = nil
	p.timer.Stop()
	if b.probe == p {
		b.probe = nil
	}
	done(err)
}

// settle counts how the attempt ended, and when, if that is not now.
func (p permit) settle(o outcome, at time.Time) {
	p.in.ended(p.nth)
	if o == outcomeOK && p.probe == nil && !p.in.failing.Load() {
		p.in.passed(orNow(at)) // for nothing, if the period is over
		return
	}
	b := p.in.b
	b.mu.Lock()
	before := b.period
	switch {
	case p.in != b.period:
		if p.probe != nil {
			b.free(p.probe, errNeutral)
		}
	case p.probe != nil:
		b.settleProbe(p.probe, o)
	case o == outcomeOK:
		b.over.passed(p)
		b.inARow = 0
		b.period.passed(orNow(at))
	case o == outcomeOverloaded && b.all.cfg.leavesOverload():
		b.overloaded(p)
	case o.bad():
		b.known.Add(1)
		b.inARow++
		b.period.failed(orNow(at))
		b.period.presume(p.nth)
		b.count(errFailure)
	}
	b.period.failing.Store(b.inARow > 0 || b.over.run > 0)
	wake := p.probe != nil || b.period != before
	b.mu.Unlock()
	if wake {
		defer b.all.wake(b.key) // also when an observer panics
	}
	b.tellChanges()
}

// settleProbe decides by p's outcome. When p had been given up for lost and
// another probe is out, p speaks for it. b.mu must be held.
func (b *breaker) settleProbe(p *probe, o outcome) {
	slot := p
	if p.done == nil {
		slot = b.probe
	}
	switch {
	case slot == nil && o == outcomeOK:
		b.count(nil) // in the half-open state one success closes
	case slot == nil:
	case o == outcomeOK:
		b.free(slot, nil)
	case o.bad() && slot == p:
		b.free(slot, errFailure)
	case slot == p:
		b.free(slot, errNeutral)
	}
}

// count puts one result into gobreaker. b.mu must be held.
func (b *breaker) count(err error) {
	if done, refused := b.cb.Allow(); refused == nil {
		done(err)
	}
}

// changed is gobreaker's OnStateChange. It is called with both locks held, so
// the observer hears of it later.
func (b *breaker) changed(_ string, from, to gobreaker.State) {
	b.begin(to)
	if to == gobreaker.StateOpen {
		b.opened = b.period.began
	}
	if b.all.cfg.observer != nil {
		b.changes = append(b.changes, BreakerChanged{Key: b.key, From: from.String(), To: to.String()})
	}
}

// tellChanges reports the state changes that have not been reported yet.
func (b *breaker) tellChanges() {
	if b.all.cfg.observer == nil {
		return
	}
	b.mu.Lock()
	changes := b.changes
	b.changes = nil
	b.mu.Unlock()
	for _, c := range changes {
		b.all.cfg.observer.Observe(context.Background(), c)
	}
}

// hold says whether the queue of the key must wait.
func (b *breaker) hold(now time.Time) hold {
	if b.closed.Load() != nil {
		return hold{}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	switch until := b.opened.Add(b.all.cfg.openFor); {
	case b.state == gobreaker.StateClosed:
		return hold{}
	case b.probe != nil:
		return hold{state: holdWait}
	case b.state == gobreaker.StateOpen && now.Before(until):
		return hold{state: holdWait, until: until}
	}
	return hold{state: holdProbe}
}

func (b *breaker) refusal() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := &BreakerError{Key: b.key}
	if b.state == gobreaker.StateOpen {
		e.Until = b.opened.Add(b.all.cfg.openFor)
	}
	return e
}

// stateName returns the state as it is now: an open breaker whose time is over
// is half-open, though gobreaker notices only when it is asked.
func (b *breaker) stateName() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.state == gobreaker.StateOpen && time.Since(b.opened) >= b.all.cfg.openFor {
		return gobreaker.StateHalfOpen.String()
	}
	return b.state.String()
}

// retire reports whether b may be forgotten: it is closed, or has been left open
// by callers who have not come back.
func (b *breaker) retire() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := &b.all.cfg
	return b.probe == nil && (b.state == gobreaker.StateClosed || time.Since(b.opened)-c.window > c.openFor)
}
