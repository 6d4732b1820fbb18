package explain

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/claims"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/reason"
)

// groupMissing explains pods that name a PodGroup that does not exist.
func (a *attempt) groupMissing(r *Report) {
	key := a.key.Key
	r.Summary = fmt.Sprintf("PodGroup %s, which the pod names in spec.schedulingGroup, does not exist", key)
	names := make([]string, 0, len(a.groups))
	for other := range a.groups {
		if other.Namespace == key.Namespace {
			names = append(names, other.Name)
		}
	}
	slices.Sort(names)
	if near := similar(key.Name, names); len(near) > 0 {
		r.help("Was "+strings.Join(near, " or ")+" meant? spec.schedulingGroup cannot be changed: create the pod again.",
			kubectl("get", "podgroups", model.Key{Namespace: key.Namespace}))
		return
	}
	r.help("Create the PodGroup, or look for the controller that should: the pod is scheduled as soon as it exists.",
		kubectl("get", "podgroups", model.Key{Namespace: key.Namespace}))
}

// belowQuorum explains a gang that has too few pods.
func (a *attempt) belowQuorum(r *Report) {
	q := &a.reasons.Quorum
	r.Summary = fmt.Sprintf("the gang needs %s, and %d can be scheduled", count(q.MinCount, "pod"), q.Census.Quorum())
	members := a.members[a.key.Key]
	var gated, foreign, leaving, done []string
	for _, pod := range members {
		switch {
		case pod.Finished():
			done = append(done, pod.Name)
		case pod.DeletionTimestamp != nil:
			leaving = append(leaving, pod.Name)
		case pod.Spec.NodeName != "":
		case len(pod.Spec.SchedulingGates) > 0:
			gated = append(gated, pod.Name)
		case pod.Spec.SchedulerName != a.unit.Pods[0].SchedulerName:
			foreign = append(foreign, fmt.Sprintf("%s (%s)", pod.Name, pod.Spec.SchedulerName))
		}
	}
	var not []string
	for _, kind := range []struct {
		what  string
		names []string
	}{{"with scheduling gates", gated}, {"of another scheduler", foreign}, {"being deleted", leaving},
		{"finished", done}} {
		if len(kind.names) > 0 {
			not = append(not, fmt.Sprintf("%s (%s)", kind.what, firstNames(kind.names, maxNames)))
		}
	}
	if len(not) > 0 {
		r.fact("Not counted", strings.Join(not, "; "))
	}
	switch missing := q.MinCount - len(members); {
	case missing > 0:
		a.tooFewPods(r, missing)
	case len(foreign) > 0:
		r.help("A gang is scheduled by one scheduler: create the pods again with the same spec.schedulerName.")
	case len(gated) > 0:
		r.help(
			"The gates have to be removed by the controller that set them.",
			kubectl("get", "pod", model.Key{Namespace: a.key.Key.Namespace, Name: gated[0]}, "-o",
				"jsonpath='{.spec.schedulingGates}'"),
		)
	default:
		r.help("Pods that are being deleted or have finished do not count: their controller has to create others.")
	}
}

// tooFewPods explains that pods of a gang do not exist.
func (a *attempt) tooFewPods(r *Report, missing int) {
	key := a.key.Key
	owners := map[string]bool{}
	for _, pod := range a.members[key] {
		owner := metav1.GetControllerOfNoCopy(pod)
		if owner == nil || owners[owner.Kind+owner.Name] {
			continue
		}
		owners[owner.Kind+owner.Name] = true
		if owner.Kind == "StatefulSet" && a.oneByOne(model.Key{Namespace: key.Namespace, Name: owner.Name}) {
			r.help(
				"StatefulSet "+owner.Name+" creates a pod only when the one before it is ready, so that the gang never gets enough: "+
					"set spec.podManagementPolicy to Parallel (create the StatefulSet again).",
				kubectl("get", "statefulset", model.Key{Namespace: key.Namespace, Name: owner.Name}, "-o", "yaml"),
			)
			continue
		}
		r.help(fmt.Sprintf("%s %s has to create %s: look at its events.", owner.Kind, owner.Name, count(missing, "more pod")),
			kubectl("describe", strings.ToLower(owner.Kind), model.Key{Namespace: key.Namespace, Name: owner.Name}))
	}
	if len(owners) == 0 {
		r.help(fmt.Sprintf("Create %s in the group, or lower minCount of the PodGroup.", count(missing, "more pod")),
			kubectl("get", "podgroup", key, "-o", "yaml"))
	}
}

// oneByOne reports whether a StatefulSet waits for each pod before it creates the next.
func (e *Explainer) oneByOne(key model.Key) bool {
	for _, set := range e.snap.Objects.StatefulSets {
		if model.KeyOf(set) == key {
			return set.Spec.PodManagementPolicy != "Parallel"
		}
	}
	return false
}

// heldByGates explains a group that waits for the gates of some of its pods.
func (a *attempt) heldByGates(r *Report) {
	var gated, gates []string
	for _, pod := range a.members[a.key.Key] {
		if len(pod.Spec.SchedulingGates) == 0 || pod.Spec.NodeName != "" || pod.DeletionTimestamp != nil || pod.Finished() {
			continue
		}
		gated = append(gated, pod.Name)
		for _, gate := range pod.Spec.SchedulingGates {
			gates = appendNew(gates, gate.Name)
		}
	}
	if len(gated) == 0 {
		r.Summary = a.reasons.Short()
		return
	}
	r.Summary = fmt.Sprintf(
		"the group waits for the scheduling gates (%s) of %s: pods with gates hold the pods that wait with them",
		strings.Join(gates, ", "),
		podsText(gated),
	)
	r.help(
		"The controller that set the gates has to remove them.",
		kubectl("get", "pod", model.Key{Namespace: a.key.Key.Namespace, Name: gated[0]}, "-o",
			"jsonpath='{.spec.schedulingGates}'"),
	)
}

// blocked adds what would help a pod that cannot be tried.
func (a *attempt) blocked(r *Report, answer *PodAnswer, pod *model.Pod, blocker *reason.Blocker) {
	for i := range pod.Claims {
		entry := &pod.Claims[i]
		if entry.Claim == "" && entry.Problem == blocker.Text {
			a.withoutClaim(r, answer, a.pods[pod.Key], entry)
			return
		}
	}
	for _, topic := range blocker.Topics {
		switch topic.Kind {
		case model.TopicClaim:
			a.claimInTheWay(r, answer, topic.Key)
		case model.TopicVolumeClaim:
			a.helpWithVolumeClaim(r, topic.Key)
		}
	}
}

// helpWithVolumeClaim adds what would help a pod that waits for a PersistentVolumeClaim.
func (a *attempt) helpWithVolumeClaim(r *Report, key model.Key) {
	if _, ok := a.view.state.Volumes.Claim(key); ok {
		r.help("Its events say what it waits for.", kubectl("describe", "pvc", key))
		return
	}
	var names []string
	for _, claim := range a.snap.Objects.VolumeClaims {
		if claim.Namespace == key.Namespace {
			names = append(names, claim.Name)
		}
	}
	what := "Create the PersistentVolumeClaim."
	if near := similar(key.Name, names); len(near) > 0 {
		what = "Was " + strings.Join(near, " or ") + " meant? " + what
	}
	r.help(what, kubectl("get", "pvc", model.Key{Namespace: key.Namespace}))
}

// withoutClaim explains an entry of a pod that has no claim yet.
func (a *attempt) withoutClaim(r *Report, answer *PodAnswer, pod *core.Pod, entry *model.PodClaim) {
	group := a.groupOf(pod)
	owner := claims.PodOwner(pod, group)
	kind, ownerKey := "pod", model.KeyOf(pod)
	if entry.Group && group != nil {
		owner = claims.GroupOwner(group, a.trees(group.Namespace))
		kind, ownerKey = "podgroup", model.KeyOf(group)
	}
	want := claims.DesiredClaims(owner,
		claims.Facts{Templates: a.templates(pod.Namespace), Claims: a.snap.Objects.Claims, NoClusterTemplates: false})
	for _, problem := range want.Problems {
		if problem.Entry != entry.Entry && !entry.Group {
			continue
		}
		answer.Reason = problem.Error()
		if problem.Reason == claims.TemplateMissing {
			a.templateMissing(r, pod.Namespace, problem.Object)
		}
		return
	}
	for _, claim := range want.Create {
		if claim.Annotations[claims.PodClaimAnnotation] != entry.Entry && !entry.Group {
			continue
		}
		answer.Reason = fmt.Sprintf("claim %q: its ResourceClaim has not been generated yet", entry.Entry)
		if a.quotaRefuses(r, answer, claim.Namespace, &claim.Spec) {
			return
		}
		if message := a.lastWarning(pod.Namespace, ownerKey.Name); message != "" {
			answer.Reason += "; the last event says: " + message
		}
		r.help("The resource claim controller generates it. If it stays like this, look whether that controller runs.",
			kubectl("describe", kind, ownerKey))
	}
}

// templates returns the templates that pods of a namespace can use.
func (e *Explainer) templates(namespace string) map[claims.Source]claims.Template {
	all := map[claims.Source]claims.Template{}
	for _, t := range e.snap.Objects.Templates {
		if t.Namespace == namespace {
			source := claims.Source{Kind: claims.NamespacedTemplate, Name: t.Name}
			all[source] = claims.Template{Source: source, UID: t.UID, Spec: &t.Spec.Spec}
		}
	}
	for _, t := range e.snap.Objects.ClusterTemplates {
		source := claims.Source{Kind: claims.ClusterTemplate, Name: t.Name}
		all[source] = claims.Template{Source: source, UID: t.UID, Spec: &t.Spec.Spec}
	}
	return all
}

// templateMissing says which template was meant.
func (e *Explainer) templateMissing(r *Report, namespace, object string) {
	_, name, _ := strings.Cut(object, " ")
	var names, elsewhere []string
	for _, t := range e.snap.Objects.Templates {
		switch {
		case t.Namespace == namespace:
			names = append(names, t.Name)
		case t.Name == name:
			elsewhere = append(elsewhere, t.Namespace)
		}
	}
	what := "Create the template: the claim is generated as soon as it exists."
	if near := similar(name, names); len(near) > 0 {
		what = "Was the template " + strings.Join(near, " or ") + " meant? " + what
	}
	if len(elsewhere) > 0 {
		what += " There is one of this name in namespace " + firstNames(elsewhere,
			maxNames) + ", but a pod uses those of its own namespace only."
	}
	r.help(what, kubectl("get", "resourceclaimtemplates", model.Key{Namespace: namespace}))
}

// claimInTheWay explains a claim that a pod names and cannot use.
func (a *attempt) claimInTheWay(r *Report, answer *PodAnswer, key model.Key) {
	claim := a.claims[key]
	if claim == nil {
		var names []string
		for other := range a.claims {
			if other.Namespace == key.Namespace {
				names = append(names, other.Name)
			}
		}
		slices.Sort(names)
		what := "Create the ResourceClaim: the pod is scheduled as soon as it exists and can be allocated."
		if near := similar(key.Name, names); len(near) > 0 {
			what = "Was " + strings.Join(near, " or ") + " meant? " + what
		}
		r.help(what, kubectl("get", "resourceclaims", model.Key{Namespace: key.Namespace}))
		return
	}
	known, _ := a.view.state.Claims.Get(key)
	if device, taint, evicts := a.view.state.Devices.Evicts(known); evicts {
		answer.Nearest = &Nearest{Missing: "a device of the claim is tainted, and its pods are evicted", Why: []string{
			fmt.Sprintf("device %s is tainted with %s", device, model.TaintText(taint)),
		}}
		r.help("When all pods with the claim are deleted, it gets other devices. Or remove the taint.", a.untaint(device)...)
		return
	}
	if damage := a.view.state.Devices.DamageReason(known); damage != "" {
		answer.Nearest = &Nearest{
			Missing: "a device of the claim is lost",
			Holders: a.holdersOf(claim, nil, devicesText(known)),
		}
		r.help(
			"The pod is scheduled when the device is published again. If it does not come back, delete the claim and the pods that use it: a claim "+
				"that was made from a template is made again with other devices, and one that was created by hand has to be created again.",
			kubectl("delete", "resourceclaim", key),
		)
		return
	}
	answer.Nearest = &Nearest{
		Missing: "the claim is in use",
		Holders: a.holdersOf(claim, a.unit, "ResourceClaim "+key.Name),
	}
	if len(claim.Status.ReservedFor) >= model.MaxConsumers {
		r.help(
			"Pods of one PodGroup that names the claim in spec.resourceClaims need one entry together: put the pods into a PodGroup.",
			kubectl("describe", "resourceclaim", key),
		)
		return
	}
	r.help("Look at the claim.", "allot explain claim "+key.Name+" -n "+key.Namespace)
}

// devicesText names the devices of an allocated claim.
func devicesText(claim *model.Claim) string {
	var names []string
	for i := range claim.Allocation.Devices {
		names = append(names, model.DeviceIDOf(claim.Allocation.Devices[i]).String())
	}
	return firstNames(names, maxNames)
}

// lastWarning returns the message of the last warning event about an object.
func (e *Explainer) lastWarning(namespace, name string) string {
	var last *corev1.Event
	for _, event := range e.snap.Objects.Events {
		if event.InvolvedObject.Namespace == namespace && event.InvolvedObject.Name == name &&
			event.Type == corev1.EventTypeWarning &&
			(last == nil || eventTime(last).Time.Before(eventTime(event).Time)) {
			last = event
		}
	}
	if last == nil {
		return ""
	}
	return last.Reason + ": " + strings.Join(strings.Fields(last.Message), " ")
}

func eventTime(event *corev1.Event) metav1.Time {
	switch {
	case event.Series != nil && !event.Series.LastObservedTime.IsZero():
		return metav1.NewTime(event.Series.LastObservedTime.Time)
	case !event.LastTimestamp.IsZero():
		return event.LastTimestamp
	}
	return metav1.NewTime(event.EventTime.Time)
}
