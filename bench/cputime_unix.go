//go:build unix

package main

import (
	"syscall"
	"time"
)

// spent returns the processor time that this process has used. Unlike wall time
// it does not count what the machine's other programs do meanwhile, but it does
// count the garbage collector.
func spent() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return time.Since(start)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
