package app

import (
	"context"
	"io"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/allot-dev/allot/internal/snapshot"
)

// source is the input of a read-only command: a cluster, or a snapshot file.
type source struct {
	target
	plugin bool
	file   string // file of a snapshot; "" for the cluster
}

func (s *source) addFlags(cmd *cobra.Command) {
	s.target.addFlags(cmd)
	cmd.Flags().StringVar(&s.file, "snapshot", "", "read this file, made by allot snapshot, instead of a cluster")
}

// snapshot reads the file or the cluster, and returns the namespace that is meant, too. controllers
// includes what creates pods.
func (s *source) snapshot(ctx context.Context, in io.Reader, controllers bool) (*snapshot.Snapshot, string, error) {
	if s.file == "" {
		return takeSnapshot(ctx, &s.target, s.plugin, controllers)
	}
	snap, err := readSnapshot(s.file, in)
	return snap, s.fileNamespace(), err
}

// fileNamespace returns the namespace that is meant in a file.
func (s *source) fileNamespace() string {
	if s.namespace == "" {
		return metav1.NamespaceDefault
	}
	return s.namespace
}
