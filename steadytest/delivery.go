package steadytest

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing/iotest"
	"time"
)

func bodyDuties() []duty {
	return []duty{
		{"each chunk of the body can be read at the moment it is sent", chunksPrompt},
		{"a large body comes whole through io.Copy", func(s *scene) { largeBodyWhole(s, func(r io.Reader) io.Reader { return r }) }},
		{"a large body comes whole through small reads", func(s *scene) { largeBodyWhole(s, iotest.OneByteReader) }},
		{"an error in the middle of the body reaches the reader, after all the bytes before it", bodyErrorReaches},
		{"a response body may be closed unread", func(s *scene) { closed(s, "close") }},
		{"a response body may be closed twice", func(s *scene) { closed(s, "close close") }},
		{"a response body may be closed after its end", func(s *scene) { closed(s, "read close") }},
		{"a response body may be read to its end and not closed", func(s *scene) { closed(s, "read") }},
		{"a Close ends a Read that waits", closeEndsRead},
	}
}

// A timedReader sends one chunk every 100 ms, counted from start.
type timedReader struct {
	start  time.Time
	chunks int
	sent   int
}

const (
	chunk      = "0123456789"
	chunkEvery = 100 * time.Millisecond
)

func (r *timedReader) Read(p []byte) (int, error) {
	if r.sent == r.chunks*len(chunk) {
		return 0, io.EOF
	}
	k := r.sent/len(chunk) + 1
	time.Sleep(time.Until(r.start.Add(time.Duration(k) * chunkEvery)))
	n := copy(p, chunk[r.sent%len(chunk):])
	r.sent += n
	return n, nil
}

func chunksPrompt(s *scene) {
	var start time.Time
	rt := s.stack(func(req *http.Request, _ attempt) (*http.Response, error) {
		start = time.Now()
		resp := s.reply(req, http.StatusOK, &timedReader{start: start, chunks: 20})
		resp.Header.Set("Content-Type", "application/octet-stream")
		return resp, nil
	})
	resp := s.mustCall(rt, s.request(s.Context(), `{"q":1}`))
	defer resp.Body.Close()
	if late := time.Since(start); late != 0 {
		s.Errorf("RoundTrip returned %v after the header", late)
	}
	got, buf := 0, make([]byte, 4096)
	for {
		n, err := resp.Body.Read(buf)
		for i := range n {
			sent := start.Add(time.Duration((got+i)/len(chunk)+1) * chunkEvery)
			if late := time.Since(sent); late != 0 {
				s.Fatalf("byte %d could be read %v after it was sent", got+i, late)
			}
		}
		got += n
		if err != nil {
			if err != io.EOF || got != 20*len(chunk) {
				s.Errorf("read %d bytes and %v, want %d and EOF", got, err, 20*len(chunk))
			}
			return
		}
	}
}

func largeBodyWhole(s *scene, read func(io.Reader) io.Reader) {
	want := []byte(strings.Repeat("0123456789abcde\n", 1<<14))
	rt := s.stack(func(req *http.Request, _ attempt) (*http.Response, error) {
		resp := s.reply(req, http.StatusOK, iotest.HalfReader(bytes.NewReader(want)))
		resp.Header.Set("Content-Type", "application/octet-stream")
		return resp, nil
	})
	resp := s.mustCall(rt, s.request(s.Context(), `{"q":1}`))
	defer resp.Body.Close()
	var got bytes.Buffer
	// The body itself goes to io.Copy, which uses its WriteTo if there is one.
	if n, err := io.Copy(&got, read(resp.Body)); err != nil || n != int64(len(want)) {
		s.Errorf("io.Copy: %d bytes, %v; want %d", n, err, len(want))
	}
	if !bytes.Equal(got.Bytes(), want) {
		s.Error("the bytes are not those that were sent")
	}
}

func bodyErrorReaches(s *scene) {
	const sent = `{"answer":`
	rt := s.stack(func(req *http.Request, _ attempt) (*http.Response, error) {
		return s.reply(req, http.StatusOK, io.MultiReader(strings.NewReader(sent), iotest.ErrReader(errBoom))), nil
	})
	resp := s.mustCall(rt, s.request(s.Context(), `{"q":1}`))
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if string(got) != sent {
		s.Errorf("read %q, want %q", got, sent)
	}
	if !errors.Is(err, errBoom) {
		s.Errorf("reading ended with %v, which does not wrap the error of the base", err)
	}
}

// closed does what a caller may do with a body. That it arrives at the body of
// the base is checked at the end of every scene.
func closed(s *scene, steps string) {
	rt := s.stack(s.replyOK)
	resp := s.mustCall(rt, s.request(s.Context(), `{"q":1}`))
	for step := range strings.FieldsSeq(steps) {
		if step == "close" {
			if err := resp.Body.Close(); err != nil {
				s.Errorf("Close: %v", err)
			}
			continue
		}
		if got, err := io.ReadAll(resp.Body); err != nil || string(got) != `{"answer":42}` {
			s.Errorf("read %q, %v", got, err)
		}
	}
}

// closeEndsRead has one Read that waits for the server, as a stalled stream does,
// and a Close from another goroutine.
func closeEndsRead(s *scene) {
	reading := make(chan struct{}, 1)
	rt := s.stack(func(req *http.Request, _ attempt) (*http.Response, error) {
		r := &stalledReader{reading: reading, stuck: s.stuck}
		resp := s.reply(req, http.StatusOK, r)
		r.closing = resp.Body.(*body).closing
		resp.Header.Set("Content-Type", "application/octet-stream")
		return resp, nil
	})
	resp := s.mustCall(rt, s.request(s.Context(), `{"q":1}`))
	ended := make(chan error, 1)
	go func() {
		_, err := io.ReadAll(resp.Body)
		ended <- err
	}()
	<-reading
	resp.Body.Close()
	if err := <-ended; err == nil {
		s.Error("the Read ended as if the body were complete")
	} else if errors.Is(err, errStuck) {
		s.Error("Close did not reach the body of the base while a Read was waiting in it")
	}
}

var errStuck = errors.New("steadytest: nobody closed the body")

type stalledReader struct {
	reading chan<- struct{}
	closing <-chan struct{}
	stuck   <-chan struct{} // not of the bubble: ends the Read where virtual time cannot
}

func (r *stalledReader) Read([]byte) (int, error) {
	select {
	case r.reading <- struct{}{}:
	default:
	}
	select {
	case <-r.closing:
		return 0, errReadAfterClose
	case <-r.stuck:
		return 0, errStuck
	}
}
