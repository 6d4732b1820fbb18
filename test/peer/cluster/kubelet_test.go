package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/kubernetes"
	gatetesting "k8s.io/component-base/featuregate/testing"
	"k8s.io/dynamic-resource-allocation/resourceclaim"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/kubernetes/pkg/kubelet/cm/dra"
	"k8s.io/kubernetes/pkg/kubelet/cm/dra/state"
)

// TestKubelet: what allot has allocated and reserved, the manager of claims of a stock kubelet
// takes as it is, with a driver that registers over the kubelet plugin protocol and publishes its
// own slices (R39, R40).
func TestKubelet(t *testing.T) {
	for _, c := range []struct {
		cluster  *lazy
		spelling spelling
	}{{shared.grouping, inTree}, {shared.plain, labelled}} {
		t.Run(c.cluster.name, func(t *testing.T) {
			if c.cluster.groups {
				setGates(t, true)
			}
			m := newMachine(t, c.cluster.get(t), c.spelling)
			t.Run("a group's claim is prepared once for its pods, and taken back after the last", m.sharedClaim)
			t.Run("a pod's own claim", m.ownClaims)
			if c.cluster.groups {
				t.Run("300 pods on one claim", m.manyPods)
			} else {
				t.Run("what it takes as a consumer", m.consumersAreFewPods)
			}
		})
	}
}

// setGates sets the kubelet's gates for PodGroups and their claims.
func setGates(t *testing.T, on bool) {
	gatetesting.SetFeatureGatesDuringTest(t, utilfeature.DefaultFeatureGate, gatetesting.FeatureOverrides{
		features.GenericWorkload: true, features.DRAWorkloadResourceClaims: on,
	})
}

// spelling is how pods join a group and use its claim.
type spelling struct {
	groups string // the PodGroups' API version
	kind   string // their name to kubectl
	join   func(pod *corev1.Pod, group, template string)
}

var inTree = spelling{
	"scheduling.k8s.io/v1beta1",
	"podgroups.scheduling.k8s.io",
	func(pod *corev1.Pod, group, template string) {
		pod.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &group}
		pod.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "shared", ResourceClaimTemplateName: &template}}
	},
}

var labelled = spelling{"allot.dev/v1alpha1", "podgroups.allot.dev", func(pod *corev1.Pod, group, _ string) {
	pod.Labels = map[string]string{"allot.dev/pod-group": group}
	claim := group + "-shared"
	pod.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "shared", ResourceClaimName: &claim}}
}}

// machine is a node with a kubelet and a driver, on a cluster where allot is.
type machine struct {
	spelling

	k       *Kubernetes
	clients *kubernetes.Clientset
	kubelet *Kubelet
	driver  *Driver
	ns      string
}

const kubeletNode = "with-kubelet"

const deviceClass = `
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: device.example.com}
spec: {selectors: [{cel: {expression: 'device.driver == "device.example.com"'}}]}
`

const deviceTemplates = `
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: single}
spec: {spec: {devices: {requests: [{name: device, exactly: {deviceClassName: device.example.com}}]}}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: three}
spec:
  spec:
    devices:
      requests:
      - {name: left, exactly: {deviceClassName: device.example.com, count: 2}}
      - name: right
        firstAvailable:
        - {name: never, deviceClassName: device.example.com, selectors: [{cel: {expression: 'device.driver == "other.example.com"'}}]}
        - {name: plain, deviceClassName: device.example.com}
`

func newMachine(t *testing.T, k *Kubernetes, s spelling) *machine {
	t.Helper()
	attach(t, k, false)
	m := &machine{spelling: s, k: k, ns: namespace(t, k)}
	var err error
	if m.clients, err = kubernetes.NewForConfig(k.Config); err != nil {
		t.Fatal(err)
	}
	k.kubectl(t, deviceClass, "apply", "-f", "-")
	k.kubectl(t, deviceTemplates, "create", "-n", m.ns, "-f", "-")
	m.addNode(t)
	dir, err := os.MkdirTemp("", "dra-") // sockets want a shorter path than t.TempDir's
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	ctx := context.WithoutCancel(t.Context())
	if m.kubelet, err = k.StartKubelet(ctx, kubeletNode, dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.kubelet.Stop)
	if m.driver, err = StartDriver(ctx, m.kubelet, m.clients, 8); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.driver.Stop)
	t.Cleanup(func() { m.empty(t) })
	return m
}

// addNode adds the node for the time of the test; nobody simulates it.
func (m *machine) addNode(t *testing.T) {
	t.Helper()
	nodes := m.clients.CoreV1().Nodes()
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: kubeletNode, Labels: map[string]string{corev1.LabelHostname: kubeletNode}},
	}
	if _, err := nodes.Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := nodes.Delete(context.WithoutCancel(t.Context()), kubeletNode, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	node.Status.Capacity = corev1.ResourceList{
		corev1.ResourcePods: resource.MustParse(
			"400",
		), corev1.ResourceCPU: resource.MustParse("64"), corev1.ResourceMemory: resource.MustParse("64Gi"),
	}
	node.Status.Allocatable = node.Status.Capacity
	node.Status.NodeInfo.KubeletVersion = kubernetesVersion
	node.Status.Conditions = []corev1.NodeCondition{
		{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastHeartbeatTime: metav1.Now()},
	}
	patch, err := json.Marshal(map[string]any{"status": node.Status}) // an update would race with controllers
	if err != nil {
		t.Fatal(err)
	}
	if _, err := nodes.PatchStatus(t.Context(), kubeletNode, patch); err != nil {
		t.Fatal(err)
	}
}

// empty deletes what the test made, at once as there is nobody to stop the pods, and while there is
// still who finishes groups and claims.
func (m *machine) empty(t *testing.T) {
	ctx, now := context.WithoutCancel(t.Context()), int64(0)
	if t.Failed() {
		out, _ := m.k.Kubectl(ctx, "", "get", "resourceclaims,resourceslices,events,"+m.kind, "-n", m.ns, "-o", "wide")
		t.Log(out)
	}
	if err := m.clients.CoreV1().Pods(m.ns).DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: &now},
		metav1.ListOptions{}); err != nil {
		t.Error(err)
	}
	for _, args := range [][]string{{m.kind, "-n", m.ns, "--all"}, {"resourceclaims", "-n", m.ns, "--all"},
		{"namespace", m.ns, "--wait=false"}} {
		if _, err := m.k.Kubectl(ctx, "", append([]string{"delete", "--timeout=60s"}, args...)...); err != nil {
			t.Error(err)
		}
	}
}

// makeGroup makes a group with a claim from a template, and its pods: name-0, name-1 and so on,
// which are bound when it returns.
func (m *machine) makeGroup(
	t *testing.T, name, template string, count int, containers ...corev1.Container,
) []corev1.Pod {
	t.Helper()
	group := fmt.Sprintf("{apiVersion: %s, kind: PodGroup, metadata: {name: %s}, spec: {schedulingPolicy: {basic: {}}, "+
		"resourceClaims: [{name: shared, resourceClaimTemplateName: %s}]}}", m.groups, name, template)
	m.k.kubectl(t, group, "create", "-n", m.ns, "-f", "-")
	for i := range count {
		pod := newPod(fmt.Sprintf("%s-%d", name, i), containers...)
		m.join(pod, name, template)
		m.makePod(t, pod)
	}
	return m.waitBound(t, name, count)
}

func newPod(name string, containers ...corev1.Container) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{
		SchedulerName: "allot", RestartPolicy: corev1.RestartPolicyNever, Containers: containers,
	}}
}

// container is a container that uses a request of a claim, or all of it.
func container(claim, request string) corev1.Container {
	name := "all"
	if request != "" {
		name = request
	}
	return corev1.Container{Name: name, Image: "none.invalid/none", Resources: corev1.ResourceRequirements{
		Claims: []corev1.ResourceClaim{{Name: claim, Request: request}},
	}}
}

func (m *machine) makePod(t *testing.T, pod *corev1.Pod) *corev1.Pod {
	t.Helper()
	made, err := m.clients.CoreV1().Pods(m.ns).Create(t.Context(), pod, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// waitBound waits until the kubelet has so many pods of a name, in order of their names.
func (m *machine) waitBound(t *testing.T, name string, count int) []corev1.Pod {
	t.Helper()
	var pods []corev1.Pod
	eventually(t, time.Minute, func() string {
		all, err := m.kubelet.Pods(t.Context())
		if err != nil {
			return err.Error()
		}
		pods = slices.DeleteFunc(all,
			func(p corev1.Pod) bool { return p.Namespace != m.ns || !strings.HasPrefix(p.Name, name+"-") })
		if len(pods) != count {
			return fmt.Sprintf("%d pods %s are bound to the node, want %d", len(pods), name, count)
		}
		return ""
	})
	slices.SortFunc(pods, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return pods
}

// prepare prepares a pod, which is tried again and again as a kubelet does, and answers the pod as
// it is by then.
func (m *machine) prepare(t *testing.T, name string) *corev1.Pod {
	t.Helper()
	var pod *corev1.Pod
	eventually(t, time.Minute, func() string {
		var err error
		if pod, err = m.clients.CoreV1().Pods(m.ns).Get(t.Context(), name, metav1.GetOptions{}); err == nil {
			err = m.kubelet.PrepareResources(t.Context(), pod)
		}
		if err != nil {
			return fmt.Sprintf("pod %s: %v", name, err)
		}
		return ""
	})
	return pod
}

// refused says that a pod is not prepared, and why.
func (m *machine) refused(t *testing.T, manager *dra.Manager, pod *corev1.Pod, why string) {
	t.Helper()
	if err := manager.PrepareResources(t.Context(), pod); err == nil || !strings.Contains(err.Error(), why) {
		t.Errorf("pod %s: %v, want %q", pod.Name, err, why)
	}
}

// claimOf is the claim of a pod's only entry.
func (m *machine) claimOf(t *testing.T, pod *corev1.Pod) *resourcev1.ResourceClaim {
	t.Helper()
	name, _, err := resourceclaim.Name(pod, &pod.Spec.ResourceClaims[0])
	if err != nil || name == nil {
		t.Fatalf("pod %s: its claim is %v, %v", pod.Name, name, err)
	}
	claim, err := m.clients.ResourceV1().ResourceClaims(m.ns).Get(t.Context(), *name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return claim
}

// sees checks that a container gets those devices of a claim that were allocated for its request,
// and nothing else.
func (m *machine) sees(t *testing.T, pod *corev1.Pod, c *corev1.Container, claim *resourcev1.ResourceClaim) {
	t.Helper()
	var devices []state.Device
	var ids []string
	for _, r := range claim.Status.Allocation.Devices.Results {
		if r.Driver != DriverName || r.Pool != kubeletNode {
			t.Errorf("claim %s has a device of %s in %s", claim.Name, r.Driver, r.Pool)
		}
		base, _, _ := strings.Cut(r.Request, "/")
		id := cdi(claim.UID, r.Device)
		devices = append(devices,
			state.Device{PoolName: r.Pool, DeviceName: r.Device, RequestNames: []string{base}, CDIDeviceIDs: []string{id}})
		if want := c.Resources.Claims[0].Request; want == "" || want == base {
			ids = append(ids, id)
		}
	}
	infos, err := m.kubelet.GetContainerClaimInfos(pod, c)
	if err != nil || len(infos) != 1 {
		t.Fatalf("pod %s, container %s: %d claims, %v", pod.Name, c.Name, len(infos), err)
	}
	if infos[0].ClaimUID != claim.UID {
		t.Errorf("pod %s, container %s: it has claim %s, want %s", pod.Name, c.Name, infos[0].ClaimUID, claim.UID)
	}
	if diff := cmp.Diff(map[string]state.DriverState{DriverName: {Devices: devices}}, infos[0].DriverState); diff != "" {
		t.Errorf("pod %s, container %s: devices of the claim (-allocated +prepared):\n%s", pod.Name, c.Name, diff)
	}
	info, err := m.kubelet.GetResources(pod, c)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range info.CDIDevices {
		got = append(got, d.Name)
	}
	if diff := cmp.Diff(ids, got); diff != "" {
		t.Errorf("pod %s, container %s: CDI devices (-want +got):\n%s", pod.Name, c.Name, diff)
	}
}

// times checks how often the driver was asked for a claim so far.
func times(t *testing.T, what string, claims []types.UID, claim *resourcev1.ResourceClaim, want int) {
	t.Helper()
	got := 0
	for _, uid := range claims {
		if uid == claim.UID {
			got++
		}
	}
	if got != want {
		t.Errorf("claim %s was %s %d times, want %d", claim.Name, what, got, want)
	}
}

func (m *machine) sharedClaim(t *testing.T) {
	m.makeGroup(t, "team", "three", 3, container("shared", ""), container("shared", "left"), container("shared", "right"))
	var pods []*corev1.Pod
	for i := range 3 {
		pods = append(pods, m.prepare(t, fmt.Sprintf("team-%d", i)))
	}
	claim := m.claimOf(t, pods[0])
	if results := claim.Status.Allocation.Devices.Results; len(results) != 3 {
		t.Fatalf("claim %s has the devices %v, want 3", claim.Name, results)
	}
	times(t, "prepared", m.driver.Prepared(), claim, 1)
	for _, pod := range pods {
		for i := range pod.Spec.Containers {
			m.sees(t, pod, &pod.Spec.Containers[i], claim)
		}
	}

	const notReserved = "is not allowed to use ResourceClaim"
	stranger := newPod("stranger", container("shared", ""))
	stranger.Spec.SchedulerName = "nobody" // nor would Kubernetes' controller reserve the claim for a pod that is not bound
	stranger.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "shared", ResourceClaimName: &claim.Name}}
	m.refused(t, m.kubelet.Manager, m.makePod(t, stranger), notReserved)
	if m.groups == inTree.groups {
		other := pods[0].DeepCopy()
		other.UID, other.Spec.SchedulingGroup.PodGroupName = "other", new("other")
		m.refused(t, m.kubelet.Manager, other, "was not created for Pod")
		t.Run("a kubelet without the gate takes no group", func(t *testing.T) {
			setGates(t, false)
			m.refused(t, m.kubelet.Manager, pods[0], "Pod is not owner")
			naming := pods[0].DeepCopy()
			naming.Spec.ResourceClaims = stranger.Spec.ResourceClaims
			m.refused(t, m.kubelet.Manager, naming, notReserved)
		})
	}

	for i, pod := range pods {
		times(t, "taken back", m.driver.Unprepared(), claim, 0)
		if err := m.kubelet.UnprepareResources(t.Context(), pod); err != nil {
			t.Fatal(err)
		}
		if needed := m.kubelet.PodMightNeedToUnprepareResources(pod.UID); needed {
			t.Errorf("pod %d still has something to take back", i)
		}
	}
	times(t, "taken back", m.driver.Unprepared(), claim, 1)
	times(t, "prepared", m.driver.Prepared(), claim, 1)
}

func (m *machine) ownClaims(t *testing.T) {
	var claims []*resourcev1.ResourceClaim
	for i := range 2 {
		pod := newPod(fmt.Sprintf("own-%d", i), container("own", "device"))
		pod.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "own", ResourceClaimTemplateName: new("single")}}
		m.makePod(t, pod)
	}
	for i := range m.waitBound(t, "own", 2) {
		pod := m.prepare(t, fmt.Sprintf("own-%d", i))
		claims = append(claims, m.claimOf(t, pod))
		m.sees(t, pod, &pod.Spec.Containers[0], claims[i])
		times(t, "prepared", m.driver.Prepared(), claims[i], 1)
	}
	if a, b := claims[0].Status.Allocation.Devices.Results[0].Device, claims[1].Status.Allocation.Devices.Results[0].Device; a == b {
		t.Errorf("both claims have the device %s", a)
	}
}

func (m *machine) manyPods(t *testing.T) {
	const many = 300
	pods := m.makeGroup(t, "crowd", "single", many, container("shared", ""))
	var claim *resourcev1.ResourceClaim
	for i := 0; i < many; i += 60 {
		pod := m.prepare(t, pods[i].Name)
		claim = m.claimOf(t, pod)
		m.sees(t, pod, &pod.Spec.Containers[0], claim)
	}
	if consumers := claim.Status.ReservedFor; len(consumers) != 1 || consumers[0].Resource != "podgroups" {
		t.Errorf("the claim is reserved for %v, want one PodGroup", consumers)
	}
	times(t, "prepared", m.driver.Prepared(), claim, 1)
}

// consumersAreFewPods: what docs/install-on-a-cluster.md says of groups of allot.dev. The server
// keeps no more than 256 consumers, and their group cannot stand for the pods: no kubelet takes
// that.
func (m *machine) consumersAreFewPods(t *testing.T) {
	claims := m.clients.ResourceV1().ResourceClaims(m.ns)
	claim, err := claims.Create(t.Context(), &resourcev1.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "by-hand"},
		Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{{
			Name: "device", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "device.example.com"},
		}}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	claim.Status.Allocation = &resourcev1.AllocationResult{
		Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{
			{Request: "device", Driver: DriverName, Pool: "by-hand", Device: "none"},
		}},
	}
	for i := range 257 {
		uid := types.UID(fmt.Sprintf("uid-%d", i))
		claim.Status.ReservedFor = append(claim.Status.ReservedFor,
			resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: string(uid), UID: uid})
	}
	if _, err := claims.UpdateStatus(t.Context(), claim, metav1.UpdateOptions{}); err == nil ||
		!strings.Contains(err.Error(), "must have at most 256 items") {
		t.Errorf("a claim with 257 consumers: %v", err)
	}

	claim.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{
		{APIGroup: "allot.dev", Resource: "podgroups", Name: "hand", UID: "group"},
	}
	if claim, err = claims.UpdateStatus(t.Context(), claim, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	member := newPod("member", container("shared", ""))
	member.Spec.SchedulerName = "nobody"
	m.join(member, "hand", "")
	member.Spec.ResourceClaims[0].ResourceClaimName = &claim.Name
	member = m.makePod(t, member)
	// As an administrator: a kubelet may not even read a claim of pods of other nodes, or of none.
	manager, err := dra.NewManager(klog.Background(), m.clients, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	m.refused(t, manager, member, "is not allowed to use ResourceClaim")
	setGates(t, true)
	member.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: new("hand")}
	m.refused(t, manager, member, "is not allowed to use ResourceClaim")
	m.refused(t, m.kubelet.Manager, member, "forbidden")
	after, err := claims.Get(t.Context(), claim.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(claim.Status, after.Status); diff != "" {
		t.Errorf("somebody has changed the claim, so that this shows nothing:\n%s", diff)
	}
}
