package steady_test

import (
	"io"
	"net/http"
	"testing"

	"github.com/steadyhttp/steady"
	"github.com/steadyhttp/steady/steadytest"
)

func TestEveryLayerKeepsTheContractOfRoundTripper(t *testing.T) {
	layers := map[string]steady.Middleware{
		"SDK": steady.SDK(),
		"the layer of ExampleChain": func(next http.RoundTripper) http.RoundTripper {
			return steady.Chain(next, steady.SDK(), steady.Retry(), func(next http.RoundTripper) http.RoundTripper { return &numbered{next: next, out: io.Discard} }, steady.Attempt())
		},
		"RateLimit": steady.RateLimit(5, 5, steady.MaxInFlight(8)),
		"Breaker":   steady.Breaker(),
		"Retry":     steady.Retry(),
		"Attempt":   steady.Attempt(),
		"New": func(next http.RoundTripper) http.RoundTripper {
			return must(t)(steady.New(steady.WithBase(next)))
		},
		"New with all limits": func(next http.RoundTripper) http.RoundTripper {
			return must(t)(steady.New(steady.WithBase(next), steady.WithRateLimit(5, 5), steady.WithConcurrency(8), steady.WithKey(steady.KeyByModel)))
		},
		"New over New": func(next http.RoundTripper) http.RoundTripper {
			return must(t)(steady.New(steady.WithBase(must(t)(steady.New(steady.WithBase(next))))))
		},
		"Retry outside": func(next http.RoundTripper) http.RoundTripper {
			return steady.Chain(next, steady.Retry(), steady.Attempt(), steady.Breaker(), steady.RateLimit(5, 5))
		},
	}
	for name, layer := range layers {
		t.Run(name, func(t *testing.T) { steadytest.Check(t, layer) })
	}
}
