package wire

import (
	"fmt"
	"strings"
	"testing"
)

// A header that matters may stand behind headers of any type, and the size of a
// type that is not known is not known either.
func TestAFrameIsNamedBehindHeadersOfAnyType(t *testing.T) {
	exception := header(":exception-type", 7, "\x00\x13throttlingException")
	for _, tt := range []struct {
		name  string
		typ   byte
		value string
		want  string
	}{
		{"true", 0, "", "throttlingException"},
		{"false", 1, "", "throttlingException"},
		{"a byte", 2, "1", "throttlingException"},
		{"a short", 3, "12", "throttlingException"},
		{"an integer", 4, "1234", "throttlingException"},
		{"a long", 5, "12345678", "throttlingException"},
		{"bytes", 6, "\x00\x03abc", "throttlingException"},
		{"no bytes", 6, "\x00\x00", "throttlingException"},
		{"a string", 7, "\x00\x03abc", "throttlingException"},
		{"a timestamp", 8, "12345678", "throttlingException"},
		{"a UUID", 9, "0123456789abcdef", "throttlingException"},
		{"a type that is not known", 10, "", ""},
		{"bytes longer than the headers", 6, "\xFF\xFF", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var f frameState
			f.headers([]byte(header("x", tt.typ, tt.value) + exception))
			if f.exception != tt.want {
				t.Errorf("the exception is %q, want %q", f.exception, tt.want)
			}
		})
	}
}

func TestHeadersThatBreakOffAreReadAsFarAsTheyGo(t *testing.T) {
	whole := header(":event-type", 7, "\x00\x08metadata") + header("date", 8, "12345678") + header("x", 6, "\x00\x03abc")
	for n := range len(whole) {
		var f frameState
		f.headers([]byte(whole[:n]))
		want := ""
		if strings.HasPrefix(whole[:n], header(":event-type", 7, "\x00\x08metadata")) {
			want = "metadata"
		}
		if f.event != want {
			t.Errorf("%d bytes: the event is %q, want %q", n, f.event, want)
		}
	}
}

func header(name string, typ byte, value string) string {
	return fmt.Sprintf("%c%s%c%s", len(name), name, typ, value)
}
