package offline

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"

	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
	"github.com/allot-dev/allot/internal/apiserver/admission"
	"github.com/allot-dev/allot/internal/snapshot"
)

// reader reads for admission. It implements admission.Reader.
type reader struct{ world *snapshot.World }

var _ admission.Reader = reader{}

// Namespace returns a namespace. If none could be read, each exists.
func (r reader) Namespace(_ context.Context, name string) (*corev1.Namespace, bool, error) {
	if r.world.Namespaces.Len() == 0 {
		namespace := &corev1.Namespace{}
		namespace.Name = name
		return namespace, true, nil
	}
	namespace, ok := r.world.Namespaces.Get("", name)
	return namespace, ok, nil
}

func (r reader) Node(_ context.Context, name string) (*corev1.Node, bool, error) {
	node, ok := r.world.Nodes.Get("", name)
	return node, ok, nil
}

func (r reader) Workload(_ context.Context, namespace, name string) (*scheduling.Workload, bool, error) {
	workload, ok := r.world.Workloads.Get(namespace, name)
	return workload, ok, nil
}

// PriorityClass returns a class. Those that always exist do so even if none could be read.
func (r reader) PriorityClass(_ context.Context, name string) (*schedulingv1.PriorityClass, bool, error) {
	if class, ok := r.world.PriorityClasses.Get("", name); ok {
		return class, true, nil
	}
	for _, class := range admission.SystemPriorityClasses() {
		if class.Name == name {
			return &class, true, nil
		}
	}
	return nil, false, nil
}

func (r reader) LimitRanges(_ context.Context, namespace string) ([]corev1.LimitRange, error) {
	var list []corev1.LimitRange
	if r.world.LimitRanges.Len() == 0 {
		return nil, nil
	}
	for _, limits := range r.world.LimitRanges.List() {
		if limits.Namespace == namespace {
			list = append(list, *limits)
		}
	}
	return list, nil
}

func (r reader) PriorityClasses(context.Context) ([]schedulingv1.PriorityClass, error) {
	var list []schedulingv1.PriorityClass
	for _, class := range r.world.PriorityClasses.List() {
		list = append(list, *class)
	}
	return list, nil
}

// ServiceAccount returns an account that gives nothing to pods. Snapshots have no accounts, since
// placement does not depend on them.
func (r reader) ServiceAccount(_ context.Context, namespace, name string) (*corev1.ServiceAccount, bool, error) {
	account := &corev1.ServiceAccount{}
	account.Namespace, account.Name = namespace, name
	return account, true, nil
}
