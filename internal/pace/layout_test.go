package pace

import (
	"testing"
	"unsafe"
)

// Of an object of over 512 bytes the allocator takes eight for itself, in front. What
// follows begins a new piece of 64 bytes if it stands eight before a multiple of that.
func TestWhatEveryAttemptChangesStandsInThreePieces(t *testing.T) {
	if unsafe.Sizeof(uintptr(0)) != 8 {
		t.Skip("the pieces are counted for 64 bits")
	}
	const piece, taken = 64, 8
	var p Pace
	begins := []struct {
		field string
		at    uintptr
	}{
		{"bucket", unsafe.Offsetof(p.bucket)},
		{"cycle", unsafe.Offsetof(p.cycle)},
		{"over", unsafe.Offsetof(p.over)},
	}
	for i, f := range begins {
		if (f.at+taken)%piece != 0 {
			t.Errorf("%s is at %d, want the beginning of a piece", f.field, f.at)
		}
		if want := begins[0].at + uintptr(i)*piece; f.at != want {
			t.Errorf("%s is at %d, want %d: the pieces follow one another", f.field, f.at, want)
		}
	}
	if got, most := unsafe.Offsetof(p.slow)+unsafe.Offsetof(p.slow.lost), begins[2].at+piece; got > most {
		t.Errorf("what is changed by every answer ends at %d, want %d at most", got, most)
	}
}
