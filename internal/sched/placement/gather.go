package placement

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/nodefit"
	"github.com/allot-dev/allot/internal/sched/reason"
	"github.com/allot-dev/allot/internal/sched/score"
)

// gatherer reads the input of a placement from the State. Pods that cannot be tried go to the
// reasons.
type gatherer struct {
	*input
	reasons *reason.Reasons
	// samples means that the pods of the unit represent others, with which they may share claims.
	samples bool
}

// gather finds the claims and volumes of the unit's pods, and sorts the pods into classes.
func (g *gatherer) gather() {
	users := map[model.Key]int{}
	for _, pod := range g.unit.Pods {
		m, blocker := g.candidate(pod)
		if blocker != nil {
			g.reasons.AddBlocked(pod.Key, *blocker)
			continue
		}
		g.members = append(g.members, m)
		for _, use := range m.uses {
			users[use.claim]++
		}
	}
	for _, m := range g.members {
		for _, use := range m.uses {
			claim, _ := g.state.Claims.Get(use.claim)
			if claim.Allocation == nil && users[use.claim] == 1 && (!g.samples || m.hasAlone(claim)) {
				m.own = append(m.own, claim)
			}
		}
	}
	g.classify()
}

// candidate returns a pod with what it uses, or a Blocker if it cannot be tried.
func (g *gatherer) candidate(pod *model.Pod) (*podCandidate, *reason.Blocker) {
	m := &podCandidate{pod: pod, group: g.unit.Group}
	if g.unit.Tree != nil {
		m.group, _ = g.state.Groups.Get(pod.GroupKey())
	}
	if group := m.group; group != nil && group.Unknown != "" {
		return nil, &reason.Blocker{
			Text: fmt.Sprintf("PodGroup %s: %s is not known to this version of allot", group.Key, group.Unknown),
		}
	}
	for i := range pod.Claims {
		entry := &pod.Claims[i]
		if entry.Claim == "" {
			return nil, &reason.Blocker{Text: entry.Problem}
		}
		key := model.Key{Namespace: pod.Key.Namespace, Name: entry.Claim}
		if blocker := g.claimBlocker(pod, key, entry); blocker != nil {
			return nil, blocker
		}
		m.addUse(key, entry)
	}
	if blocker := g.findExtended(m); blocker != nil {
		return nil, blocker
	}
	mounts, blocker := g.mounts(pod)
	m.mounts = mounts
	return m, blocker
}

// findExtended finds the extended resources of the pod that DeviceClasses offer, and the claim that
// an earlier plan created for them. That claim counts also if no class offers a resource any more:
// otherwise it would keep its devices for a pod that runs without them. A claim without devices is
// ignored: it is used or replaced when the plan is written.
func (g *gatherer) findExtended(m *podCandidate) *reason.Blocker {
	for _, resource := range m.pod.Shape.Offerable() {
		if class, ok := g.state.Classes.Offers(resource); ok {
			m.offered = append(m.offered, offeredResource{resource, class.Name})
		}
	}
	key := m.extendedKey()
	claim, ok := g.state.Claims.Get(key)
	isOwn := ok && claim.Allocation != nil && claim.Controller == m.pod.UID
	if !ok || len(m.offered) == 0 && !m.pod.Mapped && !isOwn {
		return nil
	}
	if blocker := g.unusableBlocker(key, m.pod.UID); blocker != nil {
		return blocker
	}
	if claim.Allocation == nil {
		return nil
	}
	m.createdClaim = claim
	m.uses = append(m.uses, claimUse{claim: key}) // which containers use it depends on the node
	return g.evictedBlocker(key)
}

// classify sorts members into classes, in the order of their first members.
func (g *gatherer) classify() {
	known := map[string]*podClass{}
	for _, m := range g.members {
		id := g.classID(m)
		c, ok := known[id]
		if !ok {
			c = g.newClass(m)
			known[id] = c
			g.classes = append(g.classes, c)
		}
		c.members = append(c.members, m)
		m.class = c
	}
}

// newClass returns a class for pods like m, without members.
func (g *gatherer) newClass(m *podCandidate) *podClass {
	fitter := nodefit.New(g.state, m.pod.Shape)
	c := &podClass{
		scope: &g.scope, fitter: fitter, scorer: score.NewShape(fitter), restriction: g.nodesFor(m.pod),
		mounts: m.mounts, volumes: m.mounts.Selectors(),
	}
	if len(m.offered) > 0 || m.pod.Mapped || m.createdClaim != nil {
		c.extended = &extendedForms{resources: m.offered, forms: map[string]*claimForm{}}
	}
	for _, use := range m.uses {
		if !m.owns(use.claim) {
			c.claims = append(c.claims, use.claim)
		}
	}
	return c
}

// classID returns a string that is equal for members of one class.
func (g *gatherer) classID(m *podCandidate) string {
	var b strings.Builder
	b.WriteString(m.pod.Shape.ID)
	if part, ok := g.partOf[m.pod.Key]; ok {
		fmt.Fprintf(&b, "\x00part %d", part)
	}
	if g.state.Terms.Any() {
		encode(&b, m.pod.Shape.Labels)
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
	if g.state.Images.Any() {
		fmt.Fprintf(&b, "\x00%q", m.pod.Shape.Images)
	}
	if m.pod.Mapped {
		b.WriteString("\x00\x02")
	}
	for _, claim := range m.own {
		b.WriteString("\x00\x00")
		encode(&b, claim.Requests)
		encode(&b, claim.Constraints)
	}
	return b.String()
}

// encode writes a value that consists of maps, slices, strings and numbers. Such a value can always
// be encoded.
func encode(b *strings.Builder, value any) {
	encoded, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("placement: encode what makes pods alike: %v", err))
	}
	b.Write(encoded)
}
