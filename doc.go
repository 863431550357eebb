// Package steady keeps calls to LLM APIs steady: a stack of composable
// [net/http.RoundTripper] layers for the Transport field of an [net/http.Client].
package steady
