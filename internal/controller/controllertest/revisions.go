package controllertest

import (
	"context"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/allot-dev/allot/internal/controller/history"
)

// Revisions are the ControllerRevisions of a scenario.
type Revisions struct {
	*Kind[*appsv1.ControllerRevision]

	hashLabel string
	images    map[string]string // of all templates, by the hash of their revision
}

// NewRevisions adds revisions to the scenario. In the output, the image of a template stands for the
// hash of its revision.
func NewRevisions(s *Scenario, hashLabel string) *Revisions {
	r := &Revisions{
		Kind:      NewKind[*appsv1.ControllerRevision](s, "revision", appsv1.Resource("controllerrevisions")),
		hashLabel: hashLabel, images: map[string]string{},
	}
	number := func(format string) func(_, revision *appsv1.ControllerRevision) string {
		return func(_, revision *appsv1.ControllerRevision) string { return fmt.Sprintf(format, revision.Revision) }
	}
	r.Texts = map[string]func(_, _ *appsv1.ControllerRevision) string{
		"create": number(" with number %d"), "update": number(": number %d"),
		"list": func(_, revision *appsv1.ControllerRevision) string {
			return fmt.Sprintf(" number=%d owners=%v", revision.Revision, Owners(revision))
		},
	}
	r.Order = func(a, b *appsv1.ControllerRevision) int { return int(a.Revision - b.Revision) }
	s.Readable = r.readable
	return r
}

func (r *Revisions) readable(text string) string {
	for _, revision := range r.Server {
		if template, err := history.Template(revision); err == nil {
			r.images[history.Hash(revision, r.hashLabel)] = template.Spec.Containers[0].Image
		}
	}
	for hash, image := range r.images {
		text = strings.ReplaceAll(text, hash, image)
	}
	return text
}

// Lose removes the revision whose template has the image from the server.
func (r *Revisions) Lose(image string) {
	r.readable("")
	for name, revision := range r.Server {
		if r.images[history.Hash(revision, r.hashLabel)] == image {
			delete(r.Server, name)
		}
	}
}

// Take creates the revision that the parent would create for its template, under another owner.
func (r *Revisions) Take(parent history.Parent) error {
	parent.Owner = &metav1.ObjectMeta{Name: parent.Owner.GetName(), Namespace: "default", UID: "another"}
	_, err := history.Ensure(context.Background(), r, parent, nil)
	r.s.Lines = nil
	return err
}
