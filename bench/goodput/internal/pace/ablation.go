package pace

// ablation takes single mechanisms out, to see what each is worth.
type ablation uint

const (
	noPace ablation = 1 << iota
	noMeasure
	noSlowStart
	noSpeedUp
	noChance
	noHold
	noRamp
	noSlots
	noSlowness
	noSilence
	noFresh
)

func (a ablation) has(x ablation) bool { return a&x != 0 }
