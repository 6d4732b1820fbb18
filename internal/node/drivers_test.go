package node

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/dynamic-resource-allocation/kubeletplugin"
	"k8s.io/dynamic-resource-allocation/resourceslice"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/fleet"
	"github.com/allot-dev/allot/internal/testkit/memserver"
)

const testDriver = "gpu.example.com"

// lab is a server with an agent of node-0 on which drivers can register.
type lab struct {
	t      *testing.T
	server *memserver.Server
	set    *client.Set
	dir    string
	end    func() // ends the agent
}

func newLab(t *testing.T) *lab {
	server, err := memserver.New()
	if err != nil {
		t.Fatal(err)
	}
	set, err := client.New(server.Config(nil))
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "lab") // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	l := &lab{t: t, server: server, set: set, dir: dir}
	if _, err := set.Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "lab"}},
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	l.startAgent()
	t.Cleanup(func() { l.end() })
	return l
}

// noEvents is a recorder that drops all events.
type noEvents struct{}

func (noEvents) Eventf(runtime.Object, string, string, string, ...any) {}

func (l *lab) startAgent() {
	ctx, cancel := context.WithCancel(context.Background())
	caches := client.NewInformers(l.set)
	agent, err := New(l.set, caches, fleet.Simple(1, 0), Options{Events: noEvents{}, PluginsDir: l.dir})
	if err != nil {
		l.t.Fatal(err)
	}
	caches.Start(ctx)
	var running sync.WaitGroup
	running.Go(func() {
		if err := agent.Run(ctx); err != nil {
			l.t.Error(err)
		}
	})
	l.end = func() { cancel(); running.Wait(); caches.Wait() }
	<-agent.Ready()
}

// labDriver is a driver that reports its calls.
type labDriver struct{ calls chan string }

func (d labDriver) PrepareResourceClaims(
	_ context.Context, claims []*resourcev1.ResourceClaim,
) (map[types.UID]kubeletplugin.PrepareResult, error) {
	results := map[types.UID]kubeletplugin.PrepareResult{}
	for _, claim := range claims {
		d.calls <- "prepare " + claim.Name
		device := claim.Status.Allocation.Devices.Results[0]
		results[claim.UID] = kubeletplugin.PrepareResult{Devices: []kubeletplugin.Device{{
			Requests: []string{
				device.Request,
			}, PoolName: device.Pool, DeviceName: device.Device, CDIDeviceIDs: []string{testDriver + "/dev=" + device.Device},
		}}}
	}
	return results, nil
}

func (d labDriver) UnprepareResourceClaims(
	_ context.Context, claims []kubeletplugin.NamespacedObject,
) (map[types.UID]error, error) {
	results := map[types.UID]error{}
	for _, claim := range claims {
		d.calls <- "unprepare " + claim.Name
		results[claim.UID] = nil
	}
	return results, nil
}

func (labDriver) HandleError(context.Context, error, string) {}

func (labDriver) WatchHealthStatus(context.Context, chan<- kubeletplugin.DeviceHealthReport) error {
	return kubeletplugin.ErrHealthNotSupported
}

// startDriver starts a driver on the node, which publishes one device.
func (l *lab) startDriver() labDriver {
	d := labDriver{calls: make(chan string, 100)}
	kube, err := kubernetes.NewForConfig(l.server.Config(nil))
	if err != nil {
		l.t.Fatal(err)
	}
	data := filepath.Join(l.dir, "node-0/plugins", testDriver)
	if err := os.MkdirAll(data, 0o700); err != nil {
		l.t.Fatal(err)
	}
	helper, err := kubeletplugin.Start(
		l.t.Context(),
		d,
		kubeletplugin.DriverName(testDriver),
		kubeletplugin.KubeClient(kube),
		kubeletplugin.NodeName("node-0"),
		kubeletplugin.RegistrarDirectoryPath(filepath.Join(l.dir, "node-0/plugins_registry")),
		kubeletplugin.PluginDataDirectoryPath(data),
	)
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(helper.Stop)
	slice := resourceslice.Slice{Devices: []resourcev1.Device{{Name: "gpu-0"}}}
	pools := map[string]resourceslice.Pool{"node-0": {Slices: []resourceslice.Slice{slice}}}
	if err := helper.PublishResources(l.t.Context(), resourceslice.DriverResources{Pools: pools}); err != nil {
		l.t.Fatal(err)
	}
	return d
}

// bindPod creates a claim with the device, and a pod on the node that uses it.
func (l *lab) bindPod(name string) *core.Pod {
	ctx := l.t.Context()
	claim := &resource.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: name}}
	claim.Spec.Devices.Requests = []resourcev1.DeviceRequest{
		{Name: "r", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: testDriver}},
	}
	claim, err := l.set.ResourceClaims("lab").Create(ctx, claim, metav1.CreateOptions{})
	if err != nil {
		l.t.Fatal(err)
	}
	pod := &core.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}}
	pod.Spec.NodeName = "node-0"
	pod.Spec.Containers = []corev1.Container{
		{Name: "main", Image: "any", Resources: corev1.ResourceRequirements{Claims: []corev1.ResourceClaim{{Name: "c"}}}},
	}
	entry := core.PodResourceClaim{}
	entry.Name, entry.ResourceClaimName = "c", &name
	pod.Spec.ResourceClaims = []core.PodResourceClaim{entry}
	if pod, err = l.set.Pods("lab").Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		l.t.Fatal(err)
	}
	claim.Status.Allocation = &resource.AllocationResult{}
	claim.Status.Allocation.Devices.Results = []resourcev1.DeviceRequestAllocationResult{
		{Request: "r", Driver: testDriver, Pool: "node-0", Device: "gpu-0"},
	}
	claim.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{
		{Resource: "pods", Name: pod.Name, UID: pod.UID},
	}
	if _, err := l.set.ResourceClaims("lab").UpdateStatus(ctx, claim, metav1.UpdateOptions{}); err != nil {
		l.t.Fatal(err)
	}
	return pod
}

// awaitRunning waits until the pod runs, and returns it.
func (l *lab) awaitRunning(name string) *core.Pod {
	changes, err := l.set.Pods("lab").Watch(l.t.Context(), metav1.ListOptions{})
	if err != nil {
		l.t.Fatal(err)
	}
	defer changes.Stop()
	for change := range changes.ResultChan() {
		if pod, ok := change.Object.(*core.Pod); ok && pod.Name == name && pod.Status.Phase == corev1.PodRunning {
			return pod
		}
	}
	l.t.Fatalf("the watch ended before pod %s ran", name)
	return nil
}

func (l *lab) await(calls <-chan string, want string) {
	l.t.Helper()
	select {
	case got := <-calls:
		if got != want {
			l.t.Fatalf("the driver got %q, want %q", got, want)
		}
	case <-time.After(30 * time.Second):
		l.t.Fatalf("the driver did not get %q", want)
	}
}

// awaitRecordWithout waits until the record of prepared claims, which the agent writes after the
// driver's response, does not contain the claim.
func (l *lab) awaitRecordWithout(claim string) {
	l.t.Helper()
	changes, err := fsnotify.NewWatcher()
	if err != nil {
		l.t.Fatal(err)
	}
	defer func() { _ = changes.Close() }()
	if err := changes.Add(filepath.Join(l.dir, "node-0")); err != nil {
		l.t.Fatal(err)
	}
	timeout := time.After(30 * time.Second)
	for {
		record, err := os.ReadFile(filepath.Join(l.dir, "node-0/prepared-claims.json"))
		if err != nil {
			l.t.Fatal(err)
		}
		if !strings.Contains(string(record), `"`+claim+`"`) {
			return
		}
		select {
		case <-changes.Events:
		case <-timeout:
			l.t.Fatalf("the record still contains claim %s: %s", claim, record)
		}
	}
}

// A pod is deleted while its agent is down. The next agent has the driver unprepare its claim,
// once.
func TestPodIsDeletedWhileTheAgentIsDown(t *testing.T) {
	l := newLab(t)
	driver := l.startDriver()
	l.bindPod("a")
	l.await(driver.calls, "prepare a")
	pod := l.awaitRunning("a")
	if got, want := pod.Annotations[AnnotationDevices], `{"main":["gpu.example.com/dev=gpu-0"]}`; got != want {
		t.Errorf("the annotation is %s, want %s", got, want)
	}
	l.end()
	if err := l.set.Pods("lab").Delete(t.Context(), "a",
		metav1.DeleteOptions{GracePeriodSeconds: new(int64)}); err != nil {
		t.Fatal(err)
	}
	l.startAgent()
	l.await(driver.calls, "unprepare a")
	l.awaitRecordWithout("a") // an agent that ends before has the driver unprepare the claim again
	l.end()
	l.startAgent()
	if left := slices.Collect(chanValues(driver.calls)); len(left) > 0 {
		t.Errorf("calls after the restart: %v", left)
	}
}

// chanValues returns what is in the channel.
func chanValues(calls chan string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for len(calls) > 0 && yield(<-calls) {
		}
	}
}
