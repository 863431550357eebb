package fakeserver

import "context"

// A sink is where a door takes the bytes of a body.
type sink interface {
	// send passes bytes on at once. It fails when nobody is there to take them.
	send([]byte) error
}

// play sends the body of a plan in its time and returns how it ended. Left is true when the client went away, or the
// server closed, before that. An exchange that ends well is finished just before its last bytes go out: a client that
// has them finds its place free and the counters settled.
func (s *Server) play(ctx context.Context, x *Exchange, p plan, to sink) (end Ending, left bool) {
	for i, st := range p.steps {
		if !s.wait(ctx, st.delay) {
			return p.end, true
		}
		if i == len(p.steps)-1 && p.end == Clean && !p.unread {
			x.finish(Clean)
		}
		if to.send(st.data) != nil {
			return p.end, true
		}
	}
	if p.end != Stalled {
		return p.end, false
	}
	if p.keep.every <= 0 {
		s.hang(ctx)
		return Stalled, true
	}
	for s.wait(ctx, p.keep.every) && to.send(p.keep.data) == nil {
	}
	return Stalled, true
}

// instant reports whether the body needs no time.
func (p plan) instant() bool {
	for _, st := range p.steps {
		if st.delay > 0 {
			return false
		}
	}
	return p.end != Stalled
}
