package steady

import (
	"context"
	"net/http"
	"testing"
	"time"
)

// throughQueue returns one attempt's way through the queue while nobody waits: its
// turn, its headers, its end.
func throughQueue(tb testing.TB, opts ...LimitOption) func() {
	c := defaultLimitConfig()
	c.apply(1e8, 1e6, opts)
	p := &limitPass{t: c.transport(), c: &call{Context: context.Background(), began: time.Now()}, key: "llm.test", cost: 1}
	header := http.Header{"Content-Type": {"application/json"}, "Date": {"x"}, "X-Request-Id": {"x"}}
	return func() {
		if err := p.again(nil); err != nil {
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
