package steady

import (
	"testing"
	"unsafe"
)

// A kilobyte of every call is its rooms. The allocator has room for 896 bytes and then
// for 1024; of those it takes eight for itself where there are more than 512.
func TestTheRoomsOfACallStayInTheirSizeClass(t *testing.T) {
	if got, most := unsafe.Sizeof(rooms{}), uintptr(896-8); unsafe.Sizeof(uintptr(0)) == 8 && got > most {
		t.Errorf("rooms take %d bytes, want at most %d", got, most)
	}
}
