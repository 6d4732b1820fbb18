package explain

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/internal/alloc"
	"github.com/allot-dev/allot/internal/claims"
	"github.com/allot-dev/allot/internal/model"
)

// claimText describes what a claim requests, or has.
func claimText(claim *resource.ResourceClaim, shared bool) string {
	text := claim.Name
	if tree, _, ok := claims.OwnerTree(claim); ok {
		text += " (of CompositePodGroup " + tree + ")"
	} else if shared {
		text += " (of the PodGroup)"
	}
	return text + ": " + strings.Join(requestTexts(claim.Spec.Devices.Requests), "; ")
}

// requestTexts describes requests; several in a row that request the same are described together.
func requestTexts(requests []resourcev1.DeviceRequest) []string {
	var texts []string
	for from := 0; from < len(requests); {
		what, to := wantedText(&requests[from]), from+1
		for to < len(requests) && wantedText(&requests[to]) == what {
			to++
		}
		var names []string
		for i := from; i < to; i++ {
			names = append(names, requests[i].Name)
		}
		text := "request " + names[0] + ", " + what
		if len(names) > 1 {
			text = fmt.Sprintf("%d requests (%s), each %s", len(names), firstNames(names, maxNames), what)
		}
		texts, from = append(texts, text), to
	}
	return texts
}

// wantedText describes the devices of a request.
func wantedText(r *resourcev1.DeviceRequest) string {
	if r.Exactly != nil {
		return fmt.Sprintf("%s of class %s", countText(r.Exactly.AllocationMode, r.Exactly.Count), r.Exactly.DeviceClassName)
	}
	var options []string
	for i := range r.FirstAvailable {
		sub := &r.FirstAvailable[i]
		options = append(options,
			fmt.Sprintf("%s of class %s (%s)", countText(sub.AllocationMode, sub.Count), sub.DeviceClassName, sub.Name))
	}
	return "the first available of: " + strings.Join(options, ", ")
}

func countText(mode resourcev1.DeviceAllocationMode, n int64) string {
	if mode == resourcev1.DeviceAllocationModeAll {
		return "all devices"
	}
	return count(int(max(1, n)), "device")
}

// sameOnAllNodes adds what would help a claim that cannot be allocated on any node, whatever
// devices it has.
func (a *attempt) sameOnAllNodes(r *Report, answer *PodAnswer, cause *alloc.Reason) {
	switch cause.Kind {
	case alloc.ClassMissing:
		answer.Reason = fmt.Sprintf("DeviceClass %s, which %s names, does not exist", cause.Class, cause.Subject())
		var names []string
		for _, class := range a.snap.Objects.Classes {
			names = append(names, class.Name)
		}
		what := "Create the DeviceClass: the pod is scheduled as soon as it exists and has devices."
		if near := similar(cause.Class, names); len(near) > 0 {
			what = "Was the class " + strings.Join(near, " or ") + " meant? " + what
		}
		r.help(what, "kubectl get deviceclasses")
	case alloc.SelectorError:
		a.expressionFails(r, answer, cause)
	case alloc.TooMany, alloc.Unsupported:
		r.help("Change the claim, or the template that it is made from.",
			"kubectl get resourceclaims -n "+cause.Requests[0].Claim.Namespace+" "+cause.Requests[0].Claim.Name+" -o yaml")
	}
}

// expressionFails explains an expression that cannot be evaluated on a device.
func (a *attempt) expressionFails(r *Report, answer *PodAnswer, cause *alloc.Reason) {
	what, where := fmt.Sprintf("selector %d", cause.Selector), "the claim, or the template that it is made from"
	if cause.Attribute != "" {
		what = "derived attribute " + cause.Attribute
	}
	if cause.Class != "" {
		what, where = what+" of DeviceClass "+cause.Class, "DeviceClass "+cause.Class
	}
	answer.Details = []string{"the expression is: " + strings.Join(strings.Fields(cause.Expression), " ")}
	if cause.CostLimited {
		answer.Reason = fmt.Sprintf("%s: %s %s", cause.Subject(), what, cause.Message)
		r.help("Make the expression cheaper, in " + where + ".")
		return
	}
	answer.Reason = fmt.Sprintf("%s: %s fails on device %s: %s", cause.Subject(), what, cause.Device, cause.Message)
	if cause.Hint != "" {
		answer.Details = append(answer.Details, cause.Hint)
	}
	if strings.HasPrefix(cause.Hint, "the device has no attribute of domain") ||
		strings.HasPrefix(cause.Hint, "the device has no capacity of domain") {
		r.help(
			"An expression that fails on one device stops the allocation on all nodes. Correct the domain, in " + where + ".",
		)
		return
	}
	help := "An expression that fails on one device stops the allocation on all nodes. Change it, in " + where
	if fields, known := a.reads.Reads(cause.Expression); known {
		for i := range fields {
			field := &fields[i]
			if field.Kind != "driver" && a.valueOf(field, cause.Device) == notSet {
				help += fmt.Sprintf(
					": to leave out devices without the %s, put before it: %q in device.%s[%q] && …",
					field.Kind,
					field.Name,
					map[string]string{"attribute": "attributes", "capacity": "capacity"}[field.Kind],
					field.Domain,
				)
				break
			}
		}
	}
	r.help(help + ".")
}

// notSet is the value of a field that a device does not have.
const notSet = "not set"

// nearestDevices fills in why devices are missing on the nearest node, and adds what would help.
func (n *nodeExplainer) nearestDevices(near *Nearest, cause *alloc.Reason) {
	near.Missing = fmt.Sprintf("%s: %s", cause.Subject(), cause.Comparison())
	if withoutDevices(cause) {
		near.Why = append(near.Why, "no device is published that the node can use")
		n.report.help(
			"No driver publishes devices for the node: look whether the DRA driver runs there and what it has published.",
			"kubectl get resourceslices --field-selector spec.nodeName="+near.Node,
		)
	}
	for i := range cause.SelectorMisses {
		near.Why = append(near.Why, n.selectorMiss(&cause.SelectorMisses[i])...)
	}
	n.helpMatching(near.Node, cause)
	if cause.ExhaustedCounter != "" {
		near.Why = append(near.Why, cause.ExhaustedCounter)
	}
	for i := range cause.Unavailable {
		u := &cause.Unavailable[i]
		near.Why = append(near.Why, u.Device.String()+" "+u.Reason)
		n.helpUnavailable(u)
	}
	for _, pool := range cause.Pools {
		near.Why = append(near.Why, pool)
		n.report.help(
			"Devices of a pool that is incomplete or contradicts itself are not allocated: its driver has to publish the pool again.",
			"kubectl get resourceslices",
		)
	}
	for i := range cause.Constraints {
		near.Why = append(near.Why, constraintText(&cause.Constraints[i])...)
	}
	for _, device := range cause.TrialDevices {
		near.Why = append(near.Why, device.String()+" goes to another pod of the group")
	}
	for i := range cause.Holders {
		near.Holders = append(near.Holders, n.deviceHolders(cause.Holders[i].Device, cause.Holders[i].By)...)
	}
	n.helpHolders(cause)
	n.helpGroup(cause)
}

// helpMatching adds what would help if too few devices of the nearest node match.
func (n *nodeExplainer) helpMatching(node string, cause *alloc.Reason) {
	if cause.Match >= cause.Wanted {
		return
	}
	switch class := classOfMisses(cause); {
	case class != "":
		n.report.help(
			"No device there is of class "+class+". Use nodes that have such devices, look whether their driver runs there, or correct "+
				"the selectors of the class:",
			"kubectl get deviceclass "+class+" -o yaml",
		)
	case cause.Kind == alloc.Shortage && len(cause.SelectorMisses)+len(cause.Pools) == 0 && !withoutDevices(cause):
		n.report.help(
			fmt.Sprintf(
				"No node has enough devices that match: %d are wanted together, and %s has %d. Request fewer, or use a node with more.",
				cause.Wanted,
				node,
				cause.Match,
			),
			"kubectl get resourceslices",
		)
	case len(cause.SelectorMisses) > 0:
		n.report.help(
			"Change the selectors of the request (or of the class), or use nodes with devices that match. What devices there are:",
			"kubectl get resourceslices -o yaml",
		)
	}
}

// helpGroup adds what would help if the other pods of the group have all devices that match.
func (n *nodeExplainer) helpGroup(cause *alloc.Reason) {
	if len(cause.TrialDevices) == 0 || len(cause.Holders) > 0 {
		return
	}
	n.report.help(
		fmt.Sprintf(
			"The pods of the group take all devices that match, and they suffice for %d of %d: add devices, free some "+
				"elsewhere, or lower minCount.",
			n.reasons.Placed,
			n.reasons.Min,
		),
		"kubectl get resourceslices",
	)
}

// classOfMisses returns the class of which no device of the node is, or "".
func classOfMisses(cause *alloc.Reason) string {
	for i := range cause.SelectorMisses {
		if miss := &cause.SelectorMisses[i]; miss.Class != "" && miss.Missed == miss.Candidates {
			return miss.Class
		}
	}
	return ""
}

// withoutDevices reports whether no device at all is published for the node of a reason.
func withoutDevices(cause *alloc.Reason) bool {
	return cause.Kind == alloc.Shortage && cause.Wanted > 0 && cause.Reachable == 0 && len(cause.Pools) == 0
}

// helpUnavailable adds what would help a device that cannot be allocated.
func (n *nodeExplainer) helpUnavailable(u *alloc.Unavailable) {
	if !strings.Contains(u.Reason, "tainted") {
		n.report.help("Look what uses the device, or what it shares its counters with:",
			"allot explain device "+u.Device.String())
		return
	}
	n.report.help(
		"A tainted device is allocated to claims that tolerate the taint (tolerations of the request), or when the taint is removed.",
		n.untaint(u.Device)...)
}

// helpHolders adds how held devices can be freed.
func (n *nodeExplainer) helpHolders(cause *alloc.Reason) {
	if n.preempted != nil && len(n.preempted.Victims) > 0 {
		return // the victims are named, and are enough
	}
	for i := range cause.Holders {
		claim := n.claims[cause.Holders[i].By.Claim]
		if claim == nil || cause.Holders[i].By.Kind != model.ByClaim {
			continue
		}
		what := "The devices become free when the pods that use them have terminated. To free some now:"
		for _, consumer := range claim.Status.ReservedFor {
			key := model.Key{Namespace: claim.Namespace, Name: consumer.Name}
			switch {
			case model.IsPodConsumer(consumer):
				n.report.help(what, kubectl("delete", "pod", key))
			case consumer.Resource == "podgroups" && len(n.members[key]) > 0:
				n.report.help(what, "allot explain podgroup "+key.Name+" -n "+key.Namespace)
			}
		}
	}
}

// selectorMiss describes the devices that a selector does not match, with the values that it reads.
func (n *nodeExplainer) selectorMiss(miss *alloc.SelectorMiss) []string {
	where := "the request's selector"
	if miss.Class != "" {
		where = "the selector of class " + miss.Class
	}
	lines := []string{
		fmt.Sprintf("%s leaves out %d of %s: %s", where, miss.Missed, count(miss.Candidates, "device"),
			strings.Join(strings.Fields(miss.Expression), " ")),
	}
	fields, known := n.reads.Reads(miss.Expression)
	if !known {
		return lines
	}
	for _, field := range fields {
		lines = append(lines, "found: "+n.valuesOf(&field, miss.Devices))
	}
	return lines
}

// valuesOf lists the values of a field, each with how many devices have it.
func (n *nodeExplainer) valuesOf(field *alloc.DeviceField, devices []model.DeviceID) string {
	counts := map[string]int{}
	for _, id := range devices {
		counts[n.valueOf(field, id)]++
	}
	var parts []string
	for _, value := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%s (%s)", value, count(counts[value], "device")))
	}
	name := field.Domain + "/" + field.Name
	if field.Kind == "driver" {
		name = "driver"
	}
	return name + " is " + firstNames(parts, maxNames)
}

func (a *attempt) valueOf(field *alloc.DeviceField, id model.DeviceID) string {
	if field.Kind == "driver" {
		return id.Driver
	}
	pool, ok := a.view.state.Devices.Pool(id.PoolID())
	if !ok {
		return "not known"
	}
	i, ok := pool.Index(id.Device)
	if !ok {
		return "not known"
	}
	device := &pool.Devices[i]
	names := []resourcev1.QualifiedName{resourcev1.QualifiedName(field.Domain + "/" + field.Name)}
	if field.Domain == id.Driver {
		names = append(names, resourcev1.QualifiedName(field.Name))
	}
	for _, name := range names {
		if attribute, ok := device.Attributes[name]; ok && field.Kind == "attribute" {
			return attributeText(&attribute)
		}
		if capacity, ok := device.Capacity[name]; ok && field.Kind == "capacity" {
			return capacity.Value.String()
		}
	}
	return notSet
}

// attributeText formats the value of an attribute as in CEL.
func attributeText(a *resourcev1.DeviceAttribute) string {
	switch {
	case a.StringValue != nil:
		return fmt.Sprintf("%q", *a.StringValue)
	case a.IntValue != nil:
		return fmt.Sprint(*a.IntValue)
	case a.BoolValue != nil:
		return fmt.Sprint(*a.BoolValue)
	case a.VersionValue != nil:
		return *a.VersionValue
	case len(a.StringValues) > 0:
		return fmt.Sprintf("%q", a.StringValues)
	case len(a.IntValues) > 0:
		return fmt.Sprint(a.IntValues)
	case len(a.BoolValues) > 0:
		return fmt.Sprint(a.BoolValues)
	case len(a.VersionValues) > 0:
		return fmt.Sprint(a.VersionValues)
	}
	return notSet
}

// constraintText describes a constraint that cannot be met, with the devices by value.
func constraintText(miss *alloc.ConstraintMiss) []string {
	lines := []string{miss.String()}
	for i := range miss.Groups {
		lines = append(lines, miss.Attribute+" is "+miss.Groups[i].String())
	}
	return lines
}

// quotaRefuses explains a claim that a ResourceQuota does not admit, and reports whether there is
// one.
func (e *Explainer) quotaRefuses(
	r *Report, answer *PodAnswer, namespace string, spec *resource.ResourceClaimSpec,
) bool {
	wants := map[corev1.ResourceName]int64{"count/resourceclaims.resource.k8s.io": 1}
	for i := range spec.Devices.Requests {
		for class, n := range mostPerClass(&spec.Devices.Requests[i]) {
			wants[corev1.ResourceName(class+".deviceclass.resource.k8s.io/devices")] += n
		}
	}
	for _, quota := range e.snap.Objects.Quotas {
		if quota.Namespace != namespace {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(wants)) {
			hard, limited := quota.Status.Hard[name]
			if !limited {
				if hard, limited = quota.Spec.Hard[name]; !limited {
					continue
				}
			}
			used := quota.Status.Used[name]
			if used.Value()+wants[name] <= hard.Value() {
				continue
			}
			answer.Reason += fmt.Sprintf(": ResourceQuota %s allows %s of %s, %s are used and the claim needs %d",
				quota.Name, hard.String(), name, used.String(), wants[name])
			r.help("Raise the quota, or free what is charged to it.", kubectl("describe", "resourcequota", model.KeyOf(quota)))
			return true
		}
	}
	return false
}

// mostPerClass returns what a request is charged for: the largest alternative of each class.
func mostPerClass(r *resourcev1.DeviceRequest) map[string]int64 {
	most := map[string]int64{}
	add := func(class string, mode resourcev1.DeviceAllocationMode, n int64) {
		if mode == resourcev1.DeviceAllocationModeAll {
			n = resourcev1.AllocationResultsMaxSize
		}
		most[class] = max(most[class], n, 1)
	}
	if r.Exactly != nil {
		add(r.Exactly.DeviceClassName, r.Exactly.AllocationMode, r.Exactly.Count)
	}
	for i := range r.FirstAvailable {
		sub := &r.FirstAvailable[i]
		add(sub.DeviceClassName, sub.AllocationMode, sub.Count)
	}
	return most
}
