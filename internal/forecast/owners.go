package forecast

import (
	"cmp"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	apps "github.com/allot-dev/allot/api/apps/v1"
	batch "github.com/allot-dev/allot/api/batch/v1"
	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/model"
)

// owners are the objects whose controllers have something to do.
type owners map[ownerKey]bool

// ownerKey names an object that creates pods, or creates what does.
type ownerKey struct {
	kind string
	key  model.Key
}

func (k ownerKey) String() string { return k.kind + " " + k.key.String() }

// add adds an object.
func (o owners) add(object client.Object) {
	var kind string
	switch object.(type) {
	case *apps.Deployment:
		kind = "Deployment"
	case *apps.ReplicaSet:
		kind = "ReplicaSet"
	case *apps.StatefulSet:
		kind = "StatefulSet"
	case *apps.DaemonSet:
		kind = "DaemonSet"
	case *batch.Job:
		kind = "Job"
	default:
		return
	}
	o[ownerKey{kind, model.KeyOf(object)}] = true
}

// addController adds the controller of an object, if it has one.
func (o owners) addController(object client.Object) {
	if owner := metav1.GetControllerOfNoCopy(object); owner != nil {
		o[ownerKey{owner.Kind, model.Key{Namespace: object.GetNamespace(), Name: owner.Name}}] = true
	}
}

// sorted returns the owners in the order in which they are reconciled.
func (o owners) sorted() []ownerKey {
	return slices.SortedFunc(maps.Keys(o), func(a, b ownerKey) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), model.CompareKeys(a.key, b.key))
	})
}

// maxPasses limits the passes of controllers between two attempts to schedule.
const maxPasses = 1000

// control has the controllers work until none of them has anything to do, and creates the claims of
// what they have created.
func (s *simulation) control() error {
	for range maxPasses {
		if len(s.owners) == 0 {
			s.generateClaims()
			return nil
		}
		todo := s.owners
		s.owners = owners{}
		for _, owner := range todo.sorted() {
			if err := s.reconcile(owner); err != nil {
				return err
			}
		}
	}
	return errUnsettled
}

// reconcile makes one pass over an owner, as its controller does. Owners of other kinds are left
// alone.
func (s *simulation) reconcile(owner ownerKey) error {
	ns, name := owner.key.Namespace, owner.key.Name
	delete(s.problems, owner.String())
	delete(s.refused, owner)
	switch owner.kind {
	case "Deployment":
		if d, ok := s.world.Deployments.Get(ns, name); ok {
			return s.deployment(owner, d)
		}
	case "ReplicaSet":
		if rs, ok := s.world.ReplicaSets.Get(ns, name); ok {
			s.replicaSet(owner, rs)
		}
	case "StatefulSet":
		if set, ok := s.world.StatefulSets.Get(ns, name); ok {
			s.statefulSet(owner, set)
		}
	case "DaemonSet":
		if set, ok := s.world.DaemonSets.Get(ns, name); ok {
			s.daemonSet(owner, set)
		}
	case "Job":
		if j, ok := s.world.Jobs.Get(ns, name); ok {
			s.job(owner, j)
		}
	}
	return nil
}

// createFor creates an object for an owner, and reports whether the server accepted it.
func (s *simulation) createFor(owner ownerKey, object client.Object) bool {
	if err := s.create(object); err != nil {
		s.problem(owner.String(), "not all of its objects are created", err)
		s.refused[owner] = true
		return false
	}
	return true
}
