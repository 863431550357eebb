package sim

import (
	"math"
	"sort"
	"time"
)

func (s *Stack) push(w *waiter) {
	i := len(s.queue)
	if i > 0 && s.queue[i-1].arrival.After(w.arrival) {
		i = sort.Search(i, func(k int) bool { return s.queue[k].arrival.After(w.arrival) })
	}
	s.queue = append(s.queue, nil)
	copy(s.queue[i+1:], s.queue[i:])
	s.queue[i] = w
	s.live++
}

func (s *Stack) remove(i int) {
	switch i {
	case 0:
		s.queue[0] = nil
		s.queue = s.queue[1:]
	case len(s.queue) - 1:
		s.queue = s.queue[:i]
	default:
		copy(s.queue[i:], s.queue[i+1:])
		s.queue = s.queue[:len(s.queue)-1]
	}
}

func (s *Stack) finish(w *waiter, a *attempt) {
	w.done = true
	s.live--
	w.grant <- a
}

// next picks who goes next: index into the queue, or -1.
func (s *Stack) pick(now time.Time) int {
	for len(s.queue) > 0 && s.queue[0].done {
		s.remove(0)
	}
	n := len(s.queue)
	if n == 0 {
		return -1
	}
	i := 0
	switch s.o.Order {
	case "lifo":
		i = n - 1
	case "fresh":
		if now.Sub(s.queue[0].arrival) > s.o.Fresh && float64(s.live) > s.rate*s.o.FIFOWait.Seconds() {
			cut := now.Add(-s.o.Fresh)
			i = sort.Search(n, func(k int) bool { return !s.queue[k].arrival.Before(cut) })
			for i < n && s.queue[i].done {
				i++
			}
			if i == n {
				i = 0
			}
		}
	}
	for i > 0 && s.queue[i].done {
		i--
	}
	return i
}

// shed fails the oldest calls when more are waiting than can be served before the
// latest deadline among them.
func (s *Stack) shed(now time.Time, w *waiter) {
	if w.deadline.After(s.latest) {
		s.latest = w.deadline
	}
	if !s.o.Shed || !s.known || w.deadline.IsZero() {
		return
	}
	room := math.Max(64, math.Max(s.rate, s.before)*s.latest.Sub(now).Seconds())
	for float64(s.live) > room {
		w := s.queue[0]
		s.remove(0)
		if !w.done {
			s.Shed_++
			s.finish(w, nil)
		}
	}
}
