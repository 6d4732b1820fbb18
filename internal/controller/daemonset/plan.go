package daemonset

import (
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	apps "github.com/allot-dev/allot/api/apps/v1"
	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/controller/replica"
)

// Gathered is the input of a decision.
type Gathered struct {
	Set   *apps.DaemonSet
	Nodes []*corev1.Node
	Pods  []*core.Pod // pods of the set, in any order
	// Hashes has the hashes of the revisions with the set's template; Collisions is the number of
	// hash collisions so far.
	Hashes     []string
	Collisions int32
	// Wait is the remaining delay for failed pods, by node.
	Wait map[string]time.Duration
	Now  time.Time
}

// Plan contains the writes of one pass.
type Plan struct {
	Create  []string // nodes on which to create a pod
	Delete  []*core.Pod
	Ended   []*core.Pod // pods of Delete that have failed or succeeded
	Status  appsv1.DaemonSetStatus
	Recheck time.Duration // time until the next reconcile; 0 for none
}

// place is a node, or the name of a deleted node, with the set's pods there.
type place struct {
	name    string
	node    *corev1.Node
	verdict verdict
	pods    []*core.Pod // sorted by byAge; without finished pods that only have to be removed
}

// pass is a decision in progress.
type pass struct {
	Gathered
	places []*place // by name
	plan   Plan
}

// Decide takes the next step: first it creates missing pods and deletes superfluous ones, then it
// updates pods.
func Decide(g Gathered) Plan {
	p := newPass(g)
	for _, at := range p.places {
		p.ensurePod(at)
	}
	if len(p.plan.Create)+len(p.plan.Delete) == 0 &&
		g.Set.Spec.UpdateStrategy.Type == appsv1.RollingUpdateDaemonSetStrategyType {
		p.roll()
	}
	p.plan.Status = p.status()
	if left, ok := replica.NextAvailability(g.Pods, g.Set.Spec.MinReadySeconds, g.Now); ok {
		p.recheckAfter(left)
	}
	return p.plan
}

func newPass(g Gathered) *pass {
	suits := suitabilityOf(&g.Set.Spec.Template)
	places := map[string]*place{}
	for _, node := range g.Nodes {
		places[node.Name] = &place{name: node.Name, node: node, verdict: suits.verdictFor(node)}
	}
	for _, pod := range g.Pods {
		name, ok := nodeOf(pod)
		if !ok || pod.Finished() && pod.DeletionTimestamp != nil {
			continue
		}
		if places[name] == nil {
			places[name] = &place{name: name}
		}
		places[name].pods = append(places[name].pods, pod)
	}
	p := &pass{Gathered: g}
	for _, name := range slices.Sorted(maps.Keys(places)) {
		slices.SortFunc(places[name].pods, byAge)
		p.places = append(p.places, places[name])
	}
	return p
}

func (p *pass) recheckAfter(after time.Duration) {
	if p.plan.Recheck == 0 || after < p.plan.Recheck {
		p.plan.Recheck = after
	}
}

func (p *pass) remove(pods ...*core.Pod) {
	for _, pod := range pods {
		if pod.DeletionTimestamp == nil {
			p.plan.Delete = append(p.plan.Delete, pod)
		}
	}
}

func (p *pass) isAvailable(pod *core.Pod) bool {
	return replica.Available(pod, p.Set.Spec.MinReadySeconds, p.Now)
}

func (p *pass) isNew(pod *core.Pod) bool { return slices.Contains(p.Hashes, pod.Labels[hashLabel]) }

// ensurePod ensures that a node has the right pod.
func (p *pass) ensurePod(at *place) {
	switch {
	case at.node == nil:
		for _, pod := range at.pods {
			if pod.Spec.NodeName == "" {
				p.remove(pod) // it will never run; bound pods are deleted together with their node
			}
		}
	case at.verdict.start && len(at.pods) == 0:
		p.plan.Create = append(p.plan.Create, at.name)
	case at.verdict.stay:
		p.keepOne(at)
	default:
		p.remove(at.pods...)
	}
}

// keepOne removes finished pods, and all but one of the others, or all but an old and a new one
// while pods surge.
func (p *pass) keepOne(at *place) {
	alive, waiting := p.removeFinished(at)
	switch {
	case !p.surges():
		if len(alive) > 1 {
			p.remove(alive[1:]...)
		}
	case len(alive) == 0:
		// Terminating pods do not prevent the creation of a new one.
		if at.verdict.start && !waiting {
			p.plan.Create = append(p.plan.Create, at.name)
		}
	default:
		p.keepTwo(alive)
	}
}

// removeFinished removes finished pods and returns the others. waiting is set if a failed pod is kept for a
// delay.
func (p *pass) removeFinished(at *place) (alive []*core.Pod, waiting bool) {
	for _, pod := range at.pods {
		wait := p.Wait[at.name]
		switch {
		case pod.DeletionTimestamp != nil:
		case !pod.Finished():
			alive = append(alive, pod)
		case pod.Status.Phase == corev1.PodFailed && wait > 0:
			waiting = true
			p.recheckAfter(wait)
		default:
			p.plan.Ended = append(p.plan.Ended, pod)
			p.remove(pod)
		}
	}
	return alive, waiting
}

// keepTwo keeps the oldest old and the oldest new pod. The old one is kept until the new one is
// available, if the old one is available.
func (p *pass) keepTwo(alive []*core.Pod) {
	var older, newer *core.Pod
	for _, pod := range alive {
		switch {
		case p.isNew(pod) && newer == nil:
			newer = pod
		case !p.isNew(pod) && older == nil:
			older = pod
		default:
			p.remove(pod)
		}
	}
	if older != nil && newer != nil && (!replica.Ready(older) || p.isAvailable(newer)) {
		p.remove(older)
	}
}
