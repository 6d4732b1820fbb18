package placement

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/allot-dev/allot/internal/alloc"
	"github.com/allot-dev/allot/internal/model"
)

// claimForm is what members of a class request devices for on a node, and through which claims.
type claimForm struct {
	problem *alloc.Problem // of the first member's claims; nil if it needs no devices
	reason  *alloc.Reason  // why such claims cannot have devices on any node
	copies  *copies        // nil until they are needed

	// The following fields are for a claim that takes the place of extended resources.
	requests []model.Request
	mappings []model.Mapping
	unfit    bool // the node would need a different claim from the one that the pod has
}

// extendedForms are the forms of a class that requests resources that DeviceClasses offer (KEP-5004).
// On a node that has such a resource itself it is counted as usual. For the resources that the node
// lacks, a member gets devices, through one claim that is created with the plan. So nodes that lack
// the same resources have one form.
type extendedForms struct {
	resources []offeredResource // by name
	forms     map[string]*claimForm
	lacks     []byte // buffer of form, for the key of forms
}

// offeredResource is an extended resource and the DeviceClass that offers it.
type offeredResource struct {
	name  corev1.ResourceName
	class string
}

// containers returns the containers that get devices in place of resources.
func (f *claimForm) containers() []string {
	var names []string
	for i := range f.mappings {
		if name := f.mappings[i].ContainerName; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// form returns what the class requests devices for on the node.
func (c *podClass) form(info *model.NodeInfo) *claimForm {
	e := c.extended
	if e == nil {
		return &c.plain
	}
	e.lacks = e.lacks[:0]
	for i := range e.resources {
		lacks := byte('0')
		if info.Node.Allocatable[e.resources[i].name] <= 0 {
			lacks = '1'
		}
		e.lacks = append(e.lacks, lacks)
	}
	f, ok := e.forms[string(e.lacks)]
	if !ok {
		f = c.newForm(string(e.lacks))
		e.forms[string(e.lacks)] = f
	}
	return f
}

// newForm returns the form for nodes that lack the resources with a '1' in lacks.
func (c *podClass) newForm(lacks string) *claimForm {
	f, first := &claimForm{}, c.members[0]
	for i, offered := range c.extended.resources {
		if lacks[i] == '1' {
			requests, mappings := first.pod.Shape.Devices(offered.name, offered.class)
			f.requests, f.mappings = append(f.requests, requests...), append(f.mappings, mappings...)
		}
	}
	slices.SortFunc(f.requests, func(a, b model.Request) int { return strings.Compare(a.Name, b.Name) })
	switch {
	case first.held != nil:
		f.unfit = !first.held.HasSameRequests(first.newClaim(f))
	case len(f.requests) == 0:
		f.unfit = first.pod.Mapped
	}
	if claims := first.claims(f); len(claims) > 0 {
		f.problem, f.reason = c.given.alloc.Prepare(c.given.state, claims, true)
	}
	return f
}

// prepareForms sets the forms of the class's suitable nodes. It returns why no node has one with
// which the class can be placed, or nil.
func (c *podClass) prepareForms() *alloc.Reason {
	for _, info := range c.suitableNodes().Nodes {
		c.form(info)
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

// forms returns the forms of the class in a stable order.
func (c *podClass) forms() []*claimForm {
	if c.extended == nil {
		return []*claimForm{&c.plain}
	}
	keys := make([]string, 0, len(c.extended.forms))
	for key := range c.extended.forms {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	forms := make([]*claimForm, len(keys))
	for i, key := range keys {
		forms[i] = c.extended.forms[key]
	}
	return forms
}

// topics returns the changes after which other forms may count: a different DeviceClass may offer a
// resource, and a node may have it.
func (e *extendedForms) topics() []model.Topic {
	topics := []model.Topic{{Kind: model.TopicNodes}}
	for i := range e.resources {
		topics = append(topics, model.OfferOf(e.resources[i].name))
	}
	return topics
}
