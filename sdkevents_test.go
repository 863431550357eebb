package steady_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/steadyhttp/steady"
)

const namedStream = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{}}\n\n" +
	"event: content_block_delta\ndata: {\"delta\":{\"text\":\"Grüße\",\"type\":\"text_delta\"},\"index\":0,\"type\":\"content_block_delta\"}\n\n" +
	"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"

// unnamed is stream as a relay passes it on that knows data lines only.
func unnamed(stream string) string {
	var kept strings.Builder
	for line := range strings.Lines(stream) {
		if !strings.HasPrefix(line, "event:") {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

// throughSDK sends body through the SDK layer alone, by the byte or by the line,
// and returns what a Stainless SDK reads of it, and what that ends in.
func throughSDK(t *testing.T, path string, stainless bool, body io.Reader) (string, error) {
	t.Helper()
	rt := steady.SDK()(roundTripFunc(func(req *http.Request) (*http.Response, error) {
		return respond(req, 200, http.Header{"Content-Type": {"text/event-stream"}}, io.NopCloser(body)), nil
	}))
	req := request(t, http.MethodPost, "https://llm.test"+path, "q")
	if stainless {
		req.Header.Set("X-Stainless-Retry-Count", "0")
	}
	resp, err := rt.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	return string(got), err
}

func TestAStainlessSDKReadsTheEventsOfARelayByName(t *testing.T) {
	long := "data: {\"pad\":\"" + strings.Repeat("x", 100<<10) + "\",\"type\":\"ping\"}\n\n"
	for _, test := range []struct {
		name, path   string
		plain        bool // not a Stainless SDK
		stream, want string
	}{
		{name: "names that are missing", path: "/v1/messages", stream: unnamed(namedStream), want: namedStream},
		{name: "names that are there", path: "/v1/messages", stream: namedStream, want: namedStream},
		{name: "with CRLF", path: "/v1/messages", stream: "data: {\"type\":\"ping\"}\r\n\r\ndata:{\"type\":\"ping\"}\r\n\r\n",
			want: "event: ping\ndata: {\"type\":\"ping\"}\r\n\r\nevent: ping\ndata:{\"type\":\"ping\"}\r\n\r\n"},
		{name: "a line longer than a buffer", path: "/v1/messages", stream: long, want: "event: ping\n" + long},
		{name: "comments first", path: "/v1/messages", stream: ": hello\n\n" + unnamed(namedStream), want: ": hello\n\n" + namedStream},
		{name: "an error", path: "/v1/messages", stream: "data: {\"type\":\"error\",\"error\":{}}\n\n", want: "event: error\ndata: {\"type\":\"error\",\"error\":{}}\n\n"},
		{name: "no type", path: "/v1/messages", stream: "data: {}\n\ndata: [DONE]\n\ndata: {\"type\":7}\n\n", want: "data: {}\n\ndata: [DONE]\n\ndata: {\"type\":7}\n\n"},
		{name: "a type that is no name", path: "/v1/messages", stream: "data: {\"type\":\"a\\ndata: b\"}\n\n", want: "data: {\"type\":\"a\\ndata: b\"}\n\n"},
		{name: "several data lines", path: "/v1/messages", stream: "data: {\"type\":\ndata: \"ping\"}\n\n", want: "data: {\"type\":\ndata: \"ping\"}\n\n"},
		{name: "an end within a line", path: "/v1/messages", stream: "data: {\"type\":\"ping\"}", want: "data: {\"type\":\"ping\"}"},
		{name: "another API", path: "/v1/responses", stream: unnamed(namedStream), want: unnamed(namedStream)},
		{name: "another SDK", path: "/v1/messages", plain: true, stream: unnamed(namedStream), want: unnamed(namedStream)},
	} {
		t.Run(test.name, func(t *testing.T) {
			broke := errors.New("broke")
			for _, body := range []io.Reader{strings.NewReader(test.stream), iotest.OneByteReader(strings.NewReader(test.stream))} {
				got, err := throughSDK(t, test.path, !test.plain, io.MultiReader(body, iotest.ErrReader(broke)))
				if got != test.want || !errors.Is(err, broke) {
					t.Errorf("got %.200q and %v, want %.200q and %v", got, err, test.want, broke)
				}
			}
		})
	}
}

// Whatever comes, nothing of it is lost, and nothing but event lines is added.
func FuzzEventNames(f *testing.F) {
	f.Add(unnamed(namedStream))
	f.Add(namedStream)
	f.Add("data: {\"type\":\"ping\"}\r\n\r\n\n\ndata:\nevent:x\n\n")
	f.Fuzz(func(t *testing.T, stream string) {
		got, err := throughSDK(t, "/v1/messages", true, strings.NewReader(stream))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(stream, "event:") {
			stream, got = unnamed(stream), unnamed(got)
		}
		if unnamed(got) != stream {
			t.Errorf("got %q of %q", got, stream)
		}
	})
}
