package registry

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	apistorage "k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/util/dryrun"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/allot-dev/allot/internal/apiserver/defaults"
	"github.com/allot-dev/allot/internal/apiserver/printers"
	"github.com/allot-dev/allot/internal/apiserver/rbac"
	"github.com/allot-dev/allot/internal/apiserver/validation"
)

type namespaceEntry = kind[corev1.Namespace, *corev1.Namespace]

// namespaces are deleted in two steps: the first delete request makes them terminating, and they
// are removed when the namespace controller has removed spec.finalizers.
func namespaces() entry {
	return &namespaceEntry{
		names:        names{versions: v1, plural: "namespaces", singular: "namespace", short: []string{"ns"}, cluster: true},
		newList:      func() runtime.Object { return &corev1.NamespaceList{} },
		defaults:     defaults.Namespace,
		printer:      printers.Namespace,
		class:        rbac.ReadOnly,
		subresources: map[string]rbac.Class{"finalize": rbac.Cluster},
		spec:         func(n *corev1.Namespace) any { return &n.Spec },
		status:       func(n *corev1.Namespace) any { return &n.Status },
		prepareCreate: func(_ context.Context, ns *corev1.Namespace) {
			ns.Status.Phase = corev1.NamespaceActive
			if !slices.Contains(ns.Spec.Finalizers, corev1.FinalizerKubernetes) {
				ns.Spec.Finalizers = append(ns.Spec.Finalizers, corev1.FinalizerKubernetes)
			}
		},
		prepareUpdate: func(_ context.Context, ns, old *corev1.Namespace) { ns.Spec.Finalizers = old.Spec.Finalizers },
		// The name of a namespace with generateName is not known earlier.
		canonicalize: func(ns *corev1.Namespace) {
			if ns.Labels == nil {
				ns.Labels = map[string]string{}
			}
			ns.Labels[corev1.LabelMetadataName] = ns.Name
		},
		keepDuringUpdate: func(ns *corev1.Namespace) bool { return len(ns.Spec.Finalizers) > 0 },
		fields: func(ns *corev1.Namespace) fields.Set {
			return fields.Set{"status.phase": string(ns.Status.Phase), "name": ns.Name}
		},
		validate:       validation.ValidateNamespace,
		validateUpdate: validation.ValidateNamespaceUpdate,
		validateStatus: validation.ValidateNamespaceStatusUpdate,

		wrap: func(s *storage) rest.Storage { return &namespaceStorage{s} },
		storages: func(store *genericregistry.Store) map[string]rest.Storage {
			finalize := finalizeStrategy{store.UpdateStrategy.(namespaceStrategy)}
			return map[string]rest.Storage{"finalize": finalizePart{newPart(store, finalize)}}
		},
	}
}

type namespaceStrategy = strategy[corev1.Namespace, *corev1.Namespace]

// finalizeStrategy is the update strategy of namespaces/finalize: spec.finalizers may change, the
// status does not.
type finalizeStrategy struct {
	namespaceStrategy
}

// PrepareForUpdate implements rest.RESTUpdateStrategy.
func (s finalizeStrategy) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	obj.(*corev1.Namespace).Status = old.(*corev1.Namespace).Status
}

// ValidateUpdate implements rest.RESTUpdateStrategy.
func (s finalizeStrategy) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	return validation.ValidateNamespaceFinalizeUpdate(obj.(*corev1.Namespace), old.(*corev1.Namespace))
}

// GetResetFields implements rest.ResetFieldsStrategy.
func (s finalizeStrategy) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return s.kind.names.fieldSets(fieldpath.MakePathOrDie("status"))
}

// finalizePart serves PUT only.
type finalizePart struct {
	*part
}

// Get has another signature than rest.Getter, so that the path has neither GET nor PATCH.
func (finalizePart) Get() {}

// namespaceStorage deletes in two steps.
type namespaceStorage struct {
	*storage
}

// DeleteCollection has another signature than rest.CollectionDeleter: as in Kubernetes, namespaces
// are deleted one by one.
func (*namespaceStorage) DeleteCollection() {}

// Delete implements rest.GracefulDeleter.
func (s *namespaceStorage) Delete(
	ctx context.Context, name string, validate rest.ValidateObjectFunc, options *metav1.DeleteOptions,
) (runtime.Object, bool, error) {
	obj, err := s.Get(ctx, name, &metav1.GetOptions{})
	if err != nil {
		return nil, false, err
	}
	ns := obj.(*corev1.Namespace)
	if options == nil {
		options = metav1.NewDeleteOptions(0)
	}
	if options.Preconditions == nil {
		options.Preconditions = &metav1.Preconditions{}
	}
	if options.Preconditions.UID == nil {
		options.Preconditions.UID = &ns.UID
	}
	if !ns.DeletionTimestamp.IsZero() {
		if len(ns.Spec.Finalizers) > 0 {
			return ns, false, nil
		}
		return s.storage.Delete(ctx, name, validate, options)
	}
	out, err := s.terminate(ctx, name, validate, options)
	return out, false, err
}

// terminate does the first step.
func (s *namespaceStorage) terminate(
	ctx context.Context, name string, validate rest.ValidateObjectFunc, options *metav1.DeleteOptions,
) (runtime.Object, error) {
	key, err := s.KeyFunc(ctx, name)
	if err != nil {
		return nil, err
	}
	conditions := &apistorage.Preconditions{
		UID:             options.Preconditions.UID,
		ResourceVersion: options.Preconditions.ResourceVersion,
	}
	out := s.NewFunc()
	err = s.Storage.GuaranteedUpdate(
		ctx,
		key,
		out,
		false,
		conditions,
		apistorage.SimpleUpdate(func(existing runtime.Object) (runtime.Object, error) {
			ns, ok := existing.(*corev1.Namespace)
			if !ok {
				return nil, fmt.Errorf("unexpected type %T", existing)
			}
			if err := validate(ctx, ns); err != nil {
				return nil, err
			}
			if ns.DeletionTimestamp.IsZero() {
				now := metav1.Now()
				ns.DeletionTimestamp = &now
			}
			ns.Status.Phase = corev1.NamespaceTerminating
			ns.Finalizers = propagationFinalizers(ns.Finalizers, options)
			return ns, nil
		}),
		dryrun.IsDryRun(options.DryRun),
		nil,
	)
	if err != nil {
		return nil, interpret(err, s.DefaultQualifiedResource, name)
	}
	s.awaitCache(ctx, out.(*corev1.Namespace))
	return out, nil
}

// awaitCache waits until the cache has the namespace as written, for at most some seconds.
// Admission decides by the cache whether objects may be created in the namespace, and the client
// that deleted it relies on that.
func (s *namespaceStorage) awaitCache(ctx context.Context, ns *corev1.Namespace) {
	_, _ = s.Get(ctx, ns.Name, &metav1.GetOptions{ResourceVersion: ns.ResourceVersion})
}

// propagationFinalizers adds or removes the two finalizers for the propagation policy.
func propagationFinalizers(have []string, options *metav1.DeleteOptions) []string {
	orphan, foreground := slices.Contains(have, metav1.FinalizerOrphanDependents), slices.Contains(
		have,
		metav1.FinalizerDeleteDependents,
	)
	switch {
	case options.OrphanDependents != nil: //nolint:staticcheck // still sent by old clients
		orphan, foreground = *options.OrphanDependents, !*options.OrphanDependents //nolint:staticcheck // as above
	case options.PropagationPolicy != nil:
		orphan = *options.PropagationPolicy == metav1.DeletePropagationOrphan
		foreground = *options.PropagationPolicy == metav1.DeletePropagationForeground
	}
	out := slices.DeleteFunc(slices.Clone(have), func(f string) bool {
		return f == metav1.FinalizerOrphanDependents || f == metav1.FinalizerDeleteDependents
	})
	if orphan {
		out = append(out, metav1.FinalizerOrphanDependents)
	}
	if foreground {
		out = append(out, metav1.FinalizerDeleteDependents)
	}
	return out
}
