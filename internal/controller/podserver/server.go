package podserver

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/client"
)

// Server accesses pods through a client.Set.
type Server struct{ set *client.Set }

// New returns a Server for set.
func New(set *client.Set) Server { return Server{set} }

// CreatePod creates a pod.
func (s Server) CreatePod(ctx context.Context, pod *core.Pod) (*core.Pod, error) {
	return s.set.Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{})
}

// PatchPod applies a strategic merge patch.
func (s Server) PatchPod(ctx context.Context, pod *core.Pod, patch []byte) error {
	_, err := s.set.Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	return err
}

// DeletePod deletes a pod gracefully, with a UID precondition.
func (s Server) DeletePod(ctx context.Context, pod *core.Pod) error {
	return s.set.Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
		Preconditions: metav1.NewUIDPreconditions(string(pod.UID)),
	})
}

// LivePods returns the pods that match the selector. Without a resource version the server reads as
// of now, not from a cache that may be older.
func (s Server) LivePods(ctx context.Context, namespace string, selector labels.Selector) ([]*core.Pod, error) {
	list, err := s.set.Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector.String()})
	if err != nil {
		return nil, err
	}
	pods := make([]*core.Pod, len(list.Items))
	for i := range list.Items {
		pods[i] = &list.Items[i]
	}
	return pods, nil
}
