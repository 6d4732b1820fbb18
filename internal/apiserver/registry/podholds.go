package registry

import (
	"context"
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"

	core "github.com/allot-dev/allot/api/core/v1"
)

// podHolds makes updates of pods wait while a placement of these pods is being recorded. A record
// requires that no pod has changed since it was checked. Each of the pods of a large gang gets
// conditions while it waits, and without the holds these changes could prevent the record again
// and again. Deletions do not wait: they end the placement.
type podHolds struct {
	mu    sync.Mutex
	byPod map[string]chan struct{} // by namespace and name; closed when the hold ends
}

func newPodHolds() *podHolds { return &podHolds{byPod: map[string]chan struct{}{}} }

// hold makes updates of the pods wait until release is called. No pod may be held twice at a time.
func (h *podHolds) hold(entry *placementEntry) (release func()) {
	held := make(chan struct{})
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range entry.Pods {
		h.byPod[entry.Namespace+"/"+entry.Pods[i].Name] = held
	}
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		for i := range entry.Pods {
			delete(h.byPod, entry.Namespace+"/"+entry.Pods[i].Name)
		}
		close(held)
	}
}

// beginUpdate waits until the pod is not held. An update that has waited is repeated by the storage
// if the pod has changed meanwhile.
func (h *podHolds) beginUpdate(
	ctx context.Context, obj, _ runtime.Object, _ *metav1.UpdateOptions,
) (genericregistry.FinishFunc, error) {
	pod, ok := obj.(*core.Pod)
	if !ok {
		return nil, fmt.Errorf("unexpected type %T", obj)
	}
	h.mu.Lock()
	held := h.byPod[pod.Namespace+"/"+pod.Name]
	h.mu.Unlock()
	if held != nil {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-held:
		}
	}
	return func(context.Context, bool) {}, nil
}
