package podgc

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/controller/reconciler"
)

// Options are the options of the controller. The zero value is valid.
type Options struct {
	// Quarantine is the time for which a node must be missing before its pods are deleted. Default:
	// DefaultQuarantine.
	Quarantine time.Duration
}

// New returns the controller of the pods in inf's cache. It must be called before inf is started.
func New(set *client.Set, inf *client.Informers, opts Options) (*Controller, error) {
	if opts.Quarantine <= 0 {
		opts.Quarantine = DefaultQuarantine
	}
	pods, nodes := inf.Pods(), inf.Nodes()
	if err := pods.AddIndex(client.PodsByNode, client.PodNodes); err != nil {
		return nil, fmt.Errorf("pod garbage collector: %w", err)
	}
	api := server{set}
	c := &Controller{
		pods: pods, nodes: nodes, write: api, live: api, quarantine: opts.Quarantine,
		clock: clock.RealClock{}, missing: map[string]time.Time{},
	}
	runner := reconciler.New("podgc", c.Reconcile, reconciler.Options{Ready: inf.WaitForSync})
	c.queue, c.run = runner, runner.Run
	pods.OnChange(c.onPod)
	nodes.OnChange(c.onNode)
	return c, nil
}

// server accesses the API without caches.
type server struct{ set *client.Set }

func (s server) UpdatePodStatus(ctx context.Context, pod *core.Pod) error {
	_, err := s.set.Pods(pod.Namespace).UpdateStatus(ctx, pod, metav1.UpdateOptions{})
	return err
}

func (s server) DeletePod(ctx context.Context, pod *core.Pod) error {
	opts := metav1.NewDeleteOptions(0)
	opts.Preconditions = metav1.NewUIDPreconditions(string(pod.UID))
	return s.set.Pods(pod.Namespace).Delete(ctx, pod.Name, *opts)
}

func (s server) NodeExists(ctx context.Context, name string) (bool, error) {
	_, err := s.set.Nodes().Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}
