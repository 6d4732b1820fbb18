package sched

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/allot-dev/allot/internal/alloc"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/reason"
)

// form is what members of a class ask devices for on a node, and through which claims.
type form struct {
	problem *alloc.Problem // of the first member's claims; nil if it wants no devices
	reason  *alloc.Reason  // why such claims cannot have devices on any node
	copies  *copies        // nil until they are asked for

	// Of a claim in the place of extended resources.
	requests []model.Request
	mappings []model.Mapping
	unfit    bool // the node would need another claim than the pod has
}

// extended is what members ask for of resources that DeviceClasses offer (KEP-5004). A node that has such a resource itself
// counts it as ever. In the place of those that it has none of, a member gets devices, through one claim that is made with
// the plan. So nodes that lack the same resources have one form.
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

// extend looks up what the member asks for of resources that are offered, and the claim that an earlier plan has made for
// that: also when nothing is offered any more, since it would keep its devices for a pod that runs without them. One
// without devices counts as none: it is used, or replaced, when the plan is written.
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

// containers are those that get devices in the place of resources.
func (f *form) containers() []string {
	var names []string
	for i := range f.mappings {
		if name := f.mappings[i].ContainerName; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// form is what the class asks devices for on the node.
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
		f.unfit = !first.held.AsksLike(first.made(f))
	case len(f.requests) == 0:
		f.unfit = first.pod.Mapped
	}
	if claims := first.wants(f); len(claims) > 0 {
		f.problem, f.reason = j.placer.alloc.Prepare(j.state, claims, true)
	}
	return f
}

// prepareForms works out what the class asks for on the nodes that suit it. It answers why no node helps.
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

// topics are the changes after which other forms may count: another class may offer a resource, and a node may have it.
func (e *extended) topics() []model.Topic {
	topics := []model.Topic{{Kind: model.TopicNodes}}
	for i := range e.offers {
		topics = append(topics, model.OfferOf(e.offers[i].resource))
	}
	return topics
}

// makes says whether a claim is made for the member where the class has this form.
func (m *member) makes(f *form) bool { return len(f.requests) > 0 && m.held == nil }

// made is the claim that is made for the member.
func (m *member) made(f *form) *model.Claim {
	return &model.Claim{Key: m.extendedKey(), Controller: m.pod.UID, Requests: f.requests}
}

// wants are the member's claims that are to get devices, in the order of the form's problem.
func (m *member) wants(f *form) []*model.Claim {
	if !m.makes(f) {
		return m.own
	}
	return append(slices.Clip(m.own), m.made(f))
}

// status is what the pod's status has to say of its claim in the place of extended resources, nil for nothing.
func (m *member) status(f *form) *corev1.PodExtendedResourceClaimStatus {
	if len(f.requests) == 0 {
		return nil
	}
	return &corev1.PodExtendedResourceClaimStatus{ResourceClaimName: m.pod.Extended, RequestMappings: f.mappings}
}

// board is where the member looks for devices on the node; nil without a reason if it wants none.
func (j *job) board(c *class, m *member, info *model.NodeInfo) (*alloc.NodeOffer, *alloc.Reason) {
	f := j.form(c, info)
	if f.reason != nil || f.problem == nil {
		return nil, f.reason
	}
	return f.problem.WithClaims(m.wants(f)).NodeOffer(info)
}

// forms are all of the class, in an order that is always the same.
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

// wantsDevices says whether members want some of their own, at least on some nodes.
func (c *class) wantsDevices() bool { return c.plain.problem != nil || c.extended != nil }

// devices is how many devices a member takes at least.
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

// usesClaims says whether the pod has claims, or may get one, or cannot do without one that it had.
func usesClaims(state *model.State, pod *model.Pod) bool {
	return len(pod.Claims) > 0 || pod.Mapped || state.Classes.OffersAny(pod.Shape)
}
