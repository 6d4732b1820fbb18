package attach

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
)

// allocate creates a claim with the only device, allocated at some second, for a pod of its name
// that a scheduler has placed.
func (w *world) allocate(name string, second int, scheduler string, edit func(*core.Pod, *resource.ResourceClaim)) {
	pod := &core.Pod{ObjectMeta: w.meta(name)}
	pod.Spec.SchedulerName = scheduler
	pod.Spec.ResourceClaims = []core.PodResourceClaim{
		{PodResourceClaim: corev1.PodResourceClaim{Name: "c", ResourceClaimName: &name}},
	}
	at := metav1.NewTime(time.Unix(int64(second), 0))
	claim := &resource.ResourceClaim{ObjectMeta: w.meta(name)}
	claim.Status.Allocation = &resource.AllocationResult{}
	claim.Status.Allocation.AllocationTimestamp = &at
	claim.Status.Allocation.Devices.Results = []resourcev1.DeviceRequestAllocationResult{
		{Driver: "d", Pool: "p", Device: "x"},
	}
	claim.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{
		{Resource: "pods", Name: pod.Name, UID: pod.UID},
	}
	if edit != nil {
		edit(pod, claim)
	}
	w.pods.put(pod)
	w.claims.put(claim)
}

// Two schedulers have allocated one device to two claims (F64). The first claim keeps it. The other
// one is deallocated if it is allot's and its pod has not run; if it cannot be deallocated, that is
// reported.
func TestF64DoubleAllocationIsDeallocated(t *testing.T) {
	bound := func(pod *core.Pod, _ *resource.ResourceClaim) { pod.Spec.NodeName = "n" }
	running := func(pod *core.Pod, _ *resource.ResourceClaim) {
		pod.Spec.NodeName, pod.Status.Phase = "n", corev1.PodRunning
	}
	initializing := func(pod *core.Pod, _ *resource.ResourceClaim) {
		pod.Spec.NodeName, pod.Status.Phase = "n", corev1.PodPending
		pod.Status.InitContainerStatuses = []corev1.ContainerStatus{
			{State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}},
		}
	}
	share := func(_ *core.Pod, c *resource.ResourceClaim) {
		c.Status.Allocation.Devices.Results[0].ShareID = new(types.UID)
	}
	admin := func(_ *core.Pod, c *resource.ResourceClaim) {
		c.Status.Allocation.Devices.Results[0].AdminAccess = new(true)
	}
	const twice = "event on ours: DeviceAllocatedTwice: device d/p/x belongs to ResourceClaim ns/theirs, too, which had it before"
	tests := []struct {
		name         string
		oursAt       int
		ours, theirs func(*core.Pod, *resource.ResourceClaim)
		first, again string
	}{
		{"not bound", 2, nil, nil, twice + "; it is put back\ndeallocate ours", "nothing"},
		{
			"bound",
			2,
			bound,
			nil,
			twice + "; it is put back\nevent on ours: DeviceOfAnotherClaim: the device of ResourceClaim ours is another claim's: the pod is deleted before it starts\ndelete pod ours",
			"",
		},
		{
			"running",
			2,
			running,
			nil,
			twice + "; pods run with it, so that it stays\nevent on theirs: DeviceAllocatedTwice: device d/p/x was given to ResourceClaim ns/ours, too",
			"nothing",
		},
		{
			"init container running",
			2,
			initializing,
			nil,
			twice + "; pods run with it, so that it stays\nevent on theirs: DeviceAllocatedTwice: device d/p/x was given to ResourceClaim ns/ours, too",
			"nothing",
		},
		{
			"ours was first",
			0,
			nil,
			nil,
			"event on theirs: DeviceAllocatedTwice: device d/p/x belongs to ResourceClaim ns/ours, too, which had it before; another scheduler has to put this one back\nevent on ours: DeviceAllocatedTwice: device d/p/x was given to ResourceClaim ns/theirs, too",
			"nothing",
		},
		{"shared", 2, share, nil, "nothing", "nothing"},
		{"for an administrator", 2, nil, admin, "nothing", "nothing"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld()
			w.allocate("theirs", 1, "default-scheduler", test.theirs)
			w.allocate("ours", test.oursAt, "allot", test.ours)
			d := &DoubleAllocationController{own: "allot", claims: &w.claims, pods: &w.pods, write: w, events: w}
			for _, want := range []string{test.first, test.again} {
				if err := d.Reconcile(t.Context(), types.NamespacedName{Namespace: "ns", Name: "ours"}); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, w.takeEvents()); want != "" && diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			}
		})
	}
}

// Other schedulers that allocate devices are detected by the pods and claims (F64).
func TestF64CompetingSchedulersAreNamed(t *testing.T) {
	w := newWorld()
	w.allocate("a", 1, "default-scheduler", nil)
	w.allocate("b", 1, "allot", nil)
	w.allocate("c", 1, "other", func(_ *core.Pod, c *resource.ResourceClaim) { c.Status.Allocation = nil })
	w.allocate("d", 1, "done", func(pod *core.Pod, _ *resource.ResourceClaim) { pod.Status.Phase = corev1.PodSucceeded })
	w.allocate("e", 1, "plain", func(pod *core.Pod, _ *resource.ResourceClaim) { pod.Spec.ResourceClaims = nil })
	var pods []*core.Pod
	var claims []*resource.ResourceClaim
	for _, pod := range w.pods.objects {
		pods = append(pods, pod)
	}
	for _, claim := range w.claims.objects {
		claims = append(claims, claim)
	}
	want := []CompetingScheduler{
		{Scheduler: "default-scheduler", Pods: 1, Drivers: []string{"d"}},
		{Scheduler: "other", Pods: 1},
	}
	if diff := cmp.Diff(want, CompetingSchedulers("allot", pods, claims)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
