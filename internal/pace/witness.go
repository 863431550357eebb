package pace

import "time"

// witness is an attempt that is watched until it is clear that it was accepted.
type witness struct {
	Pass
	gone int // of those that were out when it was sent, how many left before it arrived
}

// witnesses are the attempts of which each, once it is clear that it was accepted,
// shows how many the provider serves at a time.
type witnesses struct {
	list [8]witness // a place is free if its seq is 0
	n    int        // places taken
}

// add watches a if a place is free.
func (ws *witnesses) add(a *Pass) {
	for i := range ws.list {
		if w := &ws.list[i]; w.seq == 0 {
			*w = witness{Pass: *a}
			ws.n++
			return
		}
	}
}

// drop frees the place of w.
func (ws *witnesses) drop(w *witness) {
	*w = witness{}
	ws.n--
}

// settled takes note that a is over: it is no witness if it was refused, and it had
// left before those arrived that were sent less than trip seconds ago.
func (ws *witnesses) settled(now instant, a *Pass, accepted bool, trip float64) {
	if ws.n == 0 {
		return
	}
	for i := range ws.list {
		switch w := &ws.list[i]; {
		case w.seq > a.seq && now.Sub(w.at).Seconds() <= trip:
			w.gone++
		case w.seq == a.seq && !accepted:
			ws.drop(w)
		}
	}
}

// strikes are refusals in a row with fewer served than there are slots. Enough of them
// say that there are fewer slots now.
type strikes struct {
	n      int
	from   uint64  // the first of them,
	latest instant // when the latest that counts was sent,
	fewest int     // and the fewest that were served at the time of one
}

const strikesOut = 3 // two may be answers that nobody waits for any more, and so take a slot unseen

// add takes the refusal of a and reports whether there are enough. It counts if it was
// sent later than apart after the one before.
func (k *strikes) add(a *Pass, served int, apart time.Duration) bool {
	switch {
	case k.n == 0:
		*k = strikes{n: 1, from: a.seq, latest: a.at, fewest: served}
	case a.at.Sub(k.latest) > apart:
		k.n++
		k.fewest, k.latest = min(k.fewest, served), a.at
	}
	return k.n >= strikesOut
}
