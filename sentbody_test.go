package steady_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/steadyhttp/steady"
)

// pieces notes in how many pieces a text comes.
type pieces struct {
	strings.Builder
	n int
}

func (p *pieces) Write(b []byte) (int, error)       { p.n++; return p.Builder.Write(b) }
func (p *pieces) WriteString(s string) (int, error) { p.n++; return p.Builder.WriteString(s) }

// What lies in memory need not go through a buffer on its way to the base.
func TestABodyInMemoryIsCopiedInOnePiece(t *testing.T) {
	text := strings.Repeat("q", 100<<10)
	tests := []struct {
		name string
		body io.ReadCloser
		one  bool
	}{
		{"strings.Reader", io.NopCloser(strings.NewReader(text)), true},
		{"bytes.Reader", io.NopCloser(bytes.NewReader([]byte(text))), true},
		{"bytes.Buffer", io.NopCloser(bytes.NewBufferString(text)), true},
		{"a reader", io.NopCloser(struct{ io.Reader }{strings.NewReader(text)}), false},
		{"a reader that hears that it is closed", &closable{Reader: strings.NewReader(text)}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got pieces
			base := roundTripFunc(func(req *http.Request) (*http.Response, error) {
				n, err := io.Copy(&got, req.Body)
				if n != int64(len(text)) || err != nil {
					t.Errorf("copied %d bytes, %v, want %d", n, err, len(text))
				}
				req.Body.Close()
				return respond(req, 200, nil, nil), nil
			})
			req := post(t, t.Context(), text)
			req.Body = tt.body
			resp, err := steady.Retry()(base).RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			read(t, resp)
			if got.String() != text {
				t.Errorf("%d bytes came, want the %d that were sent", got.Len(), len(text))
			}
			if one := got.n == 1; one != tt.one {
				t.Errorf("they came in %d pieces, want in one: %v", got.n, tt.one)
			}
		})
	}
}

type closable struct{ *strings.Reader }

func (*closable) Close() error { return nil }

// brokenPipe takes nothing.
type brokenPipe struct{}

var errPipe = errors.New("write: broken pipe")

func (brokenPipe) Write([]byte) (int, error) { return 0, errPipe }

// A POST may have been done if all of its body was given to somebody who then failed, for
// he may have passed it on. Of one that was read in part it is known that it was not.
func TestABodyThatWasPouredCountsAsSent(t *testing.T) {
	tests := []struct {
		name  string
		sends func(io.Reader) error
		want  int // attempts
	}{
		{"poured into what breaks", func(body io.Reader) error { _, err := io.Copy(brokenPipe{}, body); return err }, 1},
		{"read in part", func(body io.Reader) error { body.Read(make([]byte, 10)); return errPipe }, 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				attempts := 0
				base := roundTripFunc(func(req *http.Request) (*http.Response, error) {
					attempts++
					defer req.Body.Close()
					return nil, tt.sends(req.Body)
				})
				rt := steady.Retry(append(steadyWaits, steady.MaxAttempts(3), steady.UnknownResends(0))...)(base)
				_, err := rt.RoundTrip(post(t, t.Context(), question)) //nolint:bodyclose // there is none
				if !errors.Is(err, errPipe) {
					t.Errorf("error %v, want %v", err, errPipe)
				}
				if attempts != tt.want {
					t.Errorf("%d attempts, want %d", attempts, tt.want)
				}
			})
		})
	}
}

// A body that is not as long as its request says is the caller's mistake, which a re-send
// would only repeat.
func TestABodyThatIsPouredMustBeAsLongAsItSays(t *testing.T) {
	for more, want := range map[int64]int{-1: 1, 0: 2, 1: 1} { // attempts
		synctest.Test(t, func(t *testing.T) {
			attempts := 0
			base := roundTripFunc(func(req *http.Request) (*http.Response, error) {
				attempts++
				defer req.Body.Close()
				if _, err := io.Copy(io.Discard, req.Body); err != nil {
					t.Error(err)
				}
				return nil, errPipe
			})
			req := post(t, t.Context(), question)
			req.ContentLength += more
			rt := steady.Retry(append(steadyWaits, steady.MaxAttempts(3), steady.UnknownResends(1))...)(base)
			_, err := rt.RoundTrip(req) //nolint:bodyclose // there is none
			if !errors.Is(err, errPipe) || attempts != want {
				t.Errorf("%d bytes more than there are: %v after %d attempts, want %d", more, err, attempts, want)
			}
		})
	}
}

// slowPipe takes what it gets after a while.
type slowPipe struct{ takes time.Duration }

func (p slowPipe) Write(b []byte) (int, error) {
	time.Sleep(p.takes)
	return len(b), nil
}

// Two bodies may share one cursor, which moves when pouring ends. So that is waited for,
// but not for what takes no more.
func TestABodyThatIsBeingPouredIsWaitedFor(t *testing.T) {
	tests := []struct {
		name   string
		takes  time.Duration // by the pipe
		took   time.Duration // by the call
		status int
		want   []string // attempts' bodies, but for the first
	}{
		{"by the next attempt", 700 * time.Millisecond, 700 * time.Millisecond, 200, []string{question}},
		{"a quarter of a second", time.Hour, 750 * time.Millisecond, 503, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cursor := strings.NewReader(question)
				req := post(t, t.Context(), question)
				req.Body = io.NopCloser(cursor)
				req.GetBody = func() (io.ReadCloser, error) {
					_, err := cursor.Seek(0, io.SeekStart)
					return io.NopCloser(cursor), err
				}
				var got []string
				var late sync.WaitGroup
				attempts := 0
				base := roundTripFunc(func(req *http.Request) (*http.Response, error) {
					if attempts++; attempts == 1 { // an early answer
						late.Go(func() {
							io.Copy(slowPipe{tt.takes}, req.Body) //nolint:errcheck // nobody is left to hear of it
							if n, err := io.Copy(io.Discard, req.Body); n != 0 || err == nil {
								t.Errorf("the old body has %d more bytes, %v, want an error", n, err)
							}
						})
						synctest.Wait()
						return respond(req, 503, nil, nil), nil
					}
					text, err := io.ReadAll(req.Body)
					if err != nil {
						t.Error(err)
					}
					got = append(got, string(text))
					return respond(req, 200, nil, nil), nil
				})
				start := time.Now()
				resp, err := steady.Retry(steady.PlusMinus(0), steady.Delays(250*time.Millisecond, time.Minute))(base).RoundTrip(req)
				if err != nil {
					t.Fatal(err)
				}
				if took := time.Since(start); took != tt.took || resp.StatusCode != tt.status {
					t.Errorf("%d after %v, want %d after %v", resp.StatusCode, took, tt.status, tt.took)
				}
				read(t, resp)
				if strings.Join(got, "\n") != strings.Join(tt.want, "\n") {
					t.Errorf("later attempts sent %d bodies, the first of them %.20q, want %d", len(got), append(got, "")[0], len(tt.want))
				}
				late.Wait()
			})
		})
	}
}
