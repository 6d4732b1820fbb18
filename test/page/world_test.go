package page

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/utils/ptr"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
	"github.com/allot-dev/allot/internal/explain"
	"github.com/allot-dev/allot/internal/snapshot"
)

const driver = "gpu.example.com"

// taken is the time of the cluster: the page compares it with the browser's clock.
var taken = metav1.NewTime(time.Now().UTC().Truncate(time.Second))

// fleet returns a cluster with racks of 16 nodes and devices on each. Every third node is full,
// with a gang of its own; one in 20 has a tainted device, one in 30 a device that is reserved, one in
// 40 a device that is shared, and one in 50 is cordoned. One gang waits for more than there is.
func fleet(nodes, devices int) *snapshot.Snapshot {
	s := snapshot.New(taken, snapshot.Server{Version: "v1.37.2+allot", Allot: true})
	s.Put(&resourcev1.DeviceClass{
		ObjectMeta: metav1.ObjectMeta{Name: "gpu"},
		Spec: resourcev1.DeviceClassSpec{Selectors: []resourcev1.DeviceSelector{
			{CEL: &resourcev1.CELDeviceSelector{Expression: `device.driver == "` + driver + `"`}},
		}},
	})
	for i := range nodes {
		name := fmt.Sprintf("node-%05d", i)
		s.Put(node(name, i))
		s.Put(slice(name, devices, i%20 == 7))
		switch {
		case i%3 == 0:
			addGang(s, fmt.Sprintf("train-%05d", i), name, devices)
		case i%30 == 1:
			claim(s, "later-"+name, name, 1, "")
		case i%40 == 2:
			for _, user := range []string{"a", "b"} {
				claim(s, "share-"+user+"-"+name, name, 1, addSharer(s, name, user))
			}
		}
	}
	addWaitingGang(s, "wants-more", "0/"+fmt.Sprint(nodes)+" nodes are available: cannot allocate all claims")
	s.Sort()
	return s
}

func node(name string, i int) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: map[string]string{"example.com/rack": fmt.Sprintf("rack-%03d", i/16)},
	}}
	n.Spec.Unschedulable = i%50 == 11
	n.Status.Allocatable = corev1.ResourceList{"cpu": apiresource.MustParse("32"), "pods": apiresource.MustParse("110")}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	return n
}

func slice(node string, devices int, tainted bool) *resourcev1.ResourceSlice {
	s := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: node + "-slice"}}
	s.Spec = resourcev1.ResourceSliceSpec{
		Driver: driver, NodeName: &node,
		Pool: resourcev1.ResourcePool{Name: node, Generation: 1, ResourceSliceCount: 1},
	}
	for i := range devices {
		s.Spec.Devices = append(s.Spec.Devices, resourcev1.Device{
			Name: fmt.Sprintf("gpu-%d", i), AllowMultipleAllocations: ptr.To(i == 0),
			Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"index": {IntValue: ptr.To(int64(i))}},
		})
	}
	if tainted {
		s.Spec.Devices[devices-1].Taints = []resourcev1.DeviceTaint{
			{Key: "example.com/broken", Effect: resourcev1.DeviceTaintEffectNoSchedule},
		}
	}
	return s
}

// addGang adds a PodGroup of two pods that run on a node and share a claim with all its devices.
func addGang(s *snapshot.Snapshot, name, node string, devices int) {
	s.Put(group(name, metav1.Condition{Type: scheduling.PodGroupScheduled, Status: metav1.ConditionTrue}))
	for i := range 2 {
		p := pod(fmt.Sprintf("%s-%d", name, i), name)
		p.Spec.NodeName, p.Status.Phase = node, corev1.PodRunning
		p.Status.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{{Name: "gpus", ResourceClaimName: &name}}
		s.Put(p)
	}
	claim(s, name, node, devices, "podgroups/"+name)
}

// addWaitingGang adds a gang that waits.
func addWaitingGang(s *snapshot.Snapshot, name, message string) {
	s.Put(group(name, metav1.Condition{
		Type: scheduling.PodGroupScheduled, Status: metav1.ConditionFalse, Message: message, LastTransitionTime: taken,
	}))
	for i := range 2 {
		s.Put(pod(fmt.Sprintf("%s-%d", name, i), name))
	}
	claim(s, name, "", 0, "")
}

func group(name string, condition metav1.Condition) *scheduling.PodGroup {
	g := &scheduling.PodGroup{ObjectMeta: meta("team-a", name)}
	g.Spec.SchedulingPolicy.Gang = &schedulingv1beta1.GangSchedulingPolicy{MinCount: 2}
	g.Spec.ResourceClaims = []scheduling.PodGroupResourceClaim{{
		PodGroupResourceClaim: schedulingv1beta1.PodGroupResourceClaim{Name: "gpus", ResourceClaimName: &name},
	}}
	g.Status.Conditions = []metav1.Condition{condition}
	return g
}

func pod(name, group string) *core.Pod {
	p := &core.Pod{ObjectMeta: meta("team-a", name)}
	p.Spec.SchedulerName = explain.DefaultScheduler
	p.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &group}
	entry := "gpus"
	p.Spec.ResourceClaims = []core.PodResourceClaim{{
		PodResourceClaim: corev1.PodResourceClaim{Name: entry}, PodGroupResourceClaim: &entry,
	}}
	p.Spec.Containers = []corev1.Container{{Name: "c", Image: "i"}}
	return p
}

// addSharer adds a pod that uses a claim of its own, and returns the consumer.
func addSharer(s *snapshot.Snapshot, node, user string) string {
	name := "share-" + user + "-" + node
	p := &core.Pod{ObjectMeta: meta("team-b", name)}
	p.Spec.SchedulerName, p.Spec.NodeName = explain.DefaultScheduler, node
	p.Spec.Containers = []corev1.Container{{Name: "c", Image: "i"}}
	p.Spec.ResourceClaims = []core.PodResourceClaim{{
		PodResourceClaim: corev1.PodResourceClaim{Name: "gpu", ResourceClaimName: &name},
	}}
	p.Status.Phase = corev1.PodRunning
	s.Put(p)
	return "pods/" + name
}

// claim adds a claim. Without devices it wants 9 of them. consumer is a resource and a name, or "".
func claim(s *snapshot.Snapshot, name, node string, devices int, consumer string) {
	namespace := "team-a"
	if strings.HasPrefix(consumer, "pods/") {
		namespace = "team-b"
	}
	c := &resource.ResourceClaim{ObjectMeta: meta(namespace, name)}
	c.Spec.Devices.Requests = []resourcev1.DeviceRequest{{Name: "gpus", Exactly: &resourcev1.ExactDeviceRequest{
		DeviceClassName: "gpu", AllocationMode: resourcev1.DeviceAllocationModeExactCount,
		Count: int64(cmp.Or(devices, 9)),
	}}}
	if devices > 0 {
		c.Status.Allocation = allocation(node, devices)
	}
	if plural, name, ok := strings.Cut(consumer, "/"); ok {
		c.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{{Resource: plural, Name: name, UID: types.UID(name)}}
		if plural == "podgroups" {
			c.Status.ReservedFor[0].APIGroup = "scheduling.k8s.io"
		}
	}
	s.Put(c)
}

func allocation(node string, devices int) *resource.AllocationResult {
	a := &resource.AllocationResult{}
	for i := range devices {
		result := resourcev1.DeviceRequestAllocationResult{
			Request: "gpus", Driver: driver, Pool: node, Device: fmt.Sprintf("gpu-%d", i),
		}
		if i == 0 { // it can be shared
			result.ShareID = ptr.To(uuid.NewUUID())
		}
		a.Devices.Results = append(a.Devices.Results, result)
	}
	at := metav1.NewTime(taken.Add(-5 * time.Minute))
	a.AllocationTimestamp = &at
	return a
}

func meta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: namespace, Name: name, UID: types.UID(name), CreationTimestamp: metav1.NewTime(taken.Add(-time.Hour)),
	}
}
