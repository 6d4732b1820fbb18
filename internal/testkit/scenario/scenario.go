package scenario

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/internal/features"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched"
	"github.com/allot-dev/allot/internal/sched/queue"
	"github.com/allot-dev/allot/internal/testkit/line"
)

// Scenario is the cluster of one file.
type Scenario struct {
	state  *model.State
	placer *sched.Placer
	queue  *queue.Queue
	steps  int
	on     features.Set

	created   int // number of created objects, for UIDs and creation times
	templates map[string]*resource.ResourceClaimSpec
	claims    map[model.Key]*resource.ResourceClaim // as in the API
	slices    map[string]*resourcev1.ResourceSlice
	pods      map[model.Key]*line.Line // lines that were last put
	groups    map[model.Key]*line.Line
	draws     map[model.Key][]model.Draw // resources that pods use of their nodes
	extended  map[model.Key]*corev1.PodExtendedResourceClaimStatus
	uids      map[string]types.UID
	lost      map[string]bool // groups with deleted members that had a node
}

const namespace = "default"

// New returns an empty cluster.
func New() *Scenario {
	s := &Scenario{
		state: model.NewState(), queue: queue.New(), steps: sched.DefaultSteps,
		templates: map[string]*resource.ResourceClaimSpec{},
		claims:    map[model.Key]*resource.ResourceClaim{},
		slices:    map[string]*resourcev1.ResourceSlice{},
		pods:      map[model.Key]*line.Line{},
		groups:    map[model.Key]*line.Line{},
		draws:     map[model.Key][]model.Draw{},
		extended:  map[model.Key]*corev1.PodExtendedResourceClaimStatus{},
		uids:      map[string]types.UID{},
		lost:      map[string]bool{},
	}
	s.placer = sched.NewPlacer(s.state, s.steps)
	return s
}

// Walk runs every file below the path, each in its own cluster.
func Walk(t *testing.T, path string) {
	datadriven.Walk(t, path, func(t *testing.T, path string) {
		s := New()
		datadriven.RunTest(t, path, s.run)
	})
}

// commands returns the handlers of directives.
func (s *Scenario) commands() map[string]func(*line.Line) (string, error) {
	return map[string]func(*line.Line) (string, error){
		"objects": s.objects,
		"place":   s.place,
		"run":     s.runQueue,
		"repeat":  s.repeat,
		"preempt": s.preempt,
		"state":   s.print,
		"steps":   s.setSteps,

		"features": s.features,
	}
}

// verbs returns the handlers of the input lines of objects.
func (s *Scenario) verbs() map[string]func(*line.Line) error {
	return map[string]func(*line.Line) error{
		"node":     s.node,
		"class":    s.class,
		"slice":    s.slice,
		"rule":     s.taintRule,
		"template": s.template,
		"claim":    s.claim,
		"group":    s.group,

		"composite": s.composite,
		"pod":       s.pod,

		"budget":      s.budget,
		"namespace":   s.namespace,
		"volume":      s.volume,
		"volumeclaim": s.volumeClaim,
		"service":     s.service,
		"csinode":     s.csiNode,

		"delete": s.remove,
		"update": s.update,
	}
}

func (s *Scenario) run(t *testing.T, d *datadriven.TestData) string {
	l, err := line.Command(d)
	if err != nil {
		d.Fatalf(t, "%v", err)
	}
	command, ok := s.commands()[l.Verb]
	if !ok {
		d.Fatalf(t, "no command %q", l.Verb)
	}
	out, err := command(l)
	if err = cmp.Or(err, l.Err()); err != nil {
		out += fmt.Sprintf("error: %v\n", err)
	}
	if err := s.check(); err != nil {
		d.Fatalf(t, "after %s: %v", d.Cmd, err)
	}
	return out
}

// hasExtendedClaims reports whether a pod on the node has devices in place of an extended resource.
func hasExtendedClaims(info *model.NodeInfo) bool {
	for _, pod := range info.Pods {
		if pod.Extended != "" {
			return true
		}
	}
	return false
}

// check returns an error if an invariant does not hold.
func (s *Scenario) check() error {
	if err := s.state.Audit(); err != nil {
		return err
	}
	tx := s.state.Begin()
	defer tx.Undo()
	// a place that is kept may overcommit a node
	s.state.Nominations.RemoveNonBinding(&model.Unit{Priority: math.MaxInt32})
	for _, info := range s.state.Nodes.List() {
		if err := checkResources(info); err != nil {
			return err
		}
		for _, view := range s.state.Devices.Pools(info) {
			if err := cmp.Or(checkCounters(&view), s.checkHolders(&view)); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkResources returns an error if a node is overcommitted.
func checkResources(info *model.NodeInfo) error {
	for name, free := range info.Free {
		// As on kubelets, a pod with devices in place of an extended resource counts for that
		// resource. So the node is overcommitted when it starts to have the resource itself, even
		// if the class no longer offers it.
		if free < 0 && info.Node.Allocatable[name] > 0 && !(model.IsOfferable(name) && hasExtendedClaims(info)) {
			return fmt.Errorf("node %s has %d %s free", info.Name, free, name)
		}
	}
	return nil
}

// checkHolders returns an error if a device of a pool has more holders, or holders of more
// capacity, than it permits.
func (s *Scenario) checkHolders(view *model.PoolView) error {
	for i := range view.Devices {
		if err := s.checkCapacity(view, i); err != nil {
			return err
		}
		_, whole := view.ConsumedCapacity(i)
		shared := view.Devices[i].AllowMultipleAllocations || !s.on.On(features.ConsumableCapacity)
		if holders := view.Holders(i); len(holders) > 1 && (whole || !shared) {
			return fmt.Errorf("device %s has holders %v", view.DeviceID(i), holders)
		}
	}
	return nil
}

// checkCounters returns an error if the devices in use exceed the counters of their pool.
func checkCounters(view *model.PoolView) error {
	for _, set := range view.Counters {
		for name, counter := range set.Counters {
			left := counter.Value.DeepCopy()
			for i := range view.Devices {
				if len(view.Holders(i)) == 0 {
					continue
				}
				for _, takes := range view.Devices[i].ConsumesCounters {
					if takes.CounterSet == set.Name {
						left.Sub(takes.Counters[name].Value)
					}
				}
			}
			if left.Sign() < 0 {
				return fmt.Errorf("counter %s/%s of pool %s is overspent by %s", set.Name, name, view.ID, left.String())
			}
		}
	}
	return nil
}

// checkCapacity returns an error if claims exceed the capacity of a device.
func (s *Scenario) checkCapacity(view *model.PoolView, device int) error {
	for name, capacity := range view.Devices[device].Capacity {
		left := capacity.Value.DeepCopy()
		for _, holder := range slices.Compact(slices.Clone(view.Holders(device))) {
			claim, _ := s.state.Claims.Get(holder.Claim)
			for _, result := range claim.Allocation.Devices {
				if model.DeviceIDOf(result) == view.DeviceID(device) && result.AdminAccess == nil {
					left.Sub(result.ConsumedCapacity[name])
				}
			}
		}
		if left.Sign() < 0 {
			return fmt.Errorf("capacity %s of device %s is overspent by %s", name, view.DeviceID(device), left.String())
		}
	}
	return nil
}

func (s *Scenario) objects(l *line.Line) (string, error) {
	return "", line.Run(l.Input, s.verbs())
}

// meta returns the metadata of an object. The same kind and name keep their UID until the object is
// deleted.
func (s *Scenario) meta(kind, name string) metav1.ObjectMeta {
	id := kind + "/" + name
	uid, ok := s.uids[id]
	if !ok {
		s.created++
		uid = types.UID(fmt.Sprintf("%s-%d", id, s.created))
		s.uids[id] = uid
	}
	created := metav1.NewTime(time.Unix(int64(1_000_000+s.created), 0))
	k := key(name)
	return metav1.ObjectMeta{Namespace: k.Namespace, Name: k.Name, UID: uid, CreationTimestamp: created}
}

// key parses NAME or NAMESPACE/NAME.
func key(name string) model.Key {
	if in, rest, ok := strings.Cut(name, "/"); ok {
		return model.Key{Namespace: in, Name: rest}
	}
	return model.Key{Namespace: namespace, Name: name}
}
