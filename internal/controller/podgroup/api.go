package podgroup

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/controller/reconciler"
	"github.com/allot-dev/allot/internal/groups"
)

// New returns the controller of the PodGroups in inf's caches. It must be called before inf is
// started.
func New(set *client.Set, inf *client.Informers, events reconciler.Recorder) (*Controller, error) {
	pods, podGroups := inf.Pods(), inf.PodGroups()
	if err := pods.AddIndex(groups.Index, groups.IndexKeys); err != nil {
		return nil, err
	}
	c := newController(pods, podGroups, server{set}, events)
	runner := reconciler.New("podgroup", c.Reconcile, reconciler.Options{Ready: inf.WaitForSync})
	c.queue, c.run = runner, runner.Run
	pods.OnChange(c.onPod)
	podGroups.OnChange(c.onGroup)
	return c, nil
}

// server implements the writer with a client.Set.
type server struct{ set *client.Set }

func (s server) SetFinalizers(ctx context.Context, group *scheduling.PodGroup, finalizers []string) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": group.UID, "resourceVersion": group.ResourceVersion, "finalizers": finalizers,
	}})
	if err != nil {
		return fmt.Errorf("encode patch: %w", err)
	}
	_, err = s.set.PodGroups(group.Namespace).Patch(ctx, group.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}
