package cluster

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/internal/claims"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/testkit/memcache"
)

// A pod's own claims are expected from its creation, under the names in its status, until the API
// shows them, the pod is bound or it is deleted. Those of other schedulers' pods are not.
func TestExpectedClaims(t *testing.T) {
	template := &resource.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "gpu", UID: "t"}}
	newPod := func() *core.Pod {
		pod := &core.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "p", UID: "u"}}
		pod.Spec.SchedulerName = "default-scheduler"
		entry := core.PodResourceClaim{}
		entry.Name, entry.ResourceClaimTemplateName = "dev", ptr.To("gpu")
		pod.Spec.ResourceClaims = []core.PodResourceClaim{entry}
		pod.Status.ResourceClaimStatuses = claims.KnownClaims(pod, nil, func(string) bool { return true })
		return pod
	}
	known := *newPod().Status.ResourceClaimStatuses[0].ResourceClaimName
	for name, test := range map[string]struct {
		change   func(*world, *core.Pod)
		expected bool
		observed bool
	}{
		"new": {func(w *world, pod *core.Pod) { w.pods.Put(pod) }, true, false},
		"another scheduler": {func(w *world, pod *core.Pod) {
			pod.Spec.SchedulerName = "other"
			w.pods.Put(pod)
		}, false, false},
		"without a record": {func(w *world, pod *core.Pod) {
			pod.Status.ResourceClaimStatuses = nil
			w.pods.Put(pod)
		}, false, false},
		"under another name": {func(w *world, pod *core.Pod) {
			pod.Status.ResourceClaimStatuses[0].ResourceClaimName = ptr.To("taken-otherwise")
			w.pods.Put(pod)
		}, false, false},
		"deleted": {func(w *world, pod *core.Pod) {
			w.pods.Put(pod)
			w.feed.Apply(w.state)
			w.pods.Delete(ns, "p")
		}, false, false},
		"bound by others": {func(w *world, pod *core.Pod) {
			w.pods.Put(pod)
			w.feed.Apply(w.state)
			bound := *pod
			bound.Spec.NodeName, bound.ResourceVersion = "n", "9"
			bound.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}}
			w.pods.Put(&bound)
		}, false, false},
		"shown": {func(w *world, pod *core.Pod) {
			w.pods.Put(pod)
			w.feed.Apply(w.state)
			claim := &resource.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: known, UID: "c"}}
			w.claims.Put(claim)
		}, false, true},
		"existed before": {func(w *world, pod *core.Pod) {
			claim := &resource.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: known, UID: "c"}}
			w.claims.Put(claim)
			w.pods.Put(pod)
		}, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			templates := memcache.New[*resource.ResourceClaimTemplate]()
			templates.Put(template)
			feed, err := NewFeed(Caches{
				Pods: w.pods, PodGroups: w.groups, Claims: w.claims, Nodes: w.nodes, Namespaces: w.namespaces, Classes: w.classes,
				Slices: w.slices, Templates: templates, ExpectsClaims: true,
			}, "default-scheduler")
			if err != nil {
				t.Fatal(err)
			}
			w.feed = feed
			test.change(w, newPod())
			w.feed.Apply(w.state)
			claim, ok := w.state.Claims.Get(model.Key{Namespace: ns, Name: known})
			if ok != (test.expected || test.observed) || ok && (claim.Generated != nil) != test.expected {
				t.Errorf("claim %+v, exists %t", claim, ok)
			}
			if ok && test.expected && (claim.Controller != "u" || claim.Generated.Name != known) {
				t.Errorf("the claim is %+v of %s", claim.Generated, claim.Controller)
			}
		})
	}
}
