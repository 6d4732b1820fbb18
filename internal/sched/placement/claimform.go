package placement

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/allot-dev/allot/internal/alloc"
	"github.com/allot-dev/allot/internal/model"
)

// claimForm has the requests of members of a class on a node, and the claims that have them.
type claimForm struct {
	problem *alloc.Problem // of the first member's claims; nil if it needs no devices
	reason  *alloc.Reason  // why such claims cannot have devices on any node
	copies  *copies        // nil until they are needed

	// The following fields are for a claim that takes the place of extended resources.
	requests []model.Request
	mappings []model.Mapping
	unfit    bool // the node would need a different claim from the one that the pod has
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

// extendedForms are the forms of a class that requests resources that DeviceClasses offer
// (KEP-5004). On a node that has such a resource itself it is counted as usual. For the resources
// that the node lacks, a member gets devices, through one claim that is created with the plan. So
// nodes that lack the same resources have one form.
type extendedForms struct {
	resources []offeredResource // by name
	forms     map[string]*claimForm
	lacks     []byte // buffer of form, for the key of forms
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

// offeredResource is an extended resource and the DeviceClass that offers it.
type offeredResource struct {
	name  corev1.ResourceName
	class string
}

// copies are the allocation problems of several members of a class together.
type copies struct {
	problems map[int]*alloc.Problem // by the number of members
	maxima   map[string]int         // results of maxCopies
}
