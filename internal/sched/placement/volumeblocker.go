package placement

import (
	"fmt"

	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/nodefit"
	"github.com/allot-dev/allot/internal/sched/reason"
)

// mounts returns the pod's volumes that limit where it can run. No volume is bound or provisioned
// here: a pod whose PersistentVolumeClaim has no volume waits.
func (s *scope) mounts(pod *model.Pod) (nodefit.Mounts, *reason.Blocker) {
	var list nodefit.Mounts
	hasLimits := s.state.Volumes.HasLimits()
	for _, m := range pod.Mounts {
		key := model.Key{Namespace: pod.Key.Namespace, Name: m.Claim}
		claim, ok := s.state.Volumes.Claim(key)
		if text := unmountable(claim, m, ok); text != "" {
			return nil, volumeBlocker(key, "", "PersistentVolumeClaim %s %s", key, text)
		}
		if claim.Volume == "" {
			return nil, volumeBlocker(key, "", "PersistentVolumeClaim %s is not bound to a volume", key)
		}
		volume, ok := s.state.Volumes.Get(claim.Volume)
		switch {
		case !ok:
			return nil, volumeBlocker(key, claim.Volume,
				"PersistentVolume %s of PersistentVolumeClaim %s does not exist", claim.Volume, key)
		case !claim.Bound && volume.Claim != key:
			return nil, volumeBlocker(key, claim.Volume,
				"PersistentVolumeClaim %s is not bound to its volume %s yet", key, claim.Volume)
		case claim.OncePod && s.state.Volumes.Mounters(key) > 0:
			return nil, volumeBlocker(key, "",
				"PersistentVolumeClaim %s is for one pod at a time (ReadWriteOncePod), and another one uses it", key)
		}
		mount := nodefit.Mount{Claim: key, Volume: volume, Once: claim.OncePod}
		for _, nodes := range volume.Nodes {
			mount.Nodes = append(mount.Nodes, nodeaffinity.NewLazyErrorNodeSelector(nodes))
		}
		if mount.Nodes != nil || mount.Once || hasLimits && volume.Driver != "" {
			list = append(list, mount)
		}
	}
	return list, nil
}

// unmountable returns why a claim cannot be mounted, whatever volume it is bound to, or "".
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

// volumeBlocker returns a Blocker that waits for changes of a PersistentVolumeClaim and, unless
// volume is "", of its PersistentVolume.
func volumeBlocker(claim model.Key, volume, format string, args ...any) *reason.Blocker {
	return &reason.Blocker{Text: fmt.Sprintf(format, args...), Topics: mountTopics(claim, volume)}
}

// mountTopics returns the changes of a PersistentVolumeClaim and its PersistentVolume. The claim
// may be recreated and then be bound to a different volume.
func mountTopics(claim model.Key, volume string) []model.Topic {
	topics := []model.Topic{{Kind: model.TopicVolumeClaim, Key: claim}}
	if volume != "" {
		topics = append(topics, model.Topic{Kind: model.TopicVolume, Key: model.Key{Name: volume}})
	}
	return topics
}
