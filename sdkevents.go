package steady

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"

	"github.com/steadyhttp/steady/internal/wire"
)

// nameEvents has the events of resp bear names, if it is a stream of Anthropic's
// whose names a relay has stripped. anthropic-sdk-go passes over events that have
// none (v1.84.0, packages/ssestream/ssestream.go:245), and the whole answer with
// them, without an error.
func nameEvents(req *http.Request, resp *http.Response) {
	if resp.StatusCode != http.StatusOK || !strings.HasSuffix(pathOf(req), "/messages") || settled(resp) ||
		wire.Declared(headerOf(resp, "Content-Type")) != wire.FormSSE || headerOf(resp, "Content-Encoding") != "" {
		return
	}
	resp.Header.Del("Content-Length")
	resp.ContentLength = -1
	resp.Body = &eventNamer{rc: resp.Body, lines: bufio.NewReader(resp.Body)}
}

// longestLine is where anthropic-sdk-go gives a line up.
const longestLine = 32 << 20

// eventNamer reads as rc, with an event line before the first data line of each
// event that has none. The name is the type in the data. It reads by the line, as
// those do who read events, and only until it has seen a name: a stream that has
// any is left alone.
type eventNamer struct {
	rc    io.ReadCloser
	lines *bufio.Reader
	ready []byte // to be handed out next
	err   error  // after that
	data  bool   // a data line of the current event has passed
	done  bool   // nothing is to be changed any more
}

func (e *eventNamer) Read(p []byte) (int, error) {
	for len(e.ready) == 0 && e.err == nil && !e.done {
		e.next()
	}
	switch {
	case len(e.ready) > 0:
		n := copy(p, e.ready)
		e.ready = e.ready[n:]
		return n, nil
	case e.err != nil:
		return 0, e.err
	}
	return e.lines.Read(p)
}

// next takes one more line.
func (e *eventNamer) next() {
	var line []byte
	for more := true; more; {
		var part []byte
		part, e.err = e.lines.ReadSlice('\n')
		line = append(line, part...)
		if more = e.err == bufio.ErrBufferFull; more { //nolint:errorlint // ReadSlice returns it as it is
			e.err = nil
			e.done = len(line) > longestLine
			more = !e.done
		}
	}
	e.ready = line
	data, isData := bytes.CutPrefix(line, []byte("data:"))
	switch {
	case e.err != nil:
	case len(bytes.TrimRight(line, "\r\n")) == 0:
		e.data = false
	case bytes.HasPrefix(line, []byte("event:")):
		e.done = true
	case isData && !e.data:
		e.data = true
		if name := typeIn(data); name != "" {
			e.ready = append([]byte("event: "+name+"\n"), line...)
		}
	}
}

// typeIn returns the type of the event in data, if that is fit for a name.
func typeIn(data []byte) string {
	var event struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(data, &event) != nil {
		return ""
	}
	for _, c := range event.Type {
		if (c < 'a' || c > 'z') && c != '_' {
			return ""
		}
	}
	return event.Type
}

func (e *eventNamer) Close() error { return e.rc.Close() }
