package controllertest

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Revisions is the ControllerRevisions of a server.
type Revisions struct {
	Store[*appsv1.ControllerRevision]
	Stamp func(*metav1.ObjectMeta)         // sets a new version
	Say   func(format string, args ...any) // records writes
}

func noRevision(name string) error {
	return apierrors.NewNotFound(appsv1.Resource("controllerrevisions"), name)
}

func (r Revisions) put(revision *appsv1.ControllerRevision) {
	revision = revision.DeepCopy()
	r.Stamp(&revision.ObjectMeta)
	r.Store[revision.Name] = revision
}

// CreateRevision adds a revision.
func (r Revisions) CreateRevision(_ context.Context, revision *appsv1.ControllerRevision) error {
	if _, taken := r.Store[revision.Name]; taken {
		return apierrors.NewAlreadyExists(appsv1.Resource("controllerrevisions"), revision.Name)
	}
	r.put(revision)
	r.Say("create revision %s with number %d", revision.Name, revision.Revision)
	return nil
}

// UpdateRevision replaces a revision.
func (r Revisions) UpdateRevision(_ context.Context, revision *appsv1.ControllerRevision) error {
	live, ok := r.Store[revision.Name]
	if !ok {
		return noRevision(revision.Name)
	}
	if live.ResourceVersion != revision.ResourceVersion {
		return apierrors.NewConflict(appsv1.Resource("controllerrevisions"), revision.Name, nil)
	}
	r.put(revision)
	r.Say("update revision %s: number %d", revision.Name, revision.Revision)
	return nil
}

// PatchRevision applies a strategic merge patch.
func (r Revisions) PatchRevision(_ context.Context, revision *appsv1.ControllerRevision, patch []byte) error {
	live, ok := r.Store[revision.Name]
	if !ok {
		return noRevision(revision.Name)
	}
	patched, err := Patched(live, patch)
	if err != nil {
		return err
	}
	r.put(patched)
	r.Say("patch revision %s: owners %v", revision.Name, Owners(patched))
	return nil
}

// DeleteRevision deletes a revision.
func (r Revisions) DeleteRevision(_ context.Context, revision *appsv1.ControllerRevision) error {
	if _, ok := r.Store[revision.Name]; !ok {
		return noRevision(revision.Name)
	}
	delete(r.Store, revision.Name)
	r.Say("delete revision %s", revision.Name)
	return nil
}

// LiveRevision reads a revision.
func (r Revisions) LiveRevision(_ context.Context, _, name string) (*appsv1.ControllerRevision, error) {
	if revision, ok := r.Store[name]; ok {
		return revision, nil
	}
	return nil, noRevision(name)
}
