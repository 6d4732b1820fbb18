package allocators

import (
	"fmt"
	"math/rand/v2"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// generator generates a world. It keeps worlds small: upstream's time grows with the factorial of
// the number of requested devices.
//
// The tests of internal/alloc have a generator of their own. It generates the types of the model,
// and the input of its reference in letters and small numbers; this one generates API objects as
// users and drivers write them, so that reading them is compared too. Each may cover what the other
// omits.
type generator struct {
	*rand.Rand
	*World
	published int
	shares    int
}

const (
	maxPublished = 9 // devices
	maxWanted    = 5 // of all claims
)

// New returns the world with this number for a seed.
func New(seed, number uint64) *World {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, number)), World: &World{}}
	g.drawFeatures()
	node := newNode("n", map[string]string{"rack": "a"})
	if g.chance(1, 2) {
		node.Status.DeclaredFeatures = []string{"DRAOptionalNodeOperations"}
	}
	g.Nodes = append(g.Nodes, node, newNode("other", map[string]string{"rack": "b"}))
	g.Classes = append(g.Classes, newClass("any"), newClass("gpu", `device.driver == "gpu.example.com"`))
	if g.Has(Configs) {
		for _, class := range g.Classes {
			for c := range g.IntN(3) {
				class.Spec.Config = append(class.Spec.Config,
					resourcev1.DeviceClassConfiguration{DeviceConfiguration: opaque(fmt.Sprint(class.Name, c))})
			}
		}
	}
	for p := range 1 + g.IntN(3) {
		g.drawPool(fmt.Sprint("p", p))
	}
	g.drawHolders()
	g.drawClaims()
	return g.World
}

// unusual are features of which a world has at most one: each causes differences of its own.
var unusual = []Feature{Groups, SkipNode, OldSlices, Twice, Gone, Unknown}

func (g *generator) drawFeatures() {
	for _, f := range []Feature{All, Match, Distinct, Alternatives, Taints, Counters, Shares} {
		if g.chance(1, 4) {
			g.Features = append(g.Features, f)
		}
	}
	for _, f := range []Feature{Several, Admin, Lists, Binding, Derived, HalfPools, Configs, Huge} {
		if g.chance(1, 6) {
			g.Features = append(g.Features, f)
		}
	}
	if g.chance(1, 4) {
		g.Features = append(g.Features, unusual[g.IntN(len(unusual))])
	}
	// Some features require another one.
	for _, pair := range [][2]Feature{{Lists, Match}, {Derived, Match}, {Groups, Counters}, {Unknown, Counters}} {
		if g.Has(pair[0]) && !g.Has(pair[1]) {
			g.Features = append(g.Features, pair[1])
		}
	}
}

// chance returns true with probability n/m.
func (g *generator) chance(n, m int) bool { return g.IntN(m) < n }

func pick[T any](g *generator, list ...T) T { return list[g.IntN(len(list))] }

func (g *generator) drawHolders() {
	for _, slice := range g.Slices {
		for i := range slice.Spec.Devices {
			if g.chance(1, 7) {
				g.hold(slice, &slice.Spec.Devices[i])
			}
		}
	}
	if g.Has(Gone) && len(g.Slices) > 0 {
		slice := pick(g, g.Slices...)
		g.holdAs(
			resourcev1.DeviceRequestAllocationResult{
				Request: "r",
				Driver:  slice.Spec.Driver,
				Pool:    slice.Spec.Pool.Name,
				Device:  "gone",
			},
		)
	}
}

func (g *generator) hold(slice *resourcev1.ResourceSlice, device *resourcev1.Device) {
	result := resourcev1.DeviceRequestAllocationResult{
		Request: "r",
		Driver:  slice.Spec.Driver,
		Pool:    slice.Spec.Pool.Name,
		Device:  device.Name,
	}
	if g.Has(Admin) && g.chance(1, 4) {
		yes := true
		result.AdminAccess = &yes
		g.holdAs(result)
		return
	}
	if device.AllowMultipleAllocations == nil {
		g.holdAs(result)
		return
	}
	for range 1 + g.IntN(2) {
		g.shares++
		id := types.UID(fmt.Sprint("share ", g.shares))
		result.ShareID, result.ConsumedCapacity = &id, nil
		if _, ok := device.Capacity["m"]; ok {
			result.ConsumedCapacity = map[resourcev1.QualifiedName]resource.Quantity{"m": *quantity(g.IntN(3))}
		}
		g.holdAs(result)
	}
}

// holdAs makes a claim hold the device of the result.
func (g *generator) holdAs(result resourcev1.DeviceRequestAllocationResult) {
	*g.holdBy(result.Pool, result.Device) = result
}

func (g *generator) drawClaims() {
	claims, left := 1, maxWanted
	if g.Has(Several) {
		claims += 1 + g.IntN(2)
	}
	for c := range claims {
		claim := newClaim(fmt.Sprint("c", c))
		requests := pick(g, 1, 1, 2, 2, 3)
		for r := range requests {
			if left > 0 {
				claim.Spec.Devices.Requests = append(claim.Spec.Devices.Requests, g.drawRequest(fmt.Sprint("r", r), &left))
			}
		}
		if len(claim.Spec.Devices.Requests) > 0 {
			g.drawConstraints(claim)
			for c := 0; g.Has(Configs) && c < g.IntN(4); c++ {
				config := resourcev1.DeviceClaimConfiguration{DeviceConfiguration: opaque(fmt.Sprint(claim.Name, c))}
				if g.chance(2, 3) {
					config.Requests = g.drawNames(claim)
				}
				claim.Spec.Devices.Config = append(claim.Spec.Devices.Config, config)
			}
			g.Claims = append(g.Claims, claim)
		}
	}
}

func (g *generator) drawRequest(name string, left *int) resourcev1.DeviceRequest {
	request := resourcev1.DeviceRequest{Name: name}
	most := 0
	if g.Has(Alternatives) && g.chance(1, 2) {
		for o := range 1 + g.IntN(3) {
			option := g.drawOption(*left)
			most = max(most, int(option.Count))
			request.FirstAvailable = append(request.FirstAvailable, alternative(fmt.Sprint("o", o), option))
		}
	} else {
		request.Exactly = g.drawOption(*left)
		most = int(request.Exactly.Count)
		if g.Has(Admin) && g.chance(1, 2) {
			yes := true
			request.Exactly.AdminAccess = &yes
		}
	}
	*left -= max(1, most)
	return request
}

func (g *generator) drawOption(left int) *resourcev1.ExactDeviceRequest {
	o := &resourcev1.ExactDeviceRequest{
		DeviceClassName: pick(g, "any", "gpu", "gpu"),
		AllocationMode:  resourcev1.DeviceAllocationModeExactCount, Count: int64(min(left, pick(g, 1, 1, 1, 2, 2, 3))),
	}
	if g.Has(All) && g.chance(1, 3) {
		o.AllocationMode, o.Count = resourcev1.DeviceAllocationModeAll, 0
	}
	for _, letter := range pick(g, "", "", "", "", "a", "b") {
		o.Selectors = append(o.Selectors,
			selectorOf(fmt.Sprintf(`device.attributes["allot.dev"].letters.contains(%q)`, string(letter))))
	}
	if g.Has(Taints) {
		o.Tolerations = pick(g, tolerations...)
	}
	if g.Has(Shares) && g.chance(1, 2) {
		amount := pick(g, quantity(0), quantity(1), quantity(2), quantity(3), half(3))
		if g.Has(Huge) && g.chance(1, 2) {
			amount = g.drawHuge()
		}
		o.Capacity = &resourcev1.CapacityRequirements{Requests: map[resourcev1.QualifiedName]resource.Quantity{"m": *amount}}
	}
	if g.Has(Derived) && g.chance(2, 3) {
		name := pick(g, attributes...)
		o.DerivedAttributes = []resourcev1.DeviceDerivedAttribute{{Name: name, Expression: pick(g, derivations...)}}
	}
	return o
}

var (
	attributes  = []resourcev1.FullyQualifiedName{"allot.dev/x", "gpu.example.com/y"}
	derivations = []string{
		`device.attributes["allot.dev"].id % 2`,
		`device.attributes["allot.dev"].letters`,
		`device.attributes["allot.dev"].id < 3`,
		`"x" in device.attributes["allot.dev"] ? "yes" : "no"`,
		`device.attributes["allot.dev"].id < 4 ? ["a", "b"] : ["b", "c"]`,
	}
	tolerations = [][]resourcev1.DeviceToleration{
		nil,
		{{Key: "t", Operator: resourcev1.DeviceTolerationOpExists}},
		{{Key: "t", Operator: resourcev1.DeviceTolerationOpEqual, Value: "v"}},
		{{Key: "t", Operator: resourcev1.DeviceTolerationOpEqual, Value: "w"}},
		{
			{Key: "t", Operator: resourcev1.DeviceTolerationOpEqual, Value: "v", Effect: resourcev1.DeviceTaintEffectNoExecute},
			{Key: "u", Operator: resourcev1.DeviceTolerationOpExists},
		},
		{{Operator: resourcev1.DeviceTolerationOpExists, Effect: resourcev1.DeviceTaintEffectNoExecute}},
	}
)

// drawConstraints adds constraints. Derived attributes are only for these, so that each must be in
// one.
func (g *generator) drawConstraints(claim *resourcev1.ResourceClaim) {
	add := func(f Feature, name resourcev1.FullyQualifiedName) {
		c := resourcev1.DeviceConstraint{MatchAttribute: &name}
		if f == Distinct {
			c = resourcev1.DeviceConstraint{DistinctAttribute: &name}
		}
		if g.chance(1, 2) {
			c.Requests = g.drawNames(claim)
		}
		claim.Spec.Devices.Constraints = append(claim.Spec.Devices.Constraints, c)
	}
	for _, f := range []Feature{Match, Distinct} {
		if g.Has(f) && g.chance(2, 3) {
			add(f, pick(g, attributes...))
		}
	}
	derived := map[resourcev1.FullyQualifiedName]bool{}
	options(claim, func(_, _ string, o *resourcev1.ExactDeviceRequest) {
		for _, attribute := range o.DerivedAttributes {
			derived[attribute.Name] = true
		}
	})
	for _, name := range attributes {
		if derived[name] {
			add(Match, name)
		}
	}
}

// drawNames returns the requests, or alternatives, for a constraint.
func (g *generator) drawNames(claim *resourcev1.ResourceClaim) []string {
	var all []string
	options(claim, func(request, name string, _ *resourcev1.ExactDeviceRequest) { all = append(all, request, name) })
	names := []string{pick(g, all...)}
	for _, name := range all {
		if name != names[0] && !strings.HasPrefix(name, names[0]+"/") && !strings.HasPrefix(names[0], name+"/") &&
			g.chance(1, 3) {
			return append(names, name)
		}
	}
	return names
}

// opaque returns a configuration that can be distinguished from others.
func opaque(text string) resourcev1.DeviceConfiguration {
	return resourcev1.DeviceConfiguration{Opaque: &resourcev1.OpaqueDeviceConfiguration{
		Driver: "gpu.example.com", Parameters: runtime.RawExtension{Raw: fmt.Appendf(nil, "{%q:1}", text)},
	}}
}

// drawHuge returns an amount that int64 cannot represent, or not in thousandths.
func (g *generator) drawHuge() *resource.Quantity {
	huge := resource.MustParse(
		pick(g, "18446744073709551616", "18446744073709551617", "9223372036854775807", "9223372036854775808", "1e30"),
	)
	return &huge
}

func quantity(n int) *resource.Quantity { return resource.NewQuantity(int64(n), resource.DecimalSI) }

func half(n int) *resource.Quantity {
	return resource.NewMilliQuantity(int64(500*n), resource.DecimalSI)
}
