package sdktest

import (
	"io"
	"log"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// TestMain hides from the SDKs what they read from the environment, so that the
// tests are the same on every machine.
func TestMain(m *testing.M) {
	for _, pair := range os.Environ() {
		name, _, _ := strings.Cut(pair, "=")
		for _, prefix := range []string{"OPENAI_", "ANTHROPIC_", "GOOGLE_", "GEMINI_", "OTEL_"} {
			if strings.HasPrefix(name, prefix) {
				os.Unsetenv(name)
			}
		}
	}
	log.SetOutput(io.Discard) // genai logs every stream that breaks off
	// langchaingo's anthropic leaves the goroutine that reads a stream behind when
	// the stream turns into an error: it has one more thing to send to nobody.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction(
		"github.com/tmc/langchaingo/llms/anthropic/internal/anthropicclient.parseStreamingMessageResponse.func1"))
}
