package pace

import "math"

type slowness struct{}

func (s *slowness) max() float64 { return math.Inf(1) }
