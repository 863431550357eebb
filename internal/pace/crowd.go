package pace

// crowd counts the attempts from one on, and those of them that were refused, by how many
// were in flight when they were sent. Where few are in flight any refusals agree with a few
// slots. But slots refuse only those that find others there.
type crowd struct {
	from          uint64
	sent, refused [fewSlots + 1]float64
}

// newCrowd is the crowd whose first attempt is a.
func newCrowd(a *Pass) crowd {
	c := crowd{from: a.seq}
	c.add(a)
	return c
}

func (c *crowd) add(a *Pass) { c.sent[min(a.flying, fewSlots)]++ }

// refuse takes the refusal of a.
func (c *crowd) refuse(a *Pass) {
	if a.seq >= c.from {
		c.refused[min(a.flying, fewSlots)]++
	}
}

const (
	crowdOdds = 4   // fifty to one that those are refused more often,
	crowdMost = 0.4 // and at least so many of them: some find that the others have just left
)

// tells reports whether attempts are refused because n others are there (a G-test).
func (c *crowd) tells(n int) bool {
	var sent, refused [2]float64 // with fewer others, and with as many
	for i := range c.sent {
		j := min(1, i/(n+1))
		sent[j] += c.sent[i]
		refused[j] += c.refused[i]
	}
	share, own := (refused[0]+refused[1])/(sent[0]+sent[1]), 0.0
	for j := range sent {
		own += likelier(refused[j], sent[j], refused[j]/sent[j], share)
	}
	return refused[1] >= crowdMost*sent[1] && refused[1] > share*sent[1] && own >= crowdOdds
}
