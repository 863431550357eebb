package steady_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/steadyhttp/steady"
)

// visit is one call as its caller saw it.
type visit struct {
	came, sent, ended time.Duration // sent is 0 if it was not
	err               error
}

// visits is a base that serves a call in as long as it takes, and what became of
// the calls that were made of it.
type visits struct {
	takes time.Duration
	start time.Time

	mu  sync.Mutex
	all []*visit
}

type visitKey struct{}

func (v *visits) RoundTrip(req *http.Request) (*http.Response, error) {
	_, _ = io.Copy(io.Discard, req.Body)
	req.Body.Close()
	if one, ok := req.Context().Value(visitKey{}).(*visit); ok {
		v.mu.Lock()
		one.sent = time.Since(v.start)
		v.mu.Unlock()
	}
	select {
	case <-time.After(v.takes):
	case <-req.Context().Done():
		return nil, req.Context().Err()
	}
	return respond(req, 200, nil, nil), nil
}

// pay makes a call, which may take so long; 0 is without a deadline.
func (v *visits) pay(t *testing.T, rt http.RoundTripper, may time.Duration) *visit {
	one := &visit{came: time.Since(v.start)}
	v.mu.Lock()
	v.all = append(v.all, one)
	v.mu.Unlock()
	ctx := context.WithValue(t.Context(), visitKey{}, one)
	if may > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, may)
		defer cancel()
	}
	_, err := call(t, rt, ctx, "q")
	one.err, one.ended = err, time.Since(v.start)
	return one
}

// each makes n calls, one in every.
func (v *visits) each(t *testing.T, rt http.RoundTripper, n int, every, may time.Duration) {
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() { v.pay(t, rt, may) })
		time.Sleep(every)
	}
	wg.Wait()
}

// oneAtATime is a stack whose calls go one after the other, and have done so for a
// while, so that it is known how long they take.
func oneAtATime(t *testing.T, takes time.Duration, opts ...steady.Option) (*visits, *steady.Transport) {
	t.Helper()
	v := &visits{takes: takes, start: time.Now()}
	rt := must(t)(steady.New(append([]steady.Option{steady.WithBase(v), steady.WithConcurrency(1)}, opts...)...))
	for range 5 {
		if one := v.pay(t, rt, 0); one.err != nil {
			t.Fatal(one.err)
		}
	}
	v.start, v.all = time.Now().Add(-1), nil
	return v, rt
}

func TestCallsGoInOrderWhileAllCanBeServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v, rt := oneAtATime(t, 200*ms)
		v.each(t, rt, 100, 20*ms, 0) // for the last of which 20s are needed, of 30
		last := time.Duration(0)
		for i, one := range v.all {
			if one.err != nil || one.sent <= last {
				t.Fatalf("call %d went at %v, after %v, and ended in %v", i+1, one.sent, last, one.err)
			}
			last = one.sent
		}
	})
}

func TestBeyondWhatCanBeServedTheFreshGoFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		heard := &events{}
		const takes, patience = 500 * ms, 10 * time.Second
		v, rt := oneAtATime(t, takes, steady.Patience(patience), steady.WithObserver(heard))
		v.each(t, rt, 300, 200*ms, 0) // five a second, of which two can be served
		served, refused := 0, 0
		for i, one := range v.all {
			switch waited := one.ended - one.came; {
			case one.err == nil:
				served++
				if one.came > 20*time.Second && one.sent-one.came > 3*time.Second && one.came < 50*time.Second {
					t.Errorf("call %d came at %v and went at %v, want a fresh one in its place", i+1, one.came, one.sent)
				}
			case !errors.Is(one.err, steady.ErrRateLimited) || one.sent != 0:
				t.Errorf("call %d: sent at %v, %v", i+1, one.sent, one.err)
			default:
				refused++
				if waited > patience {
					t.Errorf("call %d waited %v", i+1, waited)
				}
			}
		}
		t.Logf("%d served and %d refused", served, refused)
		if want := int(60 * time.Second / takes); served < want-1 {
			t.Errorf("%d calls were served in a minute, want %d: nothing stands idle", served, want)
		}
		wantWaits(t, v, heard)
	})
}

// wantWaits checks that the events say who has waited and who was refused.
func wantWaits(t *testing.T, v *visits, heard *events) {
	t.Helper()
	var want, got []string
	for _, one := range v.all {
		switch {
		case one.err != nil:
			want = append(want, fmt.Sprint("refused after ", one.ended-one.came))
		case one.sent > one.came:
			want = append(want, fmt.Sprint("waited ", one.sent-one.came))
		}
	}
	for _, e := range of[steady.LimitWaited](heard) {
		switch {
		case e.Key != "llm.test" || e.Cost != 1:
			t.Errorf("event %+v", e)
		case errors.Is(e.Err, steady.ErrRateLimited):
			got = append(got, fmt.Sprint("refused after ", e.Wait))
		default:
			got = append(got, fmt.Sprint("waited ", e.Wait))
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("%d events %v\nwant %d: %v", len(got), got, len(want), want)
	}
}

func TestACallThatCannotBeAnsweredBeforeItsDeadlineIsRefusedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v, rt := oneAtATime(t, time.Second)
		var wg sync.WaitGroup
		for range 4 { // one of which goes
			wg.Go(func() { v.pay(t, rt, 0) })
		}
		synctest.Wait()
		one := v.pay(t, rt, 900*ms)
		if !errors.Is(one.err, steady.ErrRateLimited) || !errors.Is(one.err, context.DeadlineExceeded) || one.ended != one.came || one.sent != 0 {
			t.Errorf("%+v, want a refusal at once by the deadline", one)
		}
		wg.Wait()
		if one := v.pay(t, rt, 1001*ms); one.err != nil {
			t.Errorf("a call that had nobody before it: %v, want it sent", one.err)
		}
	})
}

// Who waits until there is no time for an answer any more is not sent.
func TestACallThatHasWaitedTooLongForAnAnswerIsNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v, rt := oneAtATime(t, time.Second)
		v.each(t, rt, 40, 100*ms, 5*time.Second)
		served, alone := 0, 0
		for i, one := range v.all {
			if one.err == nil {
				served++
				continue
			}
			if one.sent != 0 && alone == 0 { // the last of all, in whose place nobody else could have gone
				alone++
				continue
			}
			if one.sent != 0 || !errors.Is(one.err, context.DeadlineExceeded) || !errors.Is(one.err, steady.ErrRateLimited) {
				t.Errorf("call %d: sent at %v, %v: want it refused and not sent", i+1, one.sent, one.err)
			}
			if one.ended-one.came > 4*time.Second {
				t.Errorf("call %d was refused after %v, too late for an answer that takes 1s", i+1, one.ended-one.came)
			}
		}
		if served < 7 { // 4s of calls, and those that wait then
			t.Errorf("%d calls served", served)
		}
	})
}

func TestTheLineIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newRuled(bucketOf(20, 5, 0, good, rejected))
		rt := must(t)(steady.New(steady.WithBase(p), steady.Patience(30*time.Second), steady.WithRetry(steady.MaxAttempts(1))))
		most := 0
		done := make(chan struct{})
		go func() {
			defer close(done)
			for range 900 {
				time.Sleep(100 * ms)
				most = max(most, stateOf(rt, "llm.test").Waiting)
			}
		}()
		c := perSecond(t, rt, 200, time.Minute)
		<-done
		t.Logf("%d waited at most; %d calls succeeded, %v", most, c.good, len(c.bad))
		if bound := 2000; most > bound { // of 12,000; 600 can be served in 30s
			t.Errorf("%d calls waited, want at most %d", most, bound)
		}
		if c.good < 20*90*8/10 { // those that wait at the end are served, too
			t.Errorf("%d calls succeeded, want nearly the 1800 that the provider allows", c.good)
		}
	})
}
