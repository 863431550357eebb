package steady

import "sync"

// briefLock is a mutex that is mostly held for less time than it takes to put a
// goroutine to sleep and to wake it again. So who finds it taken looks a few times
// more before it sleeps, which sync.Mutex does only where no other goroutine could
// run meanwhile.
type briefLock struct{ sync.Mutex }

// looks is how often: for about as long as the lock is held.
const looks = 100

// Lock locks l. Nobody is kept by those who look: TryLock leaves a lock alone for
// which somebody has slept too long.
func (l *briefLock) Lock() {
	for range looks {
		if l.TryLock() {
			return
		}
	}
	l.Mutex.Lock()
}
