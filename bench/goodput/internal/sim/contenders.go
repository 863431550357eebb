package sim

import (
	"encoding/json"
	"os"

	"github.com/steadyhttp/steady"
)

// Contenders lists everything that is compared.
func Contenders() []Contender {
	var out []Contender
	out = append(out, basicContenders()...)
	out = append(out, libContenders()...)
	out = append(out, articleContenders()...)
	out = append(out, imported("steady"), imported("steady-pool", steady.WithPace(steady.AdaptivePool())), modelled("model"))
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

// override lets SIM_OPTS='{"Cap":false}' try a variant without editing code.
func override(o *Options) {
	if v := os.Getenv("SIM_OPTS"); v != "" {
		if err := json.Unmarshal([]byte(v), o); err != nil {
			panic(err)
		}
	}
}
