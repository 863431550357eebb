package pace

// rebate is the part of a turn that is given back at the cut of a rate that was about
// right. What was refused came a little too early, and cost the provider nothing, or less
// than an answer does: the next may come before a whole turn is over. Where few are sent
// that turn would be a good part of what there is.
type rebate struct {
	part float64
	next uint64 // the attempt that goes earlier for it
}

const (
	rebateMost = 0.5      // of a turn
	rebateStep = 1.0 / 64 // by which the part grows again from cut to cut
)

// give returns the part of a turn by which the next attempt goes earlier.
func (r *rebate) give(next uint64) float64 {
	r.part, r.next = min(rebateMost, r.part+rebateStep), next
	return r.part
}

// refused takes the refusal of a. It halves what is given if it was for that.
func (r *rebate) refused(a *Pass) {
	if a.seq == r.next {
		r.part /= 2
	}
}
