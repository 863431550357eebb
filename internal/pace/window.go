package pace

import "time"

// window is what holds for rejections tell of a limit on the attempts in a window of
// time. Whenever its count is used up everything is refused until the next window, so
// that from one such hold to the next exactly one count, or several, were accepted.
type window struct {
	from     instant // when the count was last used up,
	accepted float64 // and how many attempts had been accepted by then
	rate     float64 // accepted per second, holds included
	until    instant // later than this the rate means nothing
}

// windowCount is the least count of a window: two holds with less accepted between them
// are no two windows.
const windowCount = 4

func (w *window) known(now instant) bool { return w.rate > 0 && now.Before(w.until) }

func (w *window) usedUp(now instant, accepted float64) {
	span := now.Sub(w.from)
	w.rate = 0
	if !w.from.IsZero() && span < 2*time.Minute && accepted-w.accepted >= windowCount {
		w.rate = (accepted - w.accepted) / span.Seconds()
		w.until = now.Add(2 * span)
	}
	w.from, w.accepted = now, accepted
}
