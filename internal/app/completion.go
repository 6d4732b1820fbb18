package app

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/allot-dev/allot/internal/explain"
	"github.com/allot-dev/allot/internal/snapshot/gather"
)

// completionTimeout is how long a shell waits for names at most.
const completionTimeout = 5 * time.Second

// resourceOf returns the resource with the objects of a kind that can be explained.
func resourceOf(kind string) string {
	if kind == "claim" {
		return "resourceclaims"
	}
	return kind + "s"
}

// complete returns the kinds, then the names of the kind on the cluster or in the snapshot, and
// completes the values of flags.
func (o *explainOptions) complete(cmd *cobra.Command, streams Streams) {
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		switch len(args) {
		case 0:
			return explain.Kinds(), cobra.ShellCompDirectiveNoFileComp
		case 1:
			return o.names(cmd.Context(), explain.KindOf(args[0]), streams), cobra.ShellCompDirectiveNoFileComp
		}
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	completeFlag(cmd, "output", func(context.Context) []string { return []string{"text", "json", "yaml"} })
	completeNamespaces(cmd, &o.target, o.plugin)
}

// completeNamespaces completes -n with the namespaces of the cluster.
func completeNamespaces(cmd *cobra.Command, t *target, plugin bool) {
	completeFlag(cmd, "namespace", func(ctx context.Context) []string { return t.names(ctx, plugin, "namespaces") })
}

func completeFlag(cmd *cobra.Command, flag string, values func(ctx context.Context) []string) {
	// The error means that there is no such flag.
	if err := cmd.RegisterFlagCompletionFunc(flag, func(cmd *cobra.Command, _ []string, _ string) ([]string,
		cobra.ShellCompDirective) {
		return values(cmd.Context()), cobra.ShellCompDirectiveNoFileComp
	}); err != nil {
		panic(err)
	}
}

// names returns the names of a kind. Without a cluster that answers there are none.
func (o *explainOptions) names(ctx context.Context, kind string, streams Streams) []string {
	if kind == "" {
		return nil
	}
	if o.file == "" {
		return o.target.names(ctx, o.plugin, resourceOf(kind))
	}
	snap, err := readSnapshot(o.file, streams.In)
	if err != nil {
		return nil
	}
	e, err := explain.New(snap)
	if err != nil {
		return nil
	}
	return e.Names(kind, o.fileNamespace())
}

// names returns the names of a resource on the cluster.
func (t *target) names(ctx context.Context, plugin bool, resource string) []string {
	ctx, cancel := context.WithTimeout(ctx, completionTimeout)
	defer cancel()
	cfg, namespace, err := t.config(plugin)
	if err != nil {
		return nil
	}
	g, err := gather.New(ctx, cfg)
	if err != nil {
		return nil
	}
	if resource == "devices" {
		names, _ := g.DeviceNames(ctx)
		return names
	}
	names, _ := g.Names(ctx, resource, namespace)
	return names
}

// pluginName is the name under which kubectl finds the binary as a plugin, and completionName the
// one under which it asks for completions.
const (
	pluginName     = "kubectl-allot"
	completionName = "kubectl_complete-allot"
)

// pluginArgs returns the arguments of a command line, and whether kubectl runs the binary as a
// plugin.
func pluginArgs(args []string) (rest []string, plugin bool) {
	name := args[0][strings.LastIndexAny(args[0], `/\`)+1:]
	switch strings.TrimSuffix(name, ".exe") {
	case pluginName:
		return args[1:], true
	case completionName:
		return append([]string{cobra.ShellCompRequestCmd}, args[1:]...), true
	}
	return args[1:], false
}
