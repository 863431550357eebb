package sim

import "github.com/steadyhttp/steady"

// Contenders lists everything that is compared.
func Contenders() []Contender {
	var out []Contender
	out = append(out, basicContenders()...)
	out = append(out, libContenders()...)
	out = append(out, articleContenders()...)
	out = append(out, imported("steady", asLongAsAllowed), imported("steady-defaults"),
		imported("steady-pool", asLongAsAllowed, steady.WithPace(steady.AdaptivePool())), modelled("model"))
	out = append(out, Oracle(false), Oracle(true), BlindOracle(false), BlindOracle(true))
	return out
}
