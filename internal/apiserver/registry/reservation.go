package registry

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/allot-dev/allot/internal/apiserver/printers"
	"github.com/allot-dev/allot/internal/apiserver/rbac"
)

const (
	// ownerAnnotation has the UID of the Service that a reservation belongs to.
	ownerAnnotation = "allot.dev/service-uid"
	// inFlight is longer than any request takes. A reservation of that age whose Service does not
	// hold the value was left by a server that was killed, or by a write of unknown result.
	inFlight = 5 * time.Minute
)

// reservations are the values of one kind, addresses or node ports, that Services hold. A value is
// reserved by the creation of the object that has its name, which succeeds once, however many
// servers use the storage.
type reservations struct {
	store func() *genericregistry.Store
	// holds reports whether the stored Service with this name and UID has a value.
	holds func(ctx context.Context, service types.NamespacedName, uid types.UID, value string) (bool, error)
	now   func() time.Time
}

// reserve reserves a value for a Service. ok is false if another Service has it. It is repeatable.
func (r *reservations) reserve(ctx context.Context, s *corev1.Service, value string, labels map[string]string) (ok bool,
	err error,
) {
	ctx = genericapirequest.WithNamespace(ctx, metav1.NamespaceNone)
	for {
		object := &networkingv1.IPAddress{
			ObjectMeta: metav1.ObjectMeta{
				Name: value, Labels: labels, Annotations: map[string]string{ownerAnnotation: string(s.UID)},
			},
			Spec: networkingv1.IPAddressSpec{ParentRef: &networkingv1.ParentReference{
				Resource: "services", Namespace: s.Namespace, Name: s.Name,
			}},
		}
		_, err := r.store().Create(ctx, object, rest.ValidateAllObjectFunc, &metav1.CreateOptions{})
		if !apierrors.IsAlreadyExists(err) {
			return err == nil, err
		}
		free, err := r.takeOver(ctx, s.UID, value)
		if err != nil || !free {
			return false, err
		}
		if reserved, err := r.get(ctx, value); err == nil && ownerOf(reserved) == s.UID {
			return true, nil
		}
	}
}

// takeOver deletes a reservation that no Service holds, and reports whether the value is free, or
// reserved for the owner already.
func (r *reservations) takeOver(ctx context.Context, owner types.UID, value string) (bool, error) {
	reserved, err := r.get(ctx, value)
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	if ownerOf(reserved) == owner {
		return true, nil
	}
	abandoned, err := r.abandoned(ctx, reserved)
	if err != nil || !abandoned {
		return false, err
	}
	return true, r.remove(ctx, reserved)
}

// abandoned reports whether no Service holds the value of a reservation or is going to.
func (r *reservations) abandoned(ctx context.Context, reserved *networkingv1.IPAddress) (bool, error) {
	parent := reserved.Spec.ParentRef
	if parent == nil || parent.Group != corev1.GroupName || parent.Resource != "services" ||
		r.now().Sub(reserved.CreationTimestamp.Time) < inFlight {
		return false, nil
	}
	holds, err := r.holds(ctx, types.NamespacedName{Namespace: parent.Namespace, Name: parent.Name}, ownerOf(reserved),
		reserved.Name)
	return err == nil && !holds, err
}

// release deletes the reservation of a value if it is the Service's.
func (r *reservations) release(ctx context.Context, owner types.UID, value string) error {
	ctx = genericapirequest.WithNamespace(ctx, metav1.NamespaceNone)
	reserved, err := r.get(ctx, value)
	if apierrors.IsNotFound(err) || err == nil && ownerOf(reserved) != owner {
		return nil
	}
	if err != nil {
		return err
	}
	return r.remove(ctx, reserved)
}

func (r *reservations) get(ctx context.Context, value string) (*networkingv1.IPAddress, error) {
	obj, err := r.store().Get(ctx, value, &metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return obj.(*networkingv1.IPAddress), nil
}

func (r *reservations) remove(ctx context.Context, reserved *networkingv1.IPAddress) error {
	_, _, err := r.store().Delete(ctx, reserved.Name, rest.ValidateAllObjectFunc,
		&metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &reserved.UID}})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // another server has removed it
	}
	return err
}

// reserved returns the reservations of all values.
func (r *reservations) reserved(ctx context.Context) ([]networkingv1.IPAddress, error) {
	list, err := r.store().List(genericapirequest.WithNamespace(ctx, metav1.NamespaceNone), nil)
	if err != nil {
		return nil, err
	}
	return list.(*networkingv1.IPAddressList).Items, nil
}

func ownerOf(reserved *networkingv1.IPAddress) types.UID {
	return types.UID(reserved.Annotations[ownerAnnotation])
}

// nodePortStore returns the store of the reservations of node ports, which is not served.
func nodePortStore(cfg Config) (*genericregistry.Store, error) {
	k := &kind[networkingv1.IPAddress, *networkingv1.IPAddress]{
		names:    names{versions: v1, plural: "servicenodeports", singular: "servicenodeport", cluster: true},
		newList:  func() runtime.Object { return &networkingv1.IPAddressList{} },
		defaults: noDefaults[*networkingv1.IPAddress], printer: printers.NameAndAge, class: rbac.Cluster,
		validate:       func(*networkingv1.IPAddress) field.ErrorList { return nil },
		validateUpdate: func(_, _ *networkingv1.IPAddress) field.ErrorList { return nil },
	}
	store, err := k.store(env{scheme: cfg.Scheme, getter: cfg.Getter, features: cfg.Features})
	if err != nil {
		return nil, fmt.Errorf("storage of node ports: %w", err)
	}
	return store, nil
}
