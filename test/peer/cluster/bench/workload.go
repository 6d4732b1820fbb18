package main

import (
	"fmt"
	"math"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/utils/ptr"
)

// workload has the objects of one measurement.
type workload struct {
	name, title string
	nodes       []*corev1.Node
	slices      []*resourcev1.ResourceSlice
	claims      []*resourcev1.ResourceClaim // not allocated
	held        []*resourcev1.ResourceClaim // with their allocation
	groups      []*schedulingv1beta1.PodGroup
	before      []*corev1.Pod // bound before the measurement begins
	pods        []*corev1.Pod // measured
	// trivial means that this command binds the pods, so that only the API server is measured.
	trivial bool
}

// workloads returns all workloads, with their numbers multiplied by scale. Names and sizes are those
// of scheduler_perf, except for trivial and training.
func workloads(scale float64) []workload {
	n := func(number int) int { return max(1, int(math.Round(float64(number)*scale))) }
	return []workload{
		trivialPods(n(500), n(5000)),
		sharedClaim("SharedPodGroupResourceClaim/1x1000", 10, 1, n(1000), false),
		sharedClaim("SharedPodGroupResourceClaim/100x50", 50, n(100), n(5000), false),
		sharedClaim("SharedPodGroupResourceClaimTemplate/1x1000", 10, 1, n(1000), true),
		sharedClaim("SharedPodGroupResourceClaimTemplate/100x50", 50, n(100), n(5000), true),
		claimPerPod("SchedulingWithResourceClaimTemplate/200nodes", n(200), n(1000)),
		claimPerPod("SchedulingWithResourceClaimTemplate/500nodes", n(500), n(2500)),
		gangs("GangScheduling/1000x3", n(5000), n(1000), 3),
		gangs("GangScheduling/3x1000", n(5000), 3, n(1000)),
		basic("SchedulingBasic/500nodes", n(500), n(500), n(1000)),
		basic("SchedulingBasic/5000nodes", n(5000), n(1000), n(1000)),
		training(n(2304)),
	}
}

// trivialPods are bound by this command as soon as they are created.
func trivialPods(nodes, pods int) workload {
	w := basic("Trivial", nodes, 0, pods)
	w.title = fmt.Sprintf("%d pods that a client creates and binds, without a scheduler", pods)
	w.trivial = true
	for _, p := range w.pods {
		p.Spec.SchedulerName = "none"
	}
	return w
}

// sharedClaim has groups whose pods share one network-attached device. The pods are assigned to the
// groups in turns, as if several controllers created them.
func sharedClaim(name string, nodes, groups, pods int, fromTemplate bool) workload {
	w := workload{
		name: name, title: fmt.Sprintf("%d groups, %d pods, a claim a group; %d nodes", groups, pods, nodes),
	}
	w.addDeviceNodes(nodes)
	for i := range groups {
		w.slices = append(w.slices, networkSlice(i))
		entry := schedulingv1beta1.PodGroupResourceClaim{Name: claimEntry}
		if fromTemplate {
			entry.ResourceClaimTemplateName = ptr.To(templateName)
		} else {
			w.claims = append(w.claims, newClaim(i))
			entry.ResourceClaimName = ptr.To(w.claims[i].Name)
		}
		policy := schedulingv1beta1.PodGroupSchedulingPolicy{Basic: &schedulingv1beta1.BasicSchedulingPolicy{}}
		w.groups = append(w.groups, newGroup(fmt.Sprintf("group-%d", i), policy, entry))
	}
	for i := range pods {
		group := w.groups[i%groups]
		w.pods = append(w.pods, inGroup(claimPod(i, group.Spec.ResourceClaims[0]), group))
	}
	return w
}

// claimPerPod has nodes with ten devices each, of which half are held when the measurement begins, by
// claims without consumers as in scheduler_perf.
func claimPerPod(name string, nodes, pods int) workload {
	w := workload{
		name: name, title: fmt.Sprintf("%d pods, a claim a pod; %d nodes with 10 devices", pods, nodes),
	}
	w.addDeviceNodes(nodes)
	for i := range nodes {
		w.slices = append(w.slices, nodeSlice(i))
	}
	for i := range pods {
		w.held = append(w.held, heldClaim(i, nodes))
		w.pods = append(w.pods,
			claimPod(i, schedulingv1beta1.PodGroupResourceClaim{ResourceClaimTemplateName: ptr.To(templateName)}))
	}
	return w
}

// gangs has gangs without claims, all of whose pods are required.
func gangs(name string, nodes, count, size int) workload {
	w := workload{name: name, title: fmt.Sprintf("%d gangs of %d pods; %d nodes", count, size, nodes)}
	w.addNodes(nodes)
	for g := range count {
		group := newGroup(fmt.Sprintf("gang-%d", g), gangOf(size))
		w.groups = append(w.groups, group)
		for i := range size {
			w.pods = append(w.pods, inGroup(newPod(fmt.Sprintf("%s-%d", group.Name, i), "100m", "100Mi"), group))
		}
	}
	return w
}

// basic has pods of their own, and others that were bound before.
func basic(name string, nodes, before, pods int) workload {
	w := workload{
		name: name, title: fmt.Sprintf("%d pods after %d others; %d nodes", pods, before, nodes),
	}
	w.addNodes(nodes)
	for i := range before {
		w.before = append(w.before, newPod(fmt.Sprintf("before-%d", i), "100m", "500Mi"))
	}
	for i := range pods {
		w.pods = append(w.pods, newPod(fmt.Sprintf("pod-%d", i), "100m", "500Mi"))
	}
	return w
}

// training is one gang with four pods on each node, which share one network-attached device
// (KEP-5194's job).
func training(nodes int) workload {
	const podsPerNode = 4
	w := workload{
		name: "Training", title: fmt.Sprintf("1 gang of %d pods with one claim; %d nodes", nodes*podsPerNode, nodes),
		slices: []*resourcev1.ResourceSlice{networkSlice(0)},
	}
	w.addDeviceNodes(nodes)
	entry := schedulingv1beta1.PodGroupResourceClaim{Name: claimEntry, ResourceClaimTemplateName: ptr.To(templateName)}
	group := newGroup("training", gangOf(nodes*podsPerNode), entry)
	w.groups = append(w.groups, group)
	for i := range nodes * podsPerNode {
		pod := claimPod(i, entry)
		pod.Spec.Containers[0].Resources.Requests = resources("1", "100Mi")
		w.pods = append(w.pods, inGroup(pod, group))
	}
	return w
}

func (w *workload) addNodes(count int) {
	for i := range count {
		w.nodes = append(w.nodes, newNode(nodeName(i), nil))
	}
}

func (w *workload) addDeviceNodes(count int) {
	for i := range count {
		w.nodes = append(w.nodes, newNode(nodeName(i), map[string]string{deviceLabel: "true"}))
	}
}
