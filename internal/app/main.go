package app

import (
	"errors"
	"io"
	"os"

	"github.com/spf13/cobra"
)

// Streams are the input and the outputs of a command.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer

	hurry *cleanups // may be nil
}

// Main runs the command of os.Args, and returns its exit code. The first SIGINT, SIGTERM or SIGHUP
// stops it in order; another one, more than a second later, stops it immediately.
func Main() int {
	args, plugin := pluginArgs(os.Args)
	if len(args) > 0 && args[0] == "kubectl" && !plugin {
		return kubectl(args[1:])
	}
	streams := Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, hurry: &cleanups{}}
	ctx, stop := handleSignals(streams.hurry)
	defer stop()
	command := newCommand(streams, plugin)
	command.SetArgs(args)
	return exitCode(ctx, command.ExecuteContext(ctx), streams)
}

// errReported ends a command with exit code 1 after the error was printed.
var errReported = errors.New("failed")

// newCommand returns the command allot, or kubectl allot if kubectl runs it as a plugin.
func newCommand(streams Streams, plugin bool) *cobra.Command {
	root := &cobra.Command{
		Use:           "allot",
		Short:         "Workload-aware device allocation for Kubernetes",
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	if plugin {
		root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl allot"}
	}
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.Err)
	root.AddCommand(newUpCommand(streams), newVersionCommand(streams))
	root.AddCommand(newAPIServerCommand(streams), newControllerManagerCommand(streams), newSchedulerCommand(streams),
		newNodeCommand(streams))
	root.AddCommand(newAttachCommand(streams), newDebugCommand(streams))
	root.AddCommand(newTemplateSyncCommand(streams), newJoinTokenCommand(streams))
	root.AddCommand(newExplainCommand(streams, plugin), newPlanCommand(streams, plugin),
		newSnapshotCommand(streams, plugin), newDashboardCommand(streams, plugin))
	root.AddCommand(&cobra.Command{
		Use:   "kubectl",
		Short: "kubectl, for the server of the data directory",
		Long: "Run kubectl. Its server is that of --kubeconfig; else of --data-dir, a data directory of allot up; else of\n" +
			"$ALLOT_DATA_DIR; else of $KUBECONFIG; else of the default data directory.",
		DisableFlagParsing: true,
		// Main runs kubectl before cobra does, and without handling signals. The command is here
		// for the help.
		RunE: func(_ *cobra.Command, args []string) error {
			if kubectl(args) != 0 {
				return errReported
			}
			return nil
		},
	})
	return root
}
