package nodelifecycle

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/controller/reconciler"
)

// New returns the controller of the nodes in inf's caches; it must be called before inf is started.
func New(set *client.Set, inf *client.Informers, events reconciler.Recorder, opts Options) (*Controller, error) {
	opts = opts.withDefaults()
	if err := inf.Pods().AddIndex(client.PodsByNode, client.PodNodes); err != nil {
		return nil, fmt.Errorf("node lifecycle: %w", err)
	}
	c := newController(inf.Nodes(), inf.NodeLeases(), inf.Pods(), api{set}, events, opts)
	runner := reconciler.New("nodelifecycle", c.reconcile,
		reconciler.Options{Workers: 8, Ready: inf.WaitForSync, Clock: opts.Clock})
	c.queue, c.work, c.ready = runner, runner.Run, inf.WaitForSync
	inf.Nodes().OnChange(c.onNode)
	return c, nil
}

type api struct{ set *client.Set }

func (a api) Reachable(ctx context.Context) error {
	_, err := a.set.Namespaces().Get(ctx, corev1.NamespaceNodeLease, metav1.GetOptions{})
	return client.IgnoreNotFound(err)
}

func (a api) UpdateNode(ctx context.Context, node *corev1.Node) (*corev1.Node, error) {
	return a.set.Nodes().Update(ctx, node, metav1.UpdateOptions{})
}

func (a api) UpdateNodeStatus(ctx context.Context, node *corev1.Node) (*corev1.Node, error) {
	return a.set.Nodes().UpdateStatus(ctx, node, metav1.UpdateOptions{})
}

func (a api) MarkNotReady(ctx context.Context, pod *core.Pod, now time.Time) error {
	condition := corev1.PodCondition{
		Type:               corev1.PodReady,
		Status:             corev1.ConditionFalse,
		LastTransitionTime: metav1.NewTime(now),
	}
	patch, err := client.StatusPatchOfVersion(pod, map[string]any{"conditions": []corev1.PodCondition{condition}})
	if err != nil {
		return err
	}
	_, err = a.set.Pods(pod.Namespace).Patch(
		ctx,
		pod.Name,
		types.StrategicMergePatchType,
		patch,
		metav1.PatchOptions{},
		"status",
	)
	if apierrors.IsConflict(err) {
		return fmt.Errorf("the pod has changed: %w", err)
	}
	return err
}
