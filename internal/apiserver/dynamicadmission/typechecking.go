package dynamicadmission

import (
	"context"
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	validatingpolicy "k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/cel/openapi/resolver"
	apply "k8s.io/client-go/applyconfigurations/admissionregistration/v1"
	informers "k8s.io/client-go/informers/admissionregistration/v1"
	"k8s.io/client-go/kubernetes"
	typedv1 "k8s.io/client-go/kubernetes/typed/admissionregistration/v1"
	listers "k8s.io/client-go/listers/admissionregistration/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// typeCheckManager is the field manager of the results, and has the name that it has in Kubernetes.
const typeCheckManager = "validatingadmissionpolicy-status"

// typeChecking checks the expressions of ValidatingAdmissionPolicies against the types of the
// objects that they match, and writes what it finds into the statuses. A policy with faults in its
// types is in force nevertheless.
type typeChecking struct {
	policies listers.ValidatingAdmissionPolicyLister
	client   typedv1.ValidatingAdmissionPolicyInterface
	checker  *validatingpolicy.TypeChecker
	queue    workqueue.TypedRateLimitingInterface[string] // queue of names
}

func newTypeChecking(
	client kubernetes.Interface, policies informers.ValidatingAdmissionPolicyInformer, mapper Mapper,
) (*typeChecking, error) {
	c := &typeChecking{
		policies: policies.Lister(),
		client:   client.AdmissionregistrationV1().ValidatingAdmissionPolicies(),
		checker: &validatingpolicy.TypeChecker{
			SchemaResolver: &resolver.ClientDiscoveryResolver{Discovery: client.Discovery()}, RestMapper: mapper,
		},
		queue: workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]()),
	}
	_, err := policies.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    c.enqueue,
		UpdateFunc: func(_, policy any) { c.enqueue(policy) },
	})
	if err != nil {
		return nil, fmt.Errorf("type checking of policies: %w", err)
	}
	return c, nil
}

func (c *typeChecking) enqueue(obj any) {
	policy := obj.(*admissionregistrationv1.ValidatingAdmissionPolicy)
	if policy.Status.ObservedGeneration < policy.Generation {
		c.queue.Add(policy.Name)
	}
}

// run checks policies until ctx ends.
func (c *typeChecking) run(ctx context.Context) {
	defer context.AfterFunc(ctx, c.queue.ShutDown)()
	for {
		name, shutdown := c.queue.Get()
		if shutdown {
			return
		}
		if err := c.check(ctx, name); err != nil && ctx.Err() == nil {
			utilruntime.HandleError(fmt.Errorf("type checking of policy %s: %w", name, err))
			c.queue.AddRateLimited(name)
		} else {
			c.queue.Forget(name)
		}
		c.queue.Done(name)
	}
}

func (c *typeChecking) check(ctx context.Context, name string) error {
	policy, err := c.policies.Get(name)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil || policy.Status.ObservedGeneration >= policy.Generation {
		return err
	}
	result := apply.TypeChecking()
	for _, w := range c.checker.Check(policy) {
		result.WithExpressionWarnings(apply.ExpressionWarning().WithFieldRef(w.FieldRef).WithWarning(w.Warning))
	}
	status := apply.ValidatingAdmissionPolicyStatus().WithObservedGeneration(policy.Generation).WithTypeChecking(result)
	_, err = c.client.ApplyStatus(ctx, apply.ValidatingAdmissionPolicy(name).WithStatus(status),
		metav1.ApplyOptions{FieldManager: typeCheckManager, Force: true})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
