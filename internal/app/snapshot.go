package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/allot-dev/allot/internal/snapshot"
	"github.com/allot-dev/allot/internal/snapshot/gather"
)

func newSnapshotCommand(streams Streams, plugin bool) *cobra.Command {
	var t target
	var file, names string
	var pseudonyms bool
	cmd := &cobra.Command{
		Use:   "snapshot -o FILE",
		Short: "Save what decides placement on a cluster into one file",
		Long: "Read the objects that decide where pods run and which devices they get, from any cluster of Kubernetes 1.34 or later, and\n" +
			"write them into one file. The right to list is enough; kinds that may not be listed are left out and named. The file has\n" +
			"no Secrets, no ConfigMaps, and no environment, commands or arguments of containers.\n\n" +
			"A name that ends with .yaml gives YAML, one with .json JSON, and any other compressed JSON. \"-\" is the standard output, as YAML.",
		Example: "  allot snapshot -o cluster.snapshot\n" +
			"  allot explain pod train-0 --snapshot cluster.snapshot",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if file == "" {
				return errors.New("snapshot: give the file to write with -o FILE")
			}
			snap, _, err := takeSnapshot(cmd.Context(), &t, plugin, true)
			if err != nil {
				return fmt.Errorf("snapshot: %w", err)
			}
			for _, unknown := range snap.Unknown {
				fmt.Fprintln(streams.Err, "warning:", unknown)
			}
			if pseudonyms || names != "" {
				if err := pseudonymize(snap, names); err != nil {
					return fmt.Errorf("snapshot: %w", err)
				}
			}
			if err := writeSnapshot(snap, file, streams.Out); err != nil {
				return fmt.Errorf("snapshot: %w", err)
			}
			return nil
		},
	}
	t.addFlags(cmd)
	cmd.Flags().StringVarP(&file, "output", "o", "", "file to write")
	cmd.Flags().BoolVar(&pseudonyms, "pseudonyms", false,
		"replace names, labels, taints and images by pseudonyms, and leave annotations and messages out")
	cmd.Flags().StringVar(&names, "names", "",
		"with pseudonyms: file for the list of names and their pseudonyms, which stays with you")
	completeNamespaces(cmd, &t, plugin)
	return cmd
}

// pseudonymize replaces names, and writes the list of names to a file unless that is "".
func pseudonymize(snap *snapshot.Snapshot, file string) error {
	names, err := snap.Pseudonymize()
	if err != nil || file == "" {
		return err
	}
	data, err := yaml.Marshal(names)
	if err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o600)
}

// takeSnapshot reads the cluster, and returns the namespace that is meant, too. controllers
// includes what creates pods.
func takeSnapshot(ctx context.Context, t *target, plugin, controllers bool) (*snapshot.Snapshot, string, error) {
	g, namespace, err := newGatherer(ctx, t, plugin)
	if err != nil {
		return nil, "", err
	}
	g.Controllers = controllers
	snap, err := g.Snapshot(ctx, time.Now())
	return snap, namespace, err
}

// newGatherer returns what reads the cluster, and the namespace that is meant.
func newGatherer(ctx context.Context, t *target, plugin bool) (*gather.Gatherer, string, error) {
	cfg, namespace, err := t.config(plugin)
	if err != nil {
		return nil, "", err
	}
	g, err := gather.New(ctx, cfg)
	if err != nil {
		return nil, "", err
	}
	g.Namespace = namespace
	return g, namespace, nil
}

func writeSnapshot(snap *snapshot.Snapshot, file string, out io.Writer) error {
	format := snapshot.Compressed
	switch {
	case file == "-":
		return snap.Write(out, snapshot.YAML)
	case strings.HasSuffix(file, ".yaml"), strings.HasSuffix(file, ".yml"):
		format = snapshot.YAML
	case strings.HasSuffix(file, ".json"):
		format = snapshot.JSON
	}
	w, err := os.OpenFile(file, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(snap.Write(w, format), w.Close())
}

// readSnapshot reads the file of a snapshot; "-" is the standard input.
func readSnapshot(file string, in io.Reader) (*snapshot.Snapshot, error) {
	if file == "-" {
		return snapshot.Read(in)
	}
	r, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	snap, err := snapshot.Read(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return snap, nil
}
