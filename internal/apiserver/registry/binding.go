package registry

import (
	"context"
	"fmt"
	"maps"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	apistorage "k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/util/dryrun"

	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/apiserver/validation"
)

// binding serves POST pods/NAME/binding, which binds a pod to a node, once.
type binding struct {
	store *genericregistry.Store
}

var (
	_ rest.NamedCreater                   = &binding{}
	_ rest.SubresourceObjectMetaPreserver = &binding{}
)

// New implements rest.Storage.
func (b *binding) New() runtime.Object { return &corev1.Binding{} }

// Destroy implements rest.Storage; the store belongs to the pods.
func (b *binding) Destroy() {}

// NamespaceScoped implements rest.Scoper.
func (b *binding) NamespaceScoped() bool { return true }

// PreserveRequestObjectMetaSystemFieldsOnSubresourceCreate keeps the UID and resourceVersion of the
// request, which are preconditions.
func (b *binding) PreserveRequestObjectMetaSystemFieldsOnSubresourceCreate() bool { return true }

// Create implements rest.NamedCreater.
func (b *binding) Create(
	ctx context.Context, name string, obj runtime.Object, validate rest.ValidateObjectFunc, options *metav1.CreateOptions,
) (runtime.Object, error) {
	bind, ok := obj.(*corev1.Binding)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("unexpected type %T", obj))
	}
	if bind.Name != name {
		return nil, apierrors.NewBadRequest(
			fmt.Sprintf("name %q in the URL is not the name %q of the Binding", name, bind.Name),
		)
	}
	if errs := validation.ValidateBinding(bind); len(errs) > 0 {
		return nil, apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("Binding").GroupKind(), name, errs)
	}
	if validate != nil {
		if err := validate(ctx, bind.DeepCopy()); err != nil {
			return nil, err
		}
	}
	key, err := b.store.KeyFunc(ctx, name)
	if err != nil {
		return nil, err
	}
	err = b.store.Storage.GuaranteedUpdate(ctx, key, &core.Pod{}, false, bindPreconditions(bind),
		apistorage.SimpleUpdate(func(existing runtime.Object) (runtime.Object, error) {
			pod := existing.(*core.Pod)
			return pod, bindPod(pod, bind)
		}), dryrun.IsDryRun(options.DryRun), nil)
	if err != nil {
		resource := b.store.DefaultQualifiedResource
		resource.Resource += "/binding"
		return nil, interpret(err, resource, name)
	}
	return &metav1.Status{Status: metav1.StatusSuccess, Code: http.StatusCreated}, nil
}

func bindPreconditions(b *corev1.Binding) *apistorage.Preconditions {
	if b.UID == "" && b.ResourceVersion == "" {
		return nil
	}
	out := &apistorage.Preconditions{}
	if b.UID != "" {
		out.UID = &b.UID
	}
	if b.ResourceVersion != "" {
		out.ResourceVersion = &b.ResourceVersion
	}
	return out
}

// mayBind returns the reason why a pod cannot be bound to a node, or nil.
func mayBind(pod *core.Pod) error {
	switch {
	case pod.DeletionTimestamp != nil:
		return fmt.Errorf("pod %s is being deleted", pod.Name)
	case pod.Spec.NodeName != "":
		return fmt.Errorf("pod %s is already on node %q", pod.Name, pod.Spec.NodeName)
	case len(pod.Spec.SchedulingGates) > 0:
		return fmt.Errorf("pod %s has scheduling gates", pod.Name)
	}
	return nil
}

// bindPod binds pod to the binding's node, or returns the reason why it cannot.
func bindPod(pod *core.Pod, b *corev1.Binding) error {
	if err := mayBind(pod); err != nil {
		return err
	}
	pod.Spec.NodeName = b.Target.Name
	pod.Status.NominatedNodeName = ""
	pod.Annotations = merged(pod.Annotations, b.Annotations)
	pod.Labels = merged(pod.Labels, b.Labels)
	setScheduled(&pod.Status)
	return nil
}

func merged(have, add map[string]string) map[string]string {
	if len(add) == 0 {
		return have
	}
	out := maps.Clone(have)
	if out == nil {
		out = map[string]string{}
	}
	maps.Copy(out, add)
	return out
}

// setScheduled sets the PodScheduled condition to True.
func setScheduled(status *corev1.PodStatus) {
	now := metav1.Now()
	want := corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: now}
	for i := range status.Conditions {
		c := &status.Conditions[i]
		if c.Type != corev1.PodScheduled {
			continue
		}
		if c.Status == corev1.ConditionTrue {
			want.LastTransitionTime = c.LastTransitionTime
		}
		*c = want
		return
	}
	status.Conditions = append(status.Conditions, want)
}
