package servertest

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/ptr"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/internal/apiserver"
	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/controller/claim"
	"github.com/allot-dev/allot/internal/controller/garbagecollector"
	"github.com/allot-dev/allot/internal/metrics"
	"github.com/allot-dev/allot/internal/scheduler"
	"github.com/allot-dev/allot/internal/testkit/testserver"
)

// patience is how long a test waits for what must come.
const patience = time.Minute

// second is the name of the second scheduler.
const second = "second-scheduler"

var set *client.Set

func TestMain(m *testing.M) { os.Exit(testserver.Main(m, start)) }

// start runs two schedulers, each with caches of its own, and the controllers that make claims and
// take them away.
func start(ctx context.Context, server *apiserver.Server) (err error) {
	if set, err = client.New(server.Loopback()); err != nil {
		return err
	}
	events := record.NewFakeRecorder(1)
	events.Events = nil // nobody listens
	for _, name := range []string{corev1.DefaultSchedulerName, second} {
		caches := client.NewInformers(set)
		s, err := scheduler.New(set, caches, events, scheduler.Options{
			Name: name, CreatesClaims: name == corev1.DefaultSchedulerName,
		})
		if err != nil {
			return err
		}
		runs := []func(context.Context) error{s.Run}
		if name == corev1.DefaultSchedulerName {
			claims, err := claim.New(set, caches, events, metrics.New().Claims,
				claim.Options{Scheduler: corev1.DefaultSchedulerName})
			if err != nil {
				return err
			}
			garbage, err := garbagecollector.New(set, caches, events)
			if err != nil {
				return err
			}
			runs = append(runs, claims.Run, garbage.Run)
		}
		caches.Start(ctx)
		for _, run := range runs {
			go run(ctx) //nolint:errcheck // ends with ctx
		}
		if err := caches.WaitForSync(ctx); err != nil {
			return err
		}
	}
	return nil
}

// namespace makes a namespace for a test.
func namespace(t *testing.T) string {
	t.Helper()
	ns, err := set.Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "scheduler-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return ns.Name
}

// eventually waits until what is said of the server holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if holds() {
			return
		}
	}
	t.Fatalf("not within %s: %s", patience, what)
}

// made ends the test when something could not be made, and takes it away after the test.
func made[T client.Object](
	t *testing.T, object T, err error, remove func(ctx context.Context, name string, opts metav1.DeleteOptions) error,
) T {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = remove(context.Background(), object.GetName(), metav1.DeleteOptions{}) })
	return object
}

// addNode makes a node for the test, with devices of the driver that is named.
func addNode(t *testing.T, name, driver string, devices int) {
	t.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	node.Status.Allocatable = corev1.ResourceList{corev1.ResourcePods: apiresource.MustParse("2000")}
	node.Status.Capacity = node.Status.Allocatable
	node, err := set.Nodes().Create(t.Context(), node, metav1.CreateOptions{})
	made(t, node, err, set.Nodes().Delete)
	if devices > 0 {
		addSlice(t, name, driver, devices, func(s *resourcev1.ResourceSliceSpec) { s.NodeName = &name })
	}
}

func addSlice(t *testing.T, name, driver string, devices int, edit func(*resourcev1.ResourceSliceSpec)) {
	t.Helper()
	slice := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: name + "." + driver}}
	slice.Spec = resourcev1.ResourceSliceSpec{
		Driver: driver,
		Pool:   resourcev1.ResourcePool{Name: name, ResourceSliceCount: 1},
	}
	for i := range devices {
		slice.Spec.Devices = append(slice.Spec.Devices, resourcev1.Device{Name: fmt.Sprintf("gpu-%d", i)})
	}
	edit(&slice.Spec)
	slice, err := set.ResourceSlices().Create(t.Context(), slice, metav1.CreateOptions{})
	made(t, slice, err, set.ResourceSlices().Delete)
}

// addClass makes a class of the driver's devices, under its name.
func addClass(t *testing.T, driver string) *resourcev1.DeviceClass {
	t.Helper()
	class := &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: driver}}
	class.Spec.Selectors = []resourcev1.DeviceSelector{
		{CEL: &resourcev1.CELDeviceSelector{Expression: fmt.Sprintf("device.driver == %q", driver)}},
	}
	class, err := set.DeviceClasses().Create(t.Context(), class, metav1.CreateOptions{})
	return made(t, class, err, set.DeviceClasses().Delete)
}

func claimSpec(class string) resource.ResourceClaimSpec {
	spec := resource.ResourceClaimSpec{}
	spec.Devices.Requests = []resourcev1.DeviceRequest{
		{Name: "r", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: class}},
	}
	return spec
}

// pod is one that wants a claim, by its own name or from a template.
func pod(ns, name, schedulerName string, source core.PodResourceClaim) *core.Pod {
	p := &core.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}}
	p.Spec.SchedulerName = schedulerName
	p.Spec.Containers = []corev1.Container{{Name: "c", Image: "pause"}}
	source.Name = "r"
	p.Spec.ResourceClaims = []core.PodResourceClaim{source}
	return p
}

func named(claim string) core.PodResourceClaim {
	return core.PodResourceClaim{PodResourceClaim: corev1.PodResourceClaim{ResourceClaimName: ptr.To(claim)}}
}

func template(name string) core.PodResourceClaim {
	return core.PodResourceClaim{PodResourceClaim: corev1.PodResourceClaim{ResourceClaimTemplateName: ptr.To(name)}}
}
