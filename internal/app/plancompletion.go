package app

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/allot-dev/allot/internal/forecast"
)

// complete completes the values of the flags of allot plan from the cluster.
func (o *planOptions) complete(cmd *cobra.Command) {
	names := func(resource string) func(context.Context) []string {
		return func(ctx context.Context) []string { return o.target.names(ctx, o.plugin, resource) }
	}
	completeFlag(cmd, "drain", names("nodes"))
	completeFlag(cmd, "taint-device", names("devices"))
	completeFlag(cmd, "priority", names("priorityclasses"))
	completeFlag(cmd, "add", func(ctx context.Context) []string {
		var list []string
		for _, node := range o.target.names(ctx, o.plugin, "nodes") {
			list = append(list, node+"=")
		}
		return list
	})
	completeFlag(cmd, "output", func(context.Context) []string { return []string{"text", "json", "yaml"} })
	completeNamespaces(cmd, &o.target, o.plugin)
	err := cmd.RegisterFlagCompletionFunc(
		"delete",
		func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
			kind, _, named := strings.Cut(typed, "/")
			if !named {
				return forecast.DeletableKinds(), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
			}
			var list []string
			for _, name := range o.target.names(cmd.Context(), o.plugin, forecast.ResourceOf(kind)) {
				list = append(list, kind+"/"+name)
			}
			return list, cobra.ShellCompDirectiveNoFileComp
		},
	)
	if err != nil {
		panic(err) // there is no such flag
	}
}
