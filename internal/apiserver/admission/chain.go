package admission

import (
	"context"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/api/scheduling/v1alpha3"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
)

// Reader reads the objects that rules need. The last result of a get is false if the object does
// not exist.
type Reader interface {
	Namespace(ctx context.Context, name string) (*corev1.Namespace, bool, error)
	Node(ctx context.Context, name string) (*corev1.Node, bool, error)
	Workload(ctx context.Context, namespace, name string) (*scheduling.Workload, bool, error)
	ServiceAccount(ctx context.Context, namespace, name string) (*corev1.ServiceAccount, bool, error)
	PriorityClass(ctx context.Context, name string) (*schedulingv1.PriorityClass, bool, error)
	LimitRanges(ctx context.Context, namespace string) ([]corev1.LimitRange, error)
	PriorityClasses(ctx context.Context) ([]schedulingv1.PriorityClass, error)
}

// Chain applies all rules. It implements the generic server's admission.
type Chain struct {
	reader Reader
	rules  Rules
}

// Rules are the rules that not every server has.
type Rules struct {
	// Nodes limits the writes of nodes. If it is nil, nodes are treated like other users.
	Nodes Restriction
	// ServiceAccounts means that pods run as ServiceAccounts. Something must create the account
	// "default" in each namespace.
	ServiceAccounts bool
	// Authorizer decides which users may approve and sign certificates.
	Authorizer authorizer.UnconditionalAuthorizer
}

// Restriction limits the writes of nodes.
type Restriction interface {
	Restrict(ctx context.Context, a admission.Attributes) error
}

var (
	_ admission.MutationInterface   = &Chain{}
	_ admission.ValidationInterface = &Chain{}
)

// New returns the chain of all rules.
func New(reader Reader, rules Rules) *Chain { return &Chain{reader: reader, rules: rules} }

// Handles implements admission.Interface.
func (c *Chain) Handles(admission.Operation) bool { return true }

// Admit implements admission.MutationInterface.
func (c *Chain) Admit(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if c.rules.Nodes != nil {
		if err := c.rules.Nodes.Restrict(ctx, a); err != nil {
			return err
		}
	}
	if err := updatedVersion(a); err != nil {
		return err
	}
	if err := c.namespaceAllows(ctx, a); err != nil {
		return err
	}
	if binding, ok := a.GetObject().(*corev1.Binding); ok {
		return c.bindingTopology(ctx, binding)
	}
	if a.GetSubresource() != "" {
		return nil
	}
	if pod, ok := a.GetObject().(*core.Pod); ok {
		return c.admitPod(ctx, a, pod)
	}
	if a.GetOperation() != admission.Create {
		return nil
	}
	switch obj := a.GetObject().(type) {
	case *scheduling.PodGroup:
		return c.podGroup(ctx, a, obj)
	case *v1alpha3.CompositePodGroup:
		return groupPriority(ctx, c, a, &obj.Spec.PriorityClassName, &obj.Spec.Priority, &obj.Spec.PreemptionPolicy)
	case *resource.ResourceClaim:
		return c.adminConsent(ctx, a, field.NewPath("spec"), &obj.Spec.ResourceClaimSpec)
	case *resource.ResourceClaimTemplate:
		return c.adminConsent(ctx, a, field.NewPath("spec", "spec"), &obj.Spec.Spec.ResourceClaimSpec)
	}
	return nil
}

// admitPod applies the rules of pods.
func (c *Chain) admitPod(ctx context.Context, a admission.Attributes, pod *core.Pod) error {
	defaultTolerations(pod)
	if err := c.podTopology(ctx, a, pod); err != nil {
		return err
	}
	if a.GetOperation() != admission.Create {
		return nil
	}
	if err := c.limitDefaults(ctx, pod, a.GetNamespace()); err != nil {
		return err
	}
	if c.rules.ServiceAccounts {
		if err := c.serviceAccount(ctx, a, pod); err != nil {
			return err
		}
	}
	return c.pod(ctx, a, pod)
}

// Validate implements admission.ValidationInterface.
func (c *Chain) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if request, ok := a.GetObject().(*certificatesv1.CertificateSigningRequest); ok {
		return c.certificate(ctx, a, request)
	}
	if a.GetSubresource() != "" {
		return nil
	}
	switch obj := a.GetObject().(type) {
	case *schedulingv1.PriorityClass:
		return c.oneDefault(ctx, a, obj)
	case *core.Pod:
		if a.GetOperation() == admission.Create { // the resources of a pod do not change
			return c.validatePod(ctx, a, obj)
		}
	case *corev1.PersistentVolumeClaim:
		return c.volumeClaimWithinLimits(ctx, a, obj)
	}
	return nil
}

func (c *Chain) validatePod(ctx context.Context, a admission.Attributes, pod *core.Pod) error {
	if c.rules.ServiceAccounts {
		if err := c.serviceAccountAllows(ctx, a, pod); err != nil {
			return err
		}
	}
	return c.podWithinLimits(ctx, a, pod)
}
