package podserver

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/client"
)

// Server is the writing side of the API of pods.
type Server struct{ set *client.Set }

// New returns the API that set reaches.
func New(set *client.Set) Server { return Server{set} }

// CreatePod makes a pod.
func (s Server) CreatePod(ctx context.Context, pod *core.Pod) (*core.Pod, error) {
	return s.set.Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{})
}

// PatchPod applies a strategic merge patch.
func (s Server) PatchPod(ctx context.Context, pod *core.Pod, patch []byte) error {
	_, err := s.set.Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	return err
}

// DeletePod deletes this very pod, gracefully.
func (s Server) DeletePod(ctx context.Context, pod *core.Pod) error {
	return s.set.Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
		Preconditions: metav1.NewUIDPreconditions(string(pod.UID)),
	})
}
