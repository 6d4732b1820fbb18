package explain

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/internal/model"
)

// Claim explains why a claim has no devices, or what uses those that it has.
func (e *Explainer) Claim(key model.Key) (*Report, error) {
	claim, ok := e.claims[key]
	if !ok {
		return nil, notFound("ResourceClaim", key, e.snap.Objects.Claims)
	}
	r := e.report("ResourceClaim", key)
	if owner := metav1.GetControllerOfNoCopy(claim); owner != nil {
		r.fact("Made for", owner.Kind+" "+owner.Name)
	}
	for _, text := range requestTexts(claim.Spec.Devices.Requests) {
		r.fact("Request", strings.TrimPrefix(text, "request "))
	}
	e.claimHistory(r, claim)
	if claim.Status.Allocation != nil {
		return r, e.allocated(r, claim)
	}
	r.State = Waiting
	return r, e.unallocated(r, claim)
}

// allocated explains a claim with devices.
func (e *Explainer) allocated(r *Report, claim *resource.ResourceClaim) error {
	v, err := e.view(DefaultScheduler)
	if err != nil {
		return err
	}
	key := model.KeyOf(claim)
	known, ok := v.state.Claims.Get(key)
	if !ok {
		return nil
	}
	r.State, r.Summary = InUse, fmt.Sprintf("it has %s, used by %s", holdsText(claim),
		count(len(claim.Status.ReservedFor), "consumer"))
	r.fact("Usable from", scopeText(known))
	a := &attempt{Explainer: e, view: v}
	for i := range claim.Status.Allocation.Devices.Results {
		result := &claim.Status.Allocation.Devices.Results[i]
		id := model.DeviceIDOf(*result)
		d := a.deviceAnswer(id)
		d.Request, d.Attributes = result.Request, nil
		// Other holders share the device.
		d.Holders = slices.DeleteFunc(d.Holders, func(h Holder) bool { return h.Claim == key.String() })
		r.Devices = append(r.Devices, d)
	}
	for _, h := range e.holdersOf(claim, nil, "") {
		for _, consumer := range h.Consumers {
			r.fact("Used by", consumer)
		}
	}
	switch damage := v.state.Devices.DamageReason(known); {
	case claim.DeletionTimestamp != nil:
		r.State = Terminating
		r.Summary = "it is being deleted; its devices become free when the last consumer has terminated"
	case damage != "":
		r.Summary = damage
		r.help(
			"Pods that wait for the claim are scheduled when the device is published again. If it does not come back, delete the claim and the "+
				"pods that use it.",
			kubectl("delete", "resourceclaim", key),
		)
	case len(claim.Status.ReservedFor) == 0:
		r.Summary = "it has " + holdsText(
			claim,
		) + " and no consumer: the devices are freed when its controller sees that, or the next pod uses them"
		r.help("If it stays like this, nothing runs that frees it. Without pods that need it, delete it:",
			kubectl("delete", "resourceclaim", key))
	}
	return nil
}

// holdsText says which devices a claim has.
func holdsText(claim *resource.ResourceClaim) string {
	if claim.Status.Allocation == nil {
		return "not allocated"
	}
	var names []string
	for i := range claim.Status.Allocation.Devices.Results {
		names = append(names, model.DeviceIDOf(claim.Status.Allocation.Devices.Results[i]).String())
	}
	if len(names) == 0 {
		return "no devices"
	}
	return count(len(names), "device") + ": " + firstNames(names, maxNames)
}

// scopeText says from which nodes the devices of a claim can be used.
func scopeText(claim *model.Claim) string {
	if claim.Allocation.NodeSelector == nil {
		return "all nodes"
	}
	var wants []string
	for _, term := range claim.Allocation.NodeSelector.NodeSelectorTerms {
		for _, r := range slices.Concat(term.MatchExpressions, term.MatchFields) {
			if r.Key == metav1.ObjectNameField {
				wants = append(wants, "node "+strings.Join(r.Values, ", "))
				continue
			}
			wants = append(wants, "nodes with "+requirementText(&r))
		}
	}
	return strings.Join(wants, " or ")
}

// unallocated explains a claim without devices: a claim is allocated for the first pod that uses
// it.
func (e *Explainer) unallocated(r *Report, claim *resource.ResourceClaim) error {
	key := model.KeyOf(claim)
	if claim.DeletionTimestamp != nil {
		r.State, r.Summary = Terminating, "it is being deleted and is not allocated any more"
		return nil
	}
	users := e.users[key]
	for _, pod := range users {
		if pod.Spec.NodeName != "" || pod.Finished() || pod.DeletionTimestamp != nil {
			continue
		}
		r.fact("Wanted by", "pod "+pod.Name)
		e.scheduler(r, pod.Spec.SchedulerName)
		if err := e.waitingPod(r, pod); err != nil {
			return err
		}
		r.Summary = fmt.Sprintf("it has no devices yet: it gets them together with pod %s, which waits: %s", pod.Name,
			r.Summary)
		return nil
	}
	r.State = Free
	r.Summary = "it has no devices, and no pod that waits uses it: a claim gets its devices when the first pod that uses it is scheduled"
	r.help("Name the claim in spec.resourceClaims of a pod.")
	return nil
}

// claimHistory adds what is known of the life of a claim.
func (e *Explainer) claimHistory(r *Report, claim *resource.ResourceClaim) {
	r.moment(claim.CreationTimestamp, "the claim was created")
	if at := allocatedAt(claim); !at.IsZero() {
		r.moment(at, "it got "+holdsText(claim))
	}
	for _, consumer := range claim.Status.ReservedFor {
		if pod := e.podByUID(model.Key{Namespace: claim.Namespace, Name: consumer.Name}, consumer.UID); pod != nil &&
			pod.Status.StartTime != nil {
			r.moment(*pod.Status.StartTime, "pod "+pod.Name+" was started with it on "+pod.Spec.NodeName)
		}
	}
	if claim.DeletionTimestamp != nil {
		r.moment(*claim.DeletionTimestamp, "its deletion was requested")
	}
	e.eventsAbout(r, "ResourceClaim", model.KeyOf(claim))
	r.sortHistory()
}

// moment adds to the history.
func (r *Report) moment(at metav1.Time, what string) {
	if !at.IsZero() {
		r.History = append(r.History, Moment{Time: at, What: what})
	}
}

// maxHistory limits the history of a Report to its latest part.
const maxHistory = 20

func (r *Report) sortHistory() {
	slices.SortStableFunc(r.History, func(a, b Moment) int { return a.Time.Compare(b.Time.Time) })
	if drop := len(r.History) - maxHistory; drop > 0 {
		r.History = r.History[drop:]
	}
}

// eventsAbout adds the events about an object.
func (e *Explainer) eventsAbout(r *Report, kind string, key model.Key) {
	for _, event := range e.snap.Objects.Events {
		if event.InvolvedObject.Kind == kind && event.InvolvedObject.Name == key.Name &&
			event.InvolvedObject.Namespace == key.Namespace {
			r.moment(eventTime(event), eventText(event))
		}
	}
}

func eventText(event *corev1.Event) string {
	text := event.Reason + ": " + strings.Join(strings.Fields(event.Message), " ")
	if n := max(int(event.Count), seriesCount(event)); n > 1 {
		text += fmt.Sprintf(" (%d times)", n)
	}
	return text
}

func seriesCount(event *corev1.Event) int {
	if event.Series == nil {
		return 0
	}
	return int(event.Series.Count)
}
