package dashboard

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/explain"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/picture"
	"github.com/allot-dev/allot/internal/sched"
	"github.com/allot-dev/allot/internal/snapshot"
	"github.com/allot-dev/allot/internal/snapshot/gather"
)

// View keeps the Picture of a cluster up to date, and explains its objects. It is a
// gather.Observer.
type View struct {
	rackLabel string

	mu sync.Mutex // guards all below
	// snap describes the cluster, and has its events. The other objects are those of the world.
	snap      *snapshot.Snapshot
	world     *snapshot.World
	painter   *picture.Painter
	placer    *sched.Placer      // tries on the State of the world
	explainer *explain.Explainer // explainer of the present objects; nil until it is needed
	now       Scene
	changed   chan struct{} // closed when now is replaced
}

// Scene is the content of a View at one time.
type Scene struct {
	// Picture is the newest one. It is empty until the cluster has been read.
	Picture *picture.Picture
	// Problem is why the Picture is not up to date, or "".
	Problem string
}

// NewView returns a View of a cluster that has not been read yet. rackLabel is the node label that
// names racks; "" for the one that most nodes have.
func NewView(rackLabel string) *View {
	return &View{
		rackLabel: rackLabel, now: Scene{Picture: &picture.Picture{}, Problem: "the cluster is being read"},
		changed: make(chan struct{}),
	}
}

// Now returns what there is to show, and a channel that is closed when there is something else.
func (v *View) Now() (Scene, <-chan struct{}) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.now, v.changed
}

// show replaces what there is to show. The mutex must be held.
func (v *View) show(scene Scene) {
	v.now = scene
	close(v.changed)
	v.changed = make(chan struct{})
}

// Fail shows that the Picture is not up to date.
func (v *View) Fail(err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.show(Scene{v.now.Picture, err.Error()})
}

// Recover shows that the Picture is up to date again.
func (v *View) Recover() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.show(Scene{Picture: v.now.Picture})
}

// Begin shows what a Snapshot has.
func (v *View) Begin(snap *snapshot.Snapshot) error {
	world, err := snap.World(explain.DefaultScheduler)
	if err != nil {
		return err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	described := *snap
	described.Objects = snapshot.Objects{Events: snap.Objects.Events}
	v.snap, v.world = &described, world
	v.painter = picture.NewPainter(world, snap.Server, v.rackLabel)
	v.placer = sched.NewPlacer(world.State, sched.DefaultSteps)
	v.paint()
	return nil
}

// Change shows changes.
func (v *View) Change(batch gather.Batch) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.snap.Taken, v.snap.Unknown = batch.Taken, append(v.snap.Unknown, batch.Unknown...)
	paint := len(batch.Unknown) > 0
	for _, change := range batch.Changes {
		paint = v.change(change) || paint
	}
	v.explainer = nil
	if paint {
		v.world.Apply()
		v.paint()
	}
	return nil
}

// change applies a change, and reports whether a Picture depends on the object.
func (v *View) change(change watch.Event) bool {
	_, history := change.Object.(*corev1.Event)
	object, ok := change.Object.(client.Object)
	switch {
	case !ok:
		return false
	case change.Type == watch.Deleted && history:
		v.snap.Delete(object)
	case change.Type == watch.Deleted:
		v.world.Remove(object)
	case history:
		v.snap.Put(change.Object)
	default:
		v.world.Put(change.Object)
	}
	return !history
}

// paint replaces the Picture. The mutex must be held.
func (v *View) paint() {
	v.explainer = nil
	v.show(Scene{Picture: v.painter.Paint(v.now.Picture, v.snap.Taken, v.snap.Unknown)})
}

// Explain returns the Report about an object of one of explain.Kinds.
func (v *View) Explain(kind string, key model.Key) (*explain.Report, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.world == nil {
		return nil, errNotRead
	}
	if v.explainer == nil {
		e, err := explain.New(v.world.Snapshot(v.snap))
		if err != nil {
			return nil, err
		}
		e.Use(explain.DefaultScheduler, v.world.State, v.placer)
		v.explainer = e
	}
	return v.explainer.Explain(kind, key)
}
