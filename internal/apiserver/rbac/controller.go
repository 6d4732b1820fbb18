package rbac

import (
	"context"
	"fmt"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	listers "k8s.io/client-go/listers/rbac/v1"
	"k8s.io/client-go/tools/cache"
)

const (
	// pollEvery is the interval at which the start polls its conditions.
	pollEvery = 5 * time.Millisecond
	// retryAfter is the delay before a rejected write is retried.
	retryAfter = time.Second
)

// Controller keeps a Policy up to date with the server's objects, and the aggregated roles up to
// date with the roles that they aggregate.
type Controller struct {
	policy *Policy
	client kubernetes.Interface
	roles  []rbacv1.ClusterRole // those of SystemRoles
	shared informers.SharedInformerFactory
	// changed has an element if a ClusterRole has changed since the last pass.
	changed chan struct{}
}

// NewController returns a Controller that fills policy through client, whose user must be allowed
// everything. The resources are those that the server serves.
func NewController(policy *Policy, client kubernetes.Interface, served []Resource) (*Controller, error) {
	c := &Controller{
		policy: policy, client: client, roles: SystemRoles(served),
		shared: informers.NewSharedInformerFactory(client, 0), changed: make(chan struct{}, 1),
	}
	kinds := c.shared.Rbac().V1()
	for _, add := range []func() error{
		func() error { return follow(kinds.Roles().Informer(), c.setRole, c.deleteRole) },
		func() error { return follow(kinds.ClusterRoles().Informer(), c.setClusterRole, c.deleteClusterRole) },
		func() error {
			return follow(kinds.RoleBindings().Informer(), policy.SetRoleBinding,
				func(b *rbacv1.RoleBinding) { policy.DeleteBinding(b.Namespace, b.Name) })
		},
		func() error {
			return follow(kinds.ClusterRoleBindings().Informer(), policy.SetClusterRoleBinding,
				func(b *rbacv1.ClusterRoleBinding) { policy.DeleteBinding("", b.Name) })
		},
	} {
		if err := add(); err != nil {
			return nil, fmt.Errorf("follow roles and bindings: %w", err)
		}
	}
	return c, nil
}

// follow calls set for each object that was added or changed, and gone for those that were deleted.
func follow[P any](informer cache.SharedIndexInformer, set, gone func(P)) error {
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { set(obj.(P)) },
		UpdateFunc: func(_, obj any) { set(obj.(P)) },
		DeleteFunc: func(obj any) {
			if unknown, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = unknown.Obj
			}
			if p, ok := obj.(P); ok {
				gone(p)
			}
		},
	})
	return err
}

func (c *Controller) setRole(r *rbacv1.Role) { c.policy.SetRole(r.Namespace, r.Name, r.Rules) }

func (c *Controller) deleteRole(r *rbacv1.Role) { c.policy.DeleteRole(r.Namespace, r.Name) }

func (c *Controller) setClusterRole(r *rbacv1.ClusterRole) {
	c.policy.SetRole("", r.Name, r.Rules)
	c.signalChange()
}

func (c *Controller) deleteClusterRole(r *rbacv1.ClusterRole) {
	c.policy.DeleteRole("", r.Name)
	c.signalChange()
}

func (c *Controller) signalChange() {
	select {
	case c.changed <- struct{}{}:
	default:
	}
}

// Start returns when the Policy has all stored objects, including the roles and bindings that every
// server has. The background work ends with ctx.
func (c *Controller) Start(ctx context.Context) error {
	c.shared.StartWithContext(ctx)
	for kind, ok := range c.shared.WaitForCacheSync(ctx.Done()) {
		if !ok {
			return fmt.Errorf("%v: stopped before the cache was filled: %w", kind, context.Cause(ctx))
		}
	}
	var last error
	err := wait.PollUntilContextCancel(ctx, pollEvery, true, func(context.Context) (bool, error) {
		last = Ensure(c.client.RbacV1(), c.roles)
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("roles and bindings of the system: %w", last)
	}
	if err := wait.PollUntilContextCancel(ctx, pollEvery, true, func(context.Context) (bool, error) {
		return c.hasSystem(),
			nil
	}); err != nil {
		return fmt.Errorf("waiting for the roles and bindings of the system: %w", err)
	}
	go c.aggregate(ctx)
	return nil
}

// hasSystem reports whether the caches have the objects that Ensure has written.
func (c *Controller) hasSystem() bool {
	kinds := c.shared.Rbac().V1()
	for _, r := range c.roles {
		if _, err := kinds.ClusterRoles().Lister().Get(r.Name); err != nil {
			return false
		}
	}
	for _, b := range SystemBindings() {
		if _, err := kinds.ClusterRoleBindings().Lister().Get(b.Name); err != nil {
			return false
		}
	}
	return true
}

// aggregate writes the rules of aggregated roles when a ClusterRole has changed. A write leads to
// another pass, which finds nothing to do.
func (c *Controller) aggregate(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.changed:
		}
		if err := c.aggregateAll(ctx, c.shared.Rbac().V1().ClusterRoles().Lister()); err != nil && ctx.Err() == nil {
			utilruntime.HandleErrorWithContext(ctx, err, "aggregated roles")
			select {
			case <-ctx.Done():
			case <-time.After(retryAfter):
			}
			c.signalChange()
		}
	}
}

func (c *Controller) aggregateAll(ctx context.Context, lister listers.ClusterRoleLister) error {
	all, err := lister.List(labels.Everything())
	if err != nil {
		return err
	}
	gathered, err := AggregatedRules(all)
	failed := []error{err}
	for _, role := range all {
		rules, ok := gathered[role.Name]
		if !ok || apiequality.Semantic.DeepEqual(rules, role.Rules) || len(rules)+len(role.Rules) == 0 {
			continue
		}
		changed := role.DeepCopy()
		changed.Rules = rules
		// After a conflict, an event for the newer version follows, or another server has written
		// the same.
		_, err = c.client.RbacV1().ClusterRoles().Update(ctx, changed,
			metav1.UpdateOptions{FieldManager: "clusterrole-aggregation-controller"})
		if err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
			failed = append(failed, err)
		}
	}
	return utilerrors.NewAggregate(failed)
}
