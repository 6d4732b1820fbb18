package node

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/internal/client"
)

// server implements the writers and readers with the API.
type server struct{ set *client.Set }

func (s server) UpdatePodStatus(ctx context.Context, pod *core.Pod) (*core.Pod, error) {
	return s.set.Pods(pod.Namespace).UpdateStatus(ctx, pod, metav1.UpdateOptions{})
}

func (s server) DeletePod(ctx context.Context, pod *core.Pod) error {
	opts := metav1.DeleteOptions{
		GracePeriodSeconds: new(int64),
		Preconditions:      metav1.NewUIDPreconditions(string(pod.UID)),
	}
	return s.set.Pods(pod.Namespace).Delete(ctx, pod.Name, opts)
}

func (s server) LiveClaim(ctx context.Context, namespace, name string) (*resource.ResourceClaim, error) {
	return s.set.ResourceClaims(namespace).Get(ctx, name, metav1.GetOptions{})
}

func (s server) CreateNode(ctx context.Context, node *corev1.Node) (*corev1.Node, error) {
	return s.set.Nodes().Create(ctx, node, metav1.CreateOptions{})
}

func (s server) UpdateNode(ctx context.Context, node *corev1.Node) (*corev1.Node, error) {
	return s.set.Nodes().Update(ctx, node, metav1.UpdateOptions{})
}

func (s server) UpdateNodeStatus(ctx context.Context, node *corev1.Node) (*corev1.Node, error) {
	return s.set.Nodes().UpdateStatus(ctx, node, metav1.UpdateOptions{})
}

func (s server) DeleteNode(ctx context.Context, node *corev1.Node) error {
	return s.set.Nodes().Delete(ctx, node.Name,
		metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(node.UID))})
}

func (s server) CreateSlice(ctx context.Context, slice *resourcev1.ResourceSlice) (*resourcev1.ResourceSlice, error) {
	return s.set.ResourceSlices().Create(ctx, slice, metav1.CreateOptions{})
}

func (s server) UpdateSlice(ctx context.Context, slice *resourcev1.ResourceSlice) (*resourcev1.ResourceSlice, error) {
	return s.set.ResourceSlices().Update(ctx, slice, metav1.UpdateOptions{})
}

func (s server) DeleteSlice(ctx context.Context, slice *resourcev1.ResourceSlice) error {
	return s.set.ResourceSlices().Delete(ctx, slice.Name,
		metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(slice.UID))})
}
