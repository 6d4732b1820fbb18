package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

// Streams are what a command reads and writes.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// Main runs the command that os.Args gives, and answers its exit code. The first SIGINT or
// SIGTERM stops it in order, a second one at once.
func Main() int {
	if len(os.Args) > 1 && os.Args[1] == "kubectl" {
		return kubectl(os.Args[2:])
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	go func() {
		<-ctx.Done()
		stop() // from now on a signal ends the process
	}()
	streams := Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}
	err := newCommand(streams).ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	if !errors.Is(err, errReported) {
		fmt.Fprintf(streams.Err, "allot: %v\n", err)
	}
	return 1
}

// errReported ends a command with exit code 1 after it has said why.
var errReported = errors.New("failed")

func newCommand(streams Streams) *cobra.Command {
	root := &cobra.Command{
		Use:           "allot",
		Short:         "Workload-aware device allocation for Kubernetes",
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.Err)
	root.AddCommand(newUpCommand(streams), newVersionCommand(streams))
	root.AddCommand(newAPIServerCommand(streams), newControllerManagerCommand(streams), newSchedulerCommand(streams), newNodeCommand(streams))
	root.AddCommand(newAttachCommand(streams), newDebugCommand(streams))
	root.AddCommand(newTemplateSyncCommand(streams))
	root.AddCommand(&cobra.Command{
		Use:                "kubectl",
		Short:              "kubectl, bound to the server of the data directory",
		DisableFlagParsing: true,
		// Main runs it before cobra sees it, and without its signals; it is here for the help.
		RunE: func(_ *cobra.Command, args []string) error {
			if kubectl(args) != 0 {
				return errReported
			}
			return nil
		},
	})
	return root
}
