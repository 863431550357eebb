package steady

import (
	"errors"
	"net"
	"net/http"
	"time"
)

// baseConfig is what New can say of the transport that it makes.
type baseConfig struct {
	dial, tls time.Duration
	set       bool // one of them was given by option
}

func defaultBaseConfig() baseConfig {
	return baseConfig{dial: 10 * time.Second, tls: 10 * time.Second}
}

func (c *baseConfig) validate() error {
	var f flaws
	f.tooShort(c.dial, "DialTimeout")
	f.tooShort(c.tls, "TLSTimeout")
	return errors.Join(f...)
}

// DialTimeout bounds the making of a connection by the default base transport.
// The default is 10 seconds.
func DialTimeout(d time.Duration) TimeoutOption {
	return timeoutOption(func(c *config) { c.dial.dial, c.dial.set = d, true })
}

// TLSTimeout bounds the TLS handshake of the default base transport. The default
// is 10 seconds.
func TLSTimeout(d time.Duration) TimeoutOption {
	return timeoutOption(func(c *config) { c.dial.tls, c.dial.set = d, true })
}

// newBase returns a transport fit for LLM calls, which are few per second, last
// long, and go to one or two hosts. Unlike [http.DefaultTransport] it keeps as
// many idle connections to one host as in all, so that a batch reuses those that
// it made, and asks a silent HTTP/2 connection for a sign of life, so that a
// dead one is noticed within half a minute and not after the kernel's quarter
// of an hour. It reads more at a time, since a stream is what most of it reads.
func newBase(c baseConfig) *http.Transport {
	dialer := &net.Dialer{Timeout: c.dial, KeepAlive: 15 * time.Second}
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           dialer.DialContext,
		TLSHandshakeTimeout:   c.tls,
		ExpectContinueTimeout: time.Second,
		ForceAttemptHTTP2:     true,
		MaxIdleConns:          512,
		MaxIdleConnsPerHost:   512,
		IdleConnTimeout:       90 * time.Second,
		ReadBufferSize:        16 << 10,
		HTTP2: &http.HTTP2Config{
			SendPingTimeout: 15 * time.Second,
			PingTimeout:     15 * time.Second,
		},
	}
}

// closeIdle passes on to rt what [http.Client.CloseIdleConnections] asks for, if
// rt can do it. Every layer does so, and none ever asks by itself.
func closeIdle(rt http.RoundTripper) {
	if c, ok := rt.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// baseOrDefault is rt, or a new default base for a nil one.
func baseOrDefault(rt http.RoundTripper) http.RoundTripper {
	if rt == nil {
		return newBase(defaultBaseConfig())
	}
	return rt
}
