package picture

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// maxAlike is how many moments of one sort, between two Pictures, are listed one by one.
const maxAlike = 5

// moments collects what happened between two Pictures.
type moments struct {
	time metav1.Time
	list []Moment
}

// momentsBetween returns what happened between two Pictures. Before the first Picture, only the
// times that its objects have are known.
func momentsBetween(before, now *Picture) []Moment {
	m := moments{time: now.Taken}
	if before.Taken.IsZero() {
		m.begin(now)
		return m.list
	}
	collect(&m, before.Nodes, now.Nodes, "node", nodeMoment)
	collect(&m, before.Units, now.Units, "PodGroup or pod", unitMoment)
	collect(&m, before.Claims, now.Claims, "claim", claimMoment)
	return m.list
}

// occurrence is a change of one entry. sort is a text that is equal for occurrences that are
// alike, for example "was deleted".
type occurrence struct {
	sort, detail string
	subject      Ref
}

// collect adds the moments of one list. Many that are alike become one moment.
func collect[T entry[T]](m *moments, before, now []T, noun string, what func(before, now T) *occurrence) {
	var sorts []string
	alike := map[string][]*occurrence{}
	merge(before, now, func(old, entry T) {
		if old == entry {
			return
		}
		if o := what(old, entry); o != nil {
			if alike[o.sort] == nil {
				sorts = append(sorts, o.sort)
			}
			alike[o.sort] = append(alike[o.sort], o)
		}
	})
	for _, sort := range sorts {
		list := alike[sort]
		if len(list) > maxAlike {
			m.list = append(m.list, Moment{Time: m.time, What: fmt.Sprintf("%d times: %s %s", len(list), noun, sort)})
			continue
		}
		for _, o := range list {
			m.list = append(m.list, o.moment(m.time))
		}
	}
}

func (o *occurrence) moment(at metav1.Time) Moment {
	text := o.subject.text() + " " + o.sort
	if o.detail != "" {
		text += ": " + o.detail
	}
	return Moment{Time: at, What: text, Subject: &o.subject}
}

// text names the object in a sentence.
func (r Ref) text() string {
	kind := r.Kind
	if kind == "podgroup" {
		kind = "PodGroup"
	}
	if r.Namespace == "" {
		return kind + " " + r.Name
	}
	return kind + " " + r.Namespace + "/" + r.Name
}

func nodeMoment(before, now *Node) *occurrence {
	switch {
	case before == nil:
		return &occurrence{"joined", "", nodeRef(now)}
	case now == nil:
		return &occurrence{"was deleted", "", nodeRef(before)}
	case before.Why != now.Why && now.Why == "":
		return &occurrence{"takes pods again", "", nodeRef(now)}
	case before.Why != now.Why:
		return &occurrence{"takes no pods, or only some", "it " + now.Why, nodeRef(now)}
	}
	was, is := countBroken(before.Devices), countBroken(now.Devices)
	detail := fmt.Sprintf("%d are tainted or not published, after %d", is, was)
	switch {
	case is > was:
		return &occurrence{"has more broken devices", detail, nodeRef(now)}
	case is < was:
		return &occurrence{"has fewer broken devices", detail, nodeRef(now)}
	}
	return nil
}

func nodeRef(node *Node) Ref { return Ref{Kind: "node", Name: node.Name} }

// countBroken counts the devices that should not be used.
func countBroken(devices []Device) int {
	n := 0
	for i := range devices {
		if state := devices[i].State; state == DeviceTainted || state == DeviceUnpublished {
			n++
		}
	}
	return n
}

func unitMoment(before, now *Unit) *occurrence {
	switch {
	case now == nil && before.Kind == "pod":
		return nil // it is not listed any more, which may mean that it has a node
	case before == nil && now.Kind == "pod" && now.State != Waiting:
		return nil // it was not listed before, which may mean that it had a PodGroup
	case now == nil:
		return &occurrence{"was deleted", "", before.Ref}
	case before != nil && before.State == now.State && before.Reason == now.Reason:
		return nil
	}
	switch now.State {
	case Waiting:
		return &occurrence{"is waiting", now.Reason, now.Ref}
	case PartlyPlaced:
		return &occurrence{"is placed in part", now.Reason, now.Ref}
	case Placed:
		return &occurrence{"is placed", "", now.Ref}
	case Finished:
		return &occurrence{"has finished", "", now.Ref}
	}
	return &occurrence{"is terminating", "", now.Ref}
}

func claimMoment(before, now *Claim) *occurrence {
	had, has := before != nil && len(before.Devices) > 0, now != nil && len(now.Devices) > 0
	switch {
	case has && now.Why != "" && (before == nil || before.Why != now.Why):
		return &occurrence{"has a broken device", now.Why, claimRef(now)}
	case has && !had:
		return &occurrence{"got its devices", devicesText(now.Devices), claimRef(now)}
	case had && now == nil:
		return &occurrence{"was deleted, and its devices are free", "", claimRef(before)}
	case had && !has:
		return &occurrence{"lost its devices", "", claimRef(now)}
	}
	return nil
}

func claimRef(claim *Claim) Ref {
	return Ref{Kind: "claim", Namespace: claim.Namespace, Name: claim.Name}
}

func devicesText(devices []string) string {
	if len(devices) > 1 {
		return fmt.Sprintf("%s and %d more", devices[0], len(devices)-1)
	}
	return devices[0]
}

// begin adds the moments that the objects of the first Picture have the times of.
func (m *moments) begin(now *Picture) {
	oldest := now.Taken.Add(-Span)
	for _, unit := range now.Units {
		if o := unitMoment(nil, unit); unit.Since != nil && unit.Since.After(oldest) {
			m.list = append(m.list, o.moment(*unit.Since))
		}
	}
	for _, claim := range now.Claims {
		if o := claimMoment(nil, claim); o != nil && claim.Since != nil && claim.Since.After(oldest) {
			m.list = append(m.list, o.moment(*claim.Since))
		}
	}
	slices.SortStableFunc(m.list, func(a, b Moment) int { return a.Time.Compare(b.Time.Time) })
}
