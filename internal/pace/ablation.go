package pace

// Ablation takes a single mechanism out, to see what it is worth.
type Ablation uint

// The mechanisms that can be taken out.
const (
	NoPace Ablation = 1 << iota
	NoMeasure
	NoSlowStart
	NoSpeedUp
	NoChance
	NoHold
	NoRamp
	NoSlots
	NoSlowness
	NoSilence
	NoFresh
	NoWindow
)

func (a Ablation) has(x Ablation) bool { return a&x != 0 }
