package job

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	batch "github.com/allot-dev/allot/api/batch/v1"
	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/controller/expectations"
	"github.com/allot-dev/allot/internal/controller/ownership"
	"github.com/allot-dev/allot/internal/controller/reconciler"
)

func (c *Controller) enqueue(job types.NamespacedName) { c.queue.Add(Key{NamespacedName: job}) }

// onJob handles a change in the cache of Jobs.
func (c *Controller) onJob(before, after *batch.Job) {
	if before != nil && (after == nil || after.UID != before.UID) {
		c.forget(before.UID)
		c.own.forget(before.UID)
		c.pods.Forget(before.UID)
		c.freeAll(before)
	}
	expectations.Observe(c.own.statuses, before, after)
	if after == nil {
		return
	}
	c.enqueue(reconciler.KeyOf(after))
	if _, finished := after.Finished(); finished {
		c.freeAll(after)
	}
}

// onPod handles a change in the cache of pods. It is called in the order of events, which
// expectations require.
func (c *Controller) onPod(before, after *core.Pod) {
	c.pods.Observe(before, after)
	if after != nil && isTracked(after) && !c.isWaitedFor(after) {
		c.queue.Add(Key{NamespacedName: reconciler.KeyOf(after), Pod: true})
	}
	watch := ownership.Watch[*batch.Job, *core.Pod]{
		Kind: kind, InNamespace: c.Jobs.InNamespace,
		SelectorOf: func(job *batch.Job) *metav1.LabelSelector { return job.Spec.Selector },
		Ask:        func(key types.NamespacedName) { c.queue.AddAfter(Key{NamespacedName: key}, gatherWindow) },
	}
	watch.OnChange(before, after)
}
