package allocators

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
)

// Case is a world to measure.
type Case struct {
	Name  string
	Want  bool
	Build func() *World
	Sweep bool // run for all nodes, as a scheduler's Filter does, not only for the first
	// Enough stops upstream after this number of feasible nodes: kube-scheduler samples a large
	// cluster. Allot always checks all nodes.
	Enough int
	// Cold means without cached state and compiled selectors. Both sides get the same Node,
	// DeviceClass and ResourceSlice objects, in memory as decoded by a client, and are run for all
	// nodes. Upstream's allocator sorts the slices by node, and then, for each node, gathers the
	// pools and evaluates the selector until a device matches, as it does for every pod. Allot
	// reads all nodes and slices into a new State, assembles the pools, and evaluates the selector
	// for all devices of all nodes, which the next pod reuses. The cost of kube-scheduler's own
	// node cache is not included.
	Cold    bool
	Changes int // a slice that changes before each pod; 0 for none
}

const gpu = "gpu.example.com"

// Cases returns all cases.
func Cases() []Case {
	list := []Case{}
	add := func(name string, want bool, build func() *World) {
		list = append(list, Case{Name: name, Want: want, Build: build})
	}
	for _, n := range []int{8, 64, 1000} {
		add(fmt.Sprintf("1 device of %d", n), true, func() *World { return oneNode(n, all).claim(1, 1) })
	}
	add("8 of 64 with matchAttribute, all alike", true, func() *World { return oneNode(64, all).claim(1, 8, "root") })
	add("8 of 64 with matchAttribute, groups of 7 but the last", true,
		func() *World { return oneNode(64, groupsOf(7, 56)).claim(1, 8, "root") })
	add("the same as 8 requests", true, func() *World { return oneNode(64, groupsOf(7, 56)).claim(8, 1, "root") })
	add("8 of 64 with matchAttribute, groups of 7", false,
		func() *World { return oneNode(64, groupsOf(7, 64)).claim(1, 8, "root") })
	add("8 requests on 7 devices", false, func() *World { return oneNode(7, all).claim(8, 1) })
	add("11 requests on 10 devices (F42)", false, func() *World { return oneNode(10, all).claim(11, 1) })
	add("32 requests on 31 devices (F42)", false, func() *World { return oneNode(31, all).claim(32, 1) })
	add("All, 32 that match of 128", true, func() *World { return oneNode(128, groupsOf(32, 128)).claim(1, 0).only("0") })
	add("All, 128 match (a claim can have 32)", false, func() *World { return oneNode(128, all).claim(1, 0) })
	add("firstAvailable, the last of 8 alternatives", true,
		func() *World { return oneNode(64, all).claim(1, 1).alternatives(8, 7) })
	add("firstAvailable, none of 8 alternatives", false,
		func() *World { return oneNode(64, all).claim(1, 1).alternatives(8, 8) })
	add("8 requests with 8 alternatives each on 7 devices", false,
		func() *World { return oneNode(7, all).claim(8, 1).alternatives(8, 0) })
	add("1 share more beside 1,000", true, func() *World { return shared(1000, 1001) })
	add("1 share more of a device that 1,000 use up", false, func() *World { return shared(1000, 1000) })
	add("8 claims for 4 partitions of one GPU each, 8 GPUs", true, func() *World { return splitGPUs(8, 8, 4) })
	add("9 claims for 4 partitions of one GPU each, 8 GPUs", false, func() *World { return splitGPUs(8, 9, 4) })
	add("rack of 16 × 8 chips, half in use: 1 chip", true, func() *World { return rack(1) })
	add("rack of 16 × 8 chips, half in use: 2 hosts", true, func() *World { return rack(16) })
	add("rack of 16 × 8 chips, half in use: 4 hosts", false, func() *World { return rack(32) })
	list = append(list, Case{Name: "the same, from all 16 nodes", Build: func() *World { return rack(32) }, Sweep: true})
	add("9,216 chips on 2,304 nodes: all", true, func() *World { return superpod(9216, false) })
	add("9,216 chips on 2,304 nodes, 1 node in use: all", false, func() *World { return superpod(9216, true) })
	add("9,216 chips on 2,304 nodes, 1 node in use: 4", true, func() *World { return superpod(4, true) })
	return append(list, sweeps()...)
}

func sweeps() []Case {
	name, build := "5,000 nodes × 8 devices, 1 device", func() *World { return cluster(5000, 8) }
	return []Case{
		{Name: name, Build: build, Want: true, Sweep: true},
		{Name: name + ", upstream until 500 nodes fit", Build: build, Want: true, Sweep: true, Enough: 500},
		{Name: name + ", after a change of a slice", Build: build, Want: true, Sweep: true, Changes: 2500},
		{Name: name + ", cold", Build: build, Want: true, Sweep: true, Cold: true},
		{
			Name:  "9,216 chips on 2,304 nodes, 1 node in use: 4, from all nodes",
			Build: func() *World { return superpod(4, true) },
			Want:  true,
			Sweep: true,
		},
	}
}

// change replaces a slice by one with another attribute value.
func (w *World) change(slice, number int) *resourcev1.ResourceSlice {
	changed := w.Slices[slice].DeepCopy()
	text := fmt.Sprint(number)
	changed.Spec.Devices[0].Attributes["serial"] = resourcev1.DeviceAttribute{StringValue: &text}
	w.Slices[slice] = changed
	return changed
}

func all(int) string { return "0" }

// groupsOf puts devices into groups of n; from the index last on, all are in one group.
func groupsOf(n, last int) func(int) string {
	return func(i int) string { return fmt.Sprint(min(i, last) / n) }
}

// oneNode returns a world with this number of devices on a node, with attribute root and others
// that drivers publish.
func oneNode(devices int, root func(int) string) *World {
	w := &World{Classes: []*resourcev1.DeviceClass{newClass("gpu", fmt.Sprintf("device.driver == %q", gpu))}}
	w.addNode("n", devices, root)
	return w
}

func cluster(nodes, devices int) *World {
	w := &World{Classes: []*resourcev1.DeviceClass{newClass("gpu", fmt.Sprintf("device.driver == %q", gpu))}}
	for n := range nodes {
		w.addNode(fmt.Sprint("n", n), devices, groupsOf(4, devices))
	}
	return w.claim(1, 1)
}

func (w *World) addNode(name string, devices int, root func(int) string) {
	w.Nodes = append(w.Nodes, newNode(name, map[string]string{"kubernetes.io/hostname": name}))
	var list []resourcev1.Device
	for i := range devices {
		list = append(list, resourcev1.Device{Name: fmt.Sprint("gpu-", i), Attributes: published(name, i, root(i))})
	}
	w.publish(name, list, func(spec *resourcev1.ResourceSliceSpec) { spec.NodeName = &name })
}

// published returns the attributes that a GPU driver publishes, about ten of them.
func published(node string, i int, root string) map[resourcev1.QualifiedName]resourcev1.DeviceAttribute {
	text := func(s string) resourcev1.DeviceAttribute { return resourcev1.DeviceAttribute{StringValue: &s} }
	version := func(s string) resourcev1.DeviceAttribute { return resourcev1.DeviceAttribute{VersionValue: &s} }
	index, numa, yes := int64(i), int64(i/4), true
	return map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{
		"root": text(
			root,
		), "uuid": text(fmt.Sprintf("GPU-%s-%08d", node, i)), "productName": text("Example GPU 80GB"),
		"brand": text("Example"),
		"architecture": text(
			"Example",
		), "type": text("gpu"), "driverVersion": version("570.86.15"), "cudaComputeCapability": version("9.0.0"),
		"index": {IntValue: &index}, "numa": {IntValue: &numa}, "healthy": {BoolValue: &yes},
	}
}

// publish adds a pool of slices with the maximum number of devices per slice.
func (w *World) publish(
	pool string, devices []resourcev1.Device, scope func(*resourcev1.ResourceSliceSpec), counters ...resourcev1.CounterSet,
) {
	most := resourcev1.ResourceSliceMaxDevices
	if len(counters) > 0 {
		most = resourcev1.ResourceSliceMaxDevicesWithAdvancedFeatures
	}
	var list []*resourcev1.ResourceSlice
	add := func() *resourcev1.ResourceSlice {
		slice := &resourcev1.ResourceSlice{}
		slice.Name, slice.UID = fmt.Sprintf("%s-%03d", pool, len(list)), types.UID(
			fmt.Sprintf("uid of %s-%03d", pool, len(list)),
		)
		slice.Spec.Driver = gpu
		list = append(list, slice)
		return slice
	}
	if len(counters) > 0 {
		yes := true
		slice := add()
		slice.Spec.SharedCounters, slice.Spec.AllNodes = counters, &yes
	}
	for from := 0; from < len(devices); from += most {
		slice := add()
		scope(&slice.Spec)
		slice.Spec.Devices = devices[from:min(from+most, len(devices))]
	}
	for _, slice := range list {
		slice.Spec.Pool = resourcev1.ResourcePool{Name: pool, Generation: 1, ResourceSliceCount: int64(len(list))}
	}
	w.Slices = append(w.Slices, list...)
}

// claim adds a claim with this number of requests for count devices each, 0 for all. All devices
// have equal values of the match attributes.
func (w *World) claim(requests int, count int64, match ...string) *World {
	claim := newClaim("c")
	for r := range requests {
		exactly := &resourcev1.ExactDeviceRequest{
			DeviceClassName: "gpu",
			AllocationMode:  resourcev1.DeviceAllocationModeExactCount,
			Count:           count,
		}
		if count == 0 {
			exactly.AllocationMode = resourcev1.DeviceAllocationModeAll
		}
		claim.Spec.Devices.Requests = append(claim.Spec.Devices.Requests,
			resourcev1.DeviceRequest{Name: fmt.Sprint("r", r), Exactly: exactly})
	}
	for _, attribute := range match {
		name := resourcev1.FullyQualifiedName(gpu + "/" + attribute)
		claim.Spec.Devices.Constraints = append(claim.Spec.Devices.Constraints,
			resourcev1.DeviceConstraint{MatchAttribute: &name})
	}
	w.Claims = append(w.Claims, claim)
	return w
}

// only makes the claim select devices of one root.
func (w *World) only(root string) *World {
	exactly := w.Claims[0].Spec.Devices.Requests[0].Exactly
	exactly.Selectors = append(exactly.Selectors, selectorOf(fmt.Sprintf("device.attributes[%q].root == %q", gpu, root)))
	return w
}

// alternatives adds alternatives to each request, of which all before the first one that can be met
// match no device.
func (w *World) alternatives(n, first int) *World {
	for r := range w.Claims[0].Spec.Devices.Requests {
		request := &w.Claims[0].Spec.Devices.Requests[r]
		for o := range n {
			option := *request.Exactly
			text := "gpu"
			if o < first {
				text = fmt.Sprint("type ", o)
			}
			option.Selectors = append(option.Selectors[:0:0],
				selectorOf(fmt.Sprintf("device.attributes[%q].type == %q", gpu, text)))
			request.FirstAvailable = append(request.FirstAvailable, alternative(fmt.Sprint("o", o), &option))
		}
		request.Exactly = nil
	}
	return w
}

// shared returns a world with a device of which this number of shares is allocated.
func shared(given, capacity int) *World {
	w := oneNode(1, all).claim(1, 1)
	device := &w.Slices[0].Spec.Devices[0]
	yes := true
	device.AllowMultipleAllocations = &yes
	device.Capacity = map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{
		"memory": {Value: *quantity(capacity), RequestPolicy: &resourcev1.CapacityRequestPolicy{Default: quantity(1)}},
	}
	for i := range given {
		id := types.UID(fmt.Sprint("share ", i))
		result := w.holdBy("n", "gpu-0")
		result.ShareID = &id
		result.ConsumedCapacity = map[resourcev1.QualifiedName]resource.Quantity{"memory": *quantity(1)}
	}
	return w
}

// hostsOf returns a selector for nodes by a label.
func hostsOf(label string, values ...string) *corev1.NodeSelector {
	return &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
			{Key: label, Operator: corev1.NodeSelectorOpIn, Values: values},
		}}},
	}
}
