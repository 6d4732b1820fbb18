package templatesync

import (
	"slices"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	allotv1alpha1 "github.com/allot-dev/allot/api/allot/v1alpha1"
)

// Verb is the action of a Step.
type Verb string

// The actions.
const (
	Create  Verb = "create"
	Replace Verb = "replace" // delete Copy, and create one with the current content of Original
	Repair  Verb = "repair"  // the content is current, the marks are not
	Delete  Verb = "delete"
)

// Step is one action that a namespace needs.
type Step struct {
	Verb     Verb
	Original *Original // nil for Delete
	Copy     *Copy     // nil for Create
}

// State is the state of an original in a namespace that it selects.
type State string

// The states.
const (
	InStep   State = "InStep"
	Pending  State = "Pending"  // a step is needed, or something that it depends on
	Conflict State = "Conflict" // the name belongs to another object
	Refused  State = "Refused"  // the server rejects the content in this namespace
	Failed   State = "Failed"   // the last attempt failed, and there will be another
)

// Standing is the state of an original in a namespace, with the reason.
type Standing struct {
	State State
	// Present reports whether a copy exists, possibly with an earlier content.
	Present bool
	// Why names the other object of a Conflict, or is the message of the server.
	Why string

	hash string // hash of the content that the other fields are about
}

// Plan is the steps that a namespace needs, and the standings of all originals that select it
// before these steps.
type Plan struct {
	Steps     []Step
	Standings map[types.UID]Standing // by UID of the original
}

const (
	foreign        = "a ResourceClaimTemplate that is not a copy"
	adminRefused   = "admin access needs the label " + resourcev1.DRAAdminNamespaceLabelKey + "=true on the namespace"
	beingDeleted   = "the copy is being deleted, and something holds it"
	beingCollected = "the garbage collector has yet to delete the copy of an earlier original"
)

// Decide compares the templates in a namespace (copies are all of them) with the copies that
// originals need there. The order of its arguments does not matter.
func Decide(namespace *metav1.ObjectMeta, originals []*Original, copies []*Copy) Plan {
	if namespace.DeletionTimestamp != nil {
		return Plan{} // nothing can be created there, and everything else is deleted with it
	}
	d := &decision{
		namespace: namespace, byUID: map[types.UID]*Original{}, byLabel: map[string]*Original{}, byName: map[string]*Copy{},
		claimed: map[string]*Original{}, plan: Plan{Standings: map[types.UID]Standing{}},
	}
	for _, o := range originals {
		d.byUID[o.UID], d.byLabel[labelValue(o.Name)] = o, o
	}
	for _, c := range copies {
		d.byName[c.Name] = c
	}
	originals = slices.SortedFunc(slices.Values(originals), (*Original).goesBefore)
	for _, o := range originals {
		d.claim(o)
	}
	for _, o := range originals {
		if d.needsCopy(o) {
			d.compare(o)
		}
	}
	copies = slices.SortedFunc(slices.Values(copies), func(a, b *Copy) int { return strings.Compare(a.Name, b.Name) })
	for _, c := range copies {
		d.deleteUnwanted(c)
	}
	return d.plan
}

// decision is a decision in progress.
type decision struct {
	namespace *metav1.ObjectMeta
	byUID     map[types.UID]*Original
	byLabel   map[string]*Original // by the value of Label
	byName    map[string]*Copy
	claimed   map[string]*Original // original that may have the copy of this name
	plan      Plan
}

// needsCopy reports whether an original needs a copy here. An original that is being deleted or has a
// problem needs no new one.
func (d *decision) needsCopy(o *Original) bool {
	return o.DeletionTimestamp == nil && o.Problem == "" && o.Selector.Matches(labels.Set(d.namespace.Labels))
}

func (d *decision) claim(o *Original) {
	if d.needsCopy(o) && d.claimed[o.CopyName] == nil {
		d.claimed[o.CopyName] = o
	}
}

// ownerOf returns the existing original of a copy. One mark is sufficient if others were removed.
// The label alone is not, unless the UID is that of an earlier original with this name.
func (d *decision) ownerOf(c *Copy) *Original {
	uid := c.Annotations[UIDAnnotation]
	if o := d.byUID[types.UID(uid)]; o != nil {
		return o
	}
	if ref := metav1.GetControllerOfNoCopy(c); ref != nil && d.byUID[ref.UID] != nil {
		return d.byUID[ref.UID]
	}
	if uid != "" && c.Labels[Label] != "" {
		return d.byLabel[c.Labels[Label]]
	}
	return nil
}

// compare determines the step that an original needs here.
func (d *decision) compare(o *Original) {
	if first := d.claimed[o.CopyName]; first != o {
		d.setStanding(o, Standing{State: Conflict, Why: holderName(first)})
		return
	}
	c := d.byName[o.CopyName]
	refused := o.Admin && d.namespace.Labels[resourcev1.DRAAdminNamespaceLabelKey] != "true"
	switch {
	case c == nil:
		d.create(o, refused)
	case d.isAbandoned(c):
		d.setStanding(o, Standing{State: Pending, Why: beingCollected})
	case !d.mayReplace(o, c):
		d.setStanding(o, Standing{State: Conflict, Why: d.holder(c)})
	case c.DeletionTimestamp != nil:
		d.setStanding(o, Standing{State: Pending, Why: beingDeleted})
	case o.isMarkedBy(c) && c.OwnSpec:
		d.setStanding(o, Standing{State: InStep, Present: true})
	case c.Annotations[HashAnnotation] == o.Hash && c.OwnSpec:
		d.addStep(Repair, o, c, true)
	case refused && d.ownerOf(c) == o:
		d.setStanding(o, Standing{State: Refused, Present: true, Why: adminRefused})
	case refused:
		d.plan.Steps = append(d.plan.Steps, Step{Verb: Delete, Copy: c})
		d.setStanding(o, Standing{State: Refused, Why: adminRefused})
	default:
		d.addStep(Replace, o, c, d.ownerOf(c) == o)
	}
}

// create determines the step for an original without a copy here.
func (d *decision) create(o *Original, refused bool) {
	if refused {
		d.setStanding(o, Standing{State: Refused, Why: adminRefused})
		return
	}
	d.addStep(Create, o, nil, false)
}

// mayReplace reports whether a template with the name of o is its own copy, or one that another
// original no longer needs.
func (d *decision) mayReplace(o *Original, c *Copy) bool {
	owner := d.ownerOf(c)
	return owner == o || owner != nil && d.isUnwanted(owner, c)
}

// isUnwanted reports whether owner does not need its copy. Copies of an original that is being
// deleted are left to the garbage collector, and an original with a problem keeps its copies.
func (d *decision) isUnwanted(owner *Original, c *Copy) bool {
	return owner.DeletionTimestamp == nil && owner.Problem == "" && d.claimed[c.Name] != owner
}

// deleteUnwanted deletes a copy that is not needed and that no other original replaces.
func (d *decision) deleteUnwanted(c *Copy) {
	owner := d.ownerOf(c)
	if owner != nil && d.isUnwanted(owner, c) && d.claimed[c.Name] == nil && c.DeletionTimestamp == nil {
		d.plan.Steps = append(d.plan.Steps, Step{Verb: Delete, Copy: c})
	}
}

func (d *decision) holder(c *Copy) string {
	if owner := d.ownerOf(c); owner != nil {
		return holderName(owner)
	}
	if c.Annotations[UIDAnnotation] != "" {
		return "a copy of " + c.Labels[Label] + ", which is gone"
	}
	return foreign
}

// isAbandoned reports whether the original of a copy was deleted, so that the garbage collector
// deletes the copy.
func (d *decision) isAbandoned(c *Copy) bool {
	ref := metav1.GetControllerOfNoCopy(c)
	return d.ownerOf(c) == nil && ref != nil && ref.Kind == allotv1alpha1.KindClusterResourceClaimTemplate &&
		ref.APIVersion == allotv1alpha1.SchemeGroupVersion.String()
}

func holderName(o *Original) string { return "ClusterResourceClaimTemplate " + o.Name }

func (d *decision) setStanding(o *Original, s Standing) {
	s.hash = o.Hash
	d.plan.Standings[o.UID] = s
}

func (d *decision) addStep(v Verb, o *Original, c *Copy, present bool) {
	d.plan.Steps = append(d.plan.Steps, Step{Verb: v, Original: o, Copy: c})
	d.setStanding(o, Standing{State: Pending, Present: present})
}
