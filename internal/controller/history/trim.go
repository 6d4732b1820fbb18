package history

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/allot-dev/allot/internal/controller/objects"
)

// Trim deletes the oldest revisions beyond limit, among those that are not in use.
func Trim(
	ctx context.Context, server objects.Deleter[*appsv1.ControllerRevision], revisions []*appsv1.ControllerRevision,
	inUse func(*appsv1.ControllerRevision) bool, limit *int32,
) error {
	for _, revision := range surplus(revisions, inUse, limit) {
		if err := server.Delete(ctx, revision); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("delete controllerrevision %s: %w", revision.Name, err)
		}
	}
	return nil
}
