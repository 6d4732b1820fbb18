package node

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/controller/reconciler"
)

// addOrphan adds a pod that an earlier agent knew, and that the API no longer has.
func (p *pods) addOrphan(pod *core.Pod) {
	key := reconciler.KeyOf(pod)
	p.mu.Lock()
	p.orphans[key] = append(p.orphans[key], pod)
	p.mu.Unlock()
	p.queue.Add(key)
}

// endOrphans stops earlier pods of this name. Most have ended already; a pod that was deleted by
// force still runs and gets its grace period. Until it ends it keeps its address and devices.
func (p *pods) endOrphans(ctx context.Context, key types.NamespacedName) error {
	p.mu.Lock()
	orphans := p.orphans[key]
	delete(p.orphans, key)
	p.mu.Unlock()
	var failed []error
	for _, pod := range orphans {
		ended, err := p.endOrphan(ctx, key, pod)
		if err != nil {
			failed = append(failed, fmt.Errorf("pod %s, which is gone: %w", key, err))
		}
		if !ended {
			p.mu.Lock()
			p.orphans[key] = append(p.orphans[key], pod)
			p.mu.Unlock()
		}
	}
	return errors.Join(failed...)
}

func (p *pods) endOrphan(ctx context.Context, key types.NamespacedName, pod *core.Pod) (ended bool, err error) {
	if _, alive := p.node(pod.Spec.NodeName); !alive {
		p.queue.AddAfter(key, orphanAgain)
		return false, nil
	}
	if _, started := p.runtime.Status(pod); started {
		if err := p.runtime.Stop(ctx, pod, p.grace(pod)); err != nil {
			return false, err
		}
		if state, _ := p.runtime.Status(pod); !state.Ended {
			p.queue.AddAfter(key, state.Again.Sub(p.clock.Now()))
			return false, nil
		}
	}
	if err := p.release(ctx, pod); err != nil {
		return false, err
	}
	p.runtime.Remove(pod)
	p.addresses.release(pod.UID)
	return true, nil
}
