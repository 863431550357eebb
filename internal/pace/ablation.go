package pace

// Ablation takes a single mechanism out, to see what it is worth.
type Ablation uint

// The mechanisms that can be taken out.
const (
	NoPace      Ablation = 1 << iota // no rate but what a hold and the slots leave
	NoMeasure                        // a cut halves the rate, whatever was accepted
	NoSlowStart                      // the first attempts go at any rate
	NoSpeedUp                        // beyond the limit that was found the rate grows at an even speed
	NoChance                         // no trial: every refusal is for the rate or the slots
	NoHold                           // not for a run of refusals
	NoRamp                           // after a hold the whole rate at once
	NoSlots                          // no cap by refusals
	NoSlowness                       // no cap by first bytes
	NoSilence                        // no hold when nothing is heard
	NoFresh                          // for the owner of the queue: no fresh calls first
	NoWindow                         // no holds until the end of a window
)

func (a Ablation) has(x Ablation) bool { return a&x != 0 }
