package main

import (
	"fmt"
	"os"

	"github.com/wcharczuk/go-chart/v2"

	"github.com/steadyhttp/steady/bench/goodput/internal/sim"
)

// chart draws answers per second over time, one line for each contender, and a
// dashed one for its attempts that were refused or failed.
func (b *bench) chart(file string, sc *sim.Scenario, seed uint64, cs []sim.Contender) {
	c := chart.Chart{
		Title: sc.Name + ": " + sc.Title, Width: 1100, Height: 420,
		Background: chart.Style{Padding: chart.Box{Top: 40}},
		XAxis:      chart.XAxis{Name: "seconds", ValueFormatter: chart.IntValueFormatter},
		YAxis:      chart.YAxis{Name: "per second", ValueFormatter: chart.IntValueFormatter},
	}
	for i, con := range cs {
		r := sim.Play(b.t, sc, con, seed)
		at, ok, wasted := series(r.Bins)
		line := chart.Style{StrokeColor: chart.GetDefaultColor(i), StrokeWidth: 2}
		dashed := chart.Style{StrokeColor: chart.GetDefaultColor(i), StrokeWidth: 1, StrokeDashArray: []float64{3, 3}}
		c.Series = append(c.Series,
			chart.ContinuousSeries{Name: con.Name + ", answers", Style: line, XValues: at, YValues: ok},
			chart.ContinuousSeries{Name: con.Name + ", wasted", Style: dashed, XValues: at, YValues: wasted})
	}
	c.Elements = []chart.Renderable{chart.LegendLeft(&c)}
	f, err := os.Create(file)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	defer f.Close()
	if err := c.Render(chart.SVG, f); err != nil {
		b.t.Fatal(err)
	}
}

// series returns means over five seconds each, which a Poisson flow needs to be legible.
func series(bins []sim.SecBin) (at, ok, wasted []float64) {
	const width = 5
	for from := 0; from+width <= len(bins); from += width {
		good, bad := 0, 0
		for _, b := range bins[from : from+width] {
			good += b.OK
			bad += b.Throttled + b.Failed
		}
		at = append(at, float64(from)+width/2.0)
		ok = append(ok, float64(good)/width)
		wasted = append(wasted, float64(bad)/width)
	}
	return at, ok, wasted
}
