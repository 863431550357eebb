package main

import (
	"bytes"
	"html/template"
	"io"
	"math"
	"strconv"

	"github.com/wcharczuk/go-chart/v2"
	"github.com/wcharczuk/go-chart/v2/drawing"
)

var page = template.Must(template.New("page").Parse(`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Steady: one batch, five ways</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; color: #222 }
table { border-collapse: collapse; margin: 1.5rem 0 }
th, td { padding: .3rem .8rem; text-align: right; border-bottom: 1px solid #ddd }
th:first-child, td:first-child { text-align: left }
tr.steady { font-weight: 600 }
svg { max-width: 100%; height: auto }
</style>
<h1>One batch, five ways</h1>
<p>{{.Sentence}}</p>
{{.Chart}}
<p>Calls answered in each second. The dashed line is what the server allows to a client that sends at its limit.</p>
<table>
<tr><th>client<th>success<th>mean<th>p99<th>calls/s<th>while up<th>wire/success<th>billed/success</tr>
{{range .Runs}}<tr{{if .Ours}} class="steady"{{end}}><td>{{.Label}}<td>{{printf "%.1f %%" .SuccessPercent}}<td>{{printf "%.0f ms" .MeanMS}}<td>{{printf "%.0f ms" .P99MS}}<td>{{printf "%.1f" .RPS}}<td>{{printf "%.1f" .RPSUp}}<td>{{printf "%.3f" .WirePerSuccess}}<td>{{printf "%.3f" .BilledPerSuccess}}</tr>
{{end}}</table>
</html>
`))

// Ours, Label and SuccessPercent are for the page.
func (r run) Ours() bool              { return r.Client == "steady" || r.Client == "untold" }
func (r run) Label() string           { return r.label }
func (r run) SuccessPercent() float64 { return 100 * r.Success }

// writePage writes a page that needs nothing but itself.
func writePage(w io.Writer, sc scenario, runs []run) error {
	svg, err := drawChart(sc, runs)
	if err != nil {
		return err
	}
	return page.Execute(w, map[string]any{
		"Sentence": sentence(sc, runs), "Runs": runs,
		"Chart": template.HTML(svg), //nolint:gosec // made by go-chart from numbers and our own labels
	})
}

func drawChart(sc scenario, runs []run) (string, error) {
	colours := [ways]drawing.Color{
		drawing.ColorFromHex("999999"), drawing.ColorFromHex("e08e0b"), drawing.ColorFromHex("c2403a"), drawing.ColorFromHex("1f6feb"), drawing.ColorFromHex("2da44e"),
	}
	seconds := 1
	for _, r := range runs {
		seconds = max(seconds, int(r.Seconds)+1)
	}
	var at []float64
	for s := range seconds {
		at = append(at, float64(s))
	}
	c := chart.Chart{
		Width: 960, Height: 360,
		XAxis: chart.XAxis{Name: "seconds", Ticks: ticks(float64(seconds))},
		YAxis: chart.YAxis{Name: "calls answered", Ticks: ticks(2*sc.limit + 10), Range: &chart.ContinuousRange{Max: 2*sc.limit + 10}},
	}
	for i, r := range runs {
		answered := make([]float64, seconds)
		for _, s := range r.samples {
			if s.ok {
				answered[int(s.ended.Seconds())]++
			}
		}
		style := chart.Style{StrokeColor: colours[i], StrokeWidth: 1.5}
		if r.Ours() {
			style.StrokeWidth = 3
		}
		c.Series = append(c.Series, chart.ContinuousSeries{Name: r.label, Style: style, XValues: at, YValues: answered})
	}
	c.Series = append(c.Series, chart.ContinuousSeries{
		Name: "limit", XValues: at, YValues: sc.perSecond(seconds),
		Style: chart.Style{StrokeColor: drawing.ColorBlack, StrokeWidth: 1, StrokeDashArray: []float64{4, 4}},
	})
	c.Elements = []chart.Renderable{chart.LegendThin(&c)}
	var svg bytes.Buffer
	err := c.Render(chart.SVG, &svg)
	return svg.String(), err
}

// ticks returns whole numbers from 0 to at least most, about ten of them.
func ticks(most float64) []chart.Tick {
	step := max(1, math.Ceil(most/10))
	var all []chart.Tick
	for v := 0.0; v < most+step; v += step {
		all = append(all, chart.Tick{Value: v, Label: strconv.Itoa(int(v))})
	}
	return all
}
