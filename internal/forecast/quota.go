package forecast

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiquota "k8s.io/apiserver/pkg/quota/v1"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/quota"
)

// evaluator returns what measures the use of quotas by objects of a kind; ok is false if there is
// nothing to measure.
func (s *simulation) evaluator(object client.Object) (apiquota.Evaluator, schema.GroupResource, bool) {
	var of schema.GroupResource
	switch object.(type) {
	case *core.Pod:
		of = schema.GroupResource{Resource: "pods"}
	case *resource.ResourceClaim:
		of = schema.GroupResource{Group: "resource.k8s.io", Resource: "resourceclaims"}
	case *corev1.PersistentVolumeClaim:
		of = schema.GroupResource{Resource: "persistentvolumeclaims"}
	default:
		return nil, of, false
	}
	none := func(schema.GroupResource, string) ([]runtime.Object, error) { return nil, nil }
	for _, e := range quota.Evaluators(none, func() time.Time { return s.now }) {
		if e.GroupResource() == of {
			return e, of, true
		}
	}
	return nil, of, false
}

// charge adds a new object to the quotas of its namespace, or returns which of them refuses it.
func (s *simulation) charge(object client.Object) error {
	quotas := s.quotasOf(object)
	if len(quotas) == 0 {
		return nil
	}
	evaluator, of, ok := s.evaluator(object)
	if !ok {
		return nil
	}
	usage, err := evaluator.Usage(object)
	if err != nil {
		return fmt.Errorf("measure %s %s: %w", of.Resource, object.GetName(), err)
	}
	var charged []*corev1.ResourceQuota
	for _, q := range quotas {
		if matches, err := evaluator.Matches(q, object); err != nil || !matches {
			continue
		}
		hard := apiquota.ResourceNames(q.Status.Hard)
		requested := apiquota.Mask(usage, hard)
		used := apiquota.Add(q.Status.Used, requested)
		if fits, exceeded := apiquota.LessThanOrEqual(apiquota.Mask(used, apiquota.ResourceNames(requested)),
			q.Status.Hard); !fits {
			return apierrors.NewForbidden(
				of,
				object.GetName(),
				fmt.Errorf("exceeded quota: %s, requested: %s, used: %s, limited: %s",
					q.Name, amounts(requested, exceeded), amounts(q.Status.Used, exceeded), amounts(q.Status.Hard, exceeded)),
			)
		}
		updated := q.DeepCopy()
		updated.Status.Used = used
		charged = append(charged, updated)
	}
	for _, q := range charged {
		s.world.Quotas.Put(q)
	}
	return nil
}

// recount returns a quota whose status has what the objects of its namespace use, as its controller
// does.
func (s *simulation) recount(q *corev1.ResourceQuota) *corev1.ResourceQuota {
	counted := q.DeepCopy()
	counted.Status.Hard, counted.Status.Used = q.Spec.Hard.DeepCopy(), corev1.ResourceList{}
	hard := apiquota.ResourceNames(q.Spec.Hard)
	for _, name := range hard {
		counted.Status.Used[name] = apiresource.Quantity{}
	}
	s.world.Each(func(object client.Object) {
		evaluator, _, ok := s.evaluator(object)
		if !ok || object.GetNamespace() != q.Namespace {
			return
		}
		if matches, err := evaluator.Matches(q, object); err != nil || !matches {
			return
		}
		if usage, err := evaluator.Usage(object); err == nil {
			counted.Status.Used = apiquota.Add(counted.Status.Used, apiquota.Mask(usage, hard))
		}
	})
	return counted
}

// credit removes an object from the quotas of its namespace.
func (s *simulation) credit(object client.Object) {
	quotas := s.quotasOf(object)
	evaluator, _, ok := s.evaluator(object)
	if len(quotas) == 0 || !ok {
		return
	}
	usage, err := evaluator.Usage(object)
	if err != nil {
		return
	}
	for _, q := range quotas {
		if matches, err := evaluator.Matches(q, object); err != nil || !matches {
			continue
		}
		updated := q.DeepCopy()
		updated.Status.Used = apiquota.SubtractWithNonNegativeResult(q.Status.Used,
			apiquota.Mask(usage, apiquota.ResourceNames(q.Status.Hard)))
		s.world.Quotas.Put(updated)
		s.retryRefused(q.Namespace)
	}
}

// retryRefused has the controllers try again whose objects a quota refused.
func (s *simulation) retryRefused(namespace string) {
	for key := range s.refused {
		if key.key.Namespace == namespace {
			s.owners[key] = true
		}
	}
}

// quotasOf returns the quotas of an object's namespace.
func (s *simulation) quotasOf(object client.Object) []*corev1.ResourceQuota {
	if object.GetNamespace() == "" || s.world.Quotas.Len() == 0 {
		return nil
	}
	return slices.DeleteFunc(s.world.Quotas.List(),
		func(q *corev1.ResourceQuota) bool { return q.Namespace != object.GetNamespace() })
}

// amounts formats the amounts of some resources as the server does.
func amounts(list corev1.ResourceList, names []corev1.ResourceName) string {
	var parts []string
	for _, name := range names {
		amount := list[name]
		parts = append(parts, string(name)+"="+amount.String())
	}
	slices.Sort(parts)
	return strings.Join(parts, ",")
}
