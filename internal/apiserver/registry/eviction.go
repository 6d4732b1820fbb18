package registry

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	apistorage "k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/util/dryrun"
	"k8s.io/utils/ptr"

	core "github.com/allot-dev/allot/api/core/v1"
)

// evictionReason is the reason of the condition DisruptionTarget of an evicted pod.
const evictionReason = "EvictionByEvictionAPI"

// eviction serves POST pods/NAME/eviction: it deletes a pod if its disruption budget allows that.
type eviction struct {
	pods *genericregistry.Store
	// others reads the budgets.
	others *Lookup
	now    func() time.Time
}

var (
	_ rest.NamedCreater             = &eviction{}
	_ rest.GroupVersionKindProvider = &eviction{}
	_ rest.GroupVersionAcceptor     = &eviction{}
)

// New implements rest.Storage.
func (e *eviction) New() runtime.Object { return &policyv1.Eviction{} }

// Destroy implements rest.Storage; the store belongs to the pods.
func (e *eviction) Destroy() {}

// NamespaceScoped implements rest.Scoper.
func (e *eviction) NamespaceScoped() bool { return true }

// GroupVersionKind implements rest.GroupVersionKindProvider.
func (e *eviction) GroupVersionKind(schema.GroupVersion) schema.GroupVersionKind {
	return policyv1.SchemeGroupVersion.WithKind("Eviction")
}

// AcceptsGroupVersion implements rest.GroupVersionAcceptor.
func (e *eviction) AcceptsGroupVersion(gv schema.GroupVersion) bool {
	return gv == policyv1.SchemeGroupVersion
}

// Create implements rest.NamedCreater.
func (e *eviction) Create(
	ctx context.Context, name string, obj runtime.Object, validate rest.ValidateObjectFunc, options *metav1.CreateOptions,
) (runtime.Object, error) {
	request, ok := obj.(*policyv1.Eviction)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("unexpected type %T", obj))
	}
	if request.Name != name {
		return nil, apierrors.NewBadRequest(
			fmt.Sprintf("name %q in the URL is not the name %q of the Eviction", name, request.Name),
		)
	}
	wanted, err := deleteOptions(request, options.DryRun)
	if err != nil {
		return nil, err
	}
	if validate != nil {
		if err := validate(ctx, request.DeepCopy()); err != nil {
			return nil, err
		}
	}
	if err := e.evict(ctx, name, wanted); err != nil {
		return nil, err
	}
	return &metav1.Status{Status: metav1.StatusSuccess, Code: http.StatusCreated}, nil
}

// deleteOptions returns the options of the request, including dry run.
func deleteOptions(request *policyv1.Eviction, dryRun []string) (*metav1.DeleteOptions, error) {
	options := &metav1.DeleteOptions{}
	if request.DeleteOptions != nil {
		options = request.DeleteOptions.DeepCopy()
	}
	if ptr.Deref(options.IgnoreStoreReadErrorWithClusterBreakingPotential, false) {
		return nil, apierrors.NewInvalid(
			policyv1.SchemeGroupVersion.WithKind("Eviction").GroupKind(),
			request.Name,
			field.ErrorList{
				field.Invalid(field.NewPath("deleteOptions", "ignoreStoreReadErrorWithClusterBreakingPotential"), true,
					"may not be set for an eviction"),
			},
		)
	}
	switch {
	case len(options.DryRun) == 0:
		options.DryRun = dryRun
	case len(dryRun) > 0 && !slices.Equal(options.DryRun, dryRun):
		return nil, apierrors.NewBadRequest(
			fmt.Sprintf("dryRun is %v in the URL and %v in the Eviction", dryRun, options.DryRun),
		)
	}
	return options, nil
}

// evictionRetries limits how often a pod that changes during its eviction is read again.
const evictionRetries = 20

func (e *eviction) evict(ctx context.Context, name string, options *metav1.DeleteOptions) error {
	pinned := options.Preconditions != nil && options.Preconditions.ResourceVersion != nil
	for range evictionRetries {
		obj, err := e.pods.Get(ctx, name, &metav1.GetOptions{})
		if err != nil {
			return err
		}
		pod := obj.(*core.Pod)
		if err := checkUID(pod, options); err != nil {
			return err
		}
		leave, err := e.mayDelete(ctx, pod, dryrun.IsDryRun(options.DryRun))
		if err != nil {
			return err
		}
		now := options
		if leave == deleteThisVersion && !pinned {
			now = pinnedTo(options, pod.ResourceVersion)
		}
		err = e.remove(ctx, name, now)
		if !apierrors.IsConflict(err) || now == options {
			return err
		}
	}
	return tooManyRequests("the pod changes too often", 10)
}

func checkUID(pod *core.Pod, options *metav1.DeleteOptions) error {
	if p := options.Preconditions; p != nil && p.UID != nil && *p.UID != "" && *p.UID != pod.UID {
		return apierrors.NewConflict(corev1.Resource("pods"), pod.Name,
			fmt.Errorf("the UID in the precondition (%s) is not the pod's (%s)", *p.UID, pod.UID))
	}
	return nil
}

func pinnedTo(options *metav1.DeleteOptions, version string) *metav1.DeleteOptions {
	out := options.DeepCopy()
	if out.Preconditions == nil {
		out.Preconditions = &metav1.Preconditions{}
	}
	out.Preconditions.ResourceVersion = &version
	return out
}

// deletePermission is the permission to delete a pod.
type deletePermission int

const (
	// deleteAlways is valid even if the pod changes.
	deleteAlways deletePermission = iota
	// deleteThisVersion is valid for one version of the pod: if the pod becomes ready, its budget must be
	// checked.
	deleteThisVersion
)

// mayDelete checks the budget of a pod. It returns an error if the pod must not be deleted.
func (e *eviction) mayDelete(ctx context.Context, pod *core.Pod, dryRun bool) (deletePermission, error) {
	switch {
	case pod.Finished(), pod.DeletionTimestamp != nil:
		return deleteAlways, nil
	case pod.Status.Phase == corev1.PodPending:
		return deleteThisVersion, nil
	}
	budgets, err := e.budgetsOf(ctx, pod)
	switch {
	case err != nil:
		return deleteAlways, err
	case len(budgets) == 0:
		return deleteAlways, nil
	case len(budgets) > 1:
		return deleteAlways, &apierrors.StatusError{ErrStatus: metav1.Status{
			Status: metav1.StatusFailure, Code: http.StatusInternalServerError,
			Message: fmt.Sprintf("pod %s is selected by more than one PodDisruptionBudget, which evictions do not support",
				pod.Name),
		}}
	}
	if !isReady(pod) && sparesUnready(budgets[0]) {
		return deleteThisVersion, nil
	}
	return deleteAlways, e.useDisruption(ctx, budgets[0].Name, pod.Name, dryRun)
}

func isReady(pod *core.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// sparesUnready reports whether the deletion of a pod that is not ready does not count for the
// budget.
func sparesUnready(b *policyv1.PodDisruptionBudget) bool {
	if ptr.Deref(b.Spec.UnhealthyPodEvictionPolicy, "") == policyv1.AlwaysAllow {
		return true
	}
	return b.Status.CurrentHealthy >= b.Status.DesiredHealthy && b.Status.DesiredHealthy > 0
}

func (e *eviction) budgetsOf(ctx context.Context, pod *core.Pod) ([]*policyv1.PodDisruptionBudget, error) {
	store, ok := e.others.stores[budgetResource]
	if !ok {
		return nil, fmt.Errorf("no storage of %s", budgetResource)
	}
	// The list is read from the storage, not a cache: a budget that was just created applies.
	list, err := store.List(ctx, &internalversion.ListOptions{})
	if err != nil {
		return nil, err
	}
	var out []*policyv1.PodDisruptionBudget
	items := list.(*policyv1.PodDisruptionBudgetList).Items
	for i := range items {
		selector, err := metav1.LabelSelectorAsSelector(items[i].Spec.Selector)
		if err == nil && selector.Matches(labels.Set(pod.Labels)) {
			out = append(out, &items[i])
		}
	}
	return out, nil
}

// useDisruption takes one disruption from a budget, in one step with the check that there is one.
func (e *eviction) useDisruption(ctx context.Context, budget, pod string, dryRun bool) error {
	store := e.others.stores[budgetResource]
	key, err := store.KeyFunc(ctx, budget)
	if err != nil {
		return err
	}
	err = store.Storage.GuaranteedUpdate(ctx, key, &policyv1.PodDisruptionBudget{}, false, nil,
		apistorage.SimpleUpdate(func(existing runtime.Object) (runtime.Object, error) {
			b := existing.(*policyv1.PodDisruptionBudget)
			if err := mayDisrupt(b); err != nil {
				return nil, err
			}
			takeDisruption(b, pod, e.now())
			return b, nil
		}), dryRun, nil)
	var status apierrors.APIStatus
	if err == nil || errors.As(err, &status) {
		return err
	}
	return interpret(err, budgetResource, budget)
}

// remove sets the condition of an evicted pod and deletes it.
func (e *eviction) remove(ctx context.Context, name string, options *metav1.DeleteOptions) error {
	if !dryrun.IsDryRun(options.DryRun) {
		version, err := e.setDisruptionTarget(ctx, name, options.Preconditions)
		if err != nil {
			return err
		}
		if p := options.Preconditions; p != nil && p.ResourceVersion != nil {
			options = pinnedTo(options, version)
		}
	}
	_, _, err := e.pods.Delete(withRequestedGrace(ctx, options), name, rest.ValidateAllObjectFunc, options)
	return err
}

// setDisruptionTarget returns the version of the pod with the condition.
func (e *eviction) setDisruptionTarget(
	ctx context.Context, name string, required *metav1.Preconditions,
) (string, error) {
	key, err := e.pods.KeyFunc(ctx, name)
	if err != nil {
		return "", err
	}
	var conditions *apistorage.Preconditions
	if required != nil {
		conditions = &apistorage.Preconditions{UID: required.UID, ResourceVersion: required.ResourceVersion}
	}
	out := &core.Pod{}
	err = e.pods.Storage.GuaranteedUpdate(ctx, key, out, false, conditions,
		apistorage.SimpleUpdate(func(existing runtime.Object) (runtime.Object, error) {
			pod := existing.(*core.Pod)
			markDisrupted(&pod.Status, metav1.NewTime(e.now().Truncate(time.Second)))
			return pod, nil
		}), false, nil)
	if err != nil {
		return "", interpret(err, corev1.Resource("pods"), name)
	}
	return out.ResourceVersion, nil
}

func markDisrupted(status *corev1.PodStatus, now metav1.Time) {
	want := corev1.PodCondition{
		Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, LastTransitionTime: now,
		Reason: evictionReason, Message: "The pod is evicted through the API.",
	}
	for i := range status.Conditions {
		if c := &status.Conditions[i]; c.Type == want.Type {
			if c.Status == want.Status {
				want.LastTransitionTime = c.LastTransitionTime
			}
			*c = want
			return
		}
	}
	status.Conditions = append(status.Conditions, want)
}
