package sim

import (
	"net/http"
	"time"

	"github.com/steadyhttp/steady/bench/goodput/internal/model"
	"github.com/steadyhttp/steady/internal/pace"

	steadyhttp "github.com/steadyhttp/steady"
)

func steady(name string, without ...pace.Ablation) Contender {
	return Contender{Name: name, Fresh: true, New: func(e *Env, i int) Doer {
		return model.NewClient(e.Server, asked, e.Seed*1000+uint64(i), without...)
	}}
}

// steadyNew is the package as it is imported: New with its defaults, but that a
// call may wait as long as its deadline allows.
func steadyNew(name string, opts ...steadyhttp.Option) Contender {
	return Contender{Name: name, Fresh: true, New: func(e *Env, i int) Doer {
		rt, err := steadyhttp.New(append(opts, steadyhttp.WithBase(e.Server), steadyhttp.Patience(10*time.Minute))...)
		if err != nil {
			panic(err)
		}
		return RT{rt}
	}}
}

func asked(resp *http.Response) time.Duration { d, _ := retryAfter(resp); return d }

// SteadyAblations are steady with one mechanism taken out at a time.
func SteadyAblations() []Contender {
	return []Contender{
		steady("steady"),
		steady("no pace: the rate is unlimited", pace.NoPace),
		steady("halved on a refusal, not cut to what was accepted", pace.NoMeasure),
		steady("no slow start", pace.NoSlowStart),
		steady("growth stays slow", pace.NoSpeedUp),
		steady("no trial for chance", pace.NoChance),
		steady("no hold", pace.NoHold),
		steady("no ramp after a hold", pace.NoRamp),
		steady("no cap from refusals", pace.NoSlots),
		steady("no cap from the first byte", pace.NoSlowness),
		steady("silence counts as acceptance for ever", pace.NoSilence),
		steady("in order of arrival only", pace.NoFresh),
		steady("windows are not known", pace.NoWindow),
	}
}
