package fakeserver_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/steadyhttp/steady/internal/fakeserver"
)

// arrivals returns the lines of a streamed answer, each with the time from the request to it.
func (c *client) arrivals(path, body string, upTo int) (lines []string) {
	start := time.Now()
	req, err := http.NewRequestWithContext(c.t.Context(), http.MethodPost, c.base+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	resp, err := c.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	lines = append(lines, fmt.Sprint("headers ", time.Since(start)))
	for s := bufio.NewScanner(resp.Body); len(lines) < upTo && s.Scan(); {
		if s.Text() != "" {
			kind, _, _ := strings.Cut(s.Text(), "{")
			lines = append(lines, fmt.Sprint(kind, " ", time.Since(start)))
		}
	}
	return lines
}

func TestStreamsKeepTheirTimes(t *testing.T) {
	inBubble(t, func(t *testing.T, open func(...fakeserver.Option) (*fakeserver.Server, *client)) {
		_, c := open(fakeserver.Words(1), fakeserver.Latency(fakeserver.Fixed(time.Second)),
			fakeserver.FirstToken(fakeserver.Fixed(2500*time.Millisecond)),
			fakeserver.Generation(fakeserver.Fixed(3*time.Second)),
			fakeserver.KeepAlive(time.Second, ""))
		got := c.arrivals(chatPath, `{"stream":true}`, 99)
		want := []string{"headers 1s", ": keep-alive 2s", ": keep-alive 3s", "data:  3.5s", "data:  4.25s", "data:  5s", "data:  5.75s", "data: [DONE] 6.5s"}
		if !slices.Equal(got, want) {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	})
}

func TestKeepAlivesGoOnInAStall(t *testing.T) {
	inBubble(t, func(t *testing.T, open func(...fakeserver.Option) (*fakeserver.Server, *client)) {
		srv, c := open(fakeserver.Stall(fakeserver.AfterEvents(1)), fakeserver.KeepAlive(10*time.Second, ": PING\n\n"))
		got := c.arrivals(chatPath, streamBody, 4)
		want := []string{"headers 0s", "data:  0s", ": PING 10s", ": PING 20s"}
		if !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
		synctest.Wait()
		if n := srv.Counts(); n.InFlight != 0 {
			t.Errorf("%d in flight after the client closed the body", n.InFlight)
		}
	})
}

func TestPlainAnswersTakeTheirTimeBeforeTheHeadersOrInBlankLines(t *testing.T) {
	inBubble(t, func(t *testing.T, open func(...fakeserver.Option) (*fakeserver.Server, *client)) {
		srv, c := open(fakeserver.Generation(fakeserver.Fixed(30 * time.Second)))
		if got := c.arrivals(chatPath, chatBody, 1); got[0] != "headers 30s" {
			t.Errorf("got %q", got)
		}
		srv.Script(fakeserver.Generation(fakeserver.Fixed(25*time.Second)), fakeserver.KeepAlive(10*time.Second, ""))
		if got := c.arrivals(chatPath, chatBody, 99); !slices.Equal(got, []string{"headers 0s", " 25s"}) {
			t.Errorf("got %q", got)
		}
		if r := c.post(chatPath, chatBody); !strings.HasPrefix(r.body, "\n\n{") || r.err != nil {
			t.Errorf("body = %q, err %v", r.body, r.err)
		}
	})
}

func TestWhatAFaultAsksForOutranksWhatHoldsInGeneral(t *testing.T) {
	inBubble(t, func(t *testing.T, open func(...fakeserver.Option) (*fakeserver.Server, *client)) {
		srv, c := open(
			fakeserver.Sequence(fakeserver.Status(524, fakeserver.Latency(fakeserver.Fixed(100*time.Second)), fakeserver.Billed()), fakeserver.OK()),
			fakeserver.Latency(fakeserver.Fixed(time.Second)))
		for _, want := range []time.Duration{100 * time.Second, time.Second} {
			start := time.Now()
			if c.post(chatPath, chatBody); time.Since(start) != want {
				t.Errorf("took %v, want %v", time.Since(start), want)
			}
		}
		if n := srv.Counts().Billed; n != 2 {
			t.Errorf("%d billed, want 2", n)
		}
	})
}

func TestOutagesAndSpikesKeepTheirWindows(t *testing.T) {
	inBubble(t, func(t *testing.T, open func(...fakeserver.Option) (*fakeserver.Server, *client)) {
		_, c := open(
			fakeserver.Outage(2*time.Second, 4*time.Second, fakeserver.Status(503)),
			fakeserver.Outage(5*time.Second, 6*time.Second, fakeserver.ResetBeforeBody()),
			fakeserver.Spike(7*time.Second, 8*time.Second, 1))
		var got []string
		for range 9 {
			r := c.post(chatPath, chatBody)
			got = append(got, fmt.Sprint(r.status, errors.Is(r.err, syscall.ECONNRESET)))
			time.Sleep(time.Second)
		}
		want := []string{"200 false", "200 false", "503 false", "503 false", "200 false", "0 true", "200 false", "429 false", "200 false"}
		if !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

func TestTheTokenBucketSaysWhenToComeBack(t *testing.T) {
	for _, tt := range []struct {
		name   string
		hint   fakeserver.Hint
		header string
		want   string
	}{
		{"whole seconds", fakeserver.Seconds, "Retry-After", "1"},
		{"milliseconds", fakeserver.Millis, "Retry-After-Ms", "400"},
		{"date", fakeserver.HTTPDate, "Retry-After", "Sat, 01 Jan 2000 00:00:01 GMT"},
		{"nothing", fakeserver.NoHint, "Retry-After", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, open func(...fakeserver.Option) (*fakeserver.Server, *client)) {
				_, c := open(fakeserver.RateLimit(fakeserver.Bucket{PerSecond: 2.5, Burst: 2, Hint: tt.hint}))
				c.post(chatPath, chatBody)
				c.post(chatPath, chatBody)
				r := c.post(chatPath, chatBody)
				if got := r.header.Get(tt.header); r.status != 429 || got != tt.want {
					t.Errorf("status %d, %s = %q, want 429, %q", r.status, tt.header, got, tt.want)
				}
				time.Sleep(400*time.Millisecond - 1)
				if r := c.post(chatPath, chatBody); r.status != 429 {
					t.Errorf("a nanosecond early: status %d, want 429", r.status)
				}
				time.Sleep(time.Nanosecond)
				if r := c.post(chatPath, chatBody); r.status != 200 {
					t.Errorf("in time: status %d, want 200", r.status)
				}
			})
		})
	}
}

func TestRejectionsCanCostTokens(t *testing.T) {
	inBubble(t, func(t *testing.T, open func(...fakeserver.Option) (*fakeserver.Server, *client)) {
		_, c := open(fakeserver.RateLimit(fakeserver.Bucket{PerSecond: 1, Burst: 1, RejectionCost: 0.5, Hint: fakeserver.Millis, Pacing: true}))
		var got []string
		for range 5 {
			r := c.post(chatPath, chatBody)
			got = append(got, r.header.Get("Retry-After-Ms")+" "+r.header.Get("X-Ratelimit-Reset-Requests"))
		}
		want := []string{" 1s", "1500 1.5s", "2000 2s", "2000 2s", "2000 2s"} // the debt stops at the burst
		if !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

func TestTheFixedWindowStartsAfresh(t *testing.T) {
	inBubble(t, func(t *testing.T, open func(...fakeserver.Option) (*fakeserver.Server, *client)) {
		_, c := open(fakeserver.FixedWindow(fakeserver.Window{Limit: 2, Per: time.Minute, Hint: fakeserver.Seconds}))
		time.Sleep(50 * time.Second)
		for i, want := range []int{200, 200, 429, 429} {
			r := c.post(chatPath, chatBody)
			if r.status != want || (want == 429 && r.header.Get("Retry-After") != "10") {
				t.Errorf("request %d: status %d, Retry-After %q", i, r.status, r.header.Get("Retry-After"))
			}
		}
		time.Sleep(10 * time.Second)
		if r := c.post(chatPath, chatBody); r.status != 200 {
			t.Errorf("in the next window: %d", r.status)
		}
	})
}

func TestARequestIsInFlightUntilItsBodyHasEnded(t *testing.T) {
	inBubble(t, func(t *testing.T, open func(...fakeserver.Option) (*fakeserver.Server, *client)) {
		srv, c := open(fakeserver.InFlight(2, 529), fakeserver.Generation(fakeserver.Fixed(10*time.Second)))
		for range 2 {
			go c.post(chatPath, streamBody)
		}
		time.Sleep(10*time.Second - 1)
		if r := c.post(chatPath, chatBody); r.status != 529 {
			t.Errorf("beside two streams: %d, want 529", r.status)
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if r := c.post(chatPath, chatBody); r.status != 200 {
			t.Errorf("after them: %d, want 200", r.status)
		}
		if n := srv.Counts(); n.MaxInFlight != 3 || n.InFlight != 0 {
			t.Errorf("counts = %+v", n)
		}
	})
}

func TestModelsCanFailByName(t *testing.T) {
	inBubble(t, func(t *testing.T, open func(...fakeserver.Option) (*fakeserver.Server, *client)) {
		_, c := open(fakeserver.When(fakeserver.All(fakeserver.Path("/messages"), fakeserver.Not(fakeserver.Model("b"))), fakeserver.Status(529)))
		for body, want := range map[string]int{`{"model":"a"}`: 529, `{"model":"b"}`: 200} {
			if r := c.post(messagesPath, body); r.status != want {
				t.Errorf("%s: %d, want %d", body, r.status, want)
			}
		}
	})
}

func TestStreamErrorsComeUnder200(t *testing.T) {
	inBubble(t, func(t *testing.T, open func(...fakeserver.Option) (*fakeserver.Server, *client)) {
		_, c := open(fakeserver.StreamError(1, "overloaded_error", ""))
		for path, want := range map[string]string{chatPath: `data: {"error":{`, messagesPath: "event: error\n"} {
			r := c.post(path, streamBody)
			events := strings.SplitAfter(r.body, "\n\n")
			if r.status != 200 || r.err != nil || len(events) != 3 || !strings.HasPrefix(events[1], want) {
				t.Errorf("%s: %d, %v, %q", path, r.status, r.err, events)
			}
		}
	})
}

func TestChanceDependsOnTheSeedAndTheNumberAlone(t *testing.T) {
	draw := func(seed uint64, pause time.Duration) (waits []time.Duration, rejected int) {
		inBubble(t, func(t *testing.T, open func(...fakeserver.Option) (*fakeserver.Server, *client)) {
			_, c := open(fakeserver.Seed(seed), fakeserver.When(fakeserver.Share(0.25), fakeserver.Status(500)),
				fakeserver.Latency(fakeserver.LogNormal(time.Second, 0.7)))
			for range 2000 {
				start := time.Now()
				if c.post(chatPath, "{}").status == 500 {
					rejected++
				}
				waits = append(waits, time.Since(start))
				time.Sleep(pause)
			}
		})
		return waits, rejected
	}
	a, rejected := draw(1, 0)
	if b, again := draw(1, time.Second); !slices.Equal(a, b) || again != rejected {
		t.Error("the same seed drew something else at another time")
	}
	if b, _ := draw(2, 0); slices.Equal(a, b) {
		t.Error("another seed drew the same")
	}
	if rejected < 420 || rejected > 580 { // four standard deviations around 500
		t.Errorf("%d of 2000 rejected, want about 500", rejected)
	}
	slices.Sort(a)
	if m := a[1000].Seconds(); math.Abs(m-1) > 0.1 {
		t.Errorf("median latency %vs, want about 1s", m)
	}
}

func TestTheContextEndsEveryWaitInProcess(t *testing.T) {
	cause := errors.New("enough")
	for name, effect := range map[string]fakeserver.Effect{
		"latency": fakeserver.Latency(fakeserver.Fixed(time.Hour)),
		"hang":    fakeserver.Hang(),
		"stall":   fakeserver.Stall(fakeserver.AfterEvents(1)),
		"stream":  fakeserver.Generation(fakeserver.Fixed(time.Hour)),
		"upload":  fakeserver.OK(),
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, open func(...fakeserver.Option) (*fakeserver.Server, *client)) {
				srv, c := open(effect)
				ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, cause)
				defer cancel()
				body := &spy{Reader: strings.NewReader(streamBody)}
				if name == "upload" {
					r, w := io.Pipe()
					defer w.Close()
					body.Reader, body.closer = r, r
				}
				req, _ := http.NewRequestWithContext(ctx, http.MethodPost, c.base+chatPath, body)
				start := time.Now()
				resp, err := c.Transport.RoundTrip(req)
				if err == nil {
					_, err = io.ReadAll(resp.Body)
					resp.Body.Close()
				}
				if !errors.Is(err, cause) || time.Since(start) != time.Minute {
					t.Errorf("err = %v after %v, want %v after 1m", err, time.Since(start), cause)
				}
				synctest.Wait()
				if body.closed.Load() == 0 || srv.Counts().InFlight != 0 {
					t.Errorf("body closed %d times, %d in flight", body.closed.Load(), srv.Counts().InFlight)
				}
			})
		})
	}
}

// A spy is a request body that counts its Closes. Its reader is not known to net/http, so its length is not either.
type spy struct {
	io.Reader
	closer io.Closer
	closed atomic.Int64
}

func (s *spy) Close() error {
	s.closed.Add(1)
	if s.closer != nil {
		return s.closer.Close()
	}
	return nil
}

func TestEveryRequestBodyIsClosedInProcess(t *testing.T) {
	inBubble(t, func(t *testing.T, open func(...fakeserver.Option) (*fakeserver.Server, *client)) {
		srv, c := open()
		door := srv.Transport()
		cancelled, cancel := context.WithCancel(t.Context())
		cancel()
		for _, tt := range []struct {
			name   string
			ctx    context.Context
			url    string
			effect fakeserver.Effect
			refuse bool
		}{
			{"answered", t.Context(), c.base + chatPath, fakeserver.OK(), false},
			{"reset before the body", t.Context(), c.base + chatPath, fakeserver.ResetBeforeBody(), false},
			{"early, then close", t.Context(), c.base + chatPath, fakeserver.Status(429, fakeserver.EarlyThenClose()), false},
			{"early, then read", t.Context(), c.base + chatPath, fakeserver.Status(429, fakeserver.EarlyThenRead(1, time.Second)), false},
			{"refused", t.Context(), c.base + chatPath, fakeserver.OK(), true},
			{"cancelled before", cancelled, c.base + chatPath, fakeserver.OK(), false},
			{"no scheme", t.Context(), "llm.test", fakeserver.OK(), false},
		} {
			srv.Script(tt.effect)
			door.RefuseDials(tt.refuse)
			body := &spy{Reader: strings.NewReader(chatBody)}
			req, _ := http.NewRequestWithContext(tt.ctx, http.MethodPost, tt.url, body)
			if resp, err := door.RoundTrip(req); err == nil {
				resp.Body.Close()
			} else if tt.refuse && !errors.Is(err, syscall.ECONNREFUSED) {
				t.Errorf("%s: %v", tt.name, err)
			}
			time.Sleep(time.Minute)
			if body.closed.Load() == 0 {
				t.Errorf("%s: the body was not closed", tt.name)
			}
		}
		if n := srv.Counts().Requests; n != 4 {
			t.Errorf("%d requests counted, want 4", n)
		}
		door.CloseIdleConnections()
		if n := door.IdleCloses(); n != 1 {
			t.Errorf("IdleCloses = %d, want 1", n)
		}
	})
}

func TestABodyOfAnotherLengthThanAnnouncedIsAnError(t *testing.T) {
	inBubble(t, func(t *testing.T, open func(...fakeserver.Option) (*fakeserver.Server, *client)) {
		srv, c := open()
		for _, n := range []int64{5, 500} {
			req, _ := http.NewRequest(http.MethodPost, c.base+chatPath, &spy{Reader: strings.NewReader(chatBody)})
			req.ContentLength = n
			if _, err := c.Transport.RoundTrip(req); err == nil || !strings.Contains(err.Error(), "with Body length") {
				t.Errorf("length %d: err = %v", n, err)
			}
		}
		if n := srv.Counts(); n.Billed != 0 || n.BodiesRead != 0 {
			t.Errorf("counts = %+v", n)
		}
	})
}
