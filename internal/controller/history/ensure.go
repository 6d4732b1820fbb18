package history

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/allot-dev/allot/internal/controller/objects"
)

// Writer creates and renumbers revisions, and reads them from the API.
type Writer interface {
	objects.Reader[*appsv1.ControllerRevision]
	objects.Creator[*appsv1.ControllerRevision]
	objects.Updater[*appsv1.ControllerRevision]
}

// Server is what a controller with a history needs: it also adopts, releases and deletes revisions.
type Server interface {
	Writer
	objects.Patcher[*appsv1.ControllerRevision]
	objects.Deleter[*appsv1.ControllerRevision]
}

// Current holds the revisions with the current template, the one to use last, and the number of
// hash collisions.
type Current struct {
	Same       []*appsv1.ControllerRevision
	Collisions int32
}

// Revision returns the revision to use.
func (c Current) Revision() *appsv1.ControllerRevision { return c.Same[len(c.Same)-1] }

// Ensure ensures that the parent's current template has a revision, and that it is the newest.
func Ensure(ctx context.Context, server Writer, p Parent, revisions []*appsv1.ControllerRevision) (Current, error) {
	choice, err := Choose(p, revisions)
	if err != nil {
		return Current{}, err
	}
	if choice.Number > 0 {
		return create(ctx, server, p, choice.Number)
	}
	if choice.Raise != nil {
		if _, err := server.Update(ctx, choice.Raise); err != nil {
			return Current{}, fmt.Errorf("renumber controllerrevision %s: %w", choice.Raise.Name, err)
		}
	}
	return Current{Same: choice.Same, Collisions: p.Collisions}, nil
}

// create creates a revision. If its name is taken, either the cache is behind an earlier creation,
// or another template has the same hash.
func create(ctx context.Context, server Writer, p Parent, number int64) (Current, error) {
	for {
		revision, err := newRevision(p, number)
		if err != nil {
			return Current{}, err
		}
		_, err = server.Create(ctx, revision)
		if apierrors.IsAlreadyExists(err) {
			live, readErr := server.Live(ctx, revision.Namespace, revision.Name)
			switch {
			case readErr != nil:
				return Current{}, fmt.Errorf("controllerrevision %s exists, but: %w", revision.Name, readErr)
			case !metav1.IsControlledBy(live, p.Owner) || !holds(live, revision.Data.Raw, p.Template):
				p.Collisions++
				continue
			}
			revision, err = live, nil
		}
		if err != nil {
			return Current{}, fmt.Errorf("create controllerrevision %s: %w", revision.Name, err)
		}
		return Current{Same: []*appsv1.ControllerRevision{revision}, Collisions: p.Collisions}, nil
	}
}
