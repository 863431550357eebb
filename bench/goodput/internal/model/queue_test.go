package model

import (
	"testing"
	"time"

	"github.com/steadyhttp/steady/internal/line"
)

func TestAQueueRefusesWhatCannotBeAnsweredInTime(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(s int) time.Time { return start.Add(time.Duration(s) * time.Second) }
	for _, tt := range []struct {
		name     string
		waiting  int
		earliest time.Time
		room     float64
		want     bool
	}{
		{"in time and room", 3, at(10), 100, false},
		{"held beyond the deadline", 3, at(59), 100, true},
		{"more than will be served", 3, at(10), 2, true},
		{"the only one gets its chance", 1, at(59), 100, false},
		{"nobody", 0, at(59), 100, false},
	} {
		var q queue
		for i := range tt.waiting {
			q.Add(&waiting{Place: line.Place{Began: at(i), Until: at(i + 60)}})
		}
		if got := q.hopeless(tt.earliest, 2*time.Second, tt.room) != nil; got != tt.want {
			t.Errorf("%s: refused %v, want %v", tt.name, got, tt.want)
		}
	}
}
