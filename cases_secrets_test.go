package steady_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/steadyhttp/steady"
)

// EL1: no secrets in any text, and silence by default.

const marker = "s3cr3t-m4rker"

// secretRequest carries the marker wherever a secret may be.
func secretRequest(t *testing.T, ctx context.Context) *http.Request {
	t.Helper()
	at := "https://user:" + marker + "@llm.test/v1/chat/completions?key=" + marker + "&api_key=" + marker
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, at, strings.NewReader(marker))
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range []string{"Authorization", "X-Api-Key", "Api-Key", "X-Goog-Api-Key", "Cookie"} {
		req.Header.Set(h, marker)
	}
	return req
}

// trouble is a way for a call to fail.
type trouble struct {
	name    string
	base    http.RoundTripper
	options []steady.Option
	calls   int
	timeout time.Duration
}

func troubles() []trouble {
	secret := func() io.ReadCloser { return io.NopCloser(strings.NewReader(marker)) }
	nested := fmt.Errorf("proxy: %w", urlError("https://user:"+marker+"@proxy.test:3128/", errRefused()))
	return []trouble{
		{name: "retries used up on a status", base: roundTripFunc(func(req *http.Request) (*http.Response, error) {
			return respond(req, 503, http.Header{"Set-Cookie": {marker}}, secret()), nil
		})},
		{name: "a refused dial", base: play(step{err: errRefused()})},
		{name: "an error with the URL in it", base: roundTripFunc(func(req *http.Request) (*http.Response, error) {
			return nil, urlError(req.URL.String(), io.ErrUnexpectedEOF)
		})},
		{name: "a proxy with a password", base: play(step{err: nested})},
		{name: "two errors with URLs in them", base: play(step{err: errors.Join(
			urlError("https://a.test/?key="+marker+"a", io.ErrUnexpectedEOF), urlError("https://b.test/?key="+marker+"b", errRefused()))})},
		{name: "a URL that is not quoted", base: play(step{err: unquoted{urlError("https://a.test/?key="+marker, io.ErrUnexpectedEOF)}})},
		{name: "a header timeout", base: play(step{status: 200, takes: time.Hour}), options: []steady.Option{steady.WithTimeouts(steady.HeaderTimeout(time.Second))}},
		{name: "the caller's deadline", base: play(step{status: 200, takes: time.Hour}), timeout: time.Second},
		{name: "an open breaker", base: play(step{err: errRefused()}), calls: 3, options: []steady.Option{steady.WithBreaker(steady.TripAfter(1), steady.OpenFor(time.Hour)), steady.Patience(0)}},
		{name: "a limiter that refuses", base: statuses(200), calls: 3, options: []steady.Option{steady.WithRateLimit(1, 1), steady.Patience(0)}},
		{name: "a limiter that lets wait", base: statuses(200), calls: 3, options: []steady.Option{steady.WithRateLimit(1, 1)}},
		{name: "a body that breaks off", base: roundTripFunc(func(req *http.Request) (*http.Response, error) {
			return respond(req, 200, nil, io.NopCloser(io.MultiReader(strings.NewReader(marker), broken{}))), nil
		})},
		{name: "a request body that cannot be read", base: roundTripFunc(func(req *http.Request) (*http.Response, error) {
			_, err := io.ReadAll(req.Body)
			return nil, urlError(req.URL.String(), err)
		})},
		{name: "a panic", base: roundTripFunc(func(*http.Request) (*http.Response, error) { panic("in the base") })},
	}
}

func urlError(at string, err error) error { return &url.Error{Op: "Post", URL: at, Err: err} }

// unquoted says its error's URL in words of its own.
type unquoted struct{ error }

func (u unquoted) Unwrap() error { return u.error }
func (u unquoted) Error() string {
	e, _ := errors.AsType[*url.Error](u.error)
	return "asking " + e.URL + " failed"
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// run makes the calls of tr and returns all texts that they gave back.
func (tr trouble) run(t *testing.T, options ...steady.Option) (texts []string) {
	rt := must(t)(steady.New(append(append(options, tr.options...), steady.WithBase(tr.base))...))
	for range max(1, tr.calls) {
		ctx, cancel := context.WithCancel(t.Context())
		if tr.timeout > 0 {
			ctx, cancel = context.WithTimeout(t.Context(), tr.timeout)
		}
		func() {
			defer cancel()
			defer func() {
				if p := recover(); p != nil {
					texts = append(texts, fmt.Sprint(p))
				}
			}()
			resp, err := rt.RoundTrip(secretRequest(t, ctx))
			if err == nil {
				_, err = io.ReadAll(resp.Body)
				resp.Body.Close()
			}
			if stack, ok := errors.AsType[*steady.RetryError](err); ok {
				err = stack // what is inside is net/http's own text
			}
			if _, ok := err.(*url.Error); err != nil && !ok {
				texts = append(texts, err.Error())
			}
		}()
	}
	for _, s := range rt.State() {
		texts = append(texts, fmt.Sprintf("%+v", s))
	}
	return texts
}

func TestEL1_NoSecretInAnyText(t *testing.T) {
	for _, level := range []slog.Level{slog.LevelInfo, slog.LevelDebug - 100} {
		for _, tr := range troubles() {
			t.Run(fmt.Sprintf("%s, log level %v", tr.name, level), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var logged bytes.Buffer
					l := slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: level, AddSource: true}))
					texts := tr.run(t, steady.WithObserver(steady.LogTo(l)))
					if level < slog.LevelDebug && logged.Len() == 0 {
						t.Error("nothing was logged: the check is void")
					}
					for _, text := range append(texts, logged.String()) {
						if strings.Contains(text, marker) {
							t.Errorf("the marker is in:\n%s", text)
						}
					}
				})
			})
		}
	}
}

// By default nothing is written to stdout, stderr or the standard loggers.
func TestEL1_SilenceByDefault(t *testing.T) {
	out := capture(t, func() {
		for _, tr := range troubles() {
			synctest.Test(t, func(t *testing.T) { tr.run(t) })
		}
	})
	if out != "" {
		t.Errorf("written without being asked:\n%s", out)
	}
}

// capture returns what f writes to the process's own streams and loggers.
func capture(t *testing.T, f func()) string {
	t.Helper()
	file, err := os.CreateTemp(t.TempDir(), "out")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	stdout, stderr, logger, writer := os.Stdout, os.Stderr, slog.Default(), log.Writer()
	defer func() {
		os.Stdout, os.Stderr = stdout, stderr
		slog.SetDefault(logger)
		log.SetOutput(writer)
	}()
	os.Stdout, os.Stderr = file, file
	slog.SetDefault(slog.New(slog.NewTextHandler(file, &slog.HandlerOptions{Level: slog.LevelDebug - 100})))
	log.SetOutput(file)
	f()
	b, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// At the default level there is one line per retry, and at most one more for a
// call that was refused, or a breaker or a pace that changed.
func TestLogToWritesOneLinePerRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var logged bytes.Buffer
		base := play(step{status: 503}, step{err: errRefused()}, step{status: 429, header: after("1")}, step{status: 200})
		rt := must(t)(steady.New(steady.WithBase(base), steady.WithObserver(steady.LogTo(slog.New(slog.NewTextHandler(&logged, nil))))))
		resp, err := rt.RoundTrip(post(t, t.Context(), "q"))
		if err != nil {
			t.Fatal(err)
		}
		read(t, resp)
		lines := slices.DeleteFunc(strings.Split(strings.TrimSpace(logged.String()), "\n"), func(line string) bool {
			return strings.Contains(line, "steady: pace changed") // by the 429
		})
		if len(lines) != base.attempts()-1 || len(lines) != 3 {
			t.Fatalf("%d lines for %d attempts, want 3 for 4:\n%s", len(lines), base.attempts(), logged.String())
		}
		for i, want := range []string{"attempt=1 status=503 outcome=overloaded", "attempt=2 status=0 outcome=failed", "attempt=3 status=429 outcome=rejected"} {
			if !strings.Contains(lines[i], "level=INFO") || !strings.Contains(lines[i], "key=llm.test "+want) {
				t.Errorf("line %d is %q, want INFO and %q", i+1, lines[i], want)
			}
		}
		if !strings.Contains(lines[1], "refused") || strings.Contains(lines[0], "err=") {
			t.Errorf("the error belongs to the second line only:\n%s", logged.String())
		}
	})
}
