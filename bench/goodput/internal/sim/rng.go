package sim

import "math"

// All randomness of the simulated world (arrivals, service times, faults) is a
// pure function of (seed, stream, call, attempt), never of a shared generator:
// the same call meets the same luck whichever contender sends it and in
// whichever order goroutines happen to run (common random numbers).

func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9
	x = (x ^ (x >> 27)) * 0x94d049bb133111eb
	return x ^ (x >> 31)
}

func hash(seed uint64, stream, a, b uint64) uint64 {
	return mix(mix(mix(mix(seed)^stream)^a) ^ b)
}

// u01 returns a uniform number in (0,1).
func u01(seed uint64, stream, a, b uint64) float64 {
	return (float64(hash(seed, stream, a, b)>>11) + 0.5) / (1 << 53)
}

func normal(seed uint64, stream, a, b uint64) float64 {
	u := u01(seed, stream, a, b)
	v := u01(seed, stream^0xabcdef, a, b)
	return math.Sqrt(-2*math.Log(u)) * math.Cos(2*math.Pi*v)
}

func expo(seed uint64, stream, a, b uint64, mean float64) float64 {
	return -mean * math.Log(u01(seed, stream, a, b))
}

// lcg is a tiny private generator for a client's own jitter.
type lcg struct{ s uint64 }

func (l *lcg) float() float64 {
	l.s = mix(l.s + 1)
	return (float64(l.s>>11) + 0.5) / (1 << 53)
}
