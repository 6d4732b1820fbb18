package devicetaint

import (
	"context"
	"fmt"
	"maps"
	"slices"

	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/allot-dev/allot/internal/claims"
	"github.com/allot-dev/allot/internal/controller/eviction"
	"github.com/allot-dev/allot/internal/controller/reconciler"
)

// report enqueues the rules that contributed to one of the verdicts.
func (c *Controller) report(verdicts ...eviction.Verdict) {
	ids := map[types.UID]bool{}
	for _, v := range verdicts {
		for id := range v.Rules {
			ids[id] = true
		}
	}
	if len(ids) == 0 {
		return
	}
	for _, rule := range c.cache.rules.List() {
		if ids[rule.UID] {
			c.reports.Add(rule.Name)
		}
	}
}

// reconcileRule updates the status of a rule, at most once per period.
func (c *Controller) reconcileRule(ctx context.Context, name string) error {
	rule, ok := c.cache.rules.Get("", name)
	if !ok {
		return nil
	}
	old := meta.FindStatusCondition(rule.Status.Conditions, resourcev1.DeviceTaintConditionEvictionInProgress)
	fresh := old != nil && old.ObservedGeneration == rule.Generation
	now := c.opts.Clock.Now()
	if fresh {
		if rule.Spec.Taint.Effect == resourcev1.DeviceTaintEffectNone {
			return nil // a preview is made once per change of the rule
		}
		if wait := old.LastTransitionTime.Add(c.opts.StatusPeriod).Sub(now); wait > 0 {
			c.reports.AddAfter(name, wait)
			return nil
		}
	}
	condition := c.condition(rule)
	if fresh && old.Status == condition.Status && old.Reason == condition.Reason && old.Message == condition.Message {
		return nil
	}
	// The time is set by each write, because it is the start of the next period, also after a
	// restart.
	condition.LastTransitionTime = metav1.NewTime(now)
	rule = rule.DeepCopy()
	meta.RemoveStatusCondition(&rule.Status.Conditions, condition.Type)
	rule.Status.Conditions = append(rule.Status.Conditions, condition)
	if err := c.server.UpdateRuleStatus(ctx, rule); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("status of rule %s: %w", name, err)
	}
	return nil
}

// condition returns the progress of a rule, or its preview.
func (c *Controller) condition(rule *resourcev1.DeviceTaintRule) metav1.Condition {
	out := metav1.Condition{
		Type: resourcev1.DeviceTaintConditionEvictionInProgress, Status: metav1.ConditionFalse,
		ObservedGeneration: rule.Generation,
	}
	switch rule.Spec.Taint.Effect {
	case resourcev1.DeviceTaintEffectNoExecute:
		_, waiting := c.affectedByRule(rule)
		done := c.evictedCount(rule.UID)
		switch {
		case len(waiting) > 0:
			out.Status, out.Reason = metav1.ConditionTrue, "PodsPendingEviction"
			out.Message = countOf(waiting, "needs to be evicted", "need to be evicted") + "; "
		case done > 0:
			out.Reason = "Completed"
		default:
			out.Reason = "NotStarted"
		}
		out.Message += fmt.Sprintf("%d evicted since the controller started", done)
	case resourcev1.DeviceTaintEffectNone:
		out.Reason, out.Message = "NoEffect", c.preview(rule)
	default:
		out.Reason, out.Message = "OtherEffect", fmt.Sprintf("the effect %s evicts no pods", rule.Spec.Taint.Effect)
	}
	return out
}

// evictedCount returns the number of pods evicted because of a rule.
func (c *Controller) evictedCount(rule types.UID) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counts[rule]
}

// preview describes what a rule would do with the effect NoExecute.
func (c *Controller) preview(rule *resourcev1.DeviceTaintRule) string {
	devices := map[device]bool{}
	pools := map[string]bool{}
	for _, s := range c.cache.slices.List() {
		pool := sliceKeys(s)[0]
		if pools[pool] {
			continue
		}
		pools[pool] = true
		for _, s := range newest(c.cache.slices.ByIndex(slicesByPool, pool)) {
			for i := range s.Spec.Devices {
				if d := (device{s.Spec.Driver, s.Spec.Pool.Name, s.Spec.Devices[i].Name}); selects(rule, d) {
					devices[d] = true
				}
			}
		}
	}
	inUse, hit := c.affectedByRule(rule)
	return fmt.Sprintf("%d published devices selected, %d allocated devices selected; with the effect NoExecute, %s",
		len(devices), inUse, countOf(hit, "would be evicted", "would be evicted"))
}

// affectedByRule returns the number of allocated devices that a rule selects, and the pods to evict, now or
// later, with the effect NoExecute. It uses the caches, not processed work, so that it is right
// from the start.
func (c *Controller) affectedByRule(rule *resourcev1.DeviceTaintRule) (devices int, pods []types.NamespacedName) {
	inUse, hit := map[device]bool{}, map[types.NamespacedName]bool{}
	for _, claim := range c.selected(rule) {
		ends := false
		for i := range claim.Status.Allocation.Devices.Results {
			result := &claim.Status.Allocation.Devices.Results[i]
			if d := deviceOf(result); selects(rule, d) {
				inUse[d] = true
				if _, ok := endOf(taintOf(rule), result.Tolerations); ok {
					ends = true
				}
			}
		}
		if !ends {
			continue
		}
		for _, pod := range c.cache.pods.ByIndex(claims.PodIndex, claims.PodIndexKey(claim.Namespace, claim.Name)) {
			if eviction.Evictable(pod) && uses(pod, claim) && !c.evictor.WasEvicted(pod) {
				hit[reconciler.KeyOf(pod)] = true
			}
		}
	}
	return len(inUse), slices.Collect(maps.Keys(hit))
}
