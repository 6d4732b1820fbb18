package sched

import (
	"fmt"

	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/allot-dev/allot/internal/model"
)

// mount is a volume of a pod that limits where, or whether, it can run.
type mount struct {
	claim  model.Key
	volume *model.Volume
	nodes  []*nodeaffinity.LazyErrorNodeSelector // that can use it match all
	once   bool                                  // one pod alone may use it
}

// mounts looks up the pod's volumes; those that limit nothing are left out. Nothing is bound or provisioned here: a pod
// whose claim has no volume waits.
func (j *job) mounts(pod *model.Pod) ([]mount, *Wait) {
	var list []mount
	limited := j.state.HasVolumeLimits()
	for _, m := range pod.Mounts {
		key := model.Key{Namespace: pod.Key.Namespace, Name: m.Claim}
		claim, ok := j.state.VolumeClaim(key)
		if text := unmountable(claim, m, ok); text != "" {
			return nil, waitForVolume(key, "", "PersistentVolumeClaim %s %s", key, text)
		}
		if claim.Volume == "" {
			return nil, waitForVolume(key, "", "PersistentVolumeClaim %s is not bound to a volume", key)
		}
		volume, ok := j.state.Volume(claim.Volume)
		switch {
		case !ok:
			return nil, waitForVolume(key, claim.Volume, "PersistentVolume %s of PersistentVolumeClaim %s does not exist", claim.Volume, key)
		case !claim.Bound && volume.Claim != key:
			return nil, waitForVolume(key, claim.Volume, "PersistentVolumeClaim %s is not bound to its volume %s yet", key, claim.Volume)
		case claim.OncePod && j.state.Mounters(key) > 0:
			return nil, waitForVolume(key, "", "PersistentVolumeClaim %s is for one pod at a time (ReadWriteOncePod), and another one uses it", key)
		}
		limits := mount{claim: key, volume: volume, once: claim.OncePod}
		for _, nodes := range volume.Nodes {
			limits.nodes = append(limits.nodes, nodeaffinity.NewLazyErrorNodeSelector(nodes))
		}
		if limits.nodes != nil || limits.once || limited && volume.Driver != "" {
			list = append(list, limits)
		}
	}
	return list, nil
}

// unmountable says why the claim cannot be used, whatever it is bound to.
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

func waitForVolume(claim model.Key, volume, format string, args ...any) *Wait {
	wait := &Wait{Text: fmt.Sprintf(format, args...), Topics: []model.Topic{{Kind: model.TopicVolumeClaim, Key: claim}}}
	if volume != "" {
		wait.Topics = append(wait.Topics, model.Topic{Kind: model.TopicVolume, Key: model.Key{Name: volume}})
	}
	return wait
}

// mountable says whether the class's volumes take one more pod: of members that share one for a single pod, only one
// can be placed.
func (j *job) mountable(c *class) bool { return j.taken(c) == nil }

func (j *job) taken(c *class) *mount {
	for i := range c.mounts {
		if m := &c.mounts[i]; m.once && j.state.Mounters(m.claim) > 0 {
			return m
		}
	}
	return nil
}

// volumeMisses finds a volume of the class that cannot be used from the node.
func (c *class) volumeMisses(info *model.NodeInfo) *mount {
	for i := range c.mounts {
		if m := &c.mounts[i]; !allMatch(m.nodes, info) {
			return m
		}
	}
	return nil
}

// selectors are the node selectors of the volumes.
func selectors(mounts []mount) []*nodeaffinity.LazyErrorNodeSelector {
	var list []*nodeaffinity.LazyErrorNodeSelector
	for i := range mounts {
		list = append(list, mounts[i].nodes...)
	}
	return list
}
