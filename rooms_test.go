package steady

import (
	"testing"
	"unsafe"
)

// The rooms are most of what the stack allocates for a call. The allocator has places of
// 768 bytes and then of 896. In each of over 512 it takes eight for itself.
func TestTheRoomsOfACallStayInTheirSizeClass(t *testing.T) {
	if got, most := unsafe.Sizeof(rooms{}), uintptr(768-8); unsafe.Sizeof(uintptr(0)) == 8 && got > most {
		t.Errorf("rooms take %d bytes, want at most %d", got, most)
	}
}

// An object of up to 512 bytes begins where its size class says, so a queue does so at a
// multiple of 64, and its first 64 bytes go from one processor to the other as one piece.
func TestWhatEveryAttemptChangesOfAQueueIsOnePiece(t *testing.T) {
	const piece = 64
	var q queue
	if got := unsafe.Offsetof(q.ramp) + unsafe.Offsetof(q.ramp.former); got > piece {
		t.Errorf("the count of the calls of a second ends at %d, want %d at most", got, piece)
	}
	if got := unsafe.Sizeof(q); unsafe.Sizeof(uintptr(0)) == 8 && (got > 512 || got%piece != 0) {
		t.Errorf("a queue takes %d bytes, want a multiple of %d and at most 512", got, piece)
	}
}
