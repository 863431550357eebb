//go:build !unix

package main

import "time"

// spent returns wall time, where there is no better clock.
func spent() time.Duration { return time.Since(start) }
