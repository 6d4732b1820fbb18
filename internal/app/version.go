package app

import (
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/allot-dev/allot/internal/apiserver"
)

func newVersionCommand(streams Streams) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Show the version of allot and of the Kubernetes API it serves",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(streams.Out, "allot %s\nKubernetes API %s\n", version(), apiserver.VersionInfo().GitVersion)
			return err
		},
	}
}

// version returns the version of the module, or the commit that it was built from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return "devel-" + s.Value[:min(len(s.Value), 12)]
		}
	}
	return "devel"
}
