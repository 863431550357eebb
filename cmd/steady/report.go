package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"golang.org/x/term"
)

// report is what --json prints.
type report struct {
	Server server `json:"server"`
	Runs   []run  `json:"runs"`
}

// server is the provider's side of the story.
type server struct {
	Calls      int     `json:"calls"`
	Seed       uint64  `json:"seed"`
	LimitRPS   float64 `json:"limit_rps"`
	Burst      float64 `json:"burst"`
	SpikeFrom  float64 `json:"spike_from_s"`
	SpikeTo    float64 `json:"spike_to_s"`
	SpikeShare float64 `json:"spike_share_429"`
	OutageFrom float64 `json:"outage_from_s"`
	OutageTo   float64 `json:"outage_to_s"`
}

func (s scenario) describe() server {
	return server{
		Calls: s.calls, Seed: s.seed, LimitRPS: s.limit, Burst: s.limit,
		SpikeFrom: s.spikeAt.Seconds(), SpikeTo: (s.spikeAt + s.spike).Seconds(), SpikeShare: s.share,
		OutageFrom: s.outageAt.Seconds(), OutageTo: (s.outageAt + s.outage).Seconds(),
	}
}

// expected is how long the batch takes at best.
func (s scenario) expected() time.Duration {
	lost := s.outage.Seconds() + s.share*s.spike.Seconds()
	return time.Duration((max(0, float64(s.calls)-s.limit)/s.limit + lost) * float64(time.Second))
}

// writeTable prints the runs, in colour on a terminal, and what they mean.
func writeTable(w io.Writer, sc scenario, runs []run) error {
	file, ok := w.(*os.File)
	colour := ok && term.IsTerminal(int(file.Fd())) && os.Getenv("NO_COLOR") == ""
	if !colour {
		text.DisableColors()
	}
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.AppendHeader(table.Row{"client", "success", "mean", "p99", "calls/s", "while up", "wire/success", "billed/success"})
	for _, r := range runs {
		row := table.Row{
			r.label, fmt.Sprintf("%.1f %%", 100*r.Success), fmt.Sprintf("%.0f ms", r.MeanMS), fmt.Sprintf("%.0f ms", r.P99MS),
			fmt.Sprintf("%.1f", r.RPS), fmt.Sprintf("%.1f", r.RPSUp),
			fmt.Sprintf("%.3f", r.WirePerSuccess), fmt.Sprintf("%.3f", r.BilledPerSuccess),
		}
		if r.Ours() {
			for i, cell := range row {
				row[i] = text.Bold.Sprint(cell)
			}
		}
		t.AppendRow(row)
	}
	right := make([]table.ColumnConfig, 0, 7)
	for n := 2; n <= 8; n++ {
		right = append(right, table.ColumnConfig{Number: n, Align: text.AlignRight})
	}
	t.SetColumnConfigs(right)
	_, err := fmt.Fprintf(w, "%s\n\n%s\n", t.Render(), sentence(sc, runs))
	return err
}

// sentence says what happened, from the figures alone.
func sentence(sc scenario, runs []run) string {
	var b strings.Builder
	fmt.Fprintf(&b, "The server allowed %.0f requests a second, answered %.0f %% of them with 429 for %v and was down for %v: ",
		sc.limit, 100*sc.share, sc.spike, sc.outage)
	var parts []string
	for _, r := range runs {
		lost := "lost none"
		if r.Succeeded < r.Calls {
			lost = fmt.Sprintf("lost %d of %d calls", r.Calls-r.Succeeded, r.Calls)
		}
		parts = append(parts, fmt.Sprintf("%s %s, with %.2f requests per answer", r.label, lost, r.WirePerSuccess))
	}
	return b.String() + strings.Join(parts, "; ") + "."
}
