package pace

import (
	"testing"
	"time"
)

// What slows a provider down may be none of ours, and what is of ours ends. Neither may
// leave a cap behind that keeps calls for hours.
func TestSlownessLeavesNoCapBehind(t *testing.T) {
	const demand = 40.0
	for _, tt := range []struct {
		name   string
		before func(r *rig)
	}{
		{"another model is slower, and few are in flight", func(r *rig) {
			r.provider = firstAfter(100*time.Millisecond, time.Second)
			r.run(5*time.Minute, 3)
			r.provider = firstAfter(400*time.Millisecond, time.Second)
			r.run(5*time.Minute, 3)
		}},
		{"it is slower by itself, and more so the more are in flight", func(r *rig) {
			r.provider = firstAfter(100*time.Millisecond, time.Second)
			r.run(3*time.Minute, 15)
			r.provider = func(_ time.Time, serving int) reply {
				return reply{OK, time.Duration(150+10*serving) * time.Millisecond, time.Second, 0}
			}
			r.run(10*time.Minute, 15)
			r.provider = firstAfter(200*time.Millisecond, time.Second)
		}},
		{"it was slow for long with many in flight", func(r *rig) {
			r.provider = firstAfter(100*time.Millisecond, 3*time.Second)
			r.run(3*time.Minute, 1)
			r.provider = func(_ time.Time, serving int) reply {
				return reply{OK, time.Duration(max(100, 40*serving)) * time.Millisecond, 3 * time.Second, 0}
			}
			r.run(10*time.Minute, demand)
			r.provider = firstAfter(100*time.Millisecond, 3*time.Second)
		}},
		{"most of what it answered was declined", func(r *rig) {
			r.provider = firstAfter(100*time.Millisecond, time.Second)
			r.run(3*time.Minute, 1)
			r.provider = func(_ time.Time, serving int) reply {
				return reply{OK, time.Duration(max(100, 20*serving)) * time.Millisecond, time.Second, 0}
			}
			r.run(time.Minute, demand)
			r.provider = func(time.Time, int) reply { return reply{Declined, 0, 100 * time.Millisecond, 0} }
			r.run(10*time.Second, demand)
			r.provider = firstAfter(100*time.Millisecond, time.Second)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(Config{}, nil)
			tt.before(r)
			r.run(4*time.Minute, demand)
			r.reset()
			r.run(time.Minute, demand)
			if got, want := len(r.sent), 55*demand; float64(got) < want {
				t.Errorf("%d attempts in the fifth minute in which all is well, want at least %v: a cap of %v", got, want, r.p.slow.cap)
			}
		})
	}
}

func firstAfter(first, after time.Duration) func(time.Time, int) reply {
	return func(time.Time, int) reply { return reply{OK, first, after, 0} }
}
