package pace

import (
	"fmt"
	"os"
	"time"
)

var tracing = os.Getenv("PACE_DEBUG") != ""
var traceZero time.Time

func (p *pace) trace(now time.Time, what string, args ...any) {
	if tracing {
		if traceZero.IsZero() {
			traceZero = now
		}
		fmt.Printf("%9.3f rate %7.2f base %7.2f t %.2f srch %v cap %.0f flight %d share %.2f trial %v | %s\n", now.Sub(traceZero).Seconds(), p.perSecond(now), p.rate.base, p.rate.t, p.rate.searching, p.maxFlight(), p.inFlight(), p.recent.share(), p.bet.trial, fmt.Sprintf(what, args...))
	}
}
