package recovery

import (
	"bytes"
	"context"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"text/template"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/yaml"

	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/controller/claim"
	"github.com/allot-dev/allot/internal/controller/deployment"
	"github.com/allot-dev/allot/internal/controller/devicetaint"
	"github.com/allot-dev/allot/internal/controller/garbagecollector"
	"github.com/allot-dev/allot/internal/controller/job"
	"github.com/allot-dev/allot/internal/controller/nodelifecycle"
	"github.com/allot-dev/allot/internal/controller/nodetaint"
	"github.com/allot-dev/allot/internal/controller/podgc"
	"github.com/allot-dev/allot/internal/controller/podgroup"
	"github.com/allot-dev/allot/internal/controller/replicaset"
	"github.com/allot-dev/allot/internal/fleet"
	"github.com/allot-dev/allot/internal/metrics"
	"github.com/allot-dev/allot/internal/node"
	"github.com/allot-dev/allot/internal/scheduler"
	"github.com/allot-dev/allot/internal/testkit/memserver"

	"k8s.io/client-go/dynamic"
)

const namespace = "default"

// cluster is all parts of the product on a server in memory.
type cluster struct {
	*testing.T
	server  *memserver.Server
	dynamic dynamic.Interface
	cancel  context.CancelFunc
	caches  *client.Informers
	running sync.WaitGroup
	// attempts is how often plain pods were created again.
	attempts int
}

type runner interface {
	Run(ctx context.Context) error
}

// newCluster starts all parts with the machines of a fleet.
func newCluster(t *testing.T, server *memserver.Server, machines fleet.Fleet) *cluster {
	set, err := client.New(server.Config(nil))
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{T: t, server: server, caches: client.NewInformers(set)}
	if c.dynamic, err = dynamic.NewForConfig(server.Config(nil)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	c.cancel = cancel
	parts := c.parts(set, machines)
	c.caches.Start(ctx)
	for _, part := range parts {
		c.running.Go(func() { _ = part.Run(ctx) })
	}
	return c
}

func (c *cluster) parts(set *client.Set, machines fleet.Fleet) []runner {
	events := &record.FakeRecorder{}
	var parts []runner
	add := func(part runner, err error) {
		if err != nil {
			c.Fatal(err)
		}
		parts = append(parts, part)
	}
	add(claim.New(set, c.caches, events, metrics.New().Claims, claim.Options{}))
	add(podgroup.New(set, c.caches, events))
	add(job.New(set, c.caches, events))
	add(replicaset.New(set, c.caches, events))
	add(deployment.New(set, c.caches, events))
	add(devicetaint.New(set, c.caches, events, devicetaint.Options{}))
	add(garbagecollector.New(set, c.caches, events))
	add(nodelifecycle.New(set, c.caches, events, nodelifecycle.Options{}))
	add(nodetaint.New(set, c.caches, events, nodetaint.Options{}))
	add(podgc.New(set, c.caches, podgc.Options{}))
	add(scheduler.New(set, c.caches, events, scheduler.Options{}))
	add(node.New(set, c.caches, machines, node.Options{Events: events}))
	return parts
}

// stop ends all parts, and the timers that they leave.
func (c *cluster) stop() {
	c.cancel()
	c.running.Wait()
	c.caches.Wait()
	time.Sleep(time.Minute)
}

// within reports whether ok holds at any time before the limit has passed.
func (c *cluster) within(limit time.Duration, ok func() bool) bool {
	for end := time.Now().Add(limit); ; time.Sleep(250 * time.Millisecond) {
		synctest.Wait()
		if ok() {
			return true
		}
		if !time.Now().Before(end) {
			return false
		}
	}
}

// create creates the objects of a YAML text that do not exist.
func (c *cluster) create(text string) {
	c.Helper()
	for document := range strings.SplitSeq(text, "\n---\n") {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
			c.Fatal(err, document)
		}
		if _, err := c.resource(object).Create(context.Background(), object, metav1.CreateOptions{}); err != nil {
			c.Fatalf("create %s: %v", object.GetName(), err)
		}
	}
}

var clusterScoped = map[string]bool{
	"Namespace":       true,
	"DeviceClass":     true,
	"DeviceTaintRule": true,
	"ResourceSlice":   true,
	"Node":            true,
}

func (c *cluster) resource(object *unstructured.Unstructured) dynamic.ResourceInterface {
	resource, _ := meta.UnsafeGuessKindToResource(object.GroupVersionKind())
	if clusterScoped[object.GetKind()] {
		return c.dynamic.Resource(resource)
	}
	return c.dynamic.Resource(resource).Namespace(namespace)
}

// execute returns the text of a template of testdata.
func execute(t *testing.T, name string, data any) string {
	t.Helper()
	text, err := template.ParseFiles("testdata/"+name, "testdata/pod.tmpl")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := text.ExecuteTemplate(&out, name, data); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
