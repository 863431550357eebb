package steady

import (
	"errors"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// A KeyFunc says what shares a limit, a breaker and a retry budget: the requests
// for which it returns the same string. It is called once or a few times per
// call, may be called concurrently, and must neither change the request nor read
// its Body. Keys appear in errors and events, so never make one of a secret.
type KeyFunc func(*http.Request) string

// KeyByHost is the default [KeyFunc]: the host, with its port if the URL has one.
func KeyByHost(req *http.Request) string {
	if req.URL == nil {
		return strings.ToLower(req.Host)
	}
	return strings.ToLower(req.URL.Host)
}

// keyer is a KeyFunc with an identity, so that the layers that New gives the
// same one can share its answer.
type keyer struct{ of KeyFunc }

func (k *keyer) validate() error {
	if k.of == nil {
		return errors.New("steady: WithKey(nil): must not be nil")
	}
	return nil
}

// key returns the key of req. The call keeps it for its other layers, which all
// see copies of one request.
func (k *keyer) key(c *call, req *http.Request) string {
	c.lock()
	key, known := c.key, c.keyer == k
	c.unlock()
	if known {
		return key
	}
	key = k.of(req) // not under the lock: it is the user's function
	c.lock()
	c.keyer, c.key = k, key
	c.unlock()
	return key
}

// maxKeys bounds how many keys a layer remembers while they are idle.
const maxKeys = 1024

// keyed holds one E per key. Looking one up takes no lock. Past maxKeys the
// longest idle are forgotten; those in use are kept, however many. So that many
// in use cost no sweep each, there is one a second, or when their number has
// doubled.
type keyed[E any] struct {
	make func(key string) *E
	// retire reports whether e is idle, and if so makes it unusable: whoever got
	// it a moment ago must look it up again.
	retire func(e *E) bool

	entries sync.Map                 // string → *entry[E]
	last    atomic.Pointer[entry[E]] // the one that was looked up last, since most look up one only
	count   atomic.Int64             // of entries, about
	mu      sync.Mutex               // held while adding; guards the rest
	swept   time.Time                // when it was last
	left    int64                    // how many entries were left then
}

type entry[E any] struct {
	key  string
	e    *E
	used atomic.Int64 // Unix nanoseconds, to a millisecond
	gone atomic.Bool  // no longer among the entries
}

// get returns the E of key, which it makes if need be.
func (k *keyed[E]) get(key string, now time.Time) *E {
	en := k.find(key)
	if en == nil {
		return k.add(key, now)
	}
	if n := now.UnixNano(); n-en.used.Load() >= int64(time.Millisecond) {
		en.used.Store(n)
	}
	return en.e
}

// find returns the entry of key, or nil if there is none.
func (k *keyed[E]) find(key string) *entry[E] {
	if en := k.last.Load(); en != nil && en.key == key && !en.gone.Load() {
		return en
	}
	v, ok := k.entries.Load(key)
	if !ok {
		return nil
	}
	en := v.(*entry[E])
	k.last.Store(en)
	return en
}

// peek returns the E of key, or nil if there is none.
func (k *keyed[E]) peek(key string) *E {
	if en := k.find(key); en != nil {
		return en.e
	}
	return nil
}

func (k *keyed[E]) add(key string, now time.Time) *E {
	k.mu.Lock()
	defer k.mu.Unlock()
	if e := k.peek(key); e != nil {
		return e
	}
	if n := k.count.Load(); n >= maxKeys && (n >= 2*k.left || now.Sub(k.swept) >= time.Second) {
		k.evict(now)
		k.swept, k.left = now, k.count.Load()
	}
	en := &entry[E]{key: key, e: k.make(key)}
	en.used.Store(now.UnixNano())
	k.entries.Store(key, en)
	k.count.Add(1)
	return en.e
}

// evict forgets the idle entries among the older half, so that the cost of a
// sweep is shared by the many keys that may be added before the next one.
func (k *keyed[E]) evict(now time.Time) {
	var sum, n int64
	k.entries.Range(func(_, v any) bool {
		sum += now.UnixNano() - v.(*entry[E]).used.Load()
		n++
		return true
	})
	average := sum / max(1, n)
	k.entries.Range(func(_, v any) bool {
		en := v.(*entry[E])
		if now.UnixNano()-en.used.Load() >= average && k.retire(en.e) {
			k.forget(en)
		}
		return true
	})
}

// drop forgets e if it is still the one that key has.
func (k *keyed[E]) drop(key string, e *E) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if v, ok := k.entries.Load(key); ok && v.(*entry[E]).e == e {
		k.forget(v.(*entry[E]))
	}
}

// forget removes en. k.mu must be held.
func (k *keyed[E]) forget(en *entry[E]) {
	en.gone.Store(true)
	k.last.CompareAndSwap(en, nil)
	k.entries.Delete(en.key)
	k.count.Add(-1)
}

// each calls f with every key and its E, in no order.
func (k *keyed[E]) each(f func(key string, e *E)) {
	k.entries.Range(func(key, v any) bool {
		f(key.(string), v.(*entry[E]).e)
		return true
	})
}
