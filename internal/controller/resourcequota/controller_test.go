package resourcequota

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
)

// world has one quota, and records its statuses and when it is counted again.
type world struct {
	quota  *corev1.ResourceQuota
	after  time.Duration
	writes []string
	err    error
}

func (w *world) Get(string, string) (*corev1.ResourceQuota, bool) { return w.quota, w.quota != nil }

func (w *world) InNamespace(string) []*corev1.ResourceQuota { return []*corev1.ResourceQuota{w.quota} }

func (w *world) Add(types.NamespacedName) {}

func (w *world) AddAfter(_ types.NamespacedName, after time.Duration) { w.after = after }

func (w *world) UpdateQuotaStatus(_ context.Context, q *corev1.ResourceQuota) error {
	var used []string
	for name, amount := range q.Status.Used {
		used = append(used, fmt.Sprintf("%s=%s", name, amount.String()))
	}
	slices.Sort(used)
	w.writes = append(w.writes, strings.Join(used, " "))
	return w.err
}

func amounts(text string) corev1.ResourceList {
	out := corev1.ResourceList{}
	for part := range strings.FieldsSeq(text) {
		name, value, _ := strings.Cut(part, "=")
		out[corev1.ResourceName(name)] = apiresource.MustParse(value)
	}
	return out
}

// contents returns two pods, one of which has finished, a claim for up to 5 devices, and three
// ConfigMaps.
func contents(r schema.GroupResource, _ string) ([]runtime.Object, error) {
	switch r.Resource {
	case "pods":
		running, ended := &core.Pod{}, &core.Pod{Status: corev1.PodStatus{Phase: corev1.PodSucceeded}}
		for _, p := range []*core.Pod{running, ended} {
			p.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{
				Requests: amounts("cpu=500m example.com/nic=1"), Limits: amounts("cpu=1"),
			}}}
		}
		return []runtime.Object{running, ended}, nil
	case "resourceclaims":
		claim := &resource.ResourceClaim{}
		claim.Spec.Devices.Requests = []resourcev1.DeviceRequest{
			{
				Exactly: &resourcev1.ExactDeviceRequest{
					DeviceClassName: "gpu",
					AllocationMode:  resourcev1.DeviceAllocationModeExactCount,
					Count:           2,
				},
			},
			{FirstAvailable: []resourcev1.DeviceSubRequest{
				{DeviceClassName: "gpu", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 3},
				{DeviceClassName: "gpu", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 1},
			}},
		}
		return []runtime.Object{claim}, nil
	case "configmaps":
		m := &metav1.PartialObjectMetadata{}
		return []runtime.Object{m, m, m}, nil
	}
	return nil, errors.New("not listed")
}

func TestReconcile(t *testing.T) {
	for _, tt := range []struct {
		name, hard, want string
		after            time.Duration
	}{
		{"pods", "pods=4 count/pods=9 cpu=4 requests.cpu=4 limits.cpu=4",
			"count/pods=2 cpu=500m limits.cpu=1 pods=1 requests.cpu=500m", recountEvery},
		{"extended resources", "requests.example.com/nic=4", "requests.example.com/nic=1", recountEvery},
		{
			"devices", "gpu.deviceclass.resource.k8s.io/devices=8 count/resourceclaims.resource.k8s.io=1",
			"count/resourceclaims.resource.k8s.io=1 gpu.deviceclass.resource.k8s.io/devices=5", recountEvery,
		},
		{"counts", "configmaps=5 count/configmaps=5", "configmaps=3 count/configmaps=3", recountOthersEvery},
	} {
		w := &world{quota: &corev1.ResourceQuota{Spec: corev1.ResourceQuotaSpec{Hard: amounts(tt.hard)}}}
		c := &Controller{
			quotas: w,
			list:   contents,
			write:  w,
			clock:  clocktesting.NewFakePassiveClock(time.Unix(0, 0)),
			queue:  w,
		}
		if err := c.Reconcile(t.Context(), types.NamespacedName{}); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if !slices.Equal(w.writes, []string{tt.want}) || w.after != tt.after {
			t.Errorf("%s: got %q, again after %s; want %s, again after %s", tt.name, w.writes, w.after, tt.want, tt.after)
		}
	}
}

// TestUncountableKeepsItsUse checks that a resource that cannot be listed keeps the usage in the
// status.
func TestUncountableKeepsItsUse(t *testing.T) {
	w := &world{quota: &corev1.ResourceQuota{
		Spec:   corev1.ResourceQuotaSpec{Hard: amounts("pods=4 secrets=7")},
		Status: corev1.ResourceQuotaStatus{Used: amounts("secrets=2")},
	}}
	c := &Controller{
		quotas: w,
		list:   contents,
		write:  w,
		clock:  clocktesting.NewFakePassiveClock(time.Unix(0, 0)),
		queue:  w,
	}
	if err := c.Reconcile(t.Context(), types.NamespacedName{}); err == nil {
		t.Error("secrets cannot be listed, and that is no error")
	}
	if want := []string{"pods=1 secrets=2"}; !slices.Equal(w.writes, want) {
		t.Errorf("got %q, want %q", w.writes, want)
	}
}
