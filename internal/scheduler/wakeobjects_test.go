package scheduler

import (
	"encoding/json"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	storagev1 "k8s.io/api/storage/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/testkit/memcache"
)

// The objects of a wakeWorld: few names, few values, so that they meet.

func show(object any) string {
	text, err := json.Marshal(object)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func one[T any](w *wakeWorld, values ...T) T { return rapid.SampledFrom(values).Draw(w.t, "value") }

func keysNamed(namespace, prefix string, n int) []model.Key {
	var keys []model.Key
	for i := range n {
		keys = append(keys, model.Key{Namespace: namespace, Name: fmt.Sprint(prefix, i)})
	}
	return keys
}

// labelled draws a label, "" being none.
func labelled(w *wakeWorld, labels map[string]string, key string, values ...string) map[string]string {
	changed := map[string]string{}
	maps.Copy(changed, labels)
	delete(changed, key)
	if value := one(w, values...); value != "" {
		changed[key] = value
	}
	return changed
}

const (
	wakeDriver   = "gpu.example.com"
	wakeResource = "example.com/gpu"
)

func wakeNodes(cache *memcache.Cache[*corev1.Node]) changer {
	return &objectsOf[*corev1.Node]{
		cache: cache, names: keysNamed("", "n", 3), copy: (*corev1.Node).DeepCopy,
		make: func(meta metav1.ObjectMeta) *corev1.Node { return &corev1.Node{ObjectMeta: meta} },
		edits: []edit[*corev1.Node]{
			{field: "zone", draw: func(w *wakeWorld, n *corev1.Node) { n.Labels = labelled(w, n.Labels, "zone", "a", "b", "") }},
			{field: "disk", draw: func(w *wakeWorld, n *corev1.Node) { n.Labels = labelled(w, n.Labels, "disk", "ssd", "") }},
			{field: "taints", draw: func(w *wakeWorld, n *corev1.Node) {
				n.Spec.Taints = nil
				if effect := one[corev1.TaintEffect](w, "", "", "NoSchedule", "NoExecute", "PreferNoSchedule"); effect != "" {
					n.Spec.Taints = []corev1.Taint{{Key: "k", Value: one(w, "v", "w"), Effect: effect}}
				}
			}},
			{
				field: "unschedulable",
				draw:  func(w *wakeWorld, n *corev1.Node) { n.Spec.Unschedulable = one(w, false, false, true) },
			},
			{field: "allocatable", draw: func(w *wakeWorld, n *corev1.Node) {
				n.Status.Allocatable = corev1.ResourceList{
					corev1.ResourceCPU:  *apiresource.NewQuantity(one[int64](w, 0, 1, 2, 3), apiresource.DecimalSI),
					corev1.ResourcePods: *apiresource.NewQuantity(one[int64](w, 1, 10), apiresource.DecimalSI),
				}
			}},
			{field: "extended resource", draw: func(w *wakeWorld, n *corev1.Node) {
				n.Status.Allocatable = n.Status.Allocatable.DeepCopy()
				delete(n.Status.Allocatable, wakeResource)
				if count := one[int64](w, -1, -1, 0, 1); count >= 0 {
					n.Status.Allocatable[wakeResource] = *apiresource.NewQuantity(count, apiresource.DecimalSI)
				}
			}},
			{field: "images", draw: func(w *wakeWorld, n *corev1.Node) {
				n.Status.Images = []corev1.ContainerImage{{Names: []string{one(w, "i", "j")}, SizeBytes: 1 << 30}}
			}},
			{field: "conditions", draw: func(w *wakeWorld, n *corev1.Node) {
				n.Status.Conditions = []corev1.NodeCondition{
					{Type: corev1.NodeReady, Status: one(w, corev1.ConditionTrue, corev1.ConditionFalse)},
				}
			}},
			{
				field: "declared features",
				draw:  func(w *wakeWorld, n *corev1.Node) { n.Status.DeclaredFeatures = []string{one(w, "a", "b")} },
			},
		},
	}
}

func wakeNamespaces(cache *memcache.Cache[*corev1.Namespace]) changer {
	return &objectsOf[*corev1.Namespace]{
		cache: cache, names: []model.Key{{Name: "ns"}, {Name: "other"}}, copy: (*corev1.Namespace).DeepCopy,
		make: func(meta metav1.ObjectMeta) *corev1.Namespace { return &corev1.Namespace{ObjectMeta: meta} },
		edits: []edit[*corev1.Namespace]{
			{
				field: "labels",
				draw:  func(w *wakeWorld, n *corev1.Namespace) { n.Labels = labelled(w, n.Labels, "team", "a", "b", "") },
			},
		},
	}
}

func wakeClasses(cache *memcache.Cache[*resourcev1.DeviceClass]) changer {
	return &objectsOf[*resourcev1.DeviceClass]{
		cache: cache, names: []model.Key{{Name: "gpu"}, {Name: "big"}}, copy: (*resourcev1.DeviceClass).DeepCopy,
		make: func(meta metav1.ObjectMeta) *resourcev1.DeviceClass { return &resourcev1.DeviceClass{ObjectMeta: meta} },
		edits: []edit[*resourcev1.DeviceClass]{
			{field: "selectors", draw: func(w *wakeWorld, c *resourcev1.DeviceClass) {
				c.Spec.Selectors = nil
				if expression := one(w, "", `device.attributes["gpu.example.com"].size == "big"`, "false"); expression != "" {
					c.Spec.Selectors = []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: expression}}}
				}
			}},
			{field: "extended resource", draw: func(w *wakeWorld, c *resourcev1.DeviceClass) {
				c.Spec.ExtendedResourceName = one(w, nil, ptr.To(wakeResource))
			}},
		},
	}
}

func wakeSlices(cache *memcache.Cache[*resourcev1.ResourceSlice]) changer {
	return &objectsOf[*resourcev1.ResourceSlice]{
		cache: cache, names: keysNamed("", "s", 3), copy: (*resourcev1.ResourceSlice).DeepCopy,
		make: func(meta metav1.ObjectMeta) *resourcev1.ResourceSlice {
			return &resourcev1.ResourceSlice{ObjectMeta: meta, Spec: resourcev1.ResourceSliceSpec{Driver: wakeDriver}}
		},
		edits: []edit[*resourcev1.ResourceSlice]{
			{field: "scope", created: true, draw: func(w *wakeWorld, s *resourcev1.ResourceSlice) {
				s.Spec.Pool.Name = one(w, "p", s.Name, s.Name)
				switch one(w, 0, 0, 1, 2) {
				case 0:
					s.Spec.NodeName = ptr.To(one(w, "n0", "n1"))
				case 1:
					s.Spec.AllNodes = ptr.To(true)
				case 2:
					s.Spec.NodeSelector = &corev1.NodeSelector{
						NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
							{Key: "zone", Operator: corev1.NodeSelectorOpIn, Values: []string{"a"}},
						}}},
					}
				}
			}},
			{
				field: "generation",
				draw:  func(w *wakeWorld, s *resourcev1.ResourceSlice) { s.Spec.Pool.Generation = one[int64](w, 1, 1, 2) },
			},
			{field: "count", draw: func(w *wakeWorld, s *resourcev1.ResourceSlice) {
				s.Spec.Pool.ResourceSliceCount = one[int64](w, 1, 1, 2)
			}},
			{field: "counters", draw: func(w *wakeWorld, s *resourcev1.ResourceSlice) {
				s.Spec.SharedCounters = []resourcev1.CounterSet{{Name: "set", Counters: map[string]resourcev1.Counter{
					"memory": {Value: *apiresource.NewQuantity(one[int64](w, 0, 1, 2), apiresource.DecimalSI)},
				}}}
			}},
			{field: "devices", draw: func(w *wakeWorld, s *resourcev1.ResourceSlice) { s.Spec.Devices = wakeDevices(w) }},
			{field: "device taints", draw: func(w *wakeWorld, s *resourcev1.ResourceSlice) {
				for i := range s.Spec.Devices {
					s.Spec.Devices[i].Taints = wakeTaints(w)
				}
			}},
			{field: "device attributes", draw: func(w *wakeWorld, s *resourcev1.ResourceSlice) {
				for i := range s.Spec.Devices {
					s.Spec.Devices[i].Attributes = wakeAttributes(w)
				}
			}},
		},
	}
}

func wakeTaints(w *wakeWorld) []resourcev1.DeviceTaint {
	if effect := one[resourcev1.DeviceTaintEffect](w, "", "", "None", "NoSchedule", "NoExecute"); effect != "" {
		return []resourcev1.DeviceTaint{{Key: "k", Effect: effect}}
	}
	return nil
}

func wakeAttributes(w *wakeWorld) map[resourcev1.QualifiedName]resourcev1.DeviceAttribute {
	return map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"size": {StringValue: ptr.To(one(w, "big", "small"))}}
}

func wakeDevices(w *wakeWorld) []resourcev1.Device {
	var devices []resourcev1.Device
	for i := range one(w, 0, 1, 2) {
		device := resourcev1.Device{Name: fmt.Sprint("d", i), Attributes: wakeAttributes(w), Taints: wakeTaints(w)}
		if one(w, true, false, false) {
			device.ConsumesCounters = []resourcev1.DeviceCounterConsumption{
				{CounterSet: "set", Counters: map[string]resourcev1.Counter{
					"memory": {Value: apiresource.MustParse("1")},
				}},
			}
		}
		if one(w, true, false, false) {
			device.AllowMultipleAllocations = ptr.To(true)
			device.Capacity = map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{
				"memory": {Value: apiresource.MustParse("2")},
			}
		}
		devices = append(devices, device)
	}
	return devices
}

func wakeRules(cache *memcache.Cache[*resourcev1.DeviceTaintRule]) changer {
	return &objectsOf[*resourcev1.DeviceTaintRule]{
		cache: cache, names: []model.Key{{Name: "rule"}}, copy: (*resourcev1.DeviceTaintRule).DeepCopy,
		make: func(meta metav1.ObjectMeta) *resourcev1.DeviceTaintRule {
			return &resourcev1.DeviceTaintRule{ObjectMeta: meta}
		},
		edits: []edit[*resourcev1.DeviceTaintRule]{
			{field: "taint", draw: func(w *wakeWorld, r *resourcev1.DeviceTaintRule) {
				r.Spec.Taint = resourcev1.DeviceTaint{
					Key:    one(w, "k", "l"),
					Effect: one[resourcev1.DeviceTaintEffect](w, "None", "NoSchedule", "NoExecute"),
				}
			}},
			{field: "selector", draw: func(w *wakeWorld, r *resourcev1.DeviceTaintRule) {
				r.Spec.DeviceSelector = &resourcev1.DeviceTaintSelector{
					Driver: ptr.To(wakeDriver),
					Pool:   one(w, nil, ptr.To("s0")),
					Device: one(w, nil, ptr.To("d0")),
				}
			}},
		},
	}
}

// wakeClaims are claims of pods (c0 to c2) and of the groups (shared0, shared1).
func wakeClaims(cache *memcache.Cache[*resource.ResourceClaim]) changer {
	return &objectsOf[*resource.ResourceClaim]{
		cache: cache, names: append(keysNamed("ns", "c", 3), keysNamed("ns", "shared", 2)...),
		copy: (*resource.ResourceClaim).DeepCopy,
		make: func(meta metav1.ObjectMeta) *resource.ResourceClaim { return &resource.ResourceClaim{ObjectMeta: meta} },
		edits: []edit[*resource.ResourceClaim]{
			{field: "request", created: true, draw: func(w *wakeWorld, c *resource.ResourceClaim) {
				exactly := &resourcev1.ExactDeviceRequest{
					DeviceClassName: one(w, "gpu", "gpu", "big"),
					AllocationMode: one(w, resourcev1.DeviceAllocationModeExactCount, resourcev1.DeviceAllocationModeExactCount,
						resourcev1.DeviceAllocationModeAll),
				}
				if exactly.AllocationMode == resourcev1.DeviceAllocationModeExactCount {
					exactly.Count = one[int64](w, 1, 1, 2)
				}
				if one(w, true, false, false, false) {
					exactly.Tolerations = []resourcev1.DeviceToleration{{Operator: resourcev1.DeviceTolerationOpExists}}
				}
				c.Spec.Devices.Requests = []resourcev1.DeviceRequest{{Name: "r", Exactly: exactly}}
				if one(w, true, false, false) {
					c.Spec.Devices.Constraints = []resourcev1.DeviceConstraint{
						{MatchAttribute: ptr.To[resourcev1.FullyQualifiedName](wakeDriver + "/size")},
					}
				}
			}},
			{field: "allocation", draw: func(w *wakeWorld, c *resource.ResourceClaim) {
				c.Status.Allocation = nil
				if device := one(w, "", "", "d0", "d1"); device != "" {
					c.Status.Allocation = &resource.AllocationResult{}
					c.Status.Allocation.Devices.Results = []resourcev1.DeviceRequestAllocationResult{
						{Request: "r", Driver: wakeDriver, Pool: one(w, "p", "s0", "s1"), Device: device},
					}
					if node := one(w, "", "n0", "n1"); node != "" {
						c.Status.Allocation.NodeSelector = &corev1.NodeSelector{
							NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{
								{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{node}},
							}}},
						}
					}
				}
			}},
			{field: "reservedFor", draw: func(w *wakeWorld, c *resource.ResourceClaim) {
				c.Status.ReservedFor = nil
				if name := one(w, "", "b0", "gone"); name != "" && c.Status.Allocation != nil {
					c.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: name, UID: "x"}}
				}
			}},
			{field: "deletion", draw: func(w *wakeWorld, c *resource.ResourceClaim) {
				c.DeletionTimestamp = nil
				if one(w, false, false, false, true) {
					c.DeletionTimestamp = ptr.To(metav1.NewTime(time.Unix(2000, 0)))
				}
			}},
		},
	}
}

func wakeGroups(cache *memcache.Cache[*scheduling.PodGroup]) changer {
	return &objectsOf[*scheduling.PodGroup]{
		cache: cache, names: keysNamed("ns", "g", 2), copy: (*scheduling.PodGroup).DeepCopy,
		make: func(meta metav1.ObjectMeta) *scheduling.PodGroup { return &scheduling.PodGroup{ObjectMeta: meta} },
		edits: []edit[*scheduling.PodGroup]{
			{field: "topology", created: true, draw: func(w *wakeWorld, g *scheduling.PodGroup) {
				if one(w, true, false, false) {
					g.Spec.SchedulingConstraints = &schedulingv1beta1.PodGroupSchedulingConstraints{
						Topology: []schedulingv1beta1.TopologyConstraint{{Key: "zone"}},
					}
				}
			}},
			{field: "minCount", draw: func(w *wakeWorld, g *scheduling.PodGroup) {
				if g.Spec.SchedulingPolicy.Gang == nil && one(w, true, false, false) {
					g.Spec.SchedulingPolicy.Basic = &schedulingv1beta1.BasicSchedulingPolicy{}
				}
				if g.Spec.SchedulingPolicy.Basic == nil {
					g.Spec.SchedulingPolicy.Gang = &schedulingv1beta1.GangSchedulingPolicy{MinCount: one[int32](w, 1, 2, 3)}
				}
			}},
			{
				field:   "priority",
				created: true,
				draw:    func(w *wakeWorld, g *scheduling.PodGroup) { g.Spec.Priority = one(w, nil, ptr.To[int32](100)) },
			},
			{field: "claims", draw: func(w *wakeWorld, g *scheduling.PodGroup) {
				entry := scheduling.PodGroupResourceClaim{}
				entry.Name, entry.ResourceClaimTemplateName = "shared", ptr.To("template")
				g.Spec.ResourceClaims = []scheduling.PodGroupResourceClaim{entry}
				g.Status.ResourceClaimStatuses = nil
				if name := one(w, "", "shared0", "shared1"); name != "" {
					g.Status.ResourceClaimStatuses = []schedulingv1beta1.PodGroupResourceClaimStatus{
						{Name: "shared", ResourceClaimName: &name},
					}
				}
			}},
		},
	}
}

func wakeVolumes(cache *memcache.Cache[*corev1.PersistentVolume]) changer {
	return &objectsOf[*corev1.PersistentVolume]{
		cache: cache, names: keysNamed("", "pv", 2), copy: (*corev1.PersistentVolume).DeepCopy,
		make: func(meta metav1.ObjectMeta) *corev1.PersistentVolume {
			return &corev1.PersistentVolume{ObjectMeta: meta}
		},
		edits: []edit[*corev1.PersistentVolume]{
			{field: "zone", draw: func(w *wakeWorld, v *corev1.PersistentVolume) {
				v.Labels = labelled(w, v.Labels, corev1.LabelTopologyZone, "a", "")
			}},
			{field: "claim", draw: func(w *wakeWorld, v *corev1.PersistentVolume) {
				v.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "ns", Name: one(w, "v0", "v1")}
			}},
			{field: "affinity", draw: func(w *wakeWorld, v *corev1.PersistentVolume) {
				v.Spec.NodeAffinity = nil
				if zone := one(w, "", "a", "b"); zone != "" {
					v.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{
						Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
							MatchExpressions: []corev1.NodeSelectorRequirement{
								{Key: "zone", Operator: corev1.NodeSelectorOpIn, Values: []string{zone}},
							},
						}}},
					}
				}
			}},
			{field: "driver", draw: func(_ *wakeWorld, v *corev1.PersistentVolume) {
				v.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: "csi", VolumeHandle: v.Name}
			}},
		},
	}
}

func wakeVolumeClaims(cache *memcache.Cache[*corev1.PersistentVolumeClaim]) changer {
	return &objectsOf[*corev1.PersistentVolumeClaim]{
		cache: cache, names: keysNamed("ns", "v", 2), copy: (*corev1.PersistentVolumeClaim).DeepCopy,
		make: func(meta metav1.ObjectMeta) *corev1.PersistentVolumeClaim {
			return &corev1.PersistentVolumeClaim{ObjectMeta: meta}
		},
		edits: []edit[*corev1.PersistentVolumeClaim]{
			{field: "once", created: true, draw: func(w *wakeWorld, c *corev1.PersistentVolumeClaim) {
				c.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{one(w, corev1.ReadWriteOncePod, corev1.ReadWriteMany)}
			}},
			{field: "volume", draw: func(w *wakeWorld, c *corev1.PersistentVolumeClaim) {
				c.Spec.VolumeName = one(w, "", "pv0", "pv0", "pv1")
			}},
			{field: "phase", draw: func(w *wakeWorld, c *corev1.PersistentVolumeClaim) {
				c.Status.Phase = one(w, corev1.ClaimPending, corev1.ClaimBound)
			}},
			{field: "deletion", draw: func(w *wakeWorld, c *corev1.PersistentVolumeClaim) {
				c.DeletionTimestamp = one(w, nil, nil, ptr.To(metav1.NewTime(time.Unix(2000, 0))))
			}},
		},
	}
}

func wakeCSINodes(cache *memcache.Cache[*storagev1.CSINode]) changer {
	return &objectsOf[*storagev1.CSINode]{
		cache: cache, names: keysNamed("", "n", 2), copy: (*storagev1.CSINode).DeepCopy,
		make: func(meta metav1.ObjectMeta) *storagev1.CSINode { return &storagev1.CSINode{ObjectMeta: meta} },
		edits: []edit[*storagev1.CSINode]{
			{field: "limit", draw: func(w *wakeWorld, n *storagev1.CSINode) {
				n.Spec.Drivers = []storagev1.CSINodeDriver{
					{Name: "csi", Allocatable: &storagev1.VolumeNodeResources{Count: one(w, nil, ptr.To[int32](0), ptr.To[int32](1))}},
				}
			}},
		},
	}
}

func wakeBudgets(cache *memcache.Cache[*policyv1.PodDisruptionBudget]) changer {
	return &objectsOf[*policyv1.PodDisruptionBudget]{
		cache: cache, names: keysNamed("ns", "budget", 1), copy: (*policyv1.PodDisruptionBudget).DeepCopy,
		make: func(meta metav1.ObjectMeta) *policyv1.PodDisruptionBudget {
			return &policyv1.PodDisruptionBudget{ObjectMeta: meta}
		},
		edits: []edit[*policyv1.PodDisruptionBudget]{
			{field: "selector", draw: func(w *wakeWorld, b *policyv1.PodDisruptionBudget) {
				b.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": one(w, "x", "y")}}
				b.Spec.MinAvailable = ptr.To(intstr.FromInt32(1))
			}},
			{
				field: "allowed",
				draw:  func(w *wakeWorld, b *policyv1.PodDisruptionBudget) { b.Status.DisruptionsAllowed = one[int32](w, 0, 1) },
			},
		},
	}
}

func wakeServices(cache *memcache.Cache[*corev1.Service]) changer {
	return &objectsOf[*corev1.Service]{
		cache: cache, names: keysNamed("ns", "service", 1), copy: (*corev1.Service).DeepCopy,
		make: func(meta metav1.ObjectMeta) *corev1.Service { return &corev1.Service{ObjectMeta: meta} },
		edits: []edit[*corev1.Service]{
			{
				field: "selector",
				draw:  func(w *wakeWorld, s *corev1.Service) { s.Spec.Selector = map[string]string{"app": one(w, "x", "y")} },
			},
		},
	}
}

func cpuOf(w *wakeWorld, values ...string) []corev1.Container {
	return []corev1.Container{{Name: "c", Image: "i", Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: apiresource.MustParse(one(w, values...))},
	}}}
}

// wakeTerm is a pod affinity term.
func wakeTerm(w *wakeWorld) corev1.PodAffinityTerm {
	term := corev1.PodAffinityTerm{
		TopologyKey:   one(w, "zone", "zone", "disk"),
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": one(w, "x", "y")}},
	}
	if one(w, true, false, false) {
		term.LabelSelector = &metav1.LabelSelector{
			MatchExpressions: []metav1.LabelSelectorRequirement{
				{Key: "app", Operator: metav1.LabelSelectorOpNotIn, Values: []string{"x"}},
			},
		}
	}
	if one(w, true, false, false) {
		term.MatchLabelKeys = []string{"app"}
	}
	if team := one(w, "", "", "a", "b"); team != "" {
		term.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": team}}
	}
	return term
}

func wakeAffinity(w *wakeWorld) *corev1.Affinity {
	switch one(w, 0, 0, 1, 2) {
	case 1:
		return &corev1.Affinity{
			PodAffinity: &corev1.PodAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{wakeTerm(w)},
			},
		}
	case 2:
		return &corev1.Affinity{
			PodAntiAffinity: &corev1.PodAntiAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{wakeTerm(w)},
			},
		}
	}
	return nil
}

// podEdits are common to pods that run and pods that wait.
func podEdits() []edit[*core.Pod] {
	return []edit[*core.Pod]{
		{field: "labels", draw: func(w *wakeWorld, p *core.Pod) { p.Labels = labelled(w, p.Labels, "app", "x", "y", "") }},
		{field: "deletion", draw: func(w *wakeWorld, p *core.Pod) {
			p.DeletionTimestamp = one(w, nil, nil, nil, ptr.To(metav1.NewTime(time.Unix(2000, 0))))
		}},
		{field: "phase", draw: func(w *wakeWorld, p *core.Pod) {
			p.Status.Phase = one(w, corev1.PodPending, corev1.PodRunning, corev1.PodSucceeded, corev1.PodFailed)
			if p.Spec.NodeName == "" {
				p.Status.Phase = corev1.PodPending
			}
		}},
		{field: "affinity", created: true, draw: func(w *wakeWorld, p *core.Pod) { p.Spec.Affinity = wakeAffinity(w) }},
		{field: "host port", created: true, draw: func(w *wakeWorld, p *core.Pod) {
			if one(w, true, false, false, false) {
				p.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: 80}}
			}
		}},
		{field: "volume", created: true, draw: func(w *wakeWorld, p *core.Pod) {
			if one(w, true, false, false, false) {
				volume := corev1.Volume{Name: "v"}
				volume.PersistentVolumeClaim = &corev1.PersistentVolumeClaimVolumeSource{ClaimName: one(w, "v0", "v1")}
				p.Spec.Volumes = []corev1.Volume{volume}
			}
		}},
		{
			field:   "priority",
			created: true,
			draw:    func(w *wakeWorld, p *core.Pod) { p.Spec.Priority = one(w, nil, nil, ptr.To[int32](100)) },
		},
		{field: "claim", created: true, draw: func(w *wakeWorld, p *core.Pod) {
			if p.Namespace != "ns" {
				return
			}
			switch one(w, 0, 0, 1, 2) {
			case 1:
				entry := core.PodResourceClaim{}
				entry.Name, entry.ResourceClaimName = "direct", ptr.To(one(w, "c0", "c1", "c2"))
				p.Spec.ResourceClaims = append(p.Spec.ResourceClaims, entry)
			case 2:
				p.Spec.Containers[0].Resources.Requests[wakeResource] = apiresource.MustParse("1")
			}
		}},
	}
}

// boundPods are pods on nodes, in two namespaces.
func boundPods(cache *memcache.Cache[*core.Pod]) changer {
	return &objectsOf[*core.Pod]{
		cache: cache, names: append(keysNamed("ns", "b", 2), keysNamed("other", "b", 2)...), copy: (*core.Pod).DeepCopy,
		make: func(meta metav1.ObjectMeta) *core.Pod {
			pod := &core.Pod{ObjectMeta: meta}
			pod.Spec.SchedulerName = corev1.DefaultSchedulerName
			return pod
		},
		edits: append([]edit[*core.Pod]{
			{field: "node", created: true, draw: func(w *wakeWorld, p *core.Pod) { p.Spec.NodeName = one(w, "n0", "n1", "n2") }},
			{field: "group", created: true, draw: func(w *wakeWorld, p *core.Pod) {
				if p.Namespace == "ns" && one(w, true, false, false) {
					p.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: ptr.To(one(w, "g0", "g1"))}
				}
			}},
			{field: "resources", draw: func(w *wakeWorld, p *core.Pod) {
				ports := []corev1.ContainerPort(nil)
				if len(p.Spec.Containers) > 0 {
					ports = p.Spec.Containers[0].Ports
				}
				p.Spec.Containers = cpuOf(w, "0", "1", "2")
				p.Spec.Containers[0].Ports = ports
			}},
		}, podEdits()...),
	}
}

// waitingPods are single pods (w), and members of groups (m).
func waitingPods(cache *memcache.Cache[*core.Pod]) changer {
	return &objectsOf[*core.Pod]{
		cache: cache, names: append(keysNamed("ns", "w", 3), keysNamed("ns", "m", 4)...), copy: (*core.Pod).DeepCopy,
		make: func(meta metav1.ObjectMeta) *core.Pod {
			pod := &core.Pod{ObjectMeta: meta}
			pod.Spec.SchedulerName = corev1.DefaultSchedulerName
			return pod
		},
		edits: append([]edit[*core.Pod]{
			{
				field:   "resources",
				created: true,
				draw:    func(w *wakeWorld, p *core.Pod) { p.Spec.Containers = cpuOf(w, "0", "1", "1", "2") },
			},
			{field: "gates", draw: func(w *wakeWorld, p *core.Pod) {
				p.Spec.SchedulingGates = nil
				if one(w, false, false, false, true) {
					p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "gate"}}
				}
			}},
			{field: "group", created: true, draw: func(w *wakeWorld, p *core.Pod) {
				if p.Name[0] != 'm' {
					return
				}
				p.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: ptr.To(one(w, "g0", "g0", "g1"))}
				if one(w, true, false) {
					entry := core.PodResourceClaim{PodGroupResourceClaim: ptr.To("shared")}
					entry.Name = "shared"
					p.Spec.ResourceClaims = []core.PodResourceClaim{entry}
				}
			}},
			{field: "node selector", created: true, draw: func(w *wakeWorld, p *core.Pod) {
				if one(w, true, false, false, false) {
					p.Spec.NodeSelector = map[string]string{"disk": "ssd"}
				}
			}},
			{field: "tolerations", created: true, draw: func(w *wakeWorld, p *core.Pod) {
				if one(w, true, false, false) {
					p.Spec.Tolerations = []corev1.Toleration{{Key: "k", Operator: corev1.TolerationOpEqual, Value: "v"}}
				}
			}},
			{field: "never", created: true, draw: func(w *wakeWorld, p *core.Pod) {
				p.Spec.PreemptionPolicy = one(w, nil, nil, ptr.To(corev1.PreemptNever))
			}},
			{field: "spread", created: true, draw: func(w *wakeWorld, p *core.Pod) {
				if !one(w, true, false, false) {
					return
				}
				p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
					MaxSkew: 1, TopologyKey: "zone", WhenUnsatisfiable: corev1.DoNotSchedule,
					LabelSelector:    &metav1.LabelSelector{MatchLabels: map[string]string{"app": one(w, "x", "y")}},
					MinDomains:       one(w, nil, ptr.To[int32](2)),
					NodeTaintsPolicy: one(w, nil, ptr.To(corev1.NodeInclusionPolicyHonor)),
				}}
			}},
		}, podEdits()...),
	}
}
