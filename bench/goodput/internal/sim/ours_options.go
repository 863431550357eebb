package sim

import (
	"time"
)

// Options are the knobs of the proposed stack. Default() is the one
// configuration used in every scenario; ablations switch single parts off.
type Options struct {
	// Pacer: a token bucket whose rate follows what the server accepts.
	Pace       bool
	StartRate  float64       // calls/s before anything is known; also the start burst
	SlowDouble time.Duration // doubling time of the start phase, while calls wait
	Beta       float64       // after a rejection: rate = Beta x measured accept rate
	Hold       time.Duration // no growth for this long after a rejection
	Grow       float64       // then this share per second,
	GrowDouble time.Duration // itself doubling every so often,
	GrowMax    float64       // up to this share per second
	BurstSec   float64       // bucket depth in seconds of rate
	WinMin     time.Duration // accept rate: at least this window,
	WinMax     time.Duration // at most this one,
	WinSamples int           // enough attempts in it
	Implicit   bool          // an attempt not rejected within ~2 rejection round trips counts as accepted
	AIMD       bool          // ablation: blunt halving per rejection + additive growth instead of the above
	TolFail    float64       // share of attempts answered 503 or 529 that does not cut the rate
	NonCong    bool          // detect rejections that do not depend on the rate and ignore them
	FailCong   bool          // 503 and 529 steer the pacer too (until they prove not to depend on the rate)
	Cap        bool          // on rejections also cap the attempts in flight at the number that was accepted

	// Gate: everything is being rejected -> everybody waits, one probe goes first.
	Gate       bool
	GateOn429  bool // ablation: any 429 with Retry-After closes the gate for everybody
	GateMin    int  // attempts in a row that must have failed
	ProbeMin   time.Duration
	ProbeMax   time.Duration
	ProbeMult  float64
	RampFrac   float64       // after an outage resume at this share of the old rate
	RampDouble time.Duration // and double in this time, until something is rejected

	// Retries
	MaxAttempts  int
	BaseThrottle time.Duration // full jitter base after 429 without Retry-After
	BaseFail     time.Duration // full jitter base after other failures
	MaxDelay     time.Duration
	RAJitter     float64 // Retry-After is stretched by up to this share
	IgnoreRA     bool    // ablation
	BudgetRatio  float64 // retries of failures (not of 429) per success; 0 = no budget
	BudgetCap    float64

	// Queue
	Order         string        // "fresh" (fresh calls first, then oldest), "fifo", "lifo"
	Fresh         time.Duration // a call is fresh this long
	FIFOWait      time.Duration // "fresh" is plain FIFO while the whole queue can be served in this time
	DeadlineAware bool          // do not send what cannot finish in time; do not sleep past the deadline
	Shed          bool          // fail the oldest when the queue cannot be served in time

	// Concurrency limit on top (optional): latency gradient of the first byte
	Conc bool
}

// Default is the tuned default configuration.
func Default() Options {
	return Options{
		Pace: true, StartRate: 20, SlowDouble: 250 * time.Millisecond,
		Beta: 0.95, Hold: time.Second, Grow: 0.01, GrowDouble: 2 * time.Second, GrowMax: 0.5, BurstSec: 0.1,
		WinMin: time.Second, WinMax: 5 * time.Second, WinSamples: 30, Implicit: true, NonCong: true, FailCong: true, TolFail: 0.1, Cap: true,
		Gate: true, GateMin: 5, ProbeMin: 500 * time.Millisecond, ProbeMax: 2 * time.Second, ProbeMult: 1.5, RampFrac: 0.25, RampDouble: 500 * time.Millisecond,
		MaxAttempts: 10, BaseThrottle: 250 * time.Millisecond, BaseFail: 500 * time.Millisecond, MaxDelay: 30 * time.Second, RAJitter: 0.25,
		BudgetRatio: 0.5, BudgetCap: 50,
		Order: "fresh", Fresh: 2 * time.Second, FIFOWait: 10 * time.Second, DeadlineAware: true, Shed: true,
		Conc: true,
	}
}
