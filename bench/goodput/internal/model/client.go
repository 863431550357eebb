// Package model is the smallest client around the learned pace: a queue and a retry
// loop, without the rest of Steady, from which single mechanisms can be taken out.
package model

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/steadyhttp/steady/internal/line"
	"github.com/steadyhttp/steady/internal/pace"
)

var errRefused = errors.New("model: cannot be answered before its deadline")

// Client is the queue with a retry loop around it, as an http.RoundTripper.
type Client struct {
	next    http.RoundTripper
	wait    func(*http.Response) time.Duration // what the provider asked for
	noFresh bool                               // in order of arrival only

	mu    sync.Mutex // guards the rest
	pace  *pace.Pace
	queue queue
	timer *time.Timer // pumps when the head of the line may go
	rng   *rand.Rand
}

// NewClient returns a client with the one default configuration, less the mechanisms
// named by without. Wait tells how long a response asks to wait, and seed decides
// about its jitter.
func NewClient(next http.RoundTripper, wait func(*http.Response) time.Duration, seed uint64, without ...pace.Ablation) *Client {
	cfg := pace.Config{Start: 20}
	for _, a := range without {
		cfg.Without |= a
	}
	c := &Client{next: next, wait: wait, rng: rand.New(rand.NewPCG(seed, 1)), noFresh: slices.Contains(without, pace.NoFresh)}
	cfg.Random = c.rng.Float64
	c.pace = pace.New(cfg)
	c.timer = time.AfterFunc(time.Hour, func() { c.mu.Lock(); c.pump(); c.mu.Unlock() })
	c.timer.Stop()
	return c
}

// Do is RoundTrip under the name that the simulator uses.
func (c *Client) Do(req *http.Request) (*http.Response, error) { return c.RoundTrip(req) }

// pump sends as many calls as may go. c.mu must be held.
func (c *Client) pump() {
	for {
		now := time.Now()
		if w := c.queue.hopeless(c.pace.Earliest(now), c.need(), c.pace.Room(now, c.queue.until())); w != nil {
			c.refuse(w)
			continue
		}
		w := c.queue.Next(now, c.pace.Speed(), c.pace.LongAnswer())
		if w == nil {
			return
		}
		if c.noFresh {
			w = c.queue.Oldest()
		}
		ok, wait := c.pace.Ready(now)
		if !ok {
			if wait > 0 {
				c.timer.Reset(wait)
			}
			return
		}
		w.pass = c.pace.Sent(now)
		c.queue.Remove(w)
		w.grant <- true
	}
}

// need is how long before its deadline a call must be sent to be answered in time.
// c.mu must be held.
func (c *Client) need() time.Duration {
	if c.queue.Crowded() { // there are others who surely have the time
		return c.pace.LongAnswer()
	}
	return c.pace.Answer()
}

func (c *Client) acquire(ctx context.Context, arrival time.Time) (*pace.Pass, error) {
	w := &waiting{Place: line.Place{Began: arrival}, grant: make(chan bool, 1)}
	w.Until, _ = ctx.Deadline()
	c.mu.Lock()
	c.queue.Add(w)
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
		if !w.Left() {
			c.queue.Remove(w)
		} else if <-w.grant { // granted at the last moment
			c.pace.Settled(time.Now(), &w.pass, pace.Cancelled, 0)
			c.pump()
		}
		return nil, ctx.Err()
	}
}

func (c *Client) refuse(w *waiting) {
	c.queue.Remove(w)
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
func (c *Client) attempt(req *http.Request, a *pace.Pass, n int) (resp *http.Response, delay time.Duration, again bool, err error) {
	resp, err = c.next.RoundTrip(req)
	o := classify(req.Context(), resp, err)
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.pump()
	if o == pace.OK {
		c.pace.Headers(time.Now(), a)
		resp.Body = &body{ReadCloser: resp.Body, c: c, a: a}
		return resp, 0, false, nil
	}
	asked := c.wait(resp)
	c.pace.Settled(time.Now(), a, o, asked)
	delay = c.backoff(n, asked)
	deadline, limited := req.Context().Deadline()
	late := limited && time.Until(deadline).Seconds() < delay.Seconds()+c.pace.LongAnswer().Seconds()
	return resp, delay, o != pace.Cancelled && n < maxAttempts && !late, err
}

func classify(ctx context.Context, resp *http.Response, err error) pace.Outcome {
	switch {
	case err != nil && ctx.Err() == context.DeadlineExceeded:
		return pace.Unknown
	case err != nil && ctx.Err() != nil:
		return pace.Cancelled
	case err != nil:
		return pace.Failed
	case resp.StatusCode == 429:
		return pace.Rejected
	case resp.StatusCode == 503:
		return pace.Unavailable
	case resp.StatusCode == 529:
		return pace.Overloaded
	case resp.StatusCode >= 500 || resp.StatusCode == 408:
		return pace.Failed
	}
	return pace.OK
}

// maxAttempts is how often the package's retry loop sends a call at most.
const maxAttempts = 6

// backoff is what the provider asked for and a little more, or else full jitter.
func (c *Client) backoff(n int, asked time.Duration) time.Duration {
	if asked > 0 {
		return asked + time.Duration(c.rng.Float64()*(0.25*float64(asked)+50e6))
	}
	return time.Duration(c.rng.Float64() * float64(min(30*time.Second, 500*time.Millisecond<<(n-1))))
}

func refusal(req *http.Request) *http.Response {
	return &http.Response{Status: "503 Service Unavailable", StatusCode: 503, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"X-Should-Retry": {"false"}}, Body: http.NoBody, Request: req}
}

// body tells the pace when an answer is over.
type body struct {
	io.ReadCloser
	c    *Client
	a    *pace.Pass
	over sync.Once
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		o := pace.OK
		if err != io.EOF {
			o = pace.Failed
		}
		b.end(o)
	}
	return n, err
}

func (b *body) Close() error {
	err := b.ReadCloser.Close()
	b.end(pace.Cancelled)
	return err
}

func (b *body) end(o pace.Outcome) {
	b.over.Do(func() {
		b.c.mu.Lock()
		b.c.pace.Settled(time.Now(), b.a, o, 0)
		b.c.pump()
		b.c.mu.Unlock()
	})
}
