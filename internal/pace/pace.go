// Package pace finds out how fast a provider lets us call it.
package pace

import "time"

// Outcome is what became of an attempt, as far as the pace cares.
type Outcome int8

const (
	OK          Outcome = iota // answered
	Rejected                   // 429: the provider says that we send too much
	Overloaded                 // 529: it may be our doing or not
	Unavailable                // 503: the same, and another matter with a provider that says both
	Failed                     // 5xx or a connection reset: not a matter of speed, unless nothing passes
	Unknown                    // sent, and no answer until the attempt's time was up
	Declined                   // answered, but not done for a reason of its own
	Cancelled                  // the caller left: says nothing
)

// overloaded reports whether the provider says that it has too much to do.
func (o Outcome) overloaded() bool { return o == Overloaded || o == Unavailable }

// cause names what held a call back just before it was sent.
type cause int8

const (
	byNothing cause = iota
	byRate
	bySlots
	byHold
)

// Pass is the receipt of an attempt that was sent. Its owner hands it back when the
// attempt's headers come and when it is over.
type Pass struct {
	at     instant
	seq    uint64
	flying int32   // in flight when it was sent, itself included
	heldBy cause   // what had held it back until then
	probe  bool    // sent while the queue was held
	low    bool    // sent below the place where the limit was found
	heard  bool    // its headers have come
	tokens float64 // that all attempts up to it were taken to cost
}

// Config is what a pace knows beforehand.
type Config struct {
	Start     float64        // attempts per second, before anything is known
	Burst     int            // so many may go at once until a limit is known; at least 1
	Ceiling   float64        // never faster than this; 0 = no ceiling
	MaxFlight int            // never more at once than this; 0 = no ceiling
	Breaker   bool           // Down is told of outages, so that only rejections are held for
	Pool      *Pool          // says how fast and how many instead of what is learned; nil = learn
	Random    func() float64 // from 0 to 1, for the spacing of probes
	Without   Ablation       // mechanisms to leave out, to measure what they are worth
}

// Pace decides when the next attempt to a provider may go. It has no lock, no clock
// and no goroutine: its owner serializes the calls and passes the time.
//
// There are two limits, of attempts per second and of attempts in flight. Each is
// found by running into it: what the provider accepted is where it lies, and from
// there it grows again ever faster, while calls wait for it.
type Pace struct {
	cfg     Config
	rate    limit   // attempts per second
	refused uint64  // attempts that were not accepted
	fastest float64 // the rate at which the latest run of refusals began

	// What every attempt changes stands together, down to the first two fields of slow:
	// what two processors write in turn goes from one to the other by the piece of 64
	// bytes, and that takes most of the time that a pace costs. It fills three pieces,
	// of which the first two are what changes when an attempt is sent.
	bucket   bucket
	accepted tally   // attempts that were sent and not refused
	lastSent instant // the latest attempt

	cycle      cycle   // between two times at which the provider had nothing left
	seq        uint64  // attempts sent
	silentFrom instant // the first attempt since anything was heard, or nothing was out
	unheard    int32   // attempts out whose answers have not begun
	heldBy     cause   // what held the head of the queue back last
	down       bool    // see Down

	over              uint64 // attempts that are over
	firstByte, answer estimate
	tokens            float64  // that the attempts so far were taken to cost
	slow              slowness // attempts in flight, if first bytes tell of one

	slots  slots       // attempts in flight, if refusals tell of a limit
	hold   hold        // nothing passes
	bet    bet         // what the refusals of late are about
	luck   [kinds]luck // by kind of refusal
	says   kind        // the refusals that the latest cut was for: the limit is told by them
	window window      // between two holds
	rebate rebate      // of a turn, at a cut
	recent history     // of refusals, of all kinds
	rushed bool        // the latest run of them began with an attempt that had waited for the rate
	met    instant     // when an attempt was refused last; 0 if none was
	waits  int         // attempts that had to wait for the rate
	barren barren      // since when nothing has passed
	later  instant     // since when, at least, an attempt is out that was sent after the latest refused one; 0 if none is

	epoch     time.Time // when it was first told the time
	changed   change    // of the rate, the latest
	slowed    slowed    // by the verdict of a trial
	heldSince instant   // when the head of the queue began to wait
	saying    float64   // seconds that the provider takes to say no, smoothed
	quotas    quotas    // what the provider says is left
}

// New returns a pace that knows no more than cfg.
func New(cfg Config) *Pace {
	p := &Pace{cfg: cfg, saying: 0.1, rebate: rebate{part: rebateMost}}
	p.rate = limit{base: cfg.Start, searching: true}
	if cfg.Without.has(NoSlowStart) {
		p.rate.base = 1e6
	}
	p.bucket = newBucket(cfg.Start, max(1, cfg.Burst))
	if cfg.Pool != nil {
		p.bucket = newBucket(float64(cfg.Pool.PerSecond()), cfg.Pool.Capacity())
	}
	p.slots.reset()
	return p
}

// InFlight is how many attempts are out.
func (p *Pace) InFlight() int { return int(p.seq - p.over) }

// Ready reports whether the head of the queue may go now, and else how long it is
// until it is worth asking again; 0 means when an attempt is over.
func (p *Pace) Ready(now time.Time) (bool, time.Duration) { return p.ready(p.at(now)) }

func (p *Pace) ready(now instant) (bool, time.Duration) {
	p.watch(now)
	if p.hold.on {
		return p.probeReady(now)
	}
	if float64(p.InFlight()) >= p.maxFlight() {
		p.slow.full = true
		p.heldBack(now, bySlots)
		return false, 0
	}
	if wait := max(p.slots.shut.Sub(now), p.knockWait(now)); wait > 0 {
		p.heldBack(now, bySlots)
		return false, wait
	}
	if p.cfg.Without.has(NoPace) {
		return true, 0
	}
	if wait := p.quotas.requests.wait(now, 1); wait > 0 {
		return false, wait
	}
	if p.free() {
		return true, 0
	}
	if p.hold.ramped {
		p.apply(now)
	}
	if tokens := p.bucket.level(now); tokens < 1 {
		p.heldBack(now, byRate)
		wait := time.Duration((1 - tokens) / p.bucket.perSecond * 1e9)
		return false, max(wait, 100*time.Microsecond)
	}
	return true, 0
}

// heldBack notes what the head of the queue waits for, and since when.
func (p *Pace) heldBack(now instant, c cause) {
	if p.heldBy == byNothing {
		p.heldSince = now
	}
	p.heldBy = c
}

// Sent takes note that an attempt goes out now, after ready allowed it.
func (p *Pace) Sent(now time.Time) Pass { return p.sent(p.at(now)) }

func (p *Pace) sent(now instant) Pass {
	p.grow(now)
	p.seq++
	a := Pass{at: now, seq: p.seq, flying: int32(p.InFlight()), heldBy: p.heldBy, probe: p.hold.on, low: p.low(now)}
	if a.low {
		p.sentLow(now)
	}
	p.heldBy = byNothing
	p.cycle.note(&a)
	p.lastSent = now
	if p.later == 0 {
		p.later = now
	}
	if p.silentFrom.IsZero() || p.unheard == 0 {
		p.silentFrom = now
	}
	p.unheard++
	if a.probe {
		p.hold.probe = a
	} else {
		p.bucket.take(now, 1)
	}
	p.quotas.requests.take(now, 1)
	p.slots.watch(&a)
	return a
}

// settle is how long an attempt must be out before silence means that it was accepted.
func (p *Pace) settle() time.Duration {
	return time.Duration(min(5, max(0.05, 2*p.saying))*1e9) + 10*time.Millisecond
}

// perSecond is the rate now.
func (p *Pace) perSecond(now instant) float64 {
	r := p.learned() * p.hold.ramp(now)
	if p.cfg.Ceiling > 0 {
		r = min(r, p.cfg.Ceiling)
	}
	return max(r, slowest)
}

// Speed is how many attempts per second can be expected to be served.
func (p *Pace) Speed() float64 {
	r := p.learned()
	if p.bet.trial.on { // it will be over soon
		r = max(r, p.bet.rate)
	}
	if p.window.known(p.lastSent) {
		r = min(r, p.window.rate)
	}
	if n := p.maxFlight(); p.answer.mean > 0 {
		r = min(r, n/p.answer.mean)
	}
	return max(r, slowest)
}

// Answer is how long an answer takes, with a margin; 0 while none is known.
func (p *Pace) Answer() time.Duration {
	return time.Duration((p.answer.mean + p.answer.dev) * 1e9)
}

// LongAnswer is longer than nearly every answer takes; 0 while none is known.
func (p *Pace) LongAnswer() time.Duration {
	return time.Duration((p.answer.mean + 3*p.answer.dev) * 1e9)
}

// Earliest is the time before which nothing goes out.
func (p *Pace) Earliest(now time.Time) time.Time {
	if h := &p.hold; h.on && h.probe.seq == 0 {
		return now.Add(max(0, h.until.Sub(p.at(now))))
	}
	return now
}

// Room is how many calls may wait: more than this will not be served until latest.
func (p *Pace) Room(now, latest time.Time) float64 {
	if p.cfg.Pool == nil && p.rate.searching || latest.IsZero() {
		return maxWaiting
	}
	speed := p.Speed()
	if p.bet.on { // its cuts may be undone
		speed = max(speed, p.bet.rate)
	}
	return min(maxWaiting, max(64, 1.5*speed*latest.Sub(now).Seconds())) // it may grow, too
}

const maxWaiting = 1 << 20

func (p *Pace) maxFlight() float64 {
	n := min(p.slots.max(), p.slow.max())
	if p.cfg.Pool != nil {
		n = float64(p.cfg.Pool.Capacity())
	}
	if p.cfg.MaxFlight > 0 {
		n = min(n, float64(p.cfg.MaxFlight))
	}
	return max(1, n) // or nothing would ever be learned again
}

// apply hands the rate of this moment to the token bucket, which holds a tenth of a second.
func (p *Pace) apply(now instant) {
	r := p.perSecond(now)
	burst := max(1, int(r/10))
	if p.rate.searching {
		burst = max(burst, p.cfg.Burst)
	}
	if p.cfg.Pool != nil {
		burst = p.cfg.Pool.Capacity()
	}
	p.bucket.set(now, r, burst)
}
