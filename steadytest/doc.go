// Package steadytest holds a layer, that is a function which wraps one
// [net/http.RoundTripper] in another, to the duties of a RoundTripper.
// It is to RoundTrippers what [testing/slogtest] is to slog handlers:
//
//	func TestContract(t *testing.T) {
//		steadytest.Check(t, func(next http.RoundTripper) http.RoundTripper {
//			return &mylayer.Transport{Base: next}
//		})
//	}
//
// Some of the duties are written down in package net/http: the request stays as
// it is, its body is closed, a status is not an error. The others are what
// programs rely on all the same: bytes can be read when they arrive, trailers
// and upgrades survive, a cancel ends every wait, a panic leaves nothing locked.
//
// A layer may do more than pass a call on. It may retry, wait, refuse a call,
// add headers and limit how many calls are in flight; only what the caller is
// promised is checked. Waits cost no real time, for every check runs in a bubble
// of [testing/synctest], in which the base transport is a strict fake: it reads
// and closes each request body, and gives up when the context of its request ends.
//
// A layer that changes the request it is given fails most duties for that one cause,
// so Check says that first. The request of one duty has no header map: [net/http.Client]
// makes one, but not who calls RoundTrip itself.
//
// The package imports the standard library only.
package steadytest
