package claimstest

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	resourcev1alpha3 "github.com/allot-dev/allot/api/resource/v1alpha3"
	"github.com/allot-dev/allot/api/scheduling/v1alpha3"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
	"github.com/allot-dev/allot/internal/testkit/line"
)

// object is the line of an object: its verb is the kind.
type object struct{ *line.Line }

// pairs parses k:v,k:v in order.
func (o object) pairs(key string) [][2]string {
	var out [][2]string
	for _, item := range o.List(key) {
		k, v, ok := strings.Cut(item, ":")
		if !ok {
			o.Failf("%s: %q is not name:value", key, item)
		}
		out = append(out, [2]string{k, v})
	}
	return out
}

func (o object) stringMap(key string) map[string]string {
	var out map[string]string
	for _, p := range o.pairs(key) {
		if out == nil {
			out = map[string]string{}
		}
		out[p[0]] = p[1]
	}
	return out
}

// time parses a time as a duration since the epoch.
func (o object) time(key, text string) metav1.Time {
	since, err := time.ParseDuration(text)
	if err != nil {
		o.Failf("%s: %v", key, err)
	}
	return metav1.NewTime(time.Unix(0, 0).Add(since))
}

func (o object) meta() metav1.ObjectMeta {
	m := metav1.ObjectMeta{Name: o.Name(), Namespace: "default", UID: types.UID(o.Name() + "-uid"), ResourceVersion: "1"}
	if v := o.Text("uid", ""); v != "" {
		m.UID = types.UID(v)
	}
	if v := o.Text("ns", ""); v != "" {
		m.Namespace = v
	}
	if v := o.Text("created", ""); v != "" {
		m.CreationTimestamp = o.time("created", v)
	}
	if o.Has("deleting") {
		m.DeletionTimestamp = ptr.To(metav1.NewTime(time.Unix(1000, 0)))
	}
	m.Labels, m.Annotations = o.stringMap("labels"), o.stringMap("annotations")
	return m
}

// source parses the part of an entry after the colon: kind/name.
func (o object) source(text string) (kind, name string) {
	kind, name, ok := strings.Cut(text, "/")
	if !ok {
		o.Failf("source %q is not kind/name", text)
	}
	return kind, name
}

func (o object) pod() *core.Pod {
	pod := &core.Pod{ObjectMeta: o.meta()}
	pod.Finalizers = o.List("finalizers")
	if o.Has("confirmed") { // the node has confirmed that the pod ended
		pod.DeletionGracePeriodSeconds = ptr.To[int64](0)
	}
	if group := o.Text("group", ""); group != "" {
		pod.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &group}
	}
	pod.Spec.NodeName = o.Text("node", "")
	pod.Status.Phase = corev1.PodPhase(o.Text("phase", ""))
	for _, gate := range o.List("gates") {
		pod.Spec.SchedulingGates = append(pod.Spec.SchedulingGates, corev1.PodSchedulingGate{Name: gate})
	}
	for _, p := range o.pairs("claims") {
		entry := core.PodResourceClaim{PodResourceClaim: corev1.PodResourceClaim{Name: p[0]}}
		switch kind, name := o.source(p[1]); kind {
		case "claim":
			entry.ResourceClaimName = &name
		case "template":
			entry.ResourceClaimTemplateName = &name
		case "cluster":
			entry.ClusterResourceClaimTemplateName = &name
		case "group":
			entry.PodGroupResourceClaim = &name
		case "none":
		default:
			o.Failf("unknown source %q", kind)
		}
		pod.Spec.ResourceClaims = append(pod.Spec.ResourceClaims, entry)
	}
	if v := o.Text("scheduled", ""); v != "" {
		pod.Status.Conditions = []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: o.time("scheduled", v)},
		}
	}
	pod.Status.ResourceClaimStatuses = o.records()
	if name := o.Text("extended", ""); name != "" {
		pod.Status.ExtendedResourceClaimStatus = &corev1.PodExtendedResourceClaimStatus{ResourceClaimName: name}
	}
	return pod
}

func (o object) records() []corev1.PodResourceClaimStatus {
	var out []corev1.PodResourceClaimStatus
	for _, p := range o.pairs("status") {
		s := corev1.PodResourceClaimStatus{Name: p[0]}
		if p[1] != "null" {
			s.ResourceClaimName = ptr.To(p[1])
		}
		out = append(out, s)
	}
	return out
}

func (o object) group() *scheduling.PodGroup {
	group := &scheduling.PodGroup{ObjectMeta: o.meta()}
	group.Finalizers = o.List("finalizers")
	if o.Has("protected") {
		group.Finalizers = append(group.Finalizers, scheduling.ProtectionFinalizer)
	}
	group.Spec.SchedulingPolicy.Basic = &schedulingv1beta1.BasicSchedulingPolicy{}
	if o.Has("gang") {
		group.Spec.SchedulingPolicy = schedulingv1beta1.PodGroupSchedulingPolicy{
			Gang: &schedulingv1beta1.GangSchedulingPolicy{MinCount: o.Int32("gang", 0)},
		}
	}
	group.Spec.ParentCompositePodGroupName = o.parent()
	group.Spec.ResourceClaims = o.groupClaims()
	group.Status.ResourceClaimStatuses = o.groupRecords()
	return group
}

func (o object) tree() *v1alpha3.CompositePodGroup {
	tree := &v1alpha3.CompositePodGroup{ObjectMeta: o.meta()}
	tree.Spec.SchedulingPolicy.Basic = &schedulingv1alpha3.CompositeBasicSchedulingPolicy{}
	tree.Spec.ParentCompositePodGroupName = o.parent()
	tree.Spec.ResourceClaims = o.groupClaims()
	tree.Status.ResourceClaimStatuses = o.groupRecords()
	return tree
}

func (o object) parent() *string {
	name := o.Text("parent", "")
	if name == "" {
		return nil
	}
	return &name
}

func (o object) groupClaims() []scheduling.PodGroupResourceClaim {
	var out []scheduling.PodGroupResourceClaim
	for _, p := range o.pairs("claims") {
		entry := scheduling.PodGroupResourceClaim{PodGroupResourceClaim: schedulingv1beta1.PodGroupResourceClaim{Name: p[0]}}
		switch kind, name := o.source(p[1]); kind {
		case "claim":
			entry.ResourceClaimName = &name
		case "template":
			entry.ResourceClaimTemplateName = &name
		case "cluster":
			entry.ClusterResourceClaimTemplateName = &name
		default:
			o.Failf("unknown source %q", kind)
		}
		out = append(out, entry)
	}
	return out
}

func (o object) groupRecords() []schedulingv1beta1.PodGroupResourceClaimStatus {
	var out []schedulingv1beta1.PodGroupResourceClaimStatus
	for _, s := range o.records() {
		out = append(out, schedulingv1beta1.PodGroupResourceClaimStatus(s))
	}
	return out
}

// Consumer parses kind/name or kind/name/uid.
func Consumer(text string) resourcev1.ResourceClaimConsumerReference {
	kind, name, _ := strings.Cut(text, "/")
	name, uid, ok := strings.Cut(name, "/")
	if !ok {
		uid = name + "-uid"
	}
	ref := resourcev1.ResourceClaimConsumerReference{Resource: kind, Name: name, UID: types.UID(uid)}
	switch kind {
	case "pod":
		ref.Resource = "pods"
	case "group":
		ref.APIGroup, ref.Resource = "scheduling.k8s.io", "podgroups"
	case "tree":
		ref.APIGroup, ref.Resource = "scheduling.k8s.io", "compositepodgroups"
	default:
		ref.APIGroup = "example.com"
	}
	return ref
}

func (o object) claim() *resource.ResourceClaim {
	claim := &resource.ResourceClaim{ObjectMeta: o.meta()}
	if v := o.Text("owner", ""); v != "" {
		ref := Consumer(v)
		owner := metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: ref.Name, UID: ref.UID, Controller: ptr.To(true)}
		switch ref.Resource {
		case "podgroups":
			owner.APIVersion, owner.Kind = "scheduling.k8s.io/v1beta1", "PodGroup"
		case "compositepodgroups":
			owner.APIVersion, owner.Kind = "scheduling.k8s.io/v1alpha3", "CompositePodGroup"
		}
		claim.OwnerReferences = []metav1.OwnerReference{owner}
	}
	if v := o.Text("entry", ""); v != "" {
		metav1.SetMetaDataAnnotation(&claim.ObjectMeta, resourcev1.PodResourceClaimAnnotation, v)
	}
	if v := o.Text("reservedfor", ""); v != "" {
		claim.Spec.ReservedFor = ptr.To(Consumer(v))
	}
	if o.Has("allocated") {
		claim.Status.Allocation = &resource.AllocationResult{}
		claim.Status.Allocation.Devices.Results = []resourcev1.DeviceRequestAllocationResult{
			{Request: "g", Driver: "gpu.example.com", Pool: "n1", Device: "gpu-0"},
		}
		if devices := o.List("devices"); devices != nil {
			claim.Status.Allocation.Devices.Results = o.results(devices)
		}
		if o.Has("anypod") {
			claim.Status.Allocation.ReservedForAnyPod = ptr.To(true)
		}
	}
	for _, ref := range o.List("reserved") {
		claim.Status.ReservedFor = append(claim.Status.ReservedFor, Consumer(ref))
	}
	if o.Has("finalizer") {
		claim.Finalizers = append(claim.Finalizers, resourcev1.Finalizer)
	}
	return claim
}

// results returns allocated devices (name, or driver/pool/name), all with the tolerations in
// key/effect/seconds.
func (o object) results(devices []string) []resourcev1.DeviceRequestAllocationResult {
	var tolerations []resourcev1.DeviceToleration
	for _, text := range o.List("tolerates") {
		words := append(strings.Split(text, "/"), "", "")
		t := resourcev1.DeviceToleration{
			Key:      words[0],
			Operator: resourcev1.DeviceTolerationOpExists,
			Effect:   resourcev1.DeviceTaintEffect(words[1]),
		}
		if words[2] != "" {
			t.TolerationSeconds = new(int64)
			if _, err := fmt.Sscan(words[2], t.TolerationSeconds); err != nil {
				o.Failf("tolerates: %v", err)
			}
		}
		tolerations = append(tolerations, t)
	}
	out := make([]resourcev1.DeviceRequestAllocationResult, len(devices))
	for i, text := range devices {
		words := strings.Split(text, "/")
		if len(words) == 1 {
			words = []string{"gpu.example.com", "n1", text}
		}
		out[i] = resourcev1.DeviceRequestAllocationResult{
			Request:     "g",
			Driver:      words[0],
			Pool:        words[1],
			Device:      words[2],
			Tolerations: tolerations,
		}
	}
	return out
}

func (o object) spec() resource.ResourceClaimSpec {
	var spec resource.ResourceClaimSpec
	spec.Devices.Requests = []resourcev1.DeviceRequest{
		{Name: "g", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu.example.com"}},
	}
	return spec
}

func (o object) template() *resource.ResourceClaimTemplate {
	t := &resource.ResourceClaimTemplate{ObjectMeta: o.meta()}
	t.Spec.Labels, t.Spec.Annotations, t.Spec.Spec = t.Labels, t.Annotations, o.spec()
	t.Labels, t.Annotations = nil, nil
	return t
}

func (o object) clusterTemplate() *resourcev1alpha3.ClusterResourceClaimTemplate {
	t := &resourcev1alpha3.ClusterResourceClaimTemplate{ObjectMeta: o.meta()}
	t.Namespace = ""
	t.Spec.Labels, t.Spec.Annotations, t.Spec.Spec = t.Labels, t.Annotations, o.spec()
	t.Labels, t.Annotations = nil, nil
	return t
}
