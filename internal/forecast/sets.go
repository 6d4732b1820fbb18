package forecast

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	apps "github.com/allot-dev/allot/api/apps/v1"
	"github.com/allot-dev/allot/internal/controller/daemonset"
	"github.com/allot-dev/allot/internal/controller/statefulset"
)

// plannedRevision is the name of the revision of a template that the Changes introduce.
const plannedRevision = "planned"

// statefulSet makes one pass over a StatefulSet.
func (s *simulation) statefulSet(owner ownerKey, set *apps.StatefulSet) {
	volumeClaims := map[string]*corev1.PersistentVolumeClaim{}
	if len(set.Spec.VolumeClaimTemplates) > 0 {
		for _, claim := range s.world.VolumeClaims.List() {
			if claim.Namespace == set.Namespace {
				volumeClaims[claim.Name] = claim
			}
		}
	}
	update, current := s.revisions(set)
	plan := statefulset.Decide(statefulset.Gathered{
		Set: set, Pods: s.world.Pods.ByIndex(byOwner, string(set.UID)), Claims: volumeClaims, Current: current,
		Update: update, Now: s.now,
	})
	for _, claim := range plan.Supply {
		s.createFor(owner, claim)
	}
	for _, pod := range plan.Delete {
		s.recordEnd(pod, Delete, owner.String()+" replaces it or is scaled down")
		s.removePod(pod)
	}
	for _, member := range plan.Create {
		refused := false
		for _, claim := range member.Claims {
			refused = refused || !s.createFor(owner, claim)
		}
		if refused || !s.createFor(owner, member.Pod) {
			break
		}
	}
	if !equality.Semantic.DeepEqual(plan.Status, set.Status) {
		updated := *set
		updated.Status = plan.Status
		s.put(&updated)
	}
}

// revisions returns the revision to which a set is updated, and the one from which. A Snapshot has
// no ControllerRevisions: the template in use is that of the set before the Changes.
func (s *simulation) revisions(set *apps.StatefulSet) (update, current statefulset.Revision) {
	update = statefulset.Revision{Name: set.Status.UpdateRevision, Template: &set.Spec.Template}
	old, changed := s.oldTemplates[set.UID]
	if update.Name == "" || changed {
		update.Name = plannedRevision
	}
	current = update
	if changed && set.Status.CurrentRevision != "" && set.Status.CurrentRevision != plannedRevision {
		current = statefulset.Revision{Name: set.Status.CurrentRevision, Template: old}
	}
	return update, current
}

// daemonSet makes one pass over a DaemonSet.
func (s *simulation) daemonSet(owner ownerKey, set *apps.DaemonSet) {
	pods := s.world.Pods.ByIndex(byOwner, string(set.UID))
	hash := plannedRevision
	var hashes []string
	if _, changed := s.oldTemplates[set.UID]; !changed {
		for _, pod := range pods {
			hash = pod.Labels[appsv1.DefaultDaemonSetUniqueLabelKey]
			hashes = append(hashes, hash)
		}
	}
	plan := daemonset.Decide(daemonset.Gathered{
		Set: set, Nodes: s.world.Nodes.List(), Pods: pods, Hashes: append(hashes, hash), Now: s.now,
	})
	for _, pod := range plan.Delete {
		s.recordEnd(pod, Delete, owner.String()+" replaces it or does not want it on its node")
		s.removePod(pod)
	}
	for _, node := range plan.Create {
		if !s.createFor(owner, daemonset.NewPod(set, node, hash)) {
			break
		}
	}
	if !equality.Semantic.DeepEqual(plan.Status, set.Status) {
		updated := *set
		updated.Status = plan.Status
		s.put(&updated)
	}
}
