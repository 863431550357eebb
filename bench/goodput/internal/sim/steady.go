package sim

import (
	"net/http"
	"time"

	"github.com/steadyhttp/steady/bench/goodput/internal/model"
	"github.com/steadyhttp/steady/internal/pace"
)

func steady(name string, without ...pace.Ablation) Contender {
	return Contender{Name: name, Fresh: true, New: func(e *Env, i int) Doer {
		wait := func(resp *http.Response) time.Duration { d, _ := retryAfter(resp); return d }
		return model.NewClient(e.Server, wait, e.Seed*1000+uint64(i), without...)
	}}
}

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
