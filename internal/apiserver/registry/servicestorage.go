package registry

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/util/dryrun"

	"github.com/allot-dev/allot/internal/apiserver/validation"
)

const (
	cacheRetryPeriod = 20 * time.Millisecond
	cacheTimeout     = time.Minute
)

// serviceStorage allocates addresses and ports when Services are created and updated, and releases
// them when they are updated and deleted.
//
// A value is released only after a write which the storage has confirmed, because the generic store
// calls the end of an update before it writes. A write of unknown result keeps its reservations;
// they can be taken over later if no Service holds the values.
type serviceStorage struct {
	*storage
	allocator *serviceAllocator
}

// newServiceStorage returns the storage of Services, which allocates before the store validates.
func newServiceStorage(s *storage, allocator *serviceAllocator) *serviceStorage {
	out := &serviceStorage{storage: s, allocator: allocator}
	s.BeginCreate = out.beginCreate
	s.BeginUpdate = out.beginUpdate
	s.AfterDelete = out.afterDelete
	return out
}

// serviceTransaction has the values that a request has reserved and that the Service had before.
type serviceTransaction struct {
	dryRun   bool
	reserved []reservedValue
	before   serviceValues
	service  *corev1.Service
}

type reservedValue struct {
	reservations *reservations
	value        string
}

type transactionKey struct{}

// reserve reserves a value for a Service, or returns taken. Nothing is reserved in a dry run.
func (t *serviceTransaction) reserve(
	ctx context.Context, in *reservations, s *corev1.Service, value string, labels map[string]string, taken error,
) error {
	if t.dryRun {
		existing, err := in.get(genericapirequest.WithNamespace(ctx, metav1.NamespaceNone), value)
		switch {
		case apierrors.IsNotFound(err):
			return nil
		case err != nil:
			return err
		case ownerOf(existing) != s.UID:
			return taken
		}
		return nil
	}
	ok, err := in.reserve(ctx, s, value, labels)
	if err != nil {
		return err
	}
	if !ok {
		return taken
	}
	t.reserved = append(t.reserved, reservedValue{in, value})
	return nil
}

// Create implements rest.Creater.
func (s *serviceStorage) Create(
	ctx context.Context, obj runtime.Object, validate rest.ValidateObjectFunc, options *metav1.CreateOptions,
) (runtime.Object, error) {
	t := &serviceTransaction{dryRun: dryrun.IsDryRun(options.DryRun)}
	out, err := s.storage.Create(context.WithValue(ctx, transactionKey{}, t), obj, validate, options)
	s.end(ctx, t, out, err)
	return out, err
}

// Update implements rest.Updater.
func (s *serviceStorage) Update(
	ctx context.Context, name string, info rest.UpdatedObjectInfo, create rest.ValidateObjectFunc,
	update rest.ValidateObjectUpdateFunc, force bool, options *metav1.UpdateOptions,
) (runtime.Object, bool, error) {
	t := &serviceTransaction{dryRun: dryrun.IsDryRun(options.DryRun)}
	out, created, err := s.storage.Update(context.WithValue(ctx, transactionKey{}, t), name, info, create, update, force,
		options)
	s.end(ctx, t, out, err)
	return out, created, err
}

// end releases the values that the Service does not have after a request.
func (s *serviceStorage) end(ctx context.Context, t *serviceTransaction, out runtime.Object, err error) {
	if t.dryRun || t.service == nil {
		return
	}
	ctx = context.WithoutCancel(ctx)
	var has serviceValues
	switch now, ok := out.(*corev1.Service); {
	case err == nil && ok:
		has = valuesOf(now)
		t.reserved = append(t.reserved, s.reservedValues(t.before)...)
	case !isRefused(err):
		return
	default:
		has = t.before
	}
	for _, r := range t.reserved {
		if slices.Contains(has.ips, r.value) && r.reservations == s.allocator.ips ||
			slices.Contains(has.ports, r.value) && r.reservations == s.allocator.ports {
			continue
		}
		s.release(ctx, t.service, r)
	}
}

// isRefused reports whether a request was certainly not carried out.
func isRefused(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && status.Status().Code >= 400 && status.Status().Code < 500
}

func (s *serviceStorage) reservedValues(v serviceValues) []reservedValue {
	var out []reservedValue
	for _, ip := range v.ips {
		out = append(out, reservedValue{s.allocator.ips, ip})
	}
	for _, port := range v.ports {
		out = append(out, reservedValue{s.allocator.ports, port})
	}
	return out
}

// release releases a value. A failure is logged: the reservation can be taken over later.
func (s *serviceStorage) release(ctx context.Context, service *corev1.Service, r reservedValue) {
	if err := r.reservations.release(ctx, service.UID, r.value); err != nil {
		utilruntime.HandleErrorWithContext(ctx, err, "Release a value of a Service", "service", service.Namespace+"/"+
			service.Name, "value", r.value)
	}
}

// beginCreate allocates for a new Service. One that is invalid is left to validation.
func (s *serviceStorage) beginCreate(
	ctx context.Context, obj runtime.Object, _ *metav1.CreateOptions,
) (genericregistry.FinishFunc, error) {
	service := obj.(*corev1.Service)
	pairClusterIPs(&service.Spec, nil)
	return func(context.Context, bool) {}, s.begin(ctx, service, nil)
}

// beginUpdate restores what the client has left out, and allocates what is new.
func (s *serviceStorage) beginUpdate(
	ctx context.Context, obj, old runtime.Object, _ *metav1.UpdateOptions,
) (genericregistry.FinishFunc, error) {
	if ctx.Value(transactionKey{}) == nil { // an update of a subresource
		return func(context.Context, bool) {}, nil
	}
	service, before := obj.(*corev1.Service), old.(*corev1.Service)
	prepareServiceUpdate(service, before)
	return func(context.Context, bool) {}, s.begin(ctx, service, before)
}

func (s *serviceStorage) begin(ctx context.Context, service, old *corev1.Service) error {
	t, ok := ctx.Value(transactionKey{}).(*serviceTransaction)
	if !ok { // a request for a subresource, which creates no Service
		return apierrors.NewNotFound(corev1.Resource("services"), service.Name)
	}
	if len(validation.ServiceErrors(service, old)) > 0 {
		return nil
	}
	t.service, t.before = service, valuesOf(old)
	if old != nil {
		t.service = old // it has the UID, which an update need not have
	}
	owner := *service
	owner.Namespace, owner.UID = t.service.Namespace, t.service.UID
	if err := s.allocator.allocate(ctx, t, &owner, old); err != nil {
		return err
	}
	service.Spec = owner.Spec
	return nil
}

// afterDelete releases all values of a deleted Service.
func (s *serviceStorage) afterDelete(obj runtime.Object, options *metav1.DeleteOptions) {
	if options != nil && dryrun.IsDryRun(options.DryRun) {
		return
	}
	service, ok := obj.(*corev1.Service)
	if !ok {
		return
	}
	for _, r := range s.reservedValues(valuesOf(service)) {
		s.release(context.Background(), service, r)
	}
}

// listOnceReady lists all Services. It waits for the cache of the storage, which refuses lists while
// it is being filled.
func (s *serviceStorage) listOnceReady(ctx context.Context) (*corev1.ServiceList, error) {
	var services *corev1.ServiceList
	err := wait.PollUntilContextTimeout(ctx, cacheRetryPeriod, cacheTimeout, true,
		func(ctx context.Context) (bool, error) {
			list, err := s.List(genericapirequest.WithNamespace(ctx, metav1.NamespaceAll), nil)
			if apierrors.IsTooManyRequests(err) {
				return false, nil
			}
			services, _ = list.(*corev1.ServiceList)
			return err == nil, err
		})
	return services, err
}

// resume reserves the values of all stored Services: those of versions that reserved none, and
// those whose reservations were deleted.
func (s *serviceStorage) resume(ctx context.Context) error {
	list, err := s.listOnceReady(ctx)
	if err != nil {
		return fmt.Errorf("list services: %w", err)
	}
	for i := range list.Items {
		service := &list.Items[i]
		for _, r := range s.reservedValues(valuesOf(service)) {
			labels := map[string]string(nil)
			if r.reservations == s.allocator.ips {
				labels = s.allocator.labels()
			}
			if _, err := r.reservations.reserve(ctx, service, r.value, labels); err != nil {
				return fmt.Errorf("reserve %s of service %s/%s: %w", r.value, service.Namespace, service.Name, err)
			}
		}
	}
	return nil
}
