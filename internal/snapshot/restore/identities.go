package restore

import (
	"slices"
	"sync"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/allot-dev/allot/internal/client"
)

// identities are the UIDs that objects have got. It is safe for concurrent use.
type identities struct {
	mu  sync.Mutex
	now map[types.UID]types.UID // by the UID in the Snapshot
}

func newIdentities() *identities { return &identities{now: map[types.UID]types.UID{}} }

// add remembers the UID of an object that was written. Objects that are not in the Snapshot, as the
// ServiceAccounts, have no old one.
func (i *identities) add(old, now types.UID) {
	if old == "" {
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.now[old] = now
}

// uid returns the present UID of an object; ok is false if it was not written.
func (i *identities) uid(old types.UID) (now types.UID, ok bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	now, ok = i.now[old]
	return now, ok
}

// prepare makes an object of a Snapshot one that can be created: references follow the new UIDs,
// and owners that were not written are dropped.
func (i *identities) prepare(object client.Object) {
	object.SetUID("")
	object.SetResourceVersion("")
	object.SetGeneration(0)
	object.SetSelfLink("")
	var owners []metav1.OwnerReference
	for _, owner := range object.GetOwnerReferences() {
		if uid, ok := i.uid(owner.UID); ok {
			owner.UID = uid
			owners = append(owners, owner)
		}
	}
	object.SetOwnerReferences(owners)
	labels := object.GetLabels()
	for _, key := range jobLabels {
		if uid, ok := i.uid(types.UID(labels[key])); ok {
			labels[key] = string(uid)
		}
	}
}

// jobLabels are labels of pods with the UID of their Job.
var jobLabels = []string{batchv1.ControllerUidLabel, "controller-uid"}

// withoutLabels returns a copy of labels without those that the server generates for Jobs.
func withoutLabels(labels map[string]string, keys ...string) map[string]string {
	out := map[string]string{}
	for key, value := range labels {
		if !slices.Contains(keys, key) {
			out[key] = value
		}
	}
	return out
}
