package wire

import (
	"fmt"
	"testing"
)

// The borders of the number spaces: Zhipu's stand in an error object, those of
// SiliconFlow are flat, and one host's number is nothing at the other.
func TestNumbersOfHostsThatCountTheirErrors(t *testing.T) {
	for _, tt := range []struct {
		code         int
		object, flat int // the status that it stands for in an error object, and flat
	}{
		{999, 500, 500},
		{1000, 401, 500}, {1099, 401, 500},
		{1100, 403, 500}, {1199, 403, 500},
		{1200, 500, 500}, {1209, 500, 500},
		{1210, 400, 500}, {1229, 400, 500},
		{1230, 500, 500}, {1299, 500, 500},
		{1300, 400, 500}, {1301, 400, 500},
		{1302, 429, 500}, {1319, 429, 500},
		{1320, 500, 500},
		{19999, 500, 500},
		{20000, 500, 400}, {29999, 500, 400},
		{30000, 500, 403}, {39999, 500, 403},
		{40000, 500, 500},
	} {
		object := fmt.Sprintf(`{"error":{"code":"%d","message":"x"}}`, tt.code)
		if got := openEnvelope([]byte(object), maxBody).innerStatus(); got != tt.object {
			t.Errorf("%s stands for %d, want %d", object, got, tt.object)
		}
		flat := fmt.Sprintf(`{"code":%d,"message":"x"}`, tt.code)
		if got := openEnvelope([]byte(flat), maxBody).innerStatus(); got != tt.flat {
			t.Errorf("%s stands for %d, want %d", flat, got, tt.flat)
		}
	}
}

func TestWordsAloneStandForAStatus(t *testing.T) {
	for _, tt := range []struct {
		message string
		want    int
	}{
		{"Unauthorized", 401},
		{"Invalid token provided", 401},
		{"an invalid API key", 401},
		{"model x not found", 404},
		{"Rate limit reached", 429},
		{"Too many requests", 429},
		{"the engine is overloaded", 503},
		{"Server busy, try later", 503},
		{"we are over capacity", 503},
		{"upstream timed out", 504},
		{"Timeout", 504},
		{"something went wrong", 500},
		{`cannot read "rate limit"`, 500}, // what the user wrote
	} {
		t.Run(tt.message, func(t *testing.T) {
			body := fmt.Sprintf(`{"error":%q}`, tt.message)
			if got := openEnvelope([]byte(body), maxBody).innerStatus(); got != tt.want {
				t.Errorf("stands for %d, want %d", got, tt.want)
			}
			named := fmt.Sprintf(`{"error":{"type":"acme_error","message":%q}}`, tt.message)
			if got := openEnvelope([]byte(named), maxBody).innerStatus(); got != 500 {
				t.Errorf("under a name that nobody knows it stands for %d, want 500", got)
			}
		})
	}
}
