// Command steady shows what the package steady does.
//
//	go run ./cmd/steady demo
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root := &cobra.Command{
		Use:           "steady",
		Short:         "Composable http.RoundTripper layers that keep calls to LLM APIs steady",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(demoCommand())
	if err := root.ExecuteContext(ctx); err != nil {
		if errors.Is(err, context.Canceled) {
			fmt.Fprintln(os.Stderr, "interrupted")
			os.Exit(130)
		}
		fmt.Fprintln(os.Stderr, "steady:", err)
		os.Exit(1)
	}
}
