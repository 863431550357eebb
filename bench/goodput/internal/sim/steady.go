package sim

import (
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/steadyhttp/steady/bench/goodput/internal/pace"
)

func steady(name string, without uint) Contender {
	return Contender{Name: name, Fresh: true, New: func(e *Env, i int) Doer {
		wait := func(resp *http.Response) time.Duration { d, _ := retryAfter(resp); return d }
		return pace.NewClient(e.Server, wait, e.Seed*1000+uint64(i), without)
	}}
}

func steadyDefault() Contender {
	n, _ := strconv.ParseUint(os.Getenv("WITHOUT"), 0, 64)
	return steady("steady", uint(n))
}
