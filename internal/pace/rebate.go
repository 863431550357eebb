package pace

// rebate is what a cut gives back of the turn that the refused attempt has used up. If the
// rate was about right that attempt came only a little too early, and to refuse it cost
// the provider less than an answer. So the next one need not wait for a whole turn, which
// would be much of what may be sent where that is little.
type rebate struct {
	part float64 // of a turn
	next uint64  // the attempt that goes earlier for it
}

const (
	rebateMost = 0.5      // of a turn is given back at most
	rebateStep = 1.0 / 64 // more of it at each cut, up to that
)

// give returns the part of a turn by which the attempt with the number next may go
// earlier.
func (r *rebate) give(next uint64) float64 {
	r.part, r.next = min(rebateMost, r.part+rebateStep), next
	return r.part
}

// refused takes the refusal of a, and halves what is given if a had gone earlier for it.
func (r *rebate) refused(a *Pass) {
	if a.seq == r.next {
		r.part /= 2
	}
}
