package steady

import (
	"context"
	"net/http"
	"testing"
	"time"
	"unsafe"
)

// throughQueue returns one attempt's way through the queue while nobody waits: its
// turn, its headers, its end.
func throughQueue(tb testing.TB, opts ...LimitOption) func() {
	c := defaultLimitConfig()
	c.apply(1e8, 1e6, opts)
	limit := c.transport()
	p := &limitPass{c: &call{Context: context.Background(), began: time.Now()}, cost: 1}
	header := http.Header{"Content-Type": {"application/json"}, "Date": {"x"}, "X-Request-Id": {"x"}}
	return func() {
		if err := p.await(limit.queues.get("llm.test", time.Now()), time.Now()); err != nil {
			tb.Fatal(err)
		}
		p.underWay().heard(p, header)
		p.bodyEnded(verdict{outcome: outcomeOK, header: header})
	}
}

func BenchmarkQueue(b *testing.B) {
	b.Run("without pace", func(b *testing.B) {
		attempt := throughQueue(b)
		b.ReportAllocs()
		for b.Loop() {
			attempt()
		}
	})
	b.Run("pace", func(b *testing.B) {
		attempt := throughQueue(b, WithPace())
		b.ReportAllocs()
		for b.Loop() {
			attempt()
		}
	})
}

func TestTheQueueAllocatesNothingWhileNobodyWaits(t *testing.T) {
	if n := testing.AllocsPerRun(1000, throughQueue(t, WithPace())); n != 0 {
		t.Errorf("%v allocations for an attempt, want none", n)
	}
}

// A call reads the clock before it has the lock. One that comes to it late must not
// set the time back: the bucket would be filled twice over the same time.
func TestTimeDoesNotGoBackInAQueue(t *testing.T) {
	c := defaultLimitConfig()
	c.apply(1, 10, []LimitOption{MaxWait(0)})
	limit, began := c.transport(), time.Now()
	join := func(at time.Duration) error {
		p := &limitPass{c: &call{Context: context.Background(), began: began}, cost: 1}
		_, err := limit.queues.get("llm.test", began).join(p, began.Add(at))
		return err
	}
	for i := range 10 {
		if err := join(0); err != nil {
			t.Fatalf("call %d of a full bucket of 10: %v", i, err)
		}
	}
	went := 0
	for i := range 20 {
		if join(time.Duration(5*(i%2))*time.Second) == nil { // every other one is late
			went++
		}
	}
	if went != 5 {
		t.Errorf("%d calls went in 5 s at one a second, want 5", went)
	}
}

// setBack is now as it were if the time of day had just been set back. Package time has
// no way to make such a time.
func setBack(now time.Time, seconds uint64) time.Time {
	const monotonic, second = 1 << 63, 1 << 30
	if wall := (*uint64)(unsafe.Pointer(&now)); *wall&monotonic != 0 {
		*wall -= seconds * second
	}
	return now
}

// The time of day may be set back. Were it what tells when headers were read last,
// none would be read until it is as late again.
func TestPacingHeadersAreReadAlthoughTheClockIsSetBack(t *testing.T) {
	c := defaultLimitConfig()
	c.apply(1e8, 1e6, []LimitOption{WithPace()})
	paced := http.Header{
		"X-Ratelimit-Limit-Requests": {"100"}, "X-Ratelimit-Remaining-Requests": {"50"}, "X-Ratelimit-Reset-Requests": {"10s"},
	}
	q, now := newQueue("llm.test", c.transport()), time.Now()
	if q.quotas(paced, now, outcomeOK) == nil {
		t.Fatal("the first headers were not read")
	}
	later := setBack(now.Add(time.Second), 3600)
	if !later.Round(0).Before(now.Round(0)) || later.Sub(now) != time.Second {
		t.Skip("package time keeps its times in another way now")
	}
	if q.quotas(paced, later, outcomeOK) == nil {
		t.Error("the headers of one second later were not read")
	}
}

func TestPacingHeadersAreReadOnceInAWhile(t *testing.T) {
	c := defaultLimitConfig()
	c.apply(1e8, 1e6, []LimitOption{WithPace()})
	plain := http.Header{"Content-Type": {"application/json"}}
	paced := http.Header{
		"X-Ratelimit-Limit-Requests": {"100"}, "X-Ratelimit-Remaining-Requests": {"50"}, "X-Ratelimit-Reset-Requests": {"10s"},
	}
	type answer struct {
		header http.Header
		of     outcome
		after  time.Duration // the one before
		read   bool
	}
	tests := []struct {
		name    string
		answers []answer
	}{
		{"each of them", []answer{{paced, outcomeOK, 0, true}, {paced, outcomeOK, readEvery, true}}},
		{"one at once after another", []answer{{paced, outcomeOK, 0, true}, {paced, outcomeOK, readEvery - 1, false}}},
		{"one at once after a good answer without any", []answer{{plain, outcomeOK, 0, false}, {paced, outcomeOK, readEvery - 1, false}}},
		{"one later than that", []answer{{plain, outcomeOK, 0, false}, {paced, outcomeOK, readEvery, true}}},
		{"a rejection's at once after a good answer without any", []answer{{plain, outcomeOK, 0, false}, {paced, outcomeRejected, 1, true}}},
		{"one at once after a rejection without any", []answer{{plain, outcomeRejected, 0, false}, {paced, outcomeOK, 1, true}}},
	}
	for _, tt := range tests {
		q, now := newQueue("llm.test", c.transport()), time.Now()
		for i, a := range tt.answers {
			now = now.Add(a.after)
			if read := q.quotas(a.header, now, a.of) != nil; read != a.read {
				t.Errorf("%s: headers of answer %d read: %v, want %v", tt.name, i+1, read, a.read)
			}
		}
	}
}
