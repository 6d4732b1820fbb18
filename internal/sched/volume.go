package sched

import (
	"fmt"

	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/nodefit"
	"github.com/allot-dev/allot/internal/sched/reason"
)

// mounts looks up the pod's volumes; those that limit nothing are left out. Nothing is bound or provisioned here: a pod
// whose claim has no volume waits.
func (j *job) mounts(pod *model.Pod) (nodefit.Mounts, *reason.Blocker) {
	var list nodefit.Mounts
	limited := j.state.Volumes.HasLimits()
	for _, m := range pod.Mounts {
		key := model.Key{Namespace: pod.Key.Namespace, Name: m.Claim}
		claim, ok := j.state.Volumes.Claim(key)
		if text := unmountable(claim, m, ok); text != "" {
			return nil, waitForVolume(key, "", "PersistentVolumeClaim %s %s", key, text)
		}
		if claim.Volume == "" {
			return nil, waitForVolume(key, "", "PersistentVolumeClaim %s is not bound to a volume", key)
		}
		volume, ok := j.state.Volumes.Get(claim.Volume)
		switch {
		case !ok:
			return nil, waitForVolume(key, claim.Volume, "PersistentVolume %s of PersistentVolumeClaim %s does not exist", claim.Volume, key)
		case !claim.Bound && volume.Claim != key:
			return nil, waitForVolume(key, claim.Volume, "PersistentVolumeClaim %s is not bound to its volume %s yet", key, claim.Volume)
		case claim.OncePod && j.state.Volumes.Mounters(key) > 0:
			return nil, waitForVolume(key, "", "PersistentVolumeClaim %s is for one pod at a time (ReadWriteOncePod), and another one uses it", key)
		}
		limits := nodefit.Mount{Claim: key, Volume: volume, Once: claim.OncePod}
		for _, nodes := range volume.Nodes {
			limits.Nodes = append(limits.Nodes, nodeaffinity.NewLazyErrorNodeSelector(nodes))
		}
		if limits.Nodes != nil || limits.Once || limited && volume.Driver != "" {
			list = append(list, limits)
		}
	}
	return list, nil
}

// unmountable returns why the claim cannot be used, whatever it is bound to, or "".
func unmountable(claim *model.VolumeClaim, m model.Mount, exists bool) string {
	switch {
	case !exists:
		return "does not exist"
	case claim.Deleting:
		return "is being deleted"
	case m.Owner != "" && claim.Controller != m.Owner:
		return "was not made for the pod"
	}
	return ""
}

func waitForVolume(claim model.Key, volume, format string, args ...any) *reason.Blocker {
	wait := &reason.Blocker{Text: fmt.Sprintf(format, args...), Topics: []model.Topic{{Kind: model.TopicVolumeClaim, Key: claim}}}
	if volume != "" {
		wait.Topics = append(wait.Topics, model.Topic{Kind: model.TopicVolume, Key: model.Key{Name: volume}})
	}
	return wait
}

// mountable reports whether the class's volumes take one more pod: of members that share one for a single pod, only one
// can be placed.
func (j *job) mountable(c *class) bool { return c.mounts.InUse(j.state) == nil }

// dynamic makes the checks that depend on the pods on the nodes.
func (j *job) dynamic(c *class, info *model.NodeInfo) nodefit.Failure {
	if failure := c.fitter.Dynamic(j.state, info); failure.Failed() || !c.mounts.Limited(j.state) {
		return failure
	}
	return c.mounts.CheckLimits(j.state, info)
}
