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
)

// line is one object. Its words are removed as they are parsed.
type line struct {
	kind, name string
	values     map[string]string
	err        error
}

func (l *line) take(key string) (string, bool) {
	v, ok := l.values[key]
	delete(l.values, key)
	return v, ok
}

func (l *line) text(key string) string {
	v, _ := l.take(key)
	return v
}

func (l *line) flag(key string) bool {
	_, ok := l.take(key)
	return ok
}

func (l *line) list(key string) []string {
	v, ok := l.take(key)
	if !ok || v == "" {
		return nil
	}
	return strings.Split(v, ",")
}

func (l *line) fail(format string, args ...any) {
	if l.err == nil {
		l.err = fmt.Errorf(format, args...)
	}
}

// pairs parses k:v,k:v in order.
func (l *line) pairs(key string) [][2]string {
	var out [][2]string
	for _, item := range l.list(key) {
		k, v, ok := strings.Cut(item, ":")
		if !ok {
			l.fail("%s: %q is not name:value", key, item)
		}
		out = append(out, [2]string{k, v})
	}
	return out
}

func (l *line) stringMap(key string) map[string]string {
	var out map[string]string
	for _, p := range l.pairs(key) {
		if out == nil {
			out = map[string]string{}
		}
		out[p[0]] = p[1]
	}
	return out
}

// time parses a time as a duration since the epoch.
func (l *line) time(key, text string) metav1.Time {
	since, err := time.ParseDuration(text)
	if err != nil {
		l.fail("%s: %v", key, err)
	}
	return metav1.NewTime(time.Unix(0, 0).Add(since))
}

func (l *line) meta() metav1.ObjectMeta {
	m := metav1.ObjectMeta{Name: l.name, Namespace: "default", UID: types.UID(l.name + "-uid"), ResourceVersion: "1"}
	if v, ok := l.take("uid"); ok {
		m.UID = types.UID(v)
	}
	if v, ok := l.take("ns"); ok {
		m.Namespace = v
	}
	if v, ok := l.take("created"); ok {
		m.CreationTimestamp = l.time("created", v)
	}
	if l.flag("deleting") {
		m.DeletionTimestamp = ptr.To(metav1.NewTime(time.Unix(1000, 0)))
	}
	m.Labels, m.Annotations = l.stringMap("labels"), l.stringMap("annotations")
	return m
}

// source parses the part of an entry after the colon: kind/name.
func (l *line) source(text string) (kind, name string) {
	kind, name, ok := strings.Cut(text, "/")
	if !ok {
		l.fail("source %q is not kind/name", text)
	}
	return kind, name
}

func (l *line) pod() *core.Pod {
	pod := &core.Pod{ObjectMeta: l.meta()}
	pod.Finalizers = l.list("finalizers")
	if l.flag("confirmed") { // the node has confirmed that the pod ended
		pod.DeletionGracePeriodSeconds = ptr.To[int64](0)
	}
	if group, ok := l.take("group"); ok {
		pod.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &group}
	}
	pod.Spec.NodeName = l.text("node")
	pod.Status.Phase = corev1.PodPhase(l.text("phase"))
	for _, gate := range l.list("gates") {
		pod.Spec.SchedulingGates = append(pod.Spec.SchedulingGates, corev1.PodSchedulingGate{Name: gate})
	}
	for _, p := range l.pairs("claims") {
		entry := core.PodResourceClaim{PodResourceClaim: corev1.PodResourceClaim{Name: p[0]}}
		switch kind, name := l.source(p[1]); kind {
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
			l.fail("unknown source %q", kind)
		}
		pod.Spec.ResourceClaims = append(pod.Spec.ResourceClaims, entry)
	}
	if v, ok := l.take("scheduled"); ok {
		pod.Status.Conditions = []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: l.time("scheduled", v)},
		}
	}
	pod.Status.ResourceClaimStatuses = l.records()
	if name, ok := l.take("extended"); ok {
		pod.Status.ExtendedResourceClaimStatus = &corev1.PodExtendedResourceClaimStatus{ResourceClaimName: name}
	}
	return pod
}

func (l *line) records() []corev1.PodResourceClaimStatus {
	var out []corev1.PodResourceClaimStatus
	for _, p := range l.pairs("status") {
		s := corev1.PodResourceClaimStatus{Name: p[0]}
		if p[1] != "null" {
			s.ResourceClaimName = ptr.To(p[1])
		}
		out = append(out, s)
	}
	return out
}

func (l *line) group() *scheduling.PodGroup {
	group := &scheduling.PodGroup{ObjectMeta: l.meta()}
	group.Finalizers = l.list("finalizers")
	if l.flag("protected") {
		group.Finalizers = append(group.Finalizers, scheduling.ProtectionFinalizer)
	}
	group.Spec.SchedulingPolicy.Basic = &schedulingv1beta1.BasicSchedulingPolicy{}
	if v, ok := l.take("gang"); ok {
		var n int32
		if _, err := fmt.Sscan(v, &n); err != nil {
			l.fail("gang: %v", err)
		}
		group.Spec.SchedulingPolicy = schedulingv1beta1.PodGroupSchedulingPolicy{
			Gang: &schedulingv1beta1.GangSchedulingPolicy{MinCount: n},
		}
	}
	group.Spec.ParentCompositePodGroupName = l.parent()
	group.Spec.ResourceClaims = l.groupClaims()
	group.Status.ResourceClaimStatuses = l.groupRecords()
	return group
}

func (l *line) tree() *v1alpha3.CompositePodGroup {
	tree := &v1alpha3.CompositePodGroup{ObjectMeta: l.meta()}
	tree.Spec.SchedulingPolicy.Basic = &schedulingv1alpha3.CompositeBasicSchedulingPolicy{}
	tree.Spec.ParentCompositePodGroupName = l.parent()
	tree.Spec.ResourceClaims = l.groupClaims()
	tree.Status.ResourceClaimStatuses = l.groupRecords()
	return tree
}

func (l *line) parent() *string {
	name, ok := l.take("parent")
	if !ok {
		return nil
	}
	return &name
}

func (l *line) groupClaims() []scheduling.PodGroupResourceClaim {
	var out []scheduling.PodGroupResourceClaim
	for _, p := range l.pairs("claims") {
		entry := scheduling.PodGroupResourceClaim{PodGroupResourceClaim: schedulingv1beta1.PodGroupResourceClaim{Name: p[0]}}
		switch kind, name := l.source(p[1]); kind {
		case "claim":
			entry.ResourceClaimName = &name
		case "template":
			entry.ResourceClaimTemplateName = &name
		case "cluster":
			entry.ClusterResourceClaimTemplateName = &name
		default:
			l.fail("unknown source %q", kind)
		}
		out = append(out, entry)
	}
	return out
}

func (l *line) groupRecords() []schedulingv1beta1.PodGroupResourceClaimStatus {
	var out []schedulingv1beta1.PodGroupResourceClaimStatus
	for _, s := range l.records() {
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

func (l *line) claim() *resource.ResourceClaim {
	claim := &resource.ResourceClaim{ObjectMeta: l.meta()}
	if v, ok := l.take("owner"); ok {
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
	if v, ok := l.take("entry"); ok {
		metav1.SetMetaDataAnnotation(&claim.ObjectMeta, resourcev1.PodResourceClaimAnnotation, v)
	}
	if v, ok := l.take("reservedfor"); ok {
		claim.Spec.ReservedFor = ptr.To(Consumer(v))
	}
	if l.flag("allocated") {
		claim.Status.Allocation = &resource.AllocationResult{}
		claim.Status.Allocation.Devices.Results = []resourcev1.DeviceRequestAllocationResult{
			{Request: "g", Driver: "gpu.example.com", Pool: "n1", Device: "gpu-0"},
		}
		if devices := l.list("devices"); devices != nil {
			claim.Status.Allocation.Devices.Results = l.results(devices)
		}
		if l.flag("anypod") {
			claim.Status.Allocation.ReservedForAnyPod = ptr.To(true)
		}
	}
	for _, ref := range l.list("reserved") {
		claim.Status.ReservedFor = append(claim.Status.ReservedFor, Consumer(ref))
	}
	if l.flag("finalizer") {
		claim.Finalizers = append(claim.Finalizers, resourcev1.Finalizer)
	}
	return claim
}

// results returns allocated devices (name, or driver/pool/name), all with the tolerations in
// key/effect/seconds.
func (l *line) results(devices []string) []resourcev1.DeviceRequestAllocationResult {
	var tolerations []resourcev1.DeviceToleration
	for _, text := range l.list("tolerates") {
		words := append(strings.Split(text, "/"), "", "")
		t := resourcev1.DeviceToleration{
			Key:      words[0],
			Operator: resourcev1.DeviceTolerationOpExists,
			Effect:   resourcev1.DeviceTaintEffect(words[1]),
		}
		if words[2] != "" {
			t.TolerationSeconds = new(int64)
			if _, err := fmt.Sscan(words[2], t.TolerationSeconds); err != nil {
				l.fail("tolerates: %v", err)
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

func (l *line) spec() resource.ResourceClaimSpec {
	var spec resource.ResourceClaimSpec
	spec.Devices.Requests = []resourcev1.DeviceRequest{
		{Name: "g", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu.example.com"}},
	}
	return spec
}

func (l *line) template() *resource.ResourceClaimTemplate {
	t := &resource.ResourceClaimTemplate{ObjectMeta: l.meta()}
	t.Spec.Labels, t.Spec.Annotations, t.Spec.Spec = t.Labels, t.Annotations, l.spec()
	t.Labels, t.Annotations = nil, nil
	return t
}

func (l *line) clusterTemplate() *resourcev1alpha3.ClusterResourceClaimTemplate {
	t := &resourcev1alpha3.ClusterResourceClaimTemplate{ObjectMeta: l.meta()}
	t.Namespace = ""
	t.Spec.Labels, t.Spec.Annotations, t.Spec.Spec = t.Labels, t.Annotations, l.spec()
	t.Labels, t.Annotations = nil, nil
	return t
}
