package fakeserver

import (
	"maps"
	"net/http"
	"time"
)

// Counts is what the server has seen and done.
type Counts struct {
	Requests    int            // requests received
	ByPath      map[string]int // the same by path
	ByStatus    map[int]int    // by the status sent; 0 if the exchange ended before one was
	BodiesRead  int            // requests whose body was read to its end
	Connections int            // connections that the socket door accepted
	InFlight    int            // requests whose last byte the server has not come to yet
	MaxInFlight int            // the most that InFlight has been

	// Billed counts generations. A generation is billed once the whole request was accepted and generation began: a
	// 200, whatever becomes of its body, and a reset, close or hang after the body was read. Errors are not billed,
	// except those with the effect Billed.
	Billed int
}

// An Entry is one request in the log.
type Entry struct {
	N                int
	At               time.Time
	Since            time.Duration // from the start of the server's clock
	Method           string
	Path             string
	Header           http.Header
	ContentLength    int64
	TransferEncoding []string
	BodyRead         bool
	BodyHash         string // SHA-256 in hex, empty until the body has been read to its end
	BodyLen          int
	Billed           bool
	Status           int // what was sent; 0 if nothing was
	Done             bool
	Ended            time.Time
	Ending           Ending
}

// Counts returns a copy of the counters.
func (s *Server) Counts() Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.counts
	c.ByPath, c.ByStatus = maps.Clone(c.ByPath), maps.Clone(c.ByStatus)
	return c
}

// Log returns the latest requests in order of arrival, as many as [LogLimit] says.
func (s *Server) Log() []Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	entries := make([]Entry, len(s.recent()))
	for i, e := range s.recent() {
		entries[i] = *e
	}
	return entries
}

// recent requires s.mu held.
func (s *Server) recent() []*Entry { return s.log[max(0, len(s.log)-s.logLimit):] }

// admit numbers and counts a request.
func (s *Server) admit(x *Exchange, a arrival) {
	e := &Entry{
		At: x.at, Since: x.Since, Method: a.method, Path: a.path, Header: a.header.Clone(),
		ContentLength: a.contentLength, TransferEncoding: a.transferEncoding,
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &s.counts
	if c.ByPath == nil {
		c.ByPath, c.ByStatus = map[string]int{}, map[int]int{}
	}
	c.Requests++
	c.ByPath[a.path]++
	c.InFlight++
	c.MaxInFlight = max(c.MaxInFlight, c.InFlight)
	x.N, e.N, x.entry = c.Requests, c.Requests, e
	if s.log = append(s.log, e); len(s.log) > 2*s.logLimit {
		s.log = append([]*Entry(nil), s.recent()...)
	}
}

func (s *Server) noteBody(x *Exchange, hash string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts.BodiesRead++
	x.entry.BodyRead, x.entry.BodyHash, x.entry.BodyLen = true, hash, len(x.body)
}

func (s *Server) noteConn() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts.Connections++
}

func (s *Server) bill(x *Exchange) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts.Billed++
	x.entry.Billed = true
}

// noteStatus is called just before the headers go out, so that a client that has them finds them counted.
func (s *Server) noteStatus(x *Exchange, status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts.ByStatus[status]++
	x.entry.Status = status
}

func (s *Server) release(x *Exchange, end Ending) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts.InFlight--
	if x.entry.Status == 0 {
		s.counts.ByStatus[0]++
	}
	x.entry.Done, x.entry.Ended, x.entry.Ending = true, time.Now(), end
}
