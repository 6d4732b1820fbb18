package garbagecollector

import (
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/allot-dev/allot/internal/controller/kinds"
)

// Graph records objects and their owners by UID. It is safe for concurrent use. Methods that record
// changes return the objects to process.
type Graph struct {
	mu    sync.Mutex
	nodes map[types.UID]*node
	kinds map[schema.GroupKind]kinds.Kind // served kinds
}

// node is an object, or a UID that is named as an owner. It is in the graph as long as the object
// exists or a dependent names it.
type node struct {
	object     *Object // nil if it is only named as an owner, and not seen yet or deleted
	absent     bool    // known not to exist
	dependents map[types.UID]*node
}

// GraphChange is the result of a change.
type GraphChange struct {
	Enqueue           []types.UID
	InvalidReferences []InvalidReference
}

// InvalidReference is a reference to an existing object that cannot be an owner: it is in another namespace,
// or in a namespace while the dependent is cluster-scoped.
type InvalidReference struct {
	Dependent *Object
	Owner     metav1.OwnerReference
}

// NewGraph returns an empty graph.
func NewGraph() *Graph { return &Graph{nodes: map[types.UID]*node{}} }

// SetKinds sets the served kinds, and returns the owners that could not be read before.
func (g *Graph) SetKinds(list []kinds.Kind) []types.UID {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.kinds = make(map[schema.GroupKind]kinds.Kind, len(list))
	for _, k := range list {
		g.kinds[k.Kind.GroupKind()] = k
	}
	var unseen []types.UID
	for uid, n := range g.nodes {
		if n.object == nil && !n.absent {
			unseen = append(unseen, uid)
		}
	}
	return unseen
}

// Kind returns a served kind, whatever its version.
func (g *Graph) Kind(gk schema.GroupKind) (kinds.Kind, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	k, ok := g.kinds[gk]
	return k, ok
}

// Observe records a new or changed object.
func (g *Graph) Observe(o *Object) GraphChange {
	g.mu.Lock()
	defer g.mu.Unlock()
	var news GraphChange
	n := g.nodes[o.UID]
	if n == nil {
		n = &node{}
		g.nodes[o.UID] = n
	}
	before := n.object
	n.object, n.absent = o, false
	if before == nil {
		before = &Object{}
		g.checkReferences(n, &news)
	}
	g.updateOwners(n, before, &news)
	if o.awaitsDependents() && !before.awaitsDependents() {
		news.Enqueue = append(news.Enqueue, o.UID)
		for uid := range n.dependents {
			news.Enqueue = append(news.Enqueue, uid)
		}
	}
	if o.orphansDependents() && !before.orphansDependents() {
		news.Enqueue = append(news.Enqueue, o.UID)
	}
	return news
}

// checkReferences checks the existing references to an object that is seen for the first time.
func (g *Graph) checkReferences(n *node, news *GraphChange) {
	for uid, dependent := range n.dependents {
		ref, ok := dependent.object.reference(n.object.UID)
		if ok && g.matchReference(dependent.object, ref, n.object) != sameObject {
			news.Enqueue = append(news.Enqueue, uid)
			g.noteStrange(dependent.object, ref, n.object, news)
		}
	}
}

// updateOwners links n to its new owners.
func (g *Graph) updateOwners(n *node, before *Object, news *GraphChange) {
	o := n.object
	for _, old := range before.Owners {
		ref, kept := o.reference(old.UID)
		switch {
		case !kept:
			g.unlink(o.UID, old.UID, news)
		case ref.APIVersion != old.APIVersion || ref.Kind != old.Kind || ref.Name != old.Name:
			news.Enqueue = append(news.Enqueue, o.UID)
		case before.blocks(old.UID) && !o.blocks(old.UID):
			g.lookIfWaiting(old.UID, news)
		}
	}
	for _, ref := range o.Owners {
		if _, known := before.reference(ref.UID); !known {
			g.link(n, ref, news)
		}
	}
}

func (g *Graph) link(n *node, ref metav1.OwnerReference, news *GraphChange) {
	owner := g.nodes[ref.UID]
	if owner == nil {
		// Either the event of the owner is delayed or the owner does not exist: it must be read
		// from the API.
		owner = &node{}
		g.nodes[ref.UID] = owner
		news.Enqueue = append(news.Enqueue, ref.UID)
	}
	if owner.dependents == nil {
		owner.dependents = map[types.UID]*node{}
	}
	owner.dependents[n.object.UID] = n
	switch {
	case owner.absent:
		news.Enqueue = append(news.Enqueue, n.object.UID)
	case owner.object == nil:
	case owner.object.awaitsDependents():
		news.Enqueue = append(news.Enqueue, n.object.UID)
	case g.matchReference(n.object, ref, owner.object) != sameObject:
		news.Enqueue = append(news.Enqueue, n.object.UID)
		g.noteStrange(n.object, ref, owner.object, news)
	}
}

func (g *Graph) unlink(dependent, owner types.UID, news *GraphChange) {
	n := g.nodes[owner]
	if n == nil {
		return
	}
	delete(n.dependents, dependent)
	if n.object == nil && len(n.dependents) == 0 {
		delete(g.nodes, owner)
		return
	}
	g.lookIfWaiting(owner, news)
}

func (g *Graph) lookIfWaiting(owner types.UID, news *GraphChange) {
	if n := g.nodes[owner]; n != nil && n.object != nil && n.object.awaitsDependents() {
		news.Enqueue = append(news.Enqueue, owner)
	}
}

// Gone records that an object was deleted or does not exist.
func (g *Graph) Gone(uid types.UID) GraphChange {
	g.mu.Lock()
	defer g.mu.Unlock()
	var news GraphChange
	n := g.nodes[uid]
	if n == nil {
		return news
	}
	if n.object != nil {
		for _, ref := range n.object.Owners {
			g.unlink(uid, ref.UID, &news)
		}
	}
	n.object, n.absent = nil, true
	for dependent := range n.dependents {
		news.Enqueue = append(news.Enqueue, dependent)
	}
	if len(n.dependents) == 0 {
		delete(g.nodes, uid)
	}
	return news
}

// Forget drops the objects of a kind that is no longer watched. Those with dependents must be read
// again.
func (g *Graph) Forget(kind schema.GroupKind) GraphChange {
	g.mu.Lock()
	defer g.mu.Unlock()
	var news GraphChange
	for uid, n := range g.nodes {
		if n.object == nil || n.object.Kind.GroupKind() != kind {
			continue
		}
		for _, ref := range n.object.Owners {
			g.unlink(uid, ref.UID, &news)
		}
		n.object = nil
		if len(n.dependents) == 0 {
			delete(g.nodes, uid)
			continue
		}
		news.Enqueue = append(news.Enqueue, uid)
	}
	return news
}

// Dependents returns the objects that name uid as an owner, in no particular order.
func (g *Graph) Dependents(uid types.UID) []*Object {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := g.nodes[uid]
	if n == nil {
		return nil
	}
	dependents := make([]*Object, 0, len(n.dependents))
	for _, d := range n.dependents {
		dependents = append(dependents, d.object)
	}
	return dependents
}

// Object returns an object. If known is set but object is nil, uid is an owner that was not seen.
func (g *Graph) Object(uid types.UID) (object *Object, known bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := g.nodes[uid]
	if n == nil || n.absent {
		return nil, false
	}
	return n.object, true
}

func (g *Graph) noteStrange(dependent *Object, ref metav1.OwnerReference, owner *Object, news *GraphChange) {
	if owner.Kind.GroupKind() == groupKind(ref) && owner.Namespace != "" && owner.Namespace != dependent.Namespace {
		news.InvalidReferences = append(news.InvalidReferences, InvalidReference{Dependent: dependent, Owner: ref})
	}
}
