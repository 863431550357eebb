package pace

// scarcity is a run of holds for 429, each of which came at once: the probe that ended the
// one before passed, and hardly anything since. That is no outage, which lets all pass once
// it is over, but a limit of a few a minute, and the run tells it.
type scarcity struct {
	holds    int     // in the run
	from     instant // when the first of them began,
	accepted float64 // and how many attempts had been accepted by then,
	probed   float64 // and by the end of the latest, its probe included
}

const (
	scarcePass  = 2 // attempts, besides the probe, may pass between two holds of a run,
	scarceHolds = 3 // and so many holds are no accident
)

// held takes note that a hold begins when so many attempts had been accepted. It returns
// how many a second were in the run, rounded up; 0 if that does not tell a limit.
func (s *scarcity) held(now instant, accepted float64) float64 {
	if s.holds == 0 || accepted > s.probed+scarcePass {
		*s = scarcity{from: now, accepted: accepted}
	}
	if s.holds++; s.holds < scarceHolds {
		return 0
	}
	return (accepted - s.accepted + 1) / now.Sub(s.from).Seconds()
}
