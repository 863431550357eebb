package fakeserver

import (
	"context"
	"io"
	"net/http"
	"sync"
)

// A download is the response body of the in-process door: a buffer that the server fills and the client empties. Its
// context is done when the request's is, and when the client closes the body.
type download struct {
	ctx    context.Context
	parent context.Context
	cancel context.CancelFunc

	mu     sync.Mutex // guards what follows
	buf    []byte
	err    error // after buf
	closed bool
	news   chan struct{} // closed and replaced when something changes
}

func newDownload(parent context.Context) *download {
	ctx, cancel := context.WithCancel(parent)
	return &download{ctx: ctx, parent: parent, cancel: cancel, news: make(chan struct{})}
}

// tell requires mu held.
func (d *download) tell() {
	close(d.news)
	d.news = make(chan struct{})
}

func (d *download) send(b []byte) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return io.ErrClosedPipe
	}
	d.buf = append(d.buf, b...)
	d.tell()
	return nil
}

// end says how the body ends. A body that breaks off reads as it would from a socket.
func (d *download) end(how Ending, left bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case how == Reset:
		d.err = errReset("read")
	case left || how != Clean:
		d.err = io.ErrUnexpectedEOF
	default:
		d.err = io.EOF
	}
	d.tell()
}

// Read returns the cause of the request's context once that is done, unless the end of the body has been read before.
func (d *download) Read(p []byte) (int, error) {
	for {
		n, news, err := d.take(p)
		if news == nil {
			return n, err
		}
		select {
		case <-news:
		case <-d.parent.Done():
		}
	}
}

// take reads what is there, or returns the channel to wait on.
func (d *download) take(p []byte) (n int, news chan struct{}, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.closed:
		return 0, nil, http.ErrBodyReadAfterClose
	case len(d.buf) == 0 && d.err == io.EOF:
		return 0, nil, io.EOF
	case d.parent.Err() != nil:
		return 0, nil, context.Cause(d.parent)
	case len(d.buf) > 0:
		n = copy(p, d.buf)
		d.buf = d.buf[n:]
		return n, nil, nil
	case d.err != nil:
		return 0, nil, d.err
	}
	return 0, d.news, nil
}

// Close makes the server see that the client has left.
func (d *download) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.closed {
		d.closed = true
		d.tell()
	}
	d.cancel()
	return nil
}
