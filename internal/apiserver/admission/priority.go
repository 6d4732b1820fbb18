package admission

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apiserver/pkg/admission"

	core "github.com/allot-dev/allot/api/core/v1"
)

// SystemPriorityClasses returns the priority classes that always exist.
func SystemPriorityClasses() []schedulingv1.PriorityClass {
	var critical, nodeCritical schedulingv1.PriorityClass
	critical.Name, critical.Value = "system-cluster-critical", 2_000_000_000
	critical.Description = "For pods that the cluster needs; they may move to another node."
	nodeCritical.Name, nodeCritical.Value = "system-node-critical", 2_000_001_000
	nodeCritical.Description = "For pods that their node needs; they must not move."
	return []schedulingv1.PriorityClass{critical, nodeCritical}
}

// rank is the priority and policy of a priority class.
type rank struct {
	class    string
	priority int32
	// policy is empty if the class has no preemption policy.
	policy corev1.PreemptionPolicy
}

// rankOf returns the rank of a class by name; an empty name means the default class.
func (c *Chain) rankOf(ctx context.Context, a admission.Attributes, name string) (rank, error) {
	if name == "" {
		return c.defaultRank(ctx)
	}
	class, ok, err := c.reader.PriorityClass(ctx, name)
	if err != nil {
		return rank{}, fmt.Errorf("priority class %s: %w", name, err)
	}
	if !ok {
		return rank{}, admission.NewForbidden(a, fmt.Errorf("there is no PriorityClass %q", name))
	}
	return rankFrom(class), nil
}

func (c *Chain) defaultRank(ctx context.Context) (rank, error) {
	classes, err := c.reader.PriorityClasses(ctx)
	if err != nil {
		return rank{}, fmt.Errorf("priority classes: %w", err)
	}
	// If there are two defaults, the lower one is used.
	var best *schedulingv1.PriorityClass
	for i := range classes {
		if classes[i].GlobalDefault && (best == nil || classes[i].Value < best.Value) {
			best = &classes[i]
		}
	}
	if best == nil {
		return rank{policy: corev1.PreemptLowerPriority}, nil
	}
	return rankFrom(best), nil
}

func rankFrom(class *schedulingv1.PriorityClass) rank {
	r := rank{class: class.Name, priority: class.Value}
	if class.PreemptionPolicy != nil {
		r.policy = *class.PreemptionPolicy
	}
	return r
}

// settle sets a priority and a preemption policy from r. Existing values must be equal: a client
// cannot choose a priority that differs from its class.
func settle[Policy ~string](a admission.Attributes, r rank, priority **int32, policy **Policy) error {
	if *priority != nil && **priority != r.priority {
		return admission.NewForbidden(a,
			fmt.Errorf("spec.priority is %d, but its priority class gives %d", **priority, r.priority))
	}
	value := r.priority
	*priority = &value
	if r.policy == "" {
		return nil
	}
	want := Policy(r.policy)
	if *policy != nil && **policy != want {
		return admission.NewForbidden(a,
			fmt.Errorf("spec.preemptionPolicy is %s, but its priority class gives %s", **policy, want))
	}
	*policy = &want
	return nil
}

// pod sets the priority of a new pod.
func (c *Chain) pod(ctx context.Context, a admission.Attributes, pod *core.Pod) error {
	r, err := c.rankOf(ctx, a, pod.Spec.PriorityClassName)
	if err != nil {
		return err
	}
	pod.Spec.PriorityClassName = r.class
	return settle(a, r, &pod.Spec.Priority, &pod.Spec.PreemptionPolicy)
}

// groupPriority sets the priority of a new PodGroup or CompositePodGroup.
func groupPriority[Policy ~string](
	ctx context.Context,
	c *Chain,
	a admission.Attributes,
	class *string,
	priority **int32,
	policy **Policy,
) error {
	r, err := c.rankOf(ctx, a, *class)
	if err != nil {
		return err
	}
	*class = r.class
	if r.class == "" {
		// Without a class there is no preemption policy, and the group has none either.
		r.policy = ""
	}
	return settle(a, r, priority, policy)
}

// oneDefault rejects a second default class.
func (c *Chain) oneDefault(ctx context.Context, a admission.Attributes, class *schedulingv1.PriorityClass) error {
	if !class.GlobalDefault {
		return nil
	}
	classes, err := c.reader.PriorityClasses(ctx)
	if err != nil {
		return fmt.Errorf("priority classes: %w", err)
	}
	for i := range classes {
		if classes[i].GlobalDefault && classes[i].Name != class.Name {
			return admission.NewForbidden(a,
				fmt.Errorf("PriorityClass %s is the default already, and there can be only one", classes[i].Name))
		}
	}
	return nil
}
