package forecast_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/internal/apiserver/offline"
	"github.com/allot-dev/allot/internal/forecast"
	"github.com/allot-dev/allot/internal/snapshot"
)

// A large cluster has 10,000 nodes with 8 devices each, and 50,000 pods that have a device each.
const (
	largeNodes   = 10_000
	nodeDevices  = 8
	podsPerNode  = 5
	benchedGangs = 64 // pods of the gang that is planned
)

// BenchmarkPlan plans a gang of 64 pods and a drain on a large cluster. It includes reading the
// Snapshot from a file, and so everything that allot plan does after it has read the cluster.
func BenchmarkPlan(b *testing.B) {
	server := newServer(b)
	snap := largeCluster(b, server)
	changes := forecast.Changes{
		Drain: []string{"n00000"},
		Apply: manifests(b, server, "gang", fmt.Sprintf(`
apiVersion: batch/v1
kind: Job
metadata: {name: gang}
spec:
  parallelism: %d
  completions: %[1]d
  completionMode: Indexed
  scheduling: {schedulingPolicy: {gang: {}}}
  template:
    spec:
      restartPolicy: Never
      resourceClaims: [{name: g, resourceClaimTemplateName: one-gpu}]
      containers:
      - {name: c, image: pause, resources: {requests: {cpu: 100m}}}
`, benchedGangs)),
	}
	var file bytes.Buffer
	if err := snap.Write(&file, snapshot.Compressed); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		read, err := snapshot.Read(bytes.NewReader(file.Bytes()))
		if err != nil {
			b.Fatal(err)
		}
		plan, err := forecast.New(read, server).Plan(changes)
		if err != nil {
			b.Fatal(err)
		}
		if plan.Summary.Placed != benchedGangs || plan.Summary.Evicted != podsPerNode {
			b.Fatalf("summary %+v", plan.Summary)
		}
	}
}

// largeCluster returns the Snapshot of a large cluster.
func largeCluster(tb testing.TB, server *offline.Server) *snapshot.Snapshot {
	tb.Helper()
	snap := snapshot.New(metav1.NewTime(start), snapshot.Server{Version: "v1.37.2+allot", Allot: true})
	data, err := os.ReadFile(filepath.Join("testdata", "fixtures", "gpus.yaml"))
	if err != nil {
		tb.Fatal(err)
	}
	for _, m := range manifests(tb, server, "gpus", string(data)) {
		snap.Put(m.Object)
	}
	for n := range largeNodes {
		addNode(snap, fmt.Sprintf("n%05d", n))
	}
	return snap
}

// addNode adds a node with its devices, and pods that use some of them.
func addNode(snap *snapshot.Snapshot, name string) {
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name:   name,
			UID:    types.UID(name),
			Labels: map[string]string{corev1.LabelHostname: name},
		},
	}
	node.Status.Allocatable = corev1.ResourceList{
		corev1.ResourceCPU: apiresource.MustParse(
			"64",
		), corev1.ResourceMemory: apiresource.MustParse("256Gi"), corev1.ResourcePods: apiresource.MustParse("110"),
	}
	slice := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: name + "-gpu", UID: types.UID(name + "-gpu")}}
	slice.Spec = resourcev1.ResourceSliceSpec{
		Driver: "gpu.example.com", NodeName: &node.Name,
		Pool: resourcev1.ResourcePool{Name: name, Generation: 1, ResourceSliceCount: 1},
	}
	for d := range nodeDevices {
		slice.Spec.Devices = append(slice.Spec.Devices, resourcev1.Device{Name: fmt.Sprintf("gpu-%d", d)})
	}
	snap.Put(node)
	snap.Put(slice)
	for p := range podsPerNode {
		addPod(snap, name, p)
	}
}

// addPod adds a pod that runs on a node with a device.
func addPod(snap *snapshot.Snapshot, node string, n int) {
	pod := &core.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default",
			Name:      fmt.Sprintf("%s-%d", node, n),
			UID:       types.UID(fmt.Sprintf("pod-%s-%d", node, n)),
		},
	}
	name, priority := pod.Name+"-g", int32(0)
	pod.Spec.NodeName, pod.Spec.SchedulerName, pod.Spec.Priority = node, corev1.DefaultSchedulerName, &priority
	pod.Spec.Containers = []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: apiresource.MustParse("1")},
	}}}
	template := "one-gpu"
	pod.Spec.ResourceClaims = []core.PodResourceClaim{
		{PodResourceClaim: corev1.PodResourceClaim{Name: "g", ResourceClaimTemplateName: &template}},
	}
	pod.Status.Phase = corev1.PodRunning
	pod.Status.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{{Name: "g", ResourceClaimName: &name}}
	claim := &resource.ResourceClaim{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: name, UID: types.UID("claim-" + name), Finalizers: []string{resourcev1.Finalizer},
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(pod, corev1.SchemeGroupVersion.WithKind("Pod"))},
	}}
	claim.Spec.Devices.Requests = []resourcev1.DeviceRequest{{Name: "g", Exactly: &resourcev1.ExactDeviceRequest{
		DeviceClassName: "gpu.example.com", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 1,
	}}}
	claim.Status.Allocation = &resource.AllocationResult{}
	claim.Status.Allocation.NodeSelector = &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchFields: []corev1.NodeSelectorRequirement{
			{Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{node}},
		},
	}}}
	claim.Status.Allocation.Devices.Results = []resourcev1.DeviceRequestAllocationResult{{
		Request: "g", Driver: "gpu.example.com", Pool: node, Device: fmt.Sprintf("gpu-%d", n),
	}}
	claim.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{
		{Resource: "pods", Name: pod.Name, UID: pod.UID},
	}
	snap.Put(claim)
	snap.Put(pod)
}
