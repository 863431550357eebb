package steady

import "math"

// isUsual reports whether an overload answer is one of those that the pace deals
// with: it does not end a run that chance does not explain. b.mu must be held.
func (b *breaker) isUsual() bool {
	c := &b.all.cfg
	return c.paced && !c.own && (b.inARow < c.inARow || b.usual.explains(b.inARow))
}

// brownOut is the share of attempts that fail while others of the same time do
// not: of the last fifty or so, and of the last ten, which tell of its beginning.
type brownOut struct{ share, lately float64 }

// ended counts a success and the run of failures before it.
func (s *brownOut) ended(run int) {
	s.share = counted(s.share, run, 0.98)
	s.lately = counted(s.lately, run, 0.9)
}

// counted returns what a share becomes by a run of failures and a success, each of
// which leaves so much of what was known.
func counted(share float64, run int, keep float64) float64 {
	return keep * (1 - (1-share)*math.Pow(keep, float64(run)))
}

// explains reports whether a run of failures may be chance: at the share that
// fails anyway there is one like it in a million attempts.
func (s *brownOut) explains(run int) bool {
	return math.Pow(max(s.share, s.lately), float64(run)) > 1e-6
}
