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

// Verb is what a Step does.
type Verb string

// The verbs.
const (
	Create  Verb = "create"
	Replace Verb = "replace" // delete Copy, and make one of Original's present content
	Repair  Verb = "repair"  // the content is right, the marks are not
	Delete  Verb = "delete"
)

// Step brings a namespace closer to what it should be.
type Step struct {
	Verb     Verb
	Original *Original // nil for Delete
	Copy     *Copy     // nil for Create
}

// State says where an original stands in a namespace that it selects.
type State string

// The states.
const (
	InStep   State = "InStep"
	Pending  State = "Pending"  // a step is due, or what it needs is on its way
	Conflict State = "Conflict" // somebody else has the name
	Refused  State = "Refused"  // the server does not take the content here
	Failed   State = "Failed"   // the last attempt ended in an error; another follows
)

// Standing is where an original stands in a namespace, and why.
type Standing struct {
	State State
	// Present says that there is a copy, perhaps of an earlier content.
	Present bool
	// Why names the holder of a Conflict, or says what the server said.
	Why string

	hash string // of the content that the rest is about
}

// Plan is what there is to do in a namespace, and where each original that selects it stands before that.
type Plan struct {
	Steps     []Step
	Standings map[types.UID]Standing // by the original
}

const (
	foreign        = "a ResourceClaimTemplate that is not a copy"
	adminRefused   = "admin access needs the label " + resourcev1.DRAAdminNamespaceLabelKey + "=true on the namespace"
	beingDeleted   = "the copy is being deleted, and something holds it"
	beingCollected = "the garbage collector has yet to delete the copy of an earlier original"
)

// Decide compares what is in a namespace (copies are all its templates) with what originals want there. The order of the
// arguments' elements does not matter.
func Decide(namespace *metav1.ObjectMeta, originals []*Original, copies []*Copy) Plan {
	if namespace.DeletionTimestamp != nil {
		return Plan{} // nothing can be made there, and the rest goes by itself
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
		if d.wants(o) {
			d.compare(o)
		}
	}
	copies = slices.SortedFunc(slices.Values(copies), func(a, b *Copy) int { return strings.Compare(a.Name, b.Name) })
	for _, c := range copies {
		d.tidy(c)
	}
	return d.plan
}

// decision is one call of Decide.
type decision struct {
	namespace *metav1.ObjectMeta
	byUID     map[types.UID]*Original
	byLabel   map[string]*Original // by the value of Label
	byName    map[string]*Copy
	claimed   map[string]*Original // by the name of the copy: who may have it
	plan      Plan
}

// wants tells whether an original wants a copy here. One that is being deleted, or that has a problem, wants nothing new.
func (d *decision) wants(o *Original) bool {
	return o.DeletionTimestamp == nil && o.Problem == "" && o.Selector.Matches(labels.Set(d.namespace.Labels))
}

func (d *decision) claim(o *Original) {
	if d.wants(o) && d.claimed[o.CopyName] == nil {
		d.claimed[o.CopyName] = o
	}
}

// ownerOf says which living original a template is a copy of. One mark is enough where somebody took the others off;
// the label alone is not, unless the UID is that of an earlier original of the name.
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

// compare says what an original needs here.
func (d *decision) compare(o *Original) {
	if first := d.claimed[o.CopyName]; first != o {
		d.stands(o, Standing{State: Conflict, Why: holderName(first)})
		return
	}
	c := d.byName[o.CopyName]
	refused := o.Admin && d.namespace.Labels[resourcev1.DRAAdminNamespaceLabelKey] != "true"
	switch {
	case c == nil && refused:
		d.stands(o, Standing{State: Refused, Why: adminRefused})
	case c == nil:
		d.step(Create, o, nil, false)
	case d.abandoned(c):
		d.stands(o, Standing{State: Pending, Why: beingCollected})
	case !d.mayReplace(o, c):
		d.stands(o, Standing{State: Conflict, Why: d.holder(c)})
	case c.DeletionTimestamp != nil:
		d.stands(o, Standing{State: Pending, Why: beingDeleted})
	case o.marked(c) && c.OwnSpec:
		d.stands(o, Standing{State: InStep, Present: true})
	case c.Annotations[HashAnnotation] == o.Hash && c.OwnSpec:
		d.step(Repair, o, c, true)
	case refused && d.ownerOf(c) == o:
		d.stands(o, Standing{State: Refused, Present: true, Why: adminRefused})
	case refused:
		d.plan.Steps = append(d.plan.Steps, Step{Verb: Delete, Copy: c})
		d.stands(o, Standing{State: Refused, Why: adminRefused})
	default:
		d.step(Replace, o, c, d.ownerOf(c) == o)
	}
}

// mayReplace tells whether a template that has o's name is its own, or one that another original has no use for any more.
func (d *decision) mayReplace(o *Original, c *Copy) bool {
	owner := d.ownerOf(c)
	return owner == o || owner != nil && d.unwanted(owner, c)
}

// unwanted tells whether owner has no use for a copy of its own. Copies of an original that is being deleted are the
// garbage collector's; an original with a problem keeps what it has.
func (d *decision) unwanted(owner *Original, c *Copy) bool {
	return owner.DeletionTimestamp == nil && owner.Problem == "" && d.claimed[c.Name] != owner
}

// tidy deletes a copy that is not wanted and that no other original replaces.
func (d *decision) tidy(c *Copy) {
	owner := d.ownerOf(c)
	if owner != nil && d.unwanted(owner, c) && d.claimed[c.Name] == nil && c.DeletionTimestamp == nil {
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

// abandoned tells whether the original of a copy is gone, so that the garbage collector will delete it.
func (d *decision) abandoned(c *Copy) bool {
	ref := metav1.GetControllerOfNoCopy(c)
	return d.ownerOf(c) == nil && ref != nil && ref.Kind == allotv1alpha1.KindClusterResourceClaimTemplate &&
		ref.APIVersion == allotv1alpha1.SchemeGroupVersion.String()
}

func holderName(o *Original) string { return "ClusterResourceClaimTemplate " + o.Name }

func (d *decision) stands(o *Original, s Standing) {
	s.hash = o.Hash
	d.plan.Standings[o.UID] = s
}

func (d *decision) step(v Verb, o *Original, c *Copy, present bool) {
	d.plan.Steps = append(d.plan.Steps, Step{Verb: v, Original: o, Copy: c})
	d.stands(o, Standing{State: Pending, Present: present})
}
