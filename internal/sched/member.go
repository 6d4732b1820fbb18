package sched

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/nodefit"
	"github.com/allot-dev/allot/internal/sched/reason"
	"github.com/allot-dev/allot/internal/sched/score"
)

// member is a pod that is to be placed.
type member struct {
	pod  *model.Pod
	uses []use
	own  []*model.Claim // not allocated, and no other pod of the unit uses them

	offers []offer      // that it requests
	held   *model.Claim // that an earlier plan has created for it, with devices
	mounts nodefit.Mounts
	class  *class
}

// use is one claim of a member.
type use struct {
	claim model.Key
	group bool // the PodGroup is the consumer
	// containers of the pod that use the claim, one for each reference
	containers []string
}

// class are members that are alike: the same nodes are suitable, and they request the same devices.
type class struct {
	fitter   *nodefit.Fitter
	scorer   *score.Shape
	members  []*member
	given    []model.Key                           // claims that all members use and that are not their own: each has or gets an allocation
	plain    form                                  // what members request devices for
	extended *extended                             // if that depends on the node; nil if it does not
	volumes  []*nodeaffinity.LazyErrorNodeSelector // of the volumes that all members use
	mounts   nodefit.Mounts
	pins     []pin // domains that the class is kept to, for the time being
}

// gather looks up what the unit's pods use. Pods that cannot be tried go to the Reasons.
func (j *job) gather() {
	users := map[model.Key]int{}
	var ready []*member
	for _, pod := range j.unit.Pods {
		m, wait := j.member(pod)
		if wait != nil {
			j.reasons.AddBlocked(pod.Key, *wait)
			continue
		}
		ready = append(ready, m)
		for _, use := range m.uses {
			users[use.claim]++
		}
	}
	for _, m := range ready {
		for _, use := range m.uses {
			claim, _ := j.state.Claims.Get(use.claim)
			if claim.Allocation == nil && users[use.claim] == 1 {
				m.own = append(m.own, claim)
			}
		}
	}
	j.members = ready
	j.classify()
}

func (j *job) member(pod *model.Pod) (*member, *reason.Blocker) {
	m := &member{pod: pod}
	if group := j.unit.Group; group != nil && group.Unknown != "" {
		return nil, &reason.Blocker{Text: fmt.Sprintf("PodGroup %s: %s is not known to this version of allot", group.Key, group.Unknown)}
	}
	for i := range pod.Claims {
		entry := &pod.Claims[i]
		if entry.Claim == "" {
			return nil, &reason.Blocker{Text: entry.Problem}
		}
		key := model.Key{Namespace: pod.Key.Namespace, Name: entry.Claim}
		if text := j.unusable(key, entry); text != "" {
			return nil, &reason.Blocker{Text: text, Topics: []model.Topic{{Kind: model.TopicClaim, Key: key}}}
		}
		if wait := j.evicted(key); wait != nil {
			return nil, wait
		}
		if wait := j.damaged(key); wait != nil {
			return nil, wait
		}
		m.use(key, entry)
	}
	if wait := j.extend(m); wait != nil {
		return nil, wait
	}
	mounts, wait := j.mounts(pod)
	m.mounts = mounts
	return m, wait
}

// use adds an entry's claim, which another entry may name already.
func (m *member) use(key model.Key, entry *model.PodClaim) {
	for i := range m.uses {
		if m.uses[i].claim == key {
			m.uses[i].containers = append(m.uses[i].containers, entry.Containers...)
			return
		}
	}
	m.uses = append(m.uses, use{claim: key, group: entry.Group, containers: slices.Clone(entry.Containers)})
}

// unusable returns why the claim cannot be used, or "".
func (j *job) unusable(key model.Key, entry *model.PodClaim) string {
	claim, ok := j.state.Claims.Get(key)
	switch {
	case !ok:
		return fmt.Sprintf("ResourceClaim %s does not exist", key)
	case claim.Deleting:
		return fmt.Sprintf("ResourceClaim %s is being deleted", key)
	case entry.Owner != "" && claim.Controller != entry.Owner:
		return fmt.Sprintf("ResourceClaim %s belongs to a different owner", key)
	}
	if by, recalled := j.state.Nominations.ReclaimedFor(key); recalled {
		return fmt.Sprintf("devices of ResourceClaim %s are being reclaimed for %s", key, by)
	}
	return ""
}

// classify sorts members into classes, in the order of their first members.
func (j *job) classify() {
	known := map[string]*class{}
	for _, m := range j.members {
		id := j.classID(m)
		c, ok := known[id]
		if !ok {
			fitter := nodefit.New(j.state, m.pod.Shape)
			c = &class{fitter: fitter, scorer: score.NewShape(fitter), mounts: m.mounts, volumes: m.mounts.Selectors()}
			if len(m.offers) > 0 || m.pod.Mapped || m.held != nil {
				c.extended = &extended{offers: m.offers, forms: map[string]*form{}}
			}
			for _, use := range m.uses {
				if !m.owns(use.claim) {
					c.given = append(c.given, use.claim)
				}
			}
			known[id] = c
			j.classes = append(j.classes, c)
		}
		c.members = append(c.members, m)
		m.class = c
	}
}

func (m *member) owns(key model.Key) bool {
	for _, claim := range m.own {
		if claim.Key == key {
			return true
		}
	}
	return false
}

// classID returns a string that is equal for members that are alike.
func (j *job) classID(m *member) string {
	var b strings.Builder
	b.WriteString(m.pod.Shape.ID)
	if j.state.Terms.Any() {
		j.encode(&b, m.pod.Shape.Labels)
	}
	for _, use := range m.uses {
		if !m.owns(use.claim) {
			b.WriteString("\x00" + use.claim.Name)
		}
		fmt.Fprintf(&b, "\x00%d", len(use.containers))
	}
	for i := range m.mounts {
		b.WriteString("\x00\x01" + m.mounts[i].Claim.Name)
	}
	if j.state.Images.Any() {
		fmt.Fprintf(&b, "\x00%q", m.pod.Shape.Images)
	}
	if m.pod.Mapped {
		b.WriteString("\x00\x02")
	}
	for _, claim := range m.own {
		b.WriteString("\x00\x00")
		j.encode(&b, claim.Requests)
		j.encode(&b, claim.Constraints)
	}
	return b.String()
}

// encode writes values that consist of maps, slices, strings and numbers, which always can be encoded.
func (j *job) encode(b *strings.Builder, value any) {
	encoded, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("sched: encode what makes pods alike: %v", err))
	}
	b.Write(encoded)
}
