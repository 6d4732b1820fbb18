package recovery

import (
	"context"
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"

	core "github.com/allot-dev/allot/api/core/v1"
	resourceapi "github.com/allot-dev/allot/api/resource/v1"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
	"github.com/allot-dev/allot/internal/controller/podgc"
	"github.com/allot-dev/allot/internal/fleet"
	"github.com/allot-dev/allot/internal/testkit/memserver"
)

func TestMain(m *testing.M) {
	flag.Parse()
	klog.SetLogger(klog.Logger{})
	utilruntime.ErrorHandlers = nil // they sleep, which would count as time of the cluster
	debug.SetGCPercent(800)
	os.Exit(m.Run())
}

// maker is what creates the pods of a gang: a template of testdata.
type maker struct {
	file, restartPolicy string
	// replaces: pods that were evicted are replaced.
	replaces bool
	// backOff is the time that a Job waits, as in Kubernetes, before it replaces two failed pods: 10 s
	// for the first, and twice that for the second.
	backOff time.Duration
}

var makers = []maker{
	{"job.tmpl", "Never", true, 30 * time.Second},
	{"deployment.tmpl", "Always", true, 0},
	{"pods.tmpl", "Always", false, 0},
}

// latest is how long a gang may take, apart from the times that the breakage takes to evict it.
const latest = 5 * time.Second

// TestGangsRecover is the product that doc.go describes.
func TestGangsRecover(t *testing.T) {
	server, err := memserver.New()
	if err != nil {
		t.Fatal(err)
	}
	empty := server.Snapshot()
	for _, b := range breakages {
		for _, m := range makers {
			for claims := 1; claims <= 2; claims++ {
				for _, room := range []bool{true, false} {
					name := fmt.Sprintf("%s/%s/%d claims/room %t", b.name, strings.TrimSuffix(m.file, ".tmpl"), claims, room)
					t.Run(name, func(t *testing.T) {
						server.Restore(empty)
						synctest.Test(t, func(t *testing.T) {
							recoverGang(newCluster(t, server, machines(b.shared)), b, newGang(m, b, claims), room)
						})
					})
				}
			}
		}
	}
}

// machines returns two nodes whose devices break, two others, and three without devices, so that
// the loss of one node is no loss of a zone. A node has room for the whole gang or, if nodes share
// devices, for one member.
func machines(shared bool) fleet.Fleet {
	allocatable := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse(
			"2",
		), corev1.ResourceMemory: resource.MustParse("1Gi"), corev1.ResourcePods: resource.MustParse("10"),
	}
	var f fleet.Fleet
	f.Name = "machines"
	for name, count := range map[string]int{"away": 2, "home": 2, "plain": 3} {
		f.Pools = append(f.Pools,
			fleet.NodePool{Name: name, Count: count, Labels: map[string]string{"rack": name}, Allocatable: allocatable})
	}
	return f
}

// gang is the data of the templates.
type gang struct {
	maker
	CPU           string
	RestartPolicy string
	Group         bool
	Claims, Pods  []string
}

func newGang(m maker, b breakage, claims int) *gang {
	g := &gang{
		maker:         m,
		CPU:           "1",
		RestartPolicy: m.restartPolicy,
		Group:         m.file != "job.tmpl",
		Pods:          []string{"first-0", "first-1"},
	}
	if b.shared {
		g.CPU = "2"
	}
	for i := range claims {
		g.Claims = append(g.Claims, fmt.Sprint("gpu-", i))
	}
	return g
}

// recoverGang runs one case.
func recoverGang(c *cluster, b breakage, g *gang, room bool) {
	defer c.stop()
	c.startGang(b, g)
	if room {
		c.publish(b.shared, b.pool("away"), len(g.Claims))
	}
	b.strike(c)
	deadline := b.delay + g.backOff
	c.replaceLost(b, g)
	if b.mayUse {
		c.expectMessage(deadline, "may still be used by pod default/")
		if room {
			c.remove("nodes", "home-0")
			deadline = podgc.DefaultQuarantine + g.backOff
		}
	}
	if !room {
		c.expectMessage(deadline, b.says)
		if n := c.allocated(); n != len(g.Claims) {
			c.Errorf("%d of %d claims are allocated", n, len(g.Claims))
		}
		return
	}
	if b.shared && !g.replaces {
		c.expectMessage(deadline, "first-1 on node home-1: delete that pod")
		c.deletePods()
		c.replacePods(g)
	}
	if !c.within(deadline+latest, func() bool { return c.runningOn("away") == 2 }) {
		c.Errorf("the gang does not run elsewhere: %s", c.report())
	}
}

// startGang makes a cluster in which only one place has devices, and a gang that runs there.
func (c *cluster) startGang(b breakage, g *gang) {
	c.Helper()
	c.create(readFile(c.T, "testdata/cluster.yaml"))
	if !c.within(time.Minute, func() bool { return len(c.server.Objects(schema.GroupResource{Resource: "nodes"})) == 7 }) {
		c.Fatal("the nodes are not registered")
	}
	c.publish(b.shared, b.pool("home"), len(g.Claims))
	c.create(execute(c.T, g.file, g))
	if !c.within(latest, func() bool { return c.runningOn("home") == 2 && c.hasRun() }) {
		c.Fatalf("the gang does not run: %s", c.report())
	}
}

// replaceLost does what no part of the product does: it deletes pods that are not evicted, and
// creates plain pods again.
func (c *cluster) replaceLost(b breakage, g *gang) {
	c.Helper()
	switch {
	case !b.evicts:
		c.expectUndisturbed()
		c.deletePods()
	case !g.replaces:
		if !c.within(b.delay+latest, func() bool { return c.runningOn("home-0") == 0 }) {
			c.Fatalf("the pods are not evicted: %s", c.report())
		}
	}
	if !g.replaces {
		c.replacePods(g)
	}
}

// expectMessage checks that the condition of the PodGroup contains a text soon after a time.
func (c *cluster) expectMessage(after time.Duration, text string) {
	c.Helper()
	if !c.within(after+latest, func() bool { return strings.Contains(c.groupMessage(), text) }) {
		c.Errorf("the PodGroup does not say %q: %s", text, c.report())
	}
}

// expectUndisturbed checks that the gang goes on running.
func (c *cluster) expectUndisturbed() {
	c.Helper()
	if c.within(time.Minute, func() bool { return c.runningOn("home") < 2 }) {
		c.Errorf("a pod was evicted: %s", c.report())
	}
}

// deletePods deletes all pods, as the restart of a workload does.
func (c *cluster) deletePods() {
	c.Helper()
	for _, pod := range c.pods() {
		if err := c.dynamic.Resource(podResource).Namespace(namespace).Delete(context.Background(), pod.Name,
			metav1.DeleteOptions{}); err != nil {
			c.Fatal(err)
		}
	}
}

// replacePods creates other pods in place of those that are evicted, which nothing else does.
func (c *cluster) replacePods(g *gang) {
	again := *g
	again.Pods = nil
	c.attempts++
	for i := range 2 - c.runningOn("home") {
		again.Pods = append(again.Pods, fmt.Sprintf("again-%d-%d", c.attempts, i))
	}
	_, pods, _ := strings.Cut(execute(c.T, g.file, &again), "\n---\n")
	c.create(pods)
}

var podResource = schema.GroupVersionResource{Version: "v1", Resource: "pods"}

func (c *cluster) pods() []*core.Pod {
	var pods []*core.Pod
	for _, object := range c.server.Objects(podResource.GroupResource()) {
		pods = append(pods, object.(*core.Pod))
	}
	return pods
}

// runningOn returns how many pods run on nodes whose name has a prefix, and are not to be deleted.
func (c *cluster) runningOn(prefix string) int {
	n := 0
	for _, pod := range c.pods() {
		if pod.DeletionTimestamp == nil && pod.Status.Phase == corev1.PodRunning &&
			strings.HasPrefix(pod.Spec.NodeName, prefix) {
			n++
		}
	}
	return n
}

// groupMessage returns the message of the condition of the only PodGroup.
func (c *cluster) groupMessage() string {
	for _, object := range c.server.Objects(schema.GroupResource{Group: "scheduling.k8s.io", Resource: "podgroups"}) {
		for _, condition := range object.(*scheduling.PodGroup).Status.Conditions {
			if condition.Type == "PodGroupScheduled" {
				return condition.Message
			}
		}
	}
	return ""
}

// hasRun reports whether the only PodGroup has been scheduled.
func (c *cluster) hasRun() bool {
	for _, object := range c.server.Objects(schema.GroupResource{Group: "scheduling.k8s.io", Resource: "podgroups"}) {
		return meta.IsStatusConditionTrue(object.(*scheduling.PodGroup).Status.Conditions,
			schedulingv1beta1.PodGroupInitiallyScheduled)
	}
	return false
}

func (c *cluster) allocated() int {
	n := 0
	for _, object := range c.server.Objects(schema.GroupResource{Group: "resource.k8s.io", Resource: "resourceclaims"}) {
		if object.(*resourceapi.ResourceClaim).Status.Allocation != nil {
			n++
		}
	}
	return n
}

// report describes the pods and what the PodGroup says.
func (c *cluster) report() string {
	var out strings.Builder
	fmt.Fprintf(&out, "PodGroup: %s\n", c.groupMessage())
	for _, pod := range c.pods() {
		fmt.Fprintf(&out, "%s on %q: %s, deleted at %v\n", pod.Name, pod.Spec.NodeName, pod.Status.Phase,
			pod.DeletionTimestamp)
		for _, condition := range pod.Status.Conditions {
			fmt.Fprintf(&out, "    %s=%s %s\n", condition.Type, condition.Status, condition.Message)
		}
	}
	return out.String()
}
