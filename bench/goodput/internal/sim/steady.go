package sim

import (
	"net/http"
	"slices"
	"time"

	"github.com/steadyhttp/steady"
	"github.com/steadyhttp/steady/bench/goodput/internal/model"
	"github.com/steadyhttp/steady/internal/pace"
)

// modelled is the pace in the smallest client around it, without some of its
// mechanisms.
func modelled(name string, without ...pace.Ablation) Contender {
	return Contender{Name: name, Fresh: true, New: func(e *Env, i int) Doer {
		return model.NewClient(e.Server, asked, e.Seed*1000+uint64(i), without...)
	}}
}

// asLongAsAllowed lets a call wait until its own deadline: the scenarios say what those
// are, up to two minutes.
var asLongAsAllowed = steady.Patience(10 * time.Minute)

// imported is the package as it is imported: New with its defaults and opts.
func imported(name string, opts ...steady.Option) Contender {
	return Contender{Name: name, Fresh: true, New: func(e *Env, i int) Doer {
		rt, err := steady.New(append(slices.Clip(opts), steady.WithBase(e.Server))...)
		if err != nil {
			panic(err)
		}
		return RT{rt}
	}}
}

// asked is how long resp asks to wait, 0 if it does not.
func asked(resp *http.Response) time.Duration { d, _ := retryAfter(resp); return d }

// SteadyAblations are the model with one mechanism taken out at a time.
func SteadyAblations() []Contender {
	return []Contender{
		modelled("steady"),
		modelled("no pace: the rate is unlimited", pace.NoPace),
		modelled("halved on a refusal, not cut to what was accepted", pace.NoMeasure),
		modelled("no slow start", pace.NoSlowStart),
		modelled("growth stays slow", pace.NoSpeedUp),
		modelled("no trial for chance", pace.NoChance),
		modelled("no hold", pace.NoHold),
		modelled("no ramp after a hold", pace.NoRamp),
		modelled("no cap from refusals", pace.NoSlots),
		modelled("no cap from the first byte", pace.NoSlowness),
		modelled("silence counts as acceptance for ever", pace.NoSilence),
		modelled("in order of arrival only", pace.NoFresh),
		modelled("windows are not known", pace.NoWindow),
	}
}
