package explain

import (
	"fmt"

	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/claims"
	"github.com/allot-dev/allot/internal/model"
)

// placedPod explains a pod that has a node: its devices, who shares them, and their history.
func (e *Explainer) placedPod(r *Report, pod *core.Pod) error {
	v, err := e.view(pod.Spec.SchedulerName)
	if err != nil {
		return err
	}
	a := &attempt{Explainer: e, view: v}
	for _, resolution := range claims.Resolve(pod, e.groupOf(pod)) {
		claim := e.claims[model.Key{Namespace: pod.Namespace, Name: resolution.Claim}]
		if claim == nil || claim.Status.Allocation == nil {
			continue
		}
		if at := allocatedAt(claim); !at.IsZero() {
			r.moment(at, fmt.Sprintf("claim %s got %s", claim.Name, holdsText(claim)))
		}
		for i := range claim.Status.Allocation.Devices.Results {
			result := &claim.Status.Allocation.Devices.Results[i]
			d := a.deviceAnswer(model.DeviceIDOf(*result))
			d.Request, d.Attributes = resolution.Entry+", "+result.Request, nil
			r.Devices = append(r.Devices, d)
		}
	}
	r.moment(pod.CreationTimestamp, "the pod was created")
	if started := pod.Status.StartTime; started != nil {
		r.moment(*started, "it was started on "+pod.Spec.NodeName)
	}
	e.eventsAbout(r, "Pod", keyOf(pod))
	r.sortHistory()
	e.placementOf(r, pod)
	return nil
}

// placementOf adds why a pod is on its node.
func (e *Explainer) placementOf(r *Report, pod *core.Pod) {
	for _, resolution := range claims.Resolve(pod, e.groupOf(pod)) {
		claim := e.claims[model.Key{Namespace: pod.Namespace, Name: resolution.Claim}]
		if claim == nil || claim.Status.Allocation == nil || claim.Status.Allocation.NodeSelector == nil {
			continue
		}
		if known := (&model.Claim{Allocation: &model.Allocation{NodeSelector: claim.Status.Allocation.NodeSelector}}); known.Allocation.NodeSelector != nil {
			r.fact("Tied by claim", claim.Name+", usable from "+scopeText(known))
		}
	}
}
