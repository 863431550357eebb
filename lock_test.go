package steady

import (
	"runtime"
	"sync"
	"testing"
)

func TestABriefLockIsHeldByOneHoweverLong(t *testing.T) {
	const goroutines, turns = 16, 200
	var l briefLock
	var wg sync.WaitGroup
	holders, held := 0, 0
	for range goroutines {
		wg.Go(func() {
			for n := range turns {
				l.Lock()
				if holders++; holders != 1 {
					t.Errorf("%d hold the lock", holders)
				}
				if n%10 == 0 {
					runtime.Gosched() // longer than anybody looks
				}
				held++
				holders--
				l.Unlock()
			}
		})
	}
	wg.Wait()
	if want := goroutines * turns; held != want {
		t.Errorf("the lock was held %d times, want %d", held, want)
	}
}
