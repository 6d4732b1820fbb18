package registry

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
)

func podClaim(name string, set func(*core.PodResourceClaim)) core.PodResourceClaim {
	c := core.PodResourceClaim{PodResourceClaim: corev1.PodResourceClaim{Name: name}}
	if set != nil {
		set(&c)
	}
	return c
}

func TestCarryPodClaims(t *testing.T) {
	group := func(c *core.PodResourceClaim) { c.PodGroupResourceClaim = new("shared") }
	cluster := func(c *core.PodResourceClaim) { c.ClusterResourceClaimTemplateName = new("t") }
	byName := func(c *core.PodResourceClaim) { c.ResourceClaimName = new("c") }
	old := []core.PodResourceClaim{podClaim("a", group), podClaim("b", cluster), podClaim("c", group)}
	got := []core.PodResourceClaim{podClaim("b", nil), podClaim("a", nil), podClaim("c", byName), podClaim("d", nil)}
	carryPodClaims(got, old)
	want := []core.PodResourceClaim{
		podClaim("b", cluster),
		podClaim("a", group),
		podClaim("c", byName),
		podClaim("d", nil),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestCarryGroupClaims(t *testing.T) {
	claim := func(name string, template, cluster *string) scheduling.PodGroupResourceClaim {
		return scheduling.PodGroupResourceClaim{
			PodGroupResourceClaim: schedulingv1beta1.PodGroupResourceClaim{
				Name:                      name,
				ResourceClaimTemplateName: template,
			},
			ClusterResourceClaimTemplateName: cluster,
		}
	}
	got := []scheduling.PodGroupResourceClaim{claim("a", nil, nil), claim("b", new("x"), nil), claim("c", nil, nil)}
	carryGroupClaims(got, []scheduling.PodGroupResourceClaim{claim("a", nil, new("t")), claim("b", nil, new("t"))})
	want := []scheduling.PodGroupResourceClaim{claim("a", nil, new("t")), claim("b", new("x"), nil), claim("c", nil, nil)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestCarryAnyPodLastsAsLongAsTheAllocation(t *testing.T) {
	allocated := func(anyPod *bool) *resource.ResourceClaimStatus {
		return &resource.ResourceClaimStatus{Allocation: &resource.AllocationResult{ReservedForAnyPod: anyPod}}
	}
	tests := []struct {
		name      string
		now, old  *resource.ResourceClaimStatus
		wantAny   *bool
		allocated bool
	}{
		{"left out", allocated(nil), allocated(new(true)), new(true), true},
		{"said otherwise", allocated(new(false)), allocated(new(true)), new(false), true},
		{"deallocated", &resource.ResourceClaimStatus{}, allocated(new(true)), nil, false},
		{"new", allocated(nil), &resource.ResourceClaimStatus{}, nil, true},
	}
	for _, tt := range tests {
		carryAnyPod(tt.now, tt.old)
		if (tt.now.Allocation != nil) != tt.allocated {
			t.Errorf("%s: allocation is %v", tt.name, tt.now.Allocation)
			continue
		}
		if tt.allocated && !cmp.Equal(tt.now.Allocation.ReservedForAnyPod, tt.wantAny) {
			t.Errorf("%s: got %v, want %v", tt.name, tt.now.Allocation.ReservedForAnyPod, tt.wantAny)
		}
	}
}

func TestDropReleasedDevices(t *testing.T) {
	results := func(devices ...string) *resource.AllocationResult {
		out := &resource.AllocationResult{}
		for _, d := range devices {
			out.Devices.Results = append(out.Devices.Results,
				resourcev1.DeviceRequestAllocationResult{Driver: "d", Pool: "p", Device: d})
		}
		return out
	}
	reports := func(devices ...string) (out []resourcev1.AllocatedDeviceStatus) {
		for _, d := range devices {
			out = append(out, resourcev1.AllocatedDeviceStatus{Driver: "d", Pool: "p", Device: d})
		}
		return out
	}
	old := &resource.ResourceClaim{Status: resource.ResourceClaimStatus{Allocation: results("a", "b")}}
	now := &resource.ResourceClaim{
		Status: resource.ResourceClaimStatus{Allocation: results("b"), Devices: reports("a", "b")},
	}
	dropReleasedDevices(now, old)
	if diff := cmp.Diff(reports("b"), now.Status.Devices); diff != "" {
		t.Error(diff)
	}
	now.Status.Allocation = nil
	dropReleasedDevices(now, old)
	if len(now.Status.Devices) != 0 {
		t.Errorf("after deallocation: %v", now.Status.Devices)
	}
}

func TestPodGracePeriod(t *testing.T) {
	tests := []struct {
		name       string
		node       string
		phase      corev1.PodPhase
		asked, own *int64
		want       int64
	}{
		{"not placed", "", corev1.PodPending, nil, new(int64(30)), 0},
		{"not placed, asked", "", corev1.PodPending, new(int64(5)), nil, 0},
		{"running", "n", corev1.PodRunning, nil, new(int64(30)), 30},
		{"running, asked", "n", corev1.PodRunning, new(int64(5)), new(int64(30)), 5},
		{"running, at once", "n", corev1.PodRunning, new(int64(0)), new(int64(30)), 0},
		{"running, negative", "n", corev1.PodRunning, new(int64(-1)), nil, 1},
		{"running, nothing said", "n", corev1.PodRunning, nil, nil, 0},
		{"succeeded", "n", corev1.PodSucceeded, nil, new(int64(30)), 0},
		{"failed, asked", "n", corev1.PodFailed, new(int64(5)), nil, 0},
	}
	for _, tt := range tests {
		p := &core.Pod{Status: corev1.PodStatus{Phase: tt.phase}}
		p.Spec.NodeName, p.Spec.TerminationGracePeriodSeconds = tt.node, tt.own
		options := &metav1.DeleteOptions{GracePeriodSeconds: tt.asked}
		if !podGracePeriod(t.Context(), p, options) || *options.GracePeriodSeconds != tt.want {
			t.Errorf("%s: grace period %d, want %d", tt.name, *options.GracePeriodSeconds, tt.want)
		}
	}
}

// The store applies an update to the cached pod, and again if there is a newer one. The result for
// the first must not be used for the second.
func TestGracePeriodOfJustBoundPod(t *testing.T) {
	for _, tt := range []struct {
		asked *int64
		want  int64
	}{{nil, 30}, {new(int64(5)), 5}, {new(int64(0)), 0}} {
		p, options := &core.Pod{}, &metav1.DeleteOptions{GracePeriodSeconds: tt.asked}
		p.Spec.TerminationGracePeriodSeconds = new(int64(30))
		ctx := withRequestedGrace(t.Context(), options)
		if podGracePeriod(ctx, p, options); *options.GracePeriodSeconds != 0 {
			t.Errorf("not placed: grace period %d", *options.GracePeriodSeconds)
		}
		p.Spec.NodeName = "n"
		if podGracePeriod(ctx, p, options); *options.GracePeriodSeconds != tt.want {
			t.Errorf("placed since: grace period %d, want %d", *options.GracePeriodSeconds, tt.want)
		}
	}
}

func TestPropagationFinalizers(t *testing.T) {
	orphan, background := metav1.DeletePropagationOrphan, metav1.DeletePropagationBackground
	foreground := metav1.DeletePropagationForeground
	tests := []struct {
		name    string
		have    []string
		options metav1.DeleteOptions
		want    []string
	}{
		{"nothing said", []string{"x"}, metav1.DeleteOptions{}, []string{"x"}},
		{"nothing said, kept", []string{"orphan"}, metav1.DeleteOptions{}, []string{"orphan"}},
		{"orphan", []string{"x"}, metav1.DeleteOptions{PropagationPolicy: &orphan}, []string{"x", "orphan"}},
		{"foreground", nil, metav1.DeleteOptions{PropagationPolicy: &foreground}, []string{"foregroundDeletion"}},
		{"background", []string{"orphan", "x"}, metav1.DeleteOptions{PropagationPolicy: &background}, []string{"x"}},
	}
	for _, tt := range tests {
		got := propagationFinalizers(tt.have, &tt.options)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
}

func TestWorkloadField(t *testing.T) {
	for stored, want := range map[string]string{
		"spec.workloadRef":                                        "spec.podGroupTemplateRef.workload",
		"spec.workloadRef.templateName":                           "spec.podGroupTemplateRef.workload.podGroupTemplateName",
		"spec.workloadRef.workloadName":                           "spec.podGroupTemplateRef.workload.workloadName",
		"spec.podGroupTemplates[1].disruptionMode.all":            "spec.podGroupTemplates[1].disruptionMode",
		"spec.resourceClaims[0].clusterResourceClaimTemplateName": "spec.resourceClaims[0].clusterResourceClaimTemplateName",
	} {
		older := schema.GroupVersion{Group: schedulingv1beta1.GroupName, Version: "v1alpha2"}
		if got := workloadField(older, stored); got != want {
			t.Errorf("%s: got %s, want %s", stored, got, want)
		}
		if got := workloadField(schedulingv1beta1.SchemeGroupVersion, stored); got != stored {
			t.Errorf("%s in v1beta1: got %s", stored, got)
		}
	}
}

func TestStampEffect(t *testing.T) {
	early, late := metav1.Unix(1000, 0), metav1.Unix(2000, 0)
	now := func() time.Time { return time.Unix(3000, 500) }
	tests := []struct {
		name      string
		now, old  resourcev1.DeviceTaint
		wantAdded int64
	}{
		{
			"the same",
			resourcev1.DeviceTaint{Effect: "None", TimeAdded: &early},
			resourcev1.DeviceTaint{Effect: "None", TimeAdded: &early},
			1000,
		},
		{
			"another effect",
			resourcev1.DeviceTaint{Effect: "NoExecute", TimeAdded: &early},
			resourcev1.DeviceTaint{Effect: "None", TimeAdded: &early},
			3000,
		},
		{
			"both",
			resourcev1.DeviceTaint{Effect: "NoExecute", TimeAdded: &late},
			resourcev1.DeviceTaint{Effect: "None", TimeAdded: &early},
			2000,
		},
		{
			"another time",
			resourcev1.DeviceTaint{Effect: "None", TimeAdded: &late},
			resourcev1.DeviceTaint{Effect: "None", TimeAdded: &early},
			2000,
		},
	}
	for _, tt := range tests {
		stampEffect(&tt.now, &tt.old, now)
		if got := tt.now.TimeAdded; !got.Equal(new(metav1.Unix(tt.wantAdded, 0))) {
			t.Errorf("%s: added at %v, want %d", tt.name, got, tt.wantAdded)
		}
	}
}

// TestTaintsOfNodesAreStamped checks that taints with effect NoExecute get the time at which they
// were added, if the client omits it.
func TestTaintsOfNodesAreStamped(t *testing.T) {
	at := func(second int64) *metav1.Time { return new(metav1.Unix(second, 0)) }
	old := []corev1.Taint{
		{Key: "a", Effect: corev1.TaintEffectNoExecute, TimeAdded: at(10)},
		{Key: "old", Effect: corev1.TaintEffectNoExecute},
	}
	taints := []corev1.Taint{
		{Key: "a", Effect: corev1.TaintEffectNoExecute},
		{Key: "a", Value: "other", Effect: corev1.TaintEffectNoExecute},
		{Key: "a", Effect: corev1.TaintEffectNoSchedule},
		{Key: "said", Effect: corev1.TaintEffectNoExecute, TimeAdded: at(5)},
		{Key: "old", Effect: corev1.TaintEffectNoExecute},
	}
	stampTaints(taints, old, func() time.Time { return time.Unix(20, 999) })
	for i, want := range []*metav1.Time{at(10), at(20), nil, at(5), at(20)} {
		if got := taints[i].TimeAdded; !got.Equal(want) {
			t.Errorf("taint %d (%s): added at %v, want %v", i, taints[i].ToString(), got, want)
		}
	}
}

func TestEmptySelectorWithNoExecuteWarns(t *testing.T) {
	rule := func(selector *resourcev1.DeviceTaintSelector,
		effect resourcev1.DeviceTaintEffect) *resourcev1.DeviceTaintRule {
		return &resourcev1.DeviceTaintRule{
			Spec: resourcev1.DeviceTaintRuleSpec{
				DeviceSelector: selector,
				Taint:          resourcev1.DeviceTaint{Key: "k", Effect: effect},
			},
		}
	}
	empty, driver := &resourcev1.DeviceTaintSelector{}, &resourcev1.DeviceTaintSelector{Driver: new("d")}
	warnings := deviceTaintRules(time.Now).(*kind[resourcev1.DeviceTaintRule, *resourcev1.DeviceTaintRule]).warnings
	for _, tt := range []struct {
		name     string
		now, old *resourcev1.DeviceTaintRule
		want     int
	}{
		{"everything", rule(empty, resourcev1.DeviceTaintEffectNoExecute), nil, 1},
		{"nothing", rule(nil, resourcev1.DeviceTaintEffectNoExecute), nil, 0},
		{"one driver", rule(driver, resourcev1.DeviceTaintEffectNoExecute), nil, 0},
		{"counting", rule(empty, resourcev1.DeviceTaintEffectNone), nil, 0},
		{"no longer counting", rule(empty, resourcev1.DeviceTaintEffectNoExecute),
			rule(empty, resourcev1.DeviceTaintEffectNone), 1},
		{"as before", rule(empty, resourcev1.DeviceTaintEffectNoExecute), rule(empty, resourcev1.DeviceTaintEffectNoExecute),
			0},
	} {
		if got := warnings(tt.now, tt.old); len(got) != tt.want {
			t.Errorf("%s: %q, want %d", tt.name, got, tt.want)
		}
	}
}

func TestFieldsOfV1beta1(t *testing.T) {
	for _, tt := range []struct {
		name         func(gv schema.GroupVersion, field string) string
		stored, want string
	}{
		{claimField, "spec.devices.requests[0].exactly.count", "spec.devices.requests[0].count"},
		{claimField, "spec.spec.devices.requests[1].exactly", "spec.spec.devices.requests[1]"},
		{claimField, "spec.devices.requests[0].firstAvailable[0].count", "spec.devices.requests[0].firstAvailable[0].count"},
		{sliceField, "spec.devices[3].attributes[a].int", "spec.devices[3].basic.attributes[a].int"},
		{sliceField, "spec.devices[3].name", "spec.devices[3].name"},
		{sliceField, "spec.devices[3]", "spec.devices[3]"},
		{sliceField, "spec.devices", "spec.devices"},
		{sliceField, "spec.pool.name", "spec.pool.name"},
	} {
		if got := tt.name(schema.GroupVersion{Group: resourcev1.GroupName, Version: "v1beta1"}, tt.stored); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.stored, got, tt.want)
		}
		if got := tt.name(resourcev1.SchemeGroupVersion, tt.stored); got != tt.stored {
			t.Errorf("%s in v1: got %s", tt.stored, got)
		}
	}
}

func TestEventField(t *testing.T) {
	for stored, want := range map[string]string{
		"involvedObject.namespace": "regarding.namespace", "message": "note", "source": "deprecatedSource",
		"count": "deprecatedCount", "reportingComponent": "reportingController", "series.count": "series.count",
		"metadata.name": "metadata.name",
	} {
		if got := eventField(eventsv1.SchemeGroupVersion, stored); got != want {
			t.Errorf("%s: got %s, want %s", stored, got, want)
		}
		if got := eventField(corev1.SchemeGroupVersion, stored); got != stored {
			t.Errorf("%s in core: got %s", stored, got)
		}
	}
}
