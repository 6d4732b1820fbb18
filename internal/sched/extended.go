package sched

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/allot-dev/allot/internal/alloc"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/reason"
)

// form is what members of a class request devices for on a node, and through which claims.
type form struct {
	problem *alloc.Problem // of the first member's claims; nil if it needs no devices
	reason  *alloc.Reason  // why such claims cannot have devices on any node
	copies  *copies        // nil until they are needed

	// For a claim instead of extended resources.
	requests []model.Request
	mappings []model.Mapping
	unfit    bool // the node would need another claim than the pod has
}

// extended is what members request of resources that DeviceClasses offer (KEP-5004). On a node that
// has such a resource itself it is counted as usual. Instead of those that the node has none of, a
// member gets devices, through one claim that is created with the plan. So nodes that lack the same
// resources have one form.
type extended struct {
	offers []offer // by resource
	forms  map[string]*form
	lacks  []byte // see form
}

// offer is a resource and the DeviceClass that offers it.
type offer struct {
	resource corev1.ResourceName
	class    string
}

// extend looks up what the member requests of resources that are offered, and the claim that an
// earlier plan has created for that, also if nothing is offered any more: it would keep its devices
// for a pod that runs without them. A claim without devices counts as none: it is used, or
// replaced, when the plan is written.
func (j *job) extend(m *member) *reason.Blocker {
	for _, resource := range m.pod.Shape.Offerable() {
		if class, ok := j.state.Classes.Offers(resource); ok {
			m.offers = append(m.offers, offer{resource, class.Name})
		}
	}
	key := m.extendedKey()
	claim, ok := j.state.Claims.Get(key)
	if !ok || len(m.offers) == 0 && !m.pod.Mapped && (claim.Allocation == nil || claim.Controller != m.pod.UID) {
		return nil
	}
	if text := j.unusable(key, &model.PodClaim{Owner: m.pod.UID}); text != "" {
		return &reason.Blocker{Text: text, Topics: []model.Topic{{Kind: model.TopicClaim, Key: key}}}
	}
	if claim.Allocation == nil {
		return nil
	}
	m.held = claim
	m.uses = append(m.uses, use{claim: key}) // by which containers depends on the node
	return j.evicted(key)
}

func (m *member) extendedKey() model.Key {
	return model.Key{Namespace: m.pod.Key.Namespace, Name: m.pod.Extended}
}

// containers returns the containers that get devices instead of resources.
func (f *form) containers() []string {
	var names []string
	for i := range f.mappings {
		if name := f.mappings[i].ContainerName; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// form returns what the class requests devices for on the node.
func (j *job) form(c *class, info *model.NodeInfo) *form {
	e := c.extended
	if e == nil {
		return &c.plain
	}
	e.lacks = e.lacks[:0]
	for i := range e.offers {
		lacks := byte('0')
		if info.Node.Allocatable[e.offers[i].resource] <= 0 {
			lacks = '1'
		}
		e.lacks = append(e.lacks, lacks)
	}
	f, ok := e.forms[string(e.lacks)]
	if !ok {
		f = j.newForm(c, string(e.lacks))
		e.forms[string(e.lacks)] = f
	}
	return f
}

func (j *job) newForm(c *class, lacks string) *form {
	f, first := &form{}, c.members[0]
	for i, offer := range c.extended.offers {
		if lacks[i] == '1' {
			requests, mappings := first.pod.Shape.Devices(offer.resource, offer.class)
			f.requests, f.mappings = append(f.requests, requests...), append(f.mappings, mappings...)
		}
	}
	slices.SortFunc(f.requests, func(a, b model.Request) int { return strings.Compare(a.Name, b.Name) })
	switch {
	case first.held != nil:
		f.unfit = !first.held.HasSameRequests(first.made(f))
	case len(f.requests) == 0:
		f.unfit = first.pod.Mapped
	}
	if claims := first.wants(f); len(claims) > 0 {
		f.problem, f.reason = j.placer.alloc.Prepare(j.state, claims, true)
	}
	return f
}

// prepareForms sets what the class requests on its suitable nodes. It returns why no node helps, or
// nil.
func (j *job) prepareForms(c *class) *alloc.Reason {
	for _, info := range j.suited(c).Nodes {
		j.form(c, info)
	}
	var reason *alloc.Reason
	for _, f := range c.forms() {
		if f.reason == nil {
			return nil
		}
		reason = f.reason
	}
	return reason
}

// topics returns the changes after which other forms may count: another class may offer a resource,
// and a node may have it.
func (e *extended) topics() []model.Topic {
	topics := []model.Topic{{Kind: model.TopicNodes}}
	for i := range e.offers {
		topics = append(topics, model.OfferOf(e.offers[i].resource))
	}
	return topics
}

// makes reports whether a claim is created for the member where the class has this form.
func (m *member) makes(f *form) bool { return len(f.requests) > 0 && m.held == nil }

// made returns the claim that is created for the member.
func (m *member) made(f *form) *model.Claim {
	return &model.Claim{Key: m.extendedKey(), Controller: m.pod.UID, Requests: f.requests}
}

// wants returns the member's claims that need devices, in the order of the form's problem.
func (m *member) wants(f *form) []*model.Claim {
	if !m.makes(f) {
		return m.own
	}
	return append(slices.Clip(m.own), m.made(f))
}

// status returns the pod's status for its claim instead of extended resources, or nil.
func (m *member) status(f *form) *corev1.PodExtendedResourceClaimStatus {
	if len(f.requests) == 0 {
		return nil
	}
	return &corev1.PodExtendedResourceClaimStatus{ResourceClaimName: m.pod.Extended, RequestMappings: f.mappings}
}

// board returns the devices that the node offers the member, or nil without a reason if it needs
// none.
func (j *job) board(c *class, m *member, info *model.NodeInfo) (*alloc.NodeOffer, *alloc.Reason) {
	f := j.form(c, info)
	if f.reason != nil || f.problem == nil {
		return nil, f.reason
	}
	return f.problem.WithClaims(m.wants(f)).NodeOffer(info)
}

// forms returns the forms of the class in a stable order.
func (c *class) forms() []*form {
	if c.extended == nil {
		return []*form{&c.plain}
	}
	keys := make([]string, 0, len(c.extended.forms))
	for key := range c.extended.forms {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	forms := make([]*form, len(keys))
	for i, key := range keys {
		forms[i] = c.extended.forms[key]
	}
	return forms
}

// wantsDevices reports whether members need devices of their own, at least on some nodes.
func (c *class) wantsDevices() bool { return c.plain.problem != nil || c.extended != nil }

// devices returns how many devices a member takes at least.
func (c *class) devices() int {
	least := -1
	for _, f := range c.forms() {
		if f.problem == nil {
			if f.reason == nil {
				return 0
			}
			continue
		}
		if n := f.problem.MinDevices(); least < 0 || n < least {
			least = n
		}
	}
	return max(0, least)
}

// usesClaims reports whether the pod has claims, may get one, or depends on one that it had.
func usesClaims(state *model.State, pod *model.Pod) bool {
	return len(pod.Claims) > 0 || pod.Mapped || state.Classes.OffersAny(pod.Shape)
}
