package explain

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/claims"
	"github.com/allot-dev/allot/internal/model"
)

// Pod explains why a pod waits, or why it is on its node.
func (e *Explainer) Pod(key model.Key) (*Report, error) {
	pod, ok := e.pods[key]
	if !ok {
		return nil, notFound("Pod", key, e.snap.Objects.Pods)
	}
	r := e.report("Pod", key)
	e.scheduler(r, pod.Spec.SchedulerName)
	e.podFacts(r, pod)
	switch {
	case pod.Finished():
		r.State = Finished
		r.Summary = fmt.Sprintf("the pod is %s and uses no resources of a node", strings.ToLower(string(pod.Status.Phase)))
		return r, nil
	case pod.Spec.NodeName != "":
		r.State = Placed
		r.Summary = "the pod runs on node " + pod.Spec.NodeName
		if pod.DeletionTimestamp != nil {
			r.State, r.Summary = Terminating, "the pod is being deleted; it uses its node and devices until it has terminated"
		}
		return r, e.placedPod(r, pod)
	case pod.DeletionTimestamp != nil:
		r.State = Terminating
		r.Summary = "the pod is being deleted and is not scheduled any more"
		return r, nil
	}
	r.State = Waiting
	return r, e.waitingPod(r, pod)
}

// podFacts adds what the pod is and wants.
func (e *Explainer) podFacts(r *Report, pod *core.Pod) {
	if pod.Spec.NodeName == "" && !pod.Finished() {
		r.fact("Waiting since", e.ago(pod.CreationTimestamp))
	}
	r.fact("Priority", priorityText(pod))
	if name, ok := claims.GroupName(pod); ok {
		r.fact("PodGroup", name)
	} else if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
		r.fact("Controlled by", owner.Kind+" "+owner.Name)
	}
	e.wants(r, pod)
	if pod.Spec.NodeName == "" {
		r.fact("Last reported", e.reported(pod))
	}
}

// priorityText returns the priority of a pod with its class.
func priorityText(pod *core.Pod) string {
	if pod.Spec.Priority == nil {
		return "0"
	}
	text := fmt.Sprint(*pod.Spec.Priority)
	if class := pod.Spec.PriorityClassName; class != "" {
		text += " (PriorityClass " + class + ")"
	}
	if policy := pod.Spec.PreemptionPolicy; policy != nil && *policy == corev1.PreemptNever {
		text += ", preempts no other pods (preemptionPolicy Never)"
	}
	return text
}

// wants adds what the pod requests of nodes and devices.
func (e *Explainer) wants(r *Report, pod *core.Pod) {
	if v, err := e.view(pod.Spec.SchedulerName); err == nil {
		if known, ok := v.state.Pods.Get(model.KeyOf(pod)); ok {
			r.fact("Requests", resourcesText(known.Shape.Requests))
		}
	}
	for _, resolution := range claims.Resolve(pod, e.groupOf(pod)) {
		if resolution.Claim == "" {
			continue
		}
		if claim := e.claims[model.Key{Namespace: pod.Namespace, Name: resolution.Claim}]; claim != nil {
			r.fact("Claim", claimText(claim, resolution.ThroughGroup))
		}
	}
	for _, gate := range pod.Spec.SchedulingGates {
		r.fact("Scheduling gate", gate.Name)
	}
}

// reported returns what the scheduler has written into the pod's condition.
func (e *Explainer) reported(pod *core.Pod) string {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Message != "" {
			return fmt.Sprintf("%s ago: %s", e.age(c.LastTransitionTime), strings.Join(strings.Fields(c.Message), " "))
		}
	}
	return ""
}

// waitingPod explains why a pod without a node waits.
func (e *Explainer) waitingPod(r *Report, pod *core.Pod) error {
	if len(pod.Spec.SchedulingGates) > 0 {
		e.gated(r, pod)
		return nil
	}
	key := model.UnitKey{Key: model.KeyOf(pod)}
	if name, ok := claims.GroupName(pod); ok {
		key = model.UnitKey{Group: true, Key: model.Key{Namespace: pod.Namespace, Name: name}}
	}
	u, err := e.tryUnit(pod.Spec.SchedulerName, key)
	if err != nil {
		return err
	}
	u.explain(r, model.KeyOf(pod))
	return nil
}

// gated explains a pod with scheduling gates.
func (e *Explainer) gated(r *Report, pod *core.Pod) {
	var gates []string
	for _, gate := range pod.Spec.SchedulingGates {
		gates = append(gates, gate.Name)
	}
	r.Summary = fmt.Sprintf("it is held by scheduling gates (%s) and is not scheduled before they are removed",
		strings.Join(gates, ", "))
	r.help("The controller that sets a gate removes it when it is done: look for that controller.",
		kubectl("get", "pod", model.KeyOf(pod), "-o", "jsonpath='{.spec.schedulingGates}'"))
	if name, ok := claims.GroupName(pod); ok {
		r.help("All waiting pods of PodGroup "+name+" wait for this pod's gates, too.",
			"allot explain podgroup "+name+" -n "+pod.Namespace)
	}
}
