// Package sdktest has no code, only tests: the Go SDKs for LLM APIs, as they
// are released, over Steady, on real sockets.
//
// Each SDK is given nothing but an HTTP client whose Transport is the stack, a
// base URL and a key. Its own retries stay as they are. What a test counts is
// what goes over the wire, and what it looks at is what the SDK's caller gets.
// README.md has the results.
package sdktest
