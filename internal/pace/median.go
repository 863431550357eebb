package pace

// median returns the middle one of xs, of two the larger, in a fifth of the time that it
// takes to sort them: the owner of a pace holds a lock meanwhile. It changes their order.
func median(xs []float64) float64 {
	middle := len(xs) / 2
	for from, to := 0, len(xs)-1; from < to; {
		i, j := split(xs[from : to+1])
		switch {
		case middle <= from+j:
			to = from + j
		case middle >= from+i:
			from += i
		default:
			return xs[middle]
		}
	}
	return xs[middle]
}

// split puts what is less than one of xs before what is more. What ends at j is at most
// that, what begins at i at least, and what lies between them is equal to it.
func split(xs []float64) (i, j int) {
	x := xs[len(xs)/2]
	for j = len(xs) - 1; i <= j; {
		for xs[i] < x {
			i++
		}
		for xs[j] > x {
			j--
		}
		if i <= j {
			xs[i], xs[j] = xs[j], xs[i]
			i++
			j--
		}
	}
	return i, j
}
