package pace

import (
	"math/rand/v2"
	"testing"
)

// Two slots refuse those that find two others there. Refusals by chance come to all.
func TestACrowdTellsSlotsFromChance(t *testing.T) {
	for _, tt := range []struct {
		name        string
		alone, full float64 // share refused with fewer others there, and with two or more
		tells       bool
	}{
		{"slots", 0, 1, true},
		{"slots that answers free before we hear of it", 0, 0.7, true},
		{"slots and chance", 0.2, 0.9, true},
		{"chance", 0.4, 0.4, false},
		{"nothing refused with others there", 0.4, 0, false},
	} {
		luck := rand.New(rand.NewPCG(1, 2))
		var c crowd
		for i := range 60 {
			share := tt.alone
			a := &Pass{flying: int32(1 + i%4)}
			if a.flying > 2 {
				share = tt.full
			}
			c.add(a)
			if luck.Float64() < share {
				c.refuse(a)
			}
		}
		if got := c.tells(2); got != tt.tells {
			t.Errorf("%s: %v, want %v: %+v", tt.name, got, tt.tells, c)
		}
	}
	if (&crowd{}).tells(2) {
		t.Error("nothing sent, and it is slots")
	}
}
