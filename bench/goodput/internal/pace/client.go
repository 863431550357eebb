package pace

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"
)

var errRefused = errors.New("pace: cannot be answered before its deadline")

// Client is the queue with a retry loop around it, as an http.RoundTripper.
type Client struct {
	next  http.RoundTripper
	wait  func(*http.Response) time.Duration // what the provider asked for
	mu    sync.Mutex
	pace  *pace
	line  line
	timer *time.Timer
	rng   *rand.Rand
}

// NewClient returns a client with the one default configuration, less the mechanisms
// named by without.
func NewClient(next http.RoundTripper, wait func(*http.Response) time.Duration, seed uint64, without ...Ablation) *Client {
	c := &Client{next: next, wait: wait, rng: rand.New(rand.NewPCG(seed, 1))}
	cfg := config{start: 20, random: c.rng.Float64}
	for _, a := range without {
		cfg.without |= a
	}
	c.pace = newPace(cfg)
	c.timer = time.AfterFunc(time.Hour, func() { c.mu.Lock(); c.pump(); c.mu.Unlock() })
	c.timer.Stop()
	return c
}

// Do is RoundTrip under the name that the simulator uses.
func (c *Client) Do(req *http.Request) (*http.Response, error) { return c.RoundTrip(req) }

// pump sends as many calls as may go.
func (c *Client) pump() {
	for {
		now := time.Now()
		need := time.Duration((c.pace.answer.mean + c.pace.answer.dev) * 1e9)
		earliest := c.pace.earliest(now)
		if w := c.line.hopeless(earliest, need, c.pace.room(now, c.line.latest())); w != nil {
			c.refuse(w)
			continue
		}
		w := c.line.next(now, c.pace.speed(), need)
		if w == nil {
			return
		}
		if c.pace.cfg.without.has(NoFresh) {
			w = c.line.oldest()
		}
		ok, wait := c.pace.ready(now)
		if !ok {
			if wait > 0 {
				c.timer.Reset(wait)
			}
			return
		}
		w.pass = c.pace.sent(now)
		c.line.leave(w)
		w.grant <- true
	}
}

func (c *Client) acquire(ctx context.Context, arrival time.Time) (*pass, error) {
	w := &waiting{arrival: arrival, grant: make(chan bool, 1)}
	w.deadline, _ = ctx.Deadline()
	c.mu.Lock()
	c.line.push(w)
	c.pump()
	c.mu.Unlock()
	select {
	case sent := <-w.grant:
		if !sent {
			return nil, errRefused
		}
		return &w.pass, nil
	case <-ctx.Done():
		c.mu.Lock()
		defer c.mu.Unlock()
		if !w.gone {
			c.line.leave(w)
		} else if <-w.grant { // granted at the last moment
			c.pace.settled(time.Now(), &w.pass, cancelled, 0)
			c.pump()
		}
		return nil, ctx.Err()
	}
}

func (c *Client) refuse(w *waiting) {
	c.line.leave(w)
	w.grant <- false
}

// RoundTrip sends req when its turn has come, again if that helps.
func (c *Client) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, arrival := req.Context(), time.Now()
	for n := 1; ; n++ {
		a, err := c.acquire(ctx, arrival)
		if err == errRefused {
			return refusal(req), nil
		}
		if err != nil {
			return nil, err
		}
		resp, delay, again, err := c.attempt(req, a, n)
		if !again {
			return resp, err
		}
		if resp != nil {
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(delay):
		}
	}
}

// attempt sends req once and reports whether to try again, and after how long.
func (c *Client) attempt(req *http.Request, a *pass, n int) (resp *http.Response, delay time.Duration, again bool, err error) {
	resp, err = c.next.RoundTrip(req)
	o := classify(req.Context(), resp, err)
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.pump()
	if o == ok {
		c.pace.headers(time.Now(), a)
		resp.Body = &body{ReadCloser: resp.Body, c: c, a: a}
		return resp, 0, false, nil
	}
	asked := c.wait(resp)
	c.pace.settled(time.Now(), a, o, asked)
	delay = c.backoff(n, o, asked)
	deadline, limited := req.Context().Deadline()
	late := limited && time.Until(deadline).Seconds() < delay.Seconds()+c.pace.answer.mean
	return resp, delay, o != cancelled && n < 10 && !late, err
}

func classify(ctx context.Context, resp *http.Response, err error) outcome {
	switch {
	case err != nil && ctx.Err() == context.DeadlineExceeded:
		return unknown
	case err != nil && ctx.Err() != nil:
		return cancelled
	case err != nil:
		return failed
	case resp.StatusCode == 429:
		return rejected
	case resp.StatusCode == 503 || resp.StatusCode == 529:
		return overloaded
	case resp.StatusCode >= 500 || resp.StatusCode == 408:
		return failed
	}
	return ok
}

// backoff is what the provider asked for and a little more, or else full jitter.
func (c *Client) backoff(n int, o outcome, asked time.Duration) time.Duration {
	if asked > 0 {
		return asked + time.Duration(c.rng.Float64()*(0.25*float64(asked)+50e6))
	}
	base := 500 * time.Millisecond
	if o == rejected {
		base /= 2
	}
	return time.Duration(c.rng.Float64() * float64(min(30*time.Second, base<<min(n, 7))))
}

func refusal(req *http.Request) *http.Response {
	return &http.Response{Status: "503 Service Unavailable", StatusCode: 503, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"X-Should-Retry": {"false"}}, Body: http.NoBody, Request: req}
}

// body tells the pace when an answer is over.
type body struct {
	io.ReadCloser
	c    *Client
	a    *pass
	over sync.Once
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		o := ok
		if err != io.EOF {
			o = failed
		}
		b.end(o)
	}
	return n, err
}

func (b *body) Close() error {
	err := b.ReadCloser.Close()
	b.end(cancelled)
	return err
}

func (b *body) end(o outcome) {
	b.over.Do(func() {
		b.c.mu.Lock()
		b.c.pace.settled(time.Now(), b.a, o, 0)
		b.c.pump()
		b.c.mu.Unlock()
	})
}
