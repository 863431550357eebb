package steadytest

import (
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Check runs one subtest for each duty. It calls layer afresh in each of them,
// within the bubble, so that a layer may start timers and make channels there.
//
// A layer that leaves goroutines behind, or that waits for something that cannot
// come, fails the duty during which it does so; the other duties are checked all
// the same. Run Check with -race: some duties only make a race possible.
func Check(t *testing.T, layer func(next http.RoundTripper) http.RoundTripper) {
	t.Helper()
	if changed := changes(t, layer); len(changed) > 0 {
		t.Logf("the layer modifies the request, and most duties below fail for that alone; mend it first, with req.Clone:\n%s", strings.Join(changed, "\n"))
	}
	for _, d := range slices.Concat(responseDuties(), bodyDuties(), requestDuties(), contextDuties(), stateDuties()) {
		t.Run(d.name, func(t *testing.T) { inBubble(t, layer, d.check) })
	}
}

// changes returns what layer changes in the request of a plain call.
func changes(t *testing.T, layer func(http.RoundTripper) http.RoundTripper) (changed []string) {
	defer func() { _ = recover() }() // the duties report it
	defer notForEver(t).Stop()
	synctest.Test(t, func(t *testing.T) {
		defer func() { _ = recover() }()
		s := &scene{T: t, layer: layer}
		rt, req := s.stack(s.replyOK), s.request(t.Context(), `{"q":1}`)
		unchanged := snapshot(req)
		if resp, err := rt.RoundTrip(req); err == nil && resp != nil && resp.Body != nil {
			resp.Body.Close()
		}
		changed = unchanged(req)
		time.Sleep(10 * time.Minute)
	})
	return changed
}

// A duty is a sentence that holds for every RoundTripper, and its check.
type duty struct {
	name  string
	check func(*scene)
}

// inBubble plays one scene. What the scene leaves behind gets ten minutes of
// virtual time to end by itself; what is there after that is a leak.
func inBubble(t *testing.T, layer func(http.RoundTripper) http.RoundTripper, check func(*scene)) {
	t.Helper()
	// The bubble reports a deadlock by a panic in this goroutine. As a failed
	// test it names the duty and lets the remaining duties run.
	defer func() {
		if dead := recover(); dead != nil {
			t.Errorf("%v\n\n%s", dead, bubbleStacks())
		}
	}()
	// The only real clocks: a goroutine that waits for a mutex keeps the virtual
	// one from moving, so something outside has to end such a wait.
	stuck := make(chan struct{})
	defer time.AfterFunc(5*time.Second, func() { close(stuck) }).Stop()
	defer notForEver(t).Stop()

	synctest.Test(t, func(t *testing.T) {
		s := &scene{T: t, layer: layer, stuck: stuck}
		check(s)
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		s.verifyEnd()
	})
}

// notForEver ends the program in a minute of real time, unless it is stopped.
func notForEver(t *testing.T) *time.Timer {
	return time.AfterFunc(time.Minute, func() {
		panic(fmt.Sprintf("%s: for a minute of real time the layer has waited for what virtual time cannot end, such as a mutex held across RoundTrip", t.Name()))
	})
}

// bubbleStacks returns the stacks of the goroutines in bubbles.
func bubbleStacks() string {
	buf := make([]byte, 1<<20)
	buf = buf[:runtime.Stack(buf, true)]
	stacks := strings.Split(string(buf), "\n\n")
	return strings.Join(slices.DeleteFunc(stacks, func(s string) bool {
		head, _, _ := strings.Cut(s, "\n")
		return !strings.Contains(head, "synctest bubble") || strings.Contains(head, "synctest.Run")
	}), "\n\n")
}

var errNothing = errors.New("steadytest: neither a response nor an error")

// call sends req through rt and checks what holds for every call. It may be used
// by several goroutines at once. A panic of the layer becomes an error.
func (s *scene) call(rt http.RoundTripper, req *http.Request) (resp *http.Response, err error) {
	s.Helper()
	unchanged := snapshot(req)
	defer func() {
		if p := recover(); p != nil {
			buf := make([]byte, 1<<14)
			s.Errorf("RoundTrip panicked: %v\n%s", p, buf[:runtime.Stack(buf, false)])
			resp, err = nil, fmt.Errorf("panic: %v", p)
		}
	}()
	resp, err = rt.RoundTrip(req)
	switch {
	case resp != nil && err != nil:
		s.Errorf("RoundTrip returned a response together with the error %v; want one of them", err)
		resp = nil // as http.Client does
	case resp == nil && err == nil:
		s.Error("RoundTrip returned neither a response nor an error")
		err = errNothing
	case resp != nil && resp.Body == nil:
		s.Error("the response has a nil Body")
		resp.Body = http.NoBody
	}
	for _, field := range unchanged(req) {
		s.Errorf("RoundTrip modified the request: %s", field)
	}
	return resp, err
}

// mustCall is call where an error is a failure.
func (s *scene) mustCall(rt http.RoundTripper, req *http.Request) *http.Response {
	s.Helper()
	resp, err := s.call(rt, req)
	if err != nil {
		s.Fatalf("RoundTrip returned the error %v; want a response", err)
	}
	return resp
}
