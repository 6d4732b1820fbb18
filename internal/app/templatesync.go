package app

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/allot-dev/allot/internal/controller/templatesync"
)

// templateSyncName is the name of the lease, and of the source of the events. The role in
// config/rbac.yaml has it too.
const templateSyncName = "allot-template-sync"

func newTemplateSyncCommand(streams Streams) *cobra.Command {
	var limits templatesync.Options
	cmd := newApartCommand(
		streams,
		"template-sync",
		"Keep ResourceClaimTemplates of all namespaces in step",
		true,
		func(*apartOptions) workload {
			return workload{name: templateSyncName, parts: func(c *component) ([]part, <-chan struct{}, error) {
				s, err := templatesync.New(c.Client.Config(), c.eventsOf(templateSyncName), c.metrics.Templates, limits)
				if err != nil {
					return nil, nil, err
				}
				return []part{{"template sync", s.Run}}, s.Ready(), nil
			}}
		},
	)
	cmd.Long = "Keep a ResourceClaimTemplate in each selected namespace in step with each ClusterResourceClaimTemplate of allot.dev,\n" +
		"on any Kubernetes cluster of version 1.34 or later. The cluster needs what \"allot template-sync manifests\" prints.\n\n" +
		"Bringing a namespace up to date takes one request for a new template, and two for a changed one."
	cmd.Example = "  allot template-sync manifests | kubectl apply -f -\n" +
		"  allot template-sync --kubeconfig ~/.kube/config"
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if limits.QPS < 0 || limits.QPS > 0 && limits.Burst < 1 {
			return fmt.Errorf("--qps must not be negative, and --burst must be 1 at least: they are %g and %d", limits.QPS,
				limits.Burst)
		}
		return nil
	}
	cmd.Flags().Float32Var(&limits.QPS, "qps", 100, "requests a second at most; 0 is no limit")
	cmd.Flags().IntVar(&limits.Burst, "burst", 100, "requests that may be made at once after a pause")
	cmd.AddCommand(&cobra.Command{
		Use:   "manifests",
		Short: "Print what the cluster needs: the definition of the kind, and a service account with its rights",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprint(streams.Out, templatesync.Manifests())
			return err
		},
	})
	return cmd
}
