package recovery

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/allot-dev/allot/internal/controller/nodelifecycle"
	"github.com/allot-dev/allot/internal/controller/podgc"
	"github.com/allot-dev/allot/internal/node"
)

// tolerated is the tolerationSeconds of the pods of pod.tmpl.
const tolerated = 20 * time.Second

// breakage is one way in which devices of a running gang cannot be used any more.
type breakage struct {
	name string
	// shared: the nodes of a rack share the devices, and each has room for one member.
	shared bool
	// strike breaks the devices of home, and returns when that shows.
	strike func(c *cluster)
	// evicts: pods are evicted within delay.
	evicts bool
	delay  time.Duration
	// mayUse: the lost node may still use the devices. So they are not freed, since other claims could
	// get them, before the Node is deleted; the condition says so.
	mayUse bool
	// says is what the condition of the PodGroup says if there are no other devices.
	says string
}

var breakages = []breakage{
	{
		name: "node cut off", strike: func(c *cluster) { c.cutOff("home-0") }, evicts: true, delay: tolerated,
		says: "gpu.example.com/home-0/gpu-0 of node home-0, which has the taint {node.kubernetes.io/unreachable",
	},
	{
		name: "node deleted", strike: func(c *cluster) { c.remove("nodes", "home-0") }, evicts: true,
		delay: podgc.DefaultQuarantine,
		says:  "gpu.example.com/home-0/gpu-0, whose pool is not published any more",
	},
	{
		name: "device tainted", strike: func(c *cluster) { c.create(taintRule) }, evicts: true,
		says: "gpu.example.com/home-0/gpu-0, which is tainted with broken:NoExecute",
	},
	{
		name: "slice withdrawn", strike: func(c *cluster) { c.remove("resourceslices", "home-0") },
		says: "gpu.example.com/home-0/gpu-0, whose pool is not published any more",
	},
	{
		name: "one node of several cut off", shared: true, mayUse: true, strike: func(c *cluster) { c.cutOff("home-0") },
		evicts: true, delay: tolerated,
		says: "of node home-0, which has the taint {node.kubernetes.io/unreachable",
	},
	{
		name: "one node of several deleted", shared: true, strike: func(c *cluster) { c.remove("nodes", "home-0") },
		evicts: true, delay: podgc.DefaultQuarantine,
		says: "1 of 2 pods",
	},
}

// pool returns the name of the pool at home or away: that of a rack, or that of a node.
func (b breakage) pool(rack string) string {
	if b.shared {
		return rack
	}
	return rack + "-0"
}

const taintRule = `
apiVersion: resource.k8s.io/v1
kind: DeviceTaintRule
metadata: {name: broken}
spec:
  deviceSelector: {driver: gpu.example.com, pool: home-0}
  taint: {key: broken, effect: NoExecute}
`

// cutOff ends the agent of a node, and returns when the node has the taint that evicts pods.
func (c *cluster) cutOff(name string) {
	c.Helper()
	nodes := c.dynamic.Resource(schema.GroupVersionResource{Version: "v1", Resource: "nodes"})
	patch := []byte(`{"metadata":{"annotations":{"` + node.AnnotationStopped + `":"true"}}}`)
	if _, err := nodes.Patch(context.Background(), name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		c.Fatal(err)
	}
	evicts := func() bool {
		for _, object := range c.server.Objects(schema.GroupResource{Resource: "nodes"}) {
			n := object.(*corev1.Node)
			if n.Name == name {
				return slices.ContainsFunc(n.Spec.Taints,
					func(t corev1.Taint) bool { return t.Effect == corev1.TaintEffectNoExecute })
			}
		}
		return false
	}
	// A Lease is renewed every ten seconds, and the controller looks every five.
	if !c.within(nodelifecycle.DefaultGracePeriod+15*time.Second, evicts) {
		c.Fatal("the node was not tainted")
	}
}

// remove deletes an object that belongs to no namespace.
func (c *cluster) remove(resource, name string) {
	c.Helper()
	r := schema.GroupVersionResource{Version: "v1", Resource: resource}
	if resource == "resourceslices" {
		r.Group = "resource.k8s.io"
	}
	if err := c.dynamic.Resource(r).Delete(context.Background(), name, metav1.DeleteOptions{}); err != nil {
		c.Fatal(err)
	}
}

// publish publishes devices of a node, or of the nodes of a rack together, as many as a gang
// claims.
func (c *cluster) publish(shared bool, pool string, devices int) {
	c.Helper()
	spec := map[string]any{
		"driver": "gpu.example.com",
		"pool":   map[string]any{"name": pool, "generation": int64(1), "resourceSliceCount": int64(1)},
	}
	var list []any
	for i := range devices {
		list = append(list, map[string]any{"name": "gpu-" + string(rune('0'+i))})
	}
	spec["devices"] = list
	slice := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": map[string]any{"name": pool}, "spec": spec,
	}}
	if shared {
		spec["nodeSelector"] = map[string]any{"nodeSelectorTerms": []any{map[string]any{
			"matchExpressions": []any{map[string]any{"key": "rack", "operator": "In", "values": []any{pool}}},
		}}}
	} else {
		spec["nodeName"] = pool
		owner, err := c.dynamic.Resource(schema.GroupVersionResource{Version: "v1",
			Resource: "nodes"}).Get(context.Background(), pool, metav1.GetOptions{})
		if err != nil {
			c.Fatal(err)
		}
		// As drivers do: the slices of a node are deleted with it.
		slice.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: pool, UID: owner.GetUID(),
			Controller: new(true)}})
	}
	if _, err := c.resource(slice).Create(context.Background(), slice, metav1.CreateOptions{}); err != nil {
		c.Fatal(err)
	}
}
