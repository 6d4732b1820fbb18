package forecast

import (
	"errors"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched"
	"github.com/allot-dev/allot/internal/sched/queue"
	"github.com/allot-dev/allot/internal/snapshot"
)

// settledAge is how long ago a change of the simulation counts as done, so that back-offs and
// minReadySeconds are over.
const settledAge = 24 * time.Hour

// maxRounds limits the rounds of a simulation. A StatefulSet needs one for each pod.
const maxRounds = 20_000

// errUnsettled means that the cluster would not come to rest, for example because two controllers
// undo each other's work.
var errUnsettled = errors.New("the forecast does not settle: pods are created and evicted again and again")

// simulation is a World in which controllers and the scheduler work.
type simulation struct {
	world  *snapshot.World
	server Server
	now    time.Time // time of the Snapshot
	past   time.Time // time of changes of the simulation, for controllers that wait after them

	placer *sched.Placer
	queue  *queue.Queue

	names   map[string]int            // by namespace and metadata.generateName: the last number that was used
	created int                       // the number in the UID of the last object created
	ages    map[types.UID]metav1.Time // ages of these objects
	owners  owners
	// lacking are the pods and PodGroups whose claims are not complete.
	lacking map[claimOwner]bool
	// drained are the nodes whose pods are evicted, and tainted whether devices may be.
	drained map[string]bool
	tainted bool
	// terminating are the pods that terminate.
	terminating []model.Key
	// applied are the objects of Apply and what they have created, whose pods and PodGroups get the
	// priority, if that is not nil.
	applied  map[types.UID]bool
	applying bool
	priority *int32

	noPreemption bool
	newPods      []model.Key // pods created so far
	// oldTemplates are the templates of sets whose template the Changes replace.
	oldTemplates map[types.UID]*core.PodTemplateSpec
	refused      map[ownerKey]bool // owners for which the server refused to create an object

	objects  []ObjectChange
	ends     map[types.UID]end
	problems map[string]Problem   // by object
	blocked  map[model.Key]string // pods of drained nodes that are not evicted, and why
	notes    []string
	allot    bool // allot is the default-scheduler of the server
	foreign  bool // a scheduler other than allot decides about some pods
}

// end is the way in which a pod terminated.
type end struct {
	pod    *core.Pod
	action Action
	reason string
}

// newSimulation returns a simulation that begins with the Snapshot.
func newSimulation(snap *snapshot.Snapshot, server Server) (*simulation, error) {
	world, err := snap.World(schedulerName)
	if err != nil {
		return nil, err
	}
	s := &simulation{
		world: world, server: server, allot: snap.Server.Allot, now: snap.Taken.Time, past: snap.Taken.Add(-settledAge),
		placer: sched.NewPlacer(world.State, sched.DefaultSteps), queue: queue.New(),
		owners: owners{}, lacking: map[claimOwner]bool{}, drained: map[string]bool{},
		created: lastPlanned(world), names: map[string]int{}, ages: map[types.UID]metav1.Time{},
		applied:      map[types.UID]bool{},
		oldTemplates: map[types.UID]*core.PodTemplateSpec{}, refused: map[ownerKey]bool{},
		ends: map[types.UID]end{}, problems: map[string]Problem{}, blocked: map[model.Key]string{},
	}
	if err := s.index(); err != nil {
		return nil, err
	}
	s.begin()
	return s, nil
}

// begin queues what waits, and remembers what terminates.
func (s *simulation) begin() {
	for _, pod := range s.world.Pods.List() {
		switch {
		case pod.DeletionTimestamp != nil && !s.isUnresponsive(pod.Spec.NodeName):
			s.terminating = append(s.terminating, model.KeyOf(pod))
		case pod.Spec.NodeName == "" && !pod.Finished():
			s.expectClaims(podOwner, pod, len(pod.Spec.ResourceClaims))
			s.enqueue(unitOf(pod))
		}
	}
	for _, tree := range s.world.Composites.List() {
		s.expectClaims(treeOwner, tree, len(tree.Spec.ResourceClaims))
	}
	for _, group := range s.world.PodGroups.List() {
		s.expectClaims(groupOwner, group, len(group.Spec.ResourceClaims))
	}
}

// settle has controllers and the scheduler work until nothing changes. Pods take longer to
// terminate than controllers and the scheduler to react.
func (s *simulation) settle() error {
	for range maxRounds {
		if err := s.control(); err != nil {
			return err
		}
		if !s.schedule() && len(s.owners) == 0 && !s.evictTainted() && !s.evictDrained() && !s.terminate() {
			return nil
		}
	}
	return errUnsettled
}
