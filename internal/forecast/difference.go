package forecast

import (
	"cmp"
	"maps"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/claims"
	"github.com/allot-dev/allot/internal/model"
)

// difference compares the World of a simulation with the Snapshot that it began with.
type difference struct {
	*simulation
	oldPods map[string]*core.Pod // by UID
}

// plan returns the differences, without the reasons of what waits.
func (d *difference) plan() *Plan {
	p := &Plan{TypeMeta: metav1.TypeMeta{APIVersion: APIVersion, Kind: Kind}, Objects: d.objects, Notes: d.notes}
	replaced := d.replacements()
	for _, pod := range d.world.Pods.List() {
		if change, ok := d.ofPod(pod, replaced); ok {
			p.Pods = append(p.Pods, change)
		}
	}
	gone := map[types.UID]bool{}
	for _, pod := range replaced {
		gone[pod.UID] = true
	}
	for _, uid := range slices.Sorted(maps.Keys(d.ends)) {
		e := d.ends[uid]
		if _, existed := d.oldPods[string(uid)]; !existed || gone[uid] || e.pod.DeletionTimestamp != nil {
			continue
		}
		change := d.describe(e.pod)
		change.Action, change.From, change.Reason = e.action, e.pod.Spec.NodeName, e.reason
		p.Pods = append(p.Pods, change)
	}
	slices.SortStableFunc(p.Pods, comparePods)
	for _, name := range slices.Sorted(maps.Keys(d.problems)) {
		p.Problems = append(p.Problems, d.problems[name])
	}
	for _, key := range slices.SortedFunc(maps.Keys(d.blocked), model.CompareKeys) {
		p.Problems = append(p.Problems,
			Problem{Object: "pod " + key.String(), Reason: "it is not evicted: " + d.blocked[key]})
	}
	p.count()
	return p
}

func comparePods(a, b PodChange) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Owner, b.Owner), cmp.Compare(a.Name, b.Name),
		cmp.Compare(a.Action, b.Action))
}

// describe returns a change with what does not depend on the action.
func (d *difference) describe(pod *core.Pod) PodChange {
	change := PodChange{Namespace: pod.Namespace, Name: pod.Name}
	_, existed := d.oldPods[string(pod.UID)]
	change.New = !existed
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
		change.Owner = owner.Kind + " " + pod.Namespace + "/" + owner.Name
	}
	if name, ok := claims.GroupName(pod); ok {
		change.Group = pod.Namespace + "/" + name
	}
	return change
}

// ofPod returns what happened to a pod that exists at the end.
func (d *difference) ofPod(pod *core.Pod, replaced map[types.UID]*core.Pod) (PodChange, bool) {
	before := d.oldPods[string(pod.UID)]
	if pod.Finished() || before != nil && before.Spec.NodeName == pod.Spec.NodeName {
		return PodChange{}, false
	}
	change := d.describe(pod)
	change.Action, change.To = Place, pod.Spec.NodeName
	if old, ok := replaced[pod.UID]; ok {
		change.Action, change.Replaces, change.From, change.Reason = Move, old.Name, old.Spec.NodeName, d.ends[old.UID].reason
	}
	if pod.Spec.NodeName == "" {
		change.Action = Wait
		return change, true
	}
	change.Devices = d.devices(pod)
	return change, true
}

// devices returns the devices that a pod has.
func (d *difference) devices(pod *core.Pod) []Device {
	var list []Device
	for _, name := range claims.Uses(pod) {
		claim, ok := d.world.Claims.Get(pod.Namespace, name)
		if !ok || claim.Status.Allocation == nil {
			continue
		}
		for i := range claim.Status.Allocation.Devices.Results {
			r := &claim.Status.Allocation.Devices.Results[i]
			list = append(list, Device{Claim: name, Request: r.Request, Device: model.DeviceIDOf(*r).String()})
		}
	}
	return list
}

// replacements finds the evicted pod that each placed new pod replaces: pods of one controller,
// those with the same name or index first, then in the order of their names.
func (d *difference) replacements() map[types.UID]*core.Pod {
	lost := map[types.UID][]*core.Pod{} // by controller
	for uid, e := range d.ends {
		owner := metav1.GetControllerOfNoCopy(e.pod)
		if _, existed := d.oldPods[string(uid)]; existed && owner != nil && e.pod.Spec.NodeName != "" &&
			e.pod.DeletionTimestamp == nil {
			lost[owner.UID] = append(lost[owner.UID], e.pod)
		}
	}
	for _, pods := range lost {
		slices.SortFunc(pods, compareByName)
	}
	out := map[types.UID]*core.Pod{}
	for _, replaces := range []func(a, b *core.Pod) bool{sameIdentity,
		func(_, b *core.Pod) bool { return identity(b) == "" }} {
		for _, pod := range d.world.Pods.List() {
			owner := metav1.GetControllerOfNoCopy(pod)
			if _, existed := d.oldPods[string(pod.UID)]; existed || owner == nil || pod.Spec.NodeName == "" ||
				out[pod.UID] != nil {
				continue
			}
			if at := slices.IndexFunc(lost[owner.UID], func(old *core.Pod) bool { return replaces(pod, old) }); at >= 0 {
				out[pod.UID] = lost[owner.UID][at]
				lost[owner.UID] = slices.Delete(lost[owner.UID], at, at+1)
			}
		}
	}
	return out
}

func compareByName(a, b *core.Pod) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// identity returns the index of a pod in a Job, or "".
func identity(pod *core.Pod) string { return pod.Annotations[batchv1.JobCompletionIndexAnnotation] }

func sameIdentity(a, b *core.Pod) bool {
	return a.Name == b.Name || identity(a) != "" && identity(a) == identity(b)
}

// count fills the Summary, but for pods that wait already.
func (p *Plan) count() {
	for i := range p.Pods {
		switch p.Pods[i].Action {
		case Place:
			p.Summary.Placed++
		case Move:
			p.Summary.Moved++
		case Evict, Preempt:
			p.Summary.Evicted++
		case Delete:
			p.Summary.Deleted++
		case Wait:
			p.Summary.Waiting++
		}
	}
}
