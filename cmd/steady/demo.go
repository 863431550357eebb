package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	"github.com/jedib0t/go-pretty/v6/progress"
	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// demoFlags are what can be said to the demo.
type demoFlags struct {
	calls int
	seed  uint64
	json  bool
	html  string
}

func demoCommand() *cobra.Command {
	var f demoFlags
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Send one batch five ways to a provider that has a bad night, and compare",
		Long: `Starts a fake LLM server on loopback, once for each of five clients, and sends the
same batch of chat calls through the real openai-go SDK: without retries, with the
SDK's own retries, with a fixed sleep of one second, and over Steady. These four know
that the server allows 45 requests a second: Steady by its rate limit, the others by
golang.org/x/time/rate around each call. The fifth is Steady without any option, which
has to find that out. 64 workers make the calls, and all clients run at the same time.
The server has a spike of 429 and a short outage, which grow with the number of calls:
3 and 2 seconds for 1,000. With 500 calls or fewer they are too short to show much, and
most of the time goes into finding the limit. A client can answer more than 45 calls a
second while the server is up: its bucket is full at first. No key and no network are
needed.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return demo(cmd, f) },
	}
	cmd.Flags().IntVar(&f.calls, "calls", 1000, "number of calls in the batch, up to 20,000")
	cmd.Flags().Uint64Var(&f.seed, "seed", 1, "seed of the server's latencies and rejections")
	cmd.Flags().BoolVar(&f.json, "json", false, "print the figures as JSON and nothing else")
	cmd.Flags().StringVar(&f.html, "html", "", "write a page with a chart over time to `file`")
	return cmd
}

func demo(cmd *cobra.Command, f demoFlags) error {
	if f.calls < 1 || f.calls > 20_000 {
		return fmt.Errorf("--calls %d: must be from 1 to 20,000", f.calls)
	}
	var page *os.File
	if f.html != "" { // before the run, so that a wrong path costs no minute
		var err error
		if page, err = os.Create(f.html); err != nil {
			return err
		}
		defer page.Close()
	}
	sc := newScenario(f.calls, f.seed)
	if !f.json {
		fmt.Fprintf(cmd.ErrOrStderr(), "%d chat calls, five ways; %v at the limit, up to half as long again for who has to find it …\n", sc.calls, sc.expected().Round(time.Second))
	}
	bar, stop := watch(cmd.ErrOrStderr(), sc.calls, !f.json)
	runs, err := runAll(cmd.Context(), sc, bar)
	stop()
	if err != nil {
		return err
	}
	if page != nil {
		if err := errors.Join(writePage(page, sc, runs), page.Close()); err != nil {
			return err
		}
	}
	if f.json {
		enc := json.NewEncoder(cmd.OutOrStdout())
		enc.SetIndent("", "  ")
		return enc.Encode(report{Server: sc.describe(), Runs: runs})
	}
	return writeTable(cmd.OutOrStdout(), sc, runs)
}

// watch shows how far each client has come, if w is a terminal. It returns what
// to call for each call that ended, and at the end.
func watch(w io.Writer, calls int, want bool) (bar func(client string), stop func()) {
	file, ok := w.(*os.File)
	if !want || !ok || !term.IsTerminal(int(file.Fd())) {
		return func(string) {}, func() {}
	}
	pw := progress.NewWriter()
	pw.SetOutputWriter(file)
	pw.SetAutoStop(false)
	pw.SetTrackerPosition(progress.PositionRight)
	pw.SetUpdateFrequency(100 * time.Millisecond)
	pw.Style().Visibility.ETA = true
	trackers := map[string]*progress.Tracker{}
	for _, label := range labels {
		trackers[label] = &progress.Tracker{Message: fmt.Sprintf("%-12s", label), Total: int64(calls)}
		pw.AppendTracker(trackers[label])
	}
	rendering := make(chan struct{})
	go func() { pw.Render(); close(rendering) }()
	var stopped atomic.Bool
	return func(client string) { trackers[client].Increment(1) }, func() {
		if stopped.CompareAndSwap(false, true) {
			pw.Stop()
			<-rendering
		}
	}
}
