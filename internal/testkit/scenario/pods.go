package scenario

import (
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	quantity "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
	"github.com/allot-dev/allot/internal/claims"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/queue"
	"github.com/allot-dev/allot/internal/testkit/line"
)

// template handles template NAME request=… [alt=…]… [match=ATTRIBUTE[@REQUEST,…]]… [distinct=…]…
// [derive=REQUEST[/SUBREQUEST]:ATTRIBUTE=CEL]… [config=DRIVER[:REQUEST,…]]…
// [reservedFor=RESOURCE/NAME].
func (s *Scenario) template(l *line.Line) error {
	spec, err := claimSpec(l)
	if err == nil {
		s.templates[l.Name()] = spec
	}
	return err
}

// claim handles claim NAME, with the arguments of template.
func (s *Scenario) claim(l *line.Line) error {
	spec, err := claimSpec(l)
	if err != nil {
		return err
	}
	s.putClaim(&resource.ResourceClaim{ObjectMeta: s.meta("claim", l.Name()), Spec: *spec})
	return nil
}

func (s *Scenario) putClaim(claim *resource.ResourceClaim) {
	s.claims[key(claim.Name)] = claim
	s.queue.Wake(s.state.Claims.Put(claims.PlacedClaim(s.on, claim)))
}

// claimSpec parses the arguments of a claim. A request is NAME:CLASS[:TERM+TERM…][:CEL]; a term is
// a count, "all", "admin", "tolerate/…" or "capacity/NAME=N". A request with only a name has
// alternatives, each an alt=NAME/SUBREQUEST:CLASS….
func claimSpec(l *line.Line) (*resource.ResourceClaimSpec, error) {
	spec := &resource.ResourceClaimSpec{}
	for _, text := range l.All("request") {
		request, err := request(text, l.All("alt"))
		if err != nil {
			return nil, err
		}
		spec.Devices.Requests = append(spec.Devices.Requests, request)
	}
	for _, text := range l.All("derive") {
		derive(spec.Devices.Requests, text)
	}
	for _, text := range l.All("match") {
		attribute, requests := ruleOf(text)
		spec.Devices.Constraints = append(spec.Devices.Constraints,
			resourcev1.DeviceConstraint{MatchAttribute: &attribute, Requests: requests})
	}
	for _, text := range l.All("distinct") {
		attribute, requests := ruleOf(text)
		spec.Devices.Constraints = append(spec.Devices.Constraints,
			resourcev1.DeviceConstraint{DistinctAttribute: &attribute, Requests: requests})
	}
	for _, text := range l.All("config") {
		driver, request, only := strings.Cut(text, ":")
		config := resourcev1.DeviceClaimConfiguration{DeviceConfiguration: opaque(driver)}
		if only {
			config.Requests = strings.Split(request, ",")
		}
		spec.Devices.Config = append(spec.Devices.Config, config)
	}
	if ref := l.Text("reservedFor", ""); ref != "" {
		kind, name, _ := strings.Cut(ref, "/")
		group := "example.com"
		switch kind {
		case "pods":
			group = ""
		case "podgroups", "compositepodgroups":
			group = "scheduling.k8s.io"
		}
		spec.ReservedFor = &resourcev1.ResourceClaimConsumerReference{APIGroup: group, Resource: kind, Name: name, UID: "1"}
	}
	return spec, nil
}

// derive adds a derived attribute to the request or subrequest that the text names.
func derive(requests []resourcev1.DeviceRequest, text string) {
	of, text, _ := strings.Cut(text, ":")
	name, expression, _ := strings.Cut(text, "=")
	derived := resourcev1.DeviceDerivedAttribute{Name: resourcev1.FullyQualifiedName(name), Expression: expression}
	for i := range requests {
		r := &requests[i]
		if r.Exactly != nil && r.Name == of {
			r.Exactly.DerivedAttributes = append(r.Exactly.DerivedAttributes, derived)
		}
		for o := range r.FirstAvailable {
			if sub := &r.FirstAvailable[o]; r.Name+"/"+sub.Name == of {
				sub.DerivedAttributes = append(sub.DerivedAttributes, derived)
			}
		}
	}
}

func ruleOf(text string) (resourcev1.FullyQualifiedName, []string) {
	attribute, requests, some := strings.Cut(text, "@")
	if !some {
		return resourcev1.FullyQualifiedName(attribute), nil
	}
	return resourcev1.FullyQualifiedName(attribute), strings.Split(requests, ",")
}

func request(text string, alternatives []string) (resourcev1.DeviceRequest, error) {
	name, rest, direct := strings.Cut(text, ":")
	if direct {
		exactly, err := exactly(rest)
		return resourcev1.DeviceRequest{Name: name, Exactly: exactly}, err
	}
	r := resourcev1.DeviceRequest{Name: name}
	for _, alternative := range alternatives {
		sub, rest, _ := strings.Cut(alternative, ":")
		request, sub, _ := strings.Cut(sub, "/")
		if request != name {
			continue
		}
		e, err := exactly(rest)
		if err != nil {
			return r, err
		}
		r.FirstAvailable = append(r.FirstAvailable, resourcev1.DeviceSubRequest{
			Name: sub, DeviceClassName: e.DeviceClassName, Selectors: e.Selectors, AllocationMode: e.AllocationMode,
			Count: e.Count, Tolerations: e.Tolerations, Capacity: e.Capacity,
		})
	}
	return r, nil
}

func exactly(text string) (*resourcev1.ExactDeviceRequest, error) {
	class, rest, _ := strings.Cut(text, ":")
	exactly := &resourcev1.ExactDeviceRequest{
		DeviceClassName: class,
		AllocationMode:  resourcev1.DeviceAllocationModeExactCount,
		Count:           1,
	}
	terms, expression, _ := strings.Cut(rest, ":")
	for term := range strings.SplitSeq(terms, "+") {
		if err := requestTerm(exactly, term); err != nil {
			return nil, fmt.Errorf("request %s: %w", text, err)
		}
	}
	if expression != "" {
		exactly.Selectors = selectors([]string{expression})
	}
	return exactly, nil
}

func requestTerm(exactly *resourcev1.ExactDeviceRequest, term string) error {
	kind, value, _ := strings.Cut(term, "/")
	switch kind {
	case "":
	case "all":
		exactly.AllocationMode, exactly.Count = resourcev1.DeviceAllocationModeAll, 0
	case "admin":
		exactly.AdminAccess = ptr(true)
	case "capacity":
		name, amount, _ := strings.Cut(value, "=")
		q, err := quantity.ParseQuantity(amount)
		if err != nil {
			return err
		}
		exactly.Capacity = &resourcev1.CapacityRequirements{
			Requests: map[resourcev1.QualifiedName]quantity.Quantity{resourcev1.QualifiedName(name): q},
		}
	case "tolerate":
		exactly.Tolerations = append(exactly.Tolerations, toleration(value))
	default:
		n, err := strconv.ParseInt(kind, 10, 64)
		if err != nil {
			return err
		}
		exactly.Count = n
	}
	return nil
}

// toleration parses KEY=VALUE, which tolerates this value, KEY, which tolerates all values, or
// nothing, which tolerates all taints; with @EFFECT it tolerates only this effect.
func toleration(text string) resourcev1.DeviceToleration {
	text, effect, _ := strings.Cut(text, "@")
	k, v, equal := strings.Cut(text, "=")
	t := resourcev1.DeviceToleration{
		Key:      k,
		Value:    v,
		Operator: resourcev1.DeviceTolerationOpExists,
		Effect:   resourcev1.DeviceTaintEffect(effect),
	}
	if equal {
		t.Operator = resourcev1.DeviceTolerationOpEqual
	}
	return t
}

// group handles group NAME [gang=MINCOUNT] [topology=KEY] [priority=] [never] [whole] [scheduled]
// [claim=ENTRY:TEMPLATE]… [tree=ENTRY:CLAIM]…. The claim is named NAME-ENTRY; that of a tree, CLAIM.
func (s *Scenario) group(l *line.Line) error {
	group := &scheduling.PodGroup{ObjectMeta: s.meta("group", l.Name())}
	l.All("tree") // read for the pods of the group
	if l.Has("gang") {
		count := l.Number("gang", 1)
		group.Spec.SchedulingPolicy.Gang = &schedulingv1beta1.GangSchedulingPolicy{MinCount: int32(count)}
	} else {
		group.Spec.SchedulingPolicy.Basic = &schedulingv1beta1.BasicSchedulingPolicy{}
	}
	if l.Has("topology") {
		group.Spec.SchedulingConstraints = &schedulingv1beta1.PodGroupSchedulingConstraints{
			Topology: []schedulingv1beta1.TopologyConstraint{{Key: l.Text("topology", "")}},
		}
	}
	if parent := l.Text("parent", ""); parent != "" {
		group.Spec.ParentCompositePodGroupName = &parent
	}
	if l.Has("scheduled") {
		group.Status.Conditions = []metav1.Condition{{Type: "PodGroupScheduled", Status: metav1.ConditionTrue}}
	}
	groupRank(&group.Spec, l)
	s.groups[key(l.Name())] = l
	s.queue.Wake(s.state.Groups.Put(model.GroupFrom(group)))
	for _, text := range l.All("claim") {
		if err := s.generate(text, "PodGroup", group.ObjectMeta); err != nil {
			return err
		}
	}
	// Pods that were created before the group refer to its claims only now.
	for _, pod := range s.state.Groups.Members(key(l.Name())) {
		if err := s.pod(s.pods[pod.Key]); err != nil {
			return err
		}
	}
	return nil
}

// groupRank sets the group's priority and disruption mode.
func groupRank(spec *scheduling.PodGroupSpec, l *line.Line) {
	if l.Has("priority") {
		priority := l.Number("priority", 0)
		spec.Priority = ptr(int32(priority))
	}
	if l.Has("never") {
		spec.PreemptionPolicy = ptr(schedulingv1beta1.PreemptNever)
	}
	if l.Has("whole") {
		spec.DisruptionMode = &schedulingv1beta1.DisruptionMode{All: &schedulingv1beta1.AllDisruptionMode{}}
	}
}

func (s *Scenario) generate(text, kind string, owner metav1.ObjectMeta) error {
	entry, template, _ := strings.Cut(text, ":")
	spec, ok := s.templates[template]
	if !ok {
		return fmt.Errorf("no template %s", template)
	}
	name := owner.Name + "-" + entry
	if _, exists := s.claims[key(name)]; exists {
		return nil
	}
	claim := &resource.ResourceClaim{ObjectMeta: s.meta("claim", name), Spec: *spec}
	claim.OwnerReferences = controller(kind, owner.Name, owner)
	if kind == "CompositePodGroup" {
		claim.Spec.ReservedFor = ptr(model.CompositeConsumer(owner.Name, owner.UID))
	}
	s.putClaim(claim)
	return nil
}

// pod handles pod NAME [group=] [set=REPLICASET] [priority=] [never] [label=K=V]… [on=NODE] [gated]
// [deleting] [victim] [finished] [shared=ENTRY]… [own=ENTRY:TEMPLATE]… [use=CLAIM]…, and the
// arguments of podFit.
func (s *Scenario) pod(l *line.Line) error {
	pod := &core.Pod{ObjectMeta: s.meta("pod", l.Name())}
	pod.Labels = pairs(l.All("label"))
	pod.Spec.NodeName = l.Text("on", "")
	priority := l.Number("priority", 0)
	pod.Spec.Priority = ptr(int32(priority))
	if l.Has("never") {
		pod.Spec.PreemptionPolicy = ptr(corev1.PreemptNever)
	}
	if l.Has("group") {
		pod.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: ptr(l.Text("group", ""))}
	}
	if set := l.Text("set", ""); set != "" {
		pod.OwnerReferences = []metav1.OwnerReference{
			{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: set, UID: types.UID(set + "-uid"), Controller: ptr(true)},
		}
	}
	if err := podFit(&pod.Spec, l); err != nil {
		return err
	}
	podStatus(pod, l)
	pod.Status.NodeAllocatableResourceClaimStatuses = s.draws[key(l.Name())]
	pod.Status.ExtendedResourceClaimStatus = s.extended[key(l.Name())]
	s.pods[key(l.Name())] = l
	claims, err := s.podClaims(l, pod)
	if err != nil {
		return err
	}
	converted, err := model.PodFrom(pod, claims)
	if err != nil {
		return err
	}
	if converted.Extended == "" && len(converted.Shape.ExtendedRequests) > 0 && converted.Node == "" {
		converted.Extended = pod.Name + "-extended"
	}
	s.queue.Wake(s.state.Pods.Put(converted))
	s.enqueue(s.state.UnitOfPod(converted))
	return nil
}

// enqueue puts a unit into the queue if it has something to place.
func (s *Scenario) enqueue(key model.UnitKey) {
	if unit, ok := s.state.Unit(key); ok {
		s.queue.Add(queue.EntryOf(unit))
	}
}

func podStatus(pod *core.Pod, l *line.Line) {
	if l.Has("gated") {
		pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.com/gate"}}
	}
	if l.Has("deleting") {
		pod.DeletionTimestamp = &pod.CreationTimestamp
	}
	if l.Has("victim") {
		pod.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: corev1.PodReasonPreemptionByScheduler,
		}}
	}
	if l.Has("finished") {
		pod.Status.Phase = corev1.PodSucceeded
	}
}

func (s *Scenario) podClaims(l *line.Line, pod *core.Pod) ([]model.PodClaim, error) {
	var claims []model.PodClaim
	for _, entry := range l.All("shared") {
		claim := model.PodClaim{Entry: entry, Group: true}
		if group, ok := s.state.Groups.Get(key(l.Text("group", ""))); ok {
			claim.Claim, claim.Owner = s.sharedClaim(group.Key, entry), group.UID
		} else {
			claim.Problem = "PodGroup " + l.Text("group", "") + " does not exist"
		}
		claims = append(claims, claim)
	}
	for _, text := range l.All("own") {
		if err := s.generate(text, "Pod", pod.ObjectMeta); err != nil {
			return nil, err
		}
		entry, _, _ := strings.Cut(text, ":")
		claims = append(claims, model.PodClaim{Entry: entry, Claim: l.Name() + "-" + entry, Owner: pod.UID})
	}
	for _, name := range l.All("use") {
		claims = append(claims, model.PodClaim{Entry: name, Claim: name})
	}
	containers := l.Number("containers", 1)
	for i := range claims {
		claims[i].Containers = []string{mainContainer}
		for c := int64(1); c < containers; c++ {
			claims[i].Containers = append(claims[i].Containers, fmt.Sprint(mainContainer, c))
		}
	}
	return claims, nil
}

// sharedClaim returns the name of the claim that an entry of a PodGroup means: that of the tree, if
// the PodGroup has tree=ENTRY:CLAIM, or its own.
func (s *Scenario) sharedClaim(group model.Key, entry string) string {
	if l := s.groups[group]; l != nil {
		for _, text := range l.All("tree") {
			if name, claim, _ := strings.Cut(text, ":"); name == entry {
				return claim
			}
		}
	}
	return group.Name + "-" + entry
}

func pairs(list []string) map[string]string {
	set := map[string]string{}
	for _, text := range list {
		k, v, _ := strings.Cut(text, "=")
		set[k] = v
	}
	return set
}

// remove handles delete pod=|claim=|group=|node=|slice=|class=NAME. Claims whose last consumer is
// deleted are deallocated, and claims that were generated for a deleted pod or group are deleted.
func (s *Scenario) remove(l *line.Line) error {
	for _, kind := range l.Keys() {
		for _, name := range l.All(kind) {
			var topics []model.Topic
			switch kind {
			case "pod":
				topics = append(s.state.Pods.Delete(key(name)), s.state.Nominations.Delete(model.UnitKey{Key: key(name)})...)
				s.queue.Remove(model.UnitKey{Key: key(name)})
			case "group":
				topics = append(
					s.state.Groups.Delete(key(name)),
					s.state.Nominations.Delete(model.UnitKey{Group: true, Key: key(name)})...)
			case "composite":
				topics = s.state.Groups.Composites.Delete(key(name))
			case "claim":
				topics = s.state.Claims.Delete(key(name))
				delete(s.claims, key(name))
			case "node":
				topics = s.state.Nodes.Delete(name)
			case "slice":
				delete(s.slices, name)
				topics = s.state.Devices.DeleteSlice(name)
			case "class":
				topics = s.state.Classes.Delete(name)
			case "volume":
				topics = s.state.Volumes.Delete(name)
			case "service":
				topics = s.state.Services.Delete(key(name))
			case "csinode":
				topics = s.state.Volumes.DeleteLimits(name)
			case "volumeclaim":
				topics = s.state.Volumes.DeleteClaim(key(name))
			case "rule":
				topics = s.state.TaintRules.Delete(name)
			default:
				return fmt.Errorf("no kind %s", kind)
			}
			uid := s.uids[kind+"/"+name]
			delete(s.uids, kind+"/"+name)
			s.queue.Wake(topics)
			s.release(string(uid))
		}
	}
	return nil
}
