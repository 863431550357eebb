package pace

import "fmt"

func (p *Pace) Debug() string {
	return fmt.Sprintf("rate %.2f t %.2f search %v hold %v down %v bet{on %v trial %v chance %.2f low %v/%v} slots on %v max %v slow cap %v flying %d seq %d held %d saying %.3f\n", p.rate.value(), p.rate.t, p.rate.searching, p.hold.on, p.down, p.bet.on, p.bet.trial, p.chance(), p.bet.lowRefused, p.bet.lowSent, p.slots.on, p.slots.max(), p.slow.cap, p.InFlight(), p.seq, p.held, p.saying)
}
