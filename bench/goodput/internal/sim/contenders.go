package sim

import (
	"encoding/json"
	"os"
	"time"

	"github.com/openai/openai-go/v3/option"
	"golang.org/x/time/rate"

	steadyhttp "github.com/steadyhttp/steady"
)

// Contenders lists everything that is compared.
func Contenders() []Contender {
	var out []Contender
	out = append(out, basicContenders()...)
	out = append(out, libContenders()...)
	out = append(out, articleContenders()...)
	out = append(out, steadyNew("steady"), steadyNew("steady-pool", steadyhttp.WithPace(steadyhttp.AdaptivePool())), steady("model"))
	out = append(out, oursContenders()...)
	out = append(out, Oracle(false), Oracle(true))
	return out
}

func ours(name string, f func(o *Options)) Contender {
	return Contender{Name: name, New: func(e *Env, i int) Doer {
		o := Default()
		if f != nil {
			f(&o)
		}
		return NewStack(e.Server, e.Seed*1000+uint64(i), o)
	}}
}

func oursContenders() []Contender {
	return []Contender{ours("ours", override)}
}

// Ablations are the default configuration with one mechanism changed.
func Ablations() []Contender {
	return []Contender{
		ours("ours", nil),
		ours("no pacer (rate unlimited)", func(o *Options) { o.Pace = false }),
		ours("pacer: blunt AIMD on each 429", func(o *Options) { o.AIMD, o.NonCong = true, false }),
		ours("no slow start", func(o *Options) { o.StartRate = 1e6 }),
		ours("no implicit accept", func(o *Options) { o.Implicit = false }),
		ours("no growth speed-up", func(o *Options) { o.GrowMax = o.Grow }),
		ours("503/529 do not steer the pacer", func(o *Options) { o.FailCong = false }),
		ours("no noncongestive check", func(o *Options) { o.NonCong = false }),
		ours("no gate (breaker)", func(o *Options) { o.Gate = false }),
		ours("gate on any Retry-After", func(o *Options) { o.GateOn429 = true }),
		ours("no ramp after the gate", func(o *Options) { o.RampFrac = 1 }),
		ours("no slot cap", func(o *Options) { o.Cap = false }),
		ours("no TTFB gradient limit", func(o *Options) { o.Conc = false }),
		ours("no retry budget", func(o *Options) { o.BudgetRatio = 0 }),
		ours("retry budget 0.1", func(o *Options) { o.BudgetRatio = 0.1 }),
		ours("queue FIFO", func(o *Options) { o.Order = "fifo" }),
		ours("queue LIFO", func(o *Options) { o.Order = "lifo" }),
		ours("no shedding", func(o *Options) { o.Shed = false }),
		ours("not deadline-aware", func(o *Options) { o.DeadlineAware = false }),
		ours("Retry-After ignored", func(o *Options) { o.IgnoreRA = true }),
		ours("no Retry-After jitter", func(o *Options) { o.RAJitter = 0 }),
		ours("3 attempts at most", func(o *Options) { o.MaxAttempts = 3 }),
		ours("retry layer alone", func(o *Options) {
			o.Pace, o.Gate, o.Cap, o.Conc, o.Shed, o.BudgetRatio = false, false, false, false, false, 0
		}),
	}
}

// Extras only make sense in some scenarios.
func Extras() []Contender {
	return []Contender{
		{Name: "openai-go-sdk over ours", New: func(e *Env, i int) Doer {
			return newOpenAI(NewStack(e.Server, e.Seed*1000+uint64(i), Default()))
		}},
		{Name: "openai-go-sdk(0) over ours", New: func(e *Env, i int) Doer {
			return newOpenAI(NewStack(e.Server, e.Seed*1000+uint64(i), Default()), option.WithMaxRetries(0))
		}},
		{Name: "ours, one shared by all", New: func(e *Env, i int) Doer {
			if e.Shared["ours"] == nil {
				e.Shared["ours"] = NewStack(e.Server, e.Seed*1000, Default())
			}
			return e.Shared["ours"].(*Stack)
		}},
		{Name: "static limit shared by all", New: func(e *Env, i int) Doer {
			if e.Shared["lim"] == nil {
				e.Shared["lim"] = rate.NewLimiter(rate.Limit(0.98*e.Server.cfg.RPS), int(e.Server.cfg.RPS/10))
			}
			return &simpleRetry{next: limited{e.Server, e.Shared["lim"].(*rate.Limiter)}, tries: 6, honorRA: true,
				seed: e.Seed + uint64(i), delay: func(n int, u float64) time.Duration {
					return time.Duration(u * float64(expDelay(time.Second, 30*time.Second, n)))
				}}
		}},
	}
}

// override lets SIM_OPTS='{"Cap":false}' try a variant without editing code.
func override(o *Options) {
	if v := os.Getenv("SIM_OPTS"); v != "" {
		if err := json.Unmarshal([]byte(v), o); err != nil {
			panic(err)
		}
	}
}
