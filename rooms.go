package steady

// rooms is space for what the layers of New keep of a call and its first attempt,
// so that a call costs one allocation there and not one for each layer. It lives as
// long as the call or the body of its answer, whichever is longer.
type rooms struct {
	limit   limitPass // with the call
	breaker breakerPass
	replay  replay
	attempt attempt
}

// newRooms returns the part that comes first, whose call leads to the others.
func newRooms() *limitPass {
	r := new(rooms)
	r.limit.own.rooms = r
	return &r.limit
}

func (c *call) newBreakerPass() *breakerPass {
	if c.rooms == nil {
		return new(breakerPass)
	}
	return &c.rooms.breaker
}

func (c *call) newPermit() *permit {
	if c.rooms == nil {
		return new(permit)
	}
	return c.rooms.breaker.newPermit()
}

func (c *call) newReplay() *replay {
	if c.rooms == nil {
		return new(replay)
	}
	return &c.rooms.replay
}

func (c *call) newAttempt() *attempt {
	if c.rooms == nil {
		return new(attempt)
	}
	return &c.rooms.attempt
}
