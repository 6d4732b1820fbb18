package explain

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/allot-dev/allot/internal/model"
)

// Node explains what a node has, and what uses it.
func (e *Explainer) Node(name string) (*Report, error) {
	v, err := e.view(DefaultScheduler)
	if err != nil {
		return nil, err
	}
	info, ok := v.state.Nodes.Get(name)
	if !ok || info.Node == nil {
		return nil, notFound("Node", model.Key{Name: name}, e.snap.Objects.Nodes)
	}
	r := e.report("Node", model.Key{Name: name})
	r.State = InUse
	if len(info.Pods) == 0 {
		r.State = Free
	}
	e.nodeFacts(r, info)
	a := &attempt{Explainer: e, view: v}
	free := a.nodeDevices(r, info)
	r.Summary = fmt.Sprintf("%s on it; %s", countOf(len(info.Pods), "pod"), free)
	e.eventsAbout(r, "Node", model.Key{Name: name})
	r.sortHistory()
	switch taints := schedulingTaints(info); {
	case info.Node.Unschedulable:
		r.State, r.Summary = Unusable, "it is cordoned and takes no new pods; "+r.Summary
		r.help("It takes pods again after:", "kubectl uncordon "+name)
	case len(taints) > 0:
		r.State, r.Summary = Unusable, "only pods that tolerate its taints are scheduled there; "+r.Summary
	}
	return r, nil
}

// nodeFacts adds the resources of a node and its pods.
func (e *Explainer) nodeFacts(r *Report, info *model.NodeInfo) {
	for _, name := range slices.Sorted(maps.Keys(info.Node.Allocatable)) {
		has := info.Node.Allocatable[name]
		if has == 0 {
			continue
		}
		r.fact(string(name), fmt.Sprintf("%s free of %s", amount(name, max(0, info.Free[name])), amount(name, has)))
	}
	r.fact("Taints", strings.Join(schedulingTaints(info), ", "))
	if zone := info.Node.Labels[corev1.LabelTopologyZone]; zone != "" {
		r.fact("Zone", zone)
	}
	keys := slices.SortedFunc(maps.Keys(info.Pods), func(a, b model.Key) int {
		x, y := info.Pods[a], info.Pods[b]
		return cmp.Or(cmp.Compare(y.Shape.Requests[corev1.ResourceCPU], x.Shape.Requests[corev1.ResourceCPU]),
			cmp.Compare(a.String(), b.String()))
	})
	for i, key := range keys {
		if i == maxHolders {
			r.fact("", fmt.Sprintf("and %d more pods", len(keys)-i))
			break
		}
		text := strings.TrimPrefix(e.podText(info.Pods[key]), "pod ")
		if requests := resourcesText(info.Pods[key].Shape.Requests); requests != "" {
			text += ": " + requests
		}
		r.fact("Pod", text)
	}
}

// schedulingTaints returns the taints that keep pods away.
func schedulingTaints(info *model.NodeInfo) []string {
	var taints []string
	for i := range info.Node.Taints {
		if taint := &info.Node.Taints[i]; taint.Effect != corev1.TaintEffectPreferNoSchedule {
			taints = append(taints, taint.ToString())
		}
	}
	return taints
}

// nodeDevices adds the devices that the node can use and that are not free, and counts all by
// state.
func (a *attempt) nodeDevices(r *Report, info *model.NodeInfo) string {
	counts := map[string]int{}
	total := 0
	for _, view := range a.view.state.Devices.Pools(info) {
		usable, why := view.Usable()
		if !usable {
			r.fact("Pool", why)
		}
		view.Reach.Each(func(i int) bool {
			d := a.deviceAnswer(view.DeviceID(i))
			if !usable {
				d.State = "of a pool that cannot be used"
			}
			counts[d.State]++
			total++
			if d.State != "free" && len(r.Devices) < maxDevices {
				d.Attributes = nil
				r.Devices = append(r.Devices, d)
			}
			return true
		})
	}
	if total == 0 {
		return "no devices are published for it"
	}
	var parts []string
	for _, state := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%d %s", counts[state], state))
	}
	text := count(total, "device") + ": " + strings.Join(parts, ", ")
	r.fact("Devices", text)
	return text
}

// maxDevices limits the devices that a Report lists.
const maxDevices = 16
