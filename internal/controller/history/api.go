package history

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/allot-dev/allot/internal/client"
)

// Server accesses revisions through a client.Set.
type Server struct{ set *client.Set }

// NewServer returns a Server for set.
func NewServer(set *client.Set) Server { return Server{set} }

// CreateRevision creates a revision.
func (s Server) CreateRevision(ctx context.Context, revision *appsv1.ControllerRevision) error {
	_, err := s.set.ControllerRevisions(revision.Namespace).Create(ctx, revision, metav1.CreateOptions{})
	return err
}

// UpdateRevision replaces a revision.
func (s Server) UpdateRevision(ctx context.Context, revision *appsv1.ControllerRevision) error {
	_, err := s.set.ControllerRevisions(revision.Namespace).Update(ctx, revision, metav1.UpdateOptions{})
	return err
}

// PatchRevision applies a strategic merge patch.
func (s Server) PatchRevision(ctx context.Context, revision *appsv1.ControllerRevision, patch []byte) error {
	_, err := s.set.ControllerRevisions(revision.Namespace).Patch(
		ctx,
		revision.Name,
		types.StrategicMergePatchType,
		patch,
		metav1.PatchOptions{},
	)
	return err
}

// DeleteRevision deletes a revision, with a UID precondition.
func (s Server) DeleteRevision(ctx context.Context, revision *appsv1.ControllerRevision) error {
	return s.set.ControllerRevisions(revision.Namespace).Delete(ctx, revision.Name, metav1.DeleteOptions{
		Preconditions: metav1.NewUIDPreconditions(string(revision.UID)),
	})
}

// LiveRevision reads a revision from the API.
func (s Server) LiveRevision(ctx context.Context, namespace, name string) (*appsv1.ControllerRevision, error) {
	return s.set.ControllerRevisions(namespace).Get(ctx, name, metav1.GetOptions{})
}
