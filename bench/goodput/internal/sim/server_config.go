package sim

import "time"

// RAMode says how a rejection tells the client when to come back.
type RAMode int

const (
	RANone    RAMode = iota
	RASeconds        // Retry-After: whole seconds, rounded up (at least 1)
	RAMillis         // retry-after-ms exact, plus Retry-After rounded up
	RADate           // Retry-After: HTTP-date, rounded up to a whole second
)

// Fault is a window in which a share P of the attempts fails.
type Fault struct {
	From, To time.Duration
	P        float64
	Status   int // 503, 529, 429; 0 = connection reset, Hang = no answer at all
	RA       RAMode
}

// Hang is the status of a fault in which attempts are taken and never answered.
const Hang = -1

// ServerConfig describes the modelled provider. Zero values switch a part off.
type ServerConfig struct {
	Seed       uint64
	NetRTT     time.Duration // both ways together
	RejectProc time.Duration // server time to say no

	TTFBMedian time.Duration // lognormal
	TTFBSigma  float64
	GenMean    time.Duration // lognormal; tokens = TokensMean scaled the same way
	GenSigma   float64
	TokensMean float64

	RPS        float64 // token bucket, continuous replenishment
	Burst      float64
	RejectCost float64 // tokens a rejected attempt consumes ("failed requests count")
	Debt       float64 // how far below zero that may push the bucket
	RateStatus int     // status of a rate rejection (default 429)

	WindowLimit int // fixed window
	Window      time.Duration

	Slots      int // concurrency limit
	SlotStatus int // status of a slot rejection (429, 503, 529)
	Knee       int // service time x max(1, (inflight/Knee)^Thrash)
	Thrash     float64

	RetryAfter RAMode
	Share      func(t time.Duration) float64 // our share of a pool used by others too
	Faults     []Fault
	StallP     float64       // share of accepted attempts that stall
	Stall      time.Duration // for this long before the first byte
}
