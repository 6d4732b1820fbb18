package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/allot-dev/allot/internal/controller/kinds"
)

const (
	// FieldManager is the field manager of the fields that Apply sets.
	FieldManager = "allot"

	establishTime = 30 * time.Second
	pollTime      = 50 * time.Millisecond
)

// Ref identifies an applied object.
type Ref struct {
	Group, Kind     string
	Namespace, Name string // the namespace is empty for cluster-scoped objects
}

// String returns kind/name, such as podgroup/my-group, with the namespace unless it is the default
// one.
func (r Ref) String() string {
	text := strings.ToLower(r.Kind) + "/" + r.Name
	if r.Namespace != "" && r.Namespace != corev1.NamespaceDefault {
		text += " in " + r.Namespace
	}
	return text
}

// Outcomes of applying an object.
const (
	Created    = "created"
	Configured = "configured"
	Unchanged  = "unchanged"
)

// Outcomes counts applied objects by outcome.
type Outcomes map[string]int

func (o Outcomes) String() string {
	var out []string
	for _, outcome := range []string{Created, Configured, Unchanged} {
		if n := o[outcome]; n > 0 {
			out = append(out, fmt.Sprintf("%d %s", n, outcome))
		}
	}
	return strings.Join(out, ", ")
}

// kind is a kind that the server serves.
type kind struct {
	resource   schema.GroupVersionResource
	namespaced bool
}

// target is the server that manifests are applied to.
type target interface {
	// Kind returns a served kind. It refreshes discovery if the kind is not known, and returns an
	// error that matches meta.IsNoMatchError if the server does not serve it.
	Kind(gvk schema.GroupVersionKind) (kind, error)
	Get(ctx context.Context, k kind, namespace, name string) (*unstructured.Unstructured, error)
	// Apply sends a server-side apply. With dry, the server validates the object and stores
	// nothing.
	Apply(ctx context.Context, k kind, obj *unstructured.Unstructured, dry bool) (*unstructured.Unstructured, error)
}

// Apply applies the manifests: first namespaces, CustomResourceDefinitions and priority classes,
// then the other objects in their order. It reports each object with its outcome, and returns the
// applied objects. The documents that the server can validate already get a dry run first. If it
// refuses any of them, nothing is applied and the error lists all of them.
func Apply(
	ctx context.Context, cfg *rest.Config, manifests []Manifest, report func(ref Ref, outcome string),
) ([]Ref, error) {
	server, err := newServer(cfg)
	if err != nil {
		return nil, err
	}
	a := &applier{target: server, clock: clock.RealClock{}, report: report}
	return a.apply(ctx, manifests)
}

type applier struct {
	target target
	clock  clock.Clock
	report func(ref Ref, outcome string)
	all    []Manifest // all manifests, in the order in which they are applied
	done   []Ref
}

func (a *applier) apply(ctx context.Context, manifests []Manifest) ([]Ref, error) {
	first, rest := inOrder(manifests)
	provided := provides(first)
	a.all = slices.Concat(first, rest)
	later, err := a.dryRun(ctx, a.all, provided)
	if err != nil {
		return a.done, err
	}
	for _, m := range first {
		if err := a.write(ctx, m); err != nil {
			return a.done, err
		}
	}
	if err := a.establish(ctx, first); err != nil {
		return a.done, err
	}
	if _, err := a.dryRun(ctx, later, nil); err != nil {
		return a.done, a.withProgress(err)
	}
	for _, m := range rest {
		if err := a.write(ctx, m); err != nil {
			return a.done, err
		}
	}
	return a.done, nil
}

// dryRun sends each document to the server as a dry run. It returns as later the documents that
// depend on an object that is not applied yet.
func (a *applier) dryRun(ctx context.Context, manifests []Manifest, provided set) (later []Manifest, err error) {
	var failed []error
	for _, m := range manifests {
		wait, err := a.dryRunOne(ctx, m, provided)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			failed = append(failed, explain(m, err))
		case wait:
			later = append(later, m)
		}
	}
	return later, errors.Join(failed...)
}

func (a *applier) dryRunOne(ctx context.Context, m Manifest, provided set) (wait bool, err error) {
	gvk := m.Object.GroupVersionKind()
	k, err := a.target.Kind(gvk)
	if meta.IsNoMatchError(err) {
		if provided[kindKey(gvk.GroupKind())] {
			return true, nil
		}
		return false, fmt.Errorf("the server has no kind %s in %s", gvk.Kind, gvk.GroupVersion())
	}
	if err != nil {
		return false, err
	}
	obj := locate(m.Object, k)
	if provided[namespaceKey(obj.GetNamespace())] || provided[priorityKey(priorityOf(obj))] {
		return true, nil
	}
	_, err = a.target.Apply(ctx, k, withPolicy(obj, a.all), true)
	return false, err
}

// write applies one document.
func (a *applier) write(ctx context.Context, m Manifest) error {
	k, err := a.target.Kind(m.Object.GroupVersionKind())
	if err != nil {
		return a.interrupted(m, err)
	}
	obj := locate(m.Object, k)
	before, err := a.target.Get(ctx, k, obj.GetNamespace(), obj.GetName())
	if err != nil && !apierrors.IsNotFound(err) {
		return a.interrupted(m, err)
	}
	existed := err == nil
	after, err := a.target.Apply(ctx, k, obj, false)
	if err != nil {
		return a.interrupted(m, err)
	}
	ref := Ref{m.Object.GroupVersionKind().Group, obj.GetKind(), obj.GetNamespace(), obj.GetName()}
	a.done = append(a.done, ref)
	switch {
	case !existed:
		a.report(ref, Created)
	case before.GetResourceVersion() == after.GetResourceVersion():
		a.report(ref, Unchanged)
	default:
		a.report(ref, Configured)
	}
	return nil
}

func (a *applier) interrupted(m Manifest, err error) error { return a.withProgress(explain(m, err)) }

// withProgress adds to an error how many objects were applied before it.
func (a *applier) withProgress(err error) error {
	if len(a.done) == 0 {
		return err
	}
	return fmt.Errorf("%w\n%d of %d objects had been applied before that", err, len(a.done), len(a.all))
}

// establish waits until the server serves the kinds that the manifests define.
func (a *applier) establish(ctx context.Context, manifests []Manifest) error {
	for _, m := range manifests {
		if !isDefinition(m.Object) {
			continue
		}
		for _, gvk := range definedKinds(m.Object) {
			if err := a.awaitKind(ctx, gvk); err != nil {
				return explain(m, err)
			}
		}
	}
	return nil
}

// awaitKind polls an object that does not exist until the server reports the object, and not its kind,
// as not found.
func (a *applier) awaitKind(ctx context.Context, gvk schema.GroupVersionKind) error {
	end := a.clock.Now().Add(establishTime)
	for {
		k, err := a.target.Kind(gvk)
		if err == nil {
			namespace := ""
			if k.namespaced {
				namespace = corev1.NamespaceDefault
			}
			_, err = a.target.Get(ctx, k, namespace, "allot-looks-whether-this-kind-is-served")
			if err == nil || apierrors.IsNotFound(err) && !kinds.Unserved(err) {
				return nil
			}
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if a.clock.Now().After(end) {
			return fmt.Errorf("the server does not serve the kind %s after %s: %w", gvk.Kind, establishTime, err)
		}
		a.clock.Sleep(pollTime)
	}
}

// locate returns a copy of the object, in the namespace that it is applied to.
func locate(obj *unstructured.Unstructured, k kind) *unstructured.Unstructured {
	out := obj.DeepCopy()
	switch {
	case !k.namespaced:
		out.SetNamespace("")
	case out.GetNamespace() == "":
		out.SetNamespace(corev1.NamespaceDefault)
	}
	out.SetManagedFields(nil)
	unstructured.RemoveNestedField(out.Object, "metadata", "creationTimestamp")
	return out
}
