package attach

import (
	"testing"

	"github.com/cockroachdb/datadriven"
	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
)

// TestGroupClaims runs testdata/groupclaims. Rewrite with: go test ./internal/attach -run
// GroupClaims -rewrite.
func TestGroupClaims(t *testing.T) {
	w := newWorld()
	c := &GroupClaims{
		cache: groupClaimCaches{
			pods:      &w.pods,
			groups:    &w.groups,
			claims:    &w.claims,
			templates: &w.templates,
		}, write: w, events: w,
	}
	datadriven.RunTest(t, "testdata/groupclaims", func(t *testing.T, d *datadriven.TestData) string {
		name := d.CmdArgs[0].Key
		switch d.Cmd {
		case "template":
			w.templates.put(&resource.ResourceClaimTemplate{ObjectMeta: w.meta(name)})
		case "group":
			w.addGroup(name, d.CmdArgs[1:])
		case "delete":
			w.deleteGroup(name)
		case "pod":
			w.addPod(name, d.CmdArgs[1].Key)
		case "finish":
			pod, _ := w.pods.Get("ns", name)
			pod.Status.Phase = corev1.PodSucceeded
		case "claim":
			w.claims.put(&resource.ResourceClaim{ObjectMeta: w.meta(name)})
		case "unseen", "seen": // by the cache
			w.hide(name, d.Cmd == "unseen")
		case "collected":
			delete(w.claims.objects, "ns/"+name)
			delete(w.unseen, name)
		case "reconcile":
			for range 3 { // each write is an event
				if err := c.Reconcile(t.Context(), types.NamespacedName{Namespace: "ns", Name: name}); err != nil {
					w.recordEvent("error: %v", err)
				}
			}
			return w.takeEvents() + "\n"
		default:
			t.Fatalf("unknown command %s", d.Cmd)
		}
		return ""
	})
}

// addGroup creates a PodGroup with entries: entry=template.
func (w *world) addGroup(name string, entries []datadriven.CmdArg) {
	group := &scheduling.PodGroup{ObjectMeta: w.meta(name)}
	for _, e := range entries {
		group.Spec.ResourceClaims = append(group.Spec.ResourceClaims, scheduling.PodGroupResourceClaim{
			PodGroupResourceClaim: schedulingv1beta1.PodGroupResourceClaim{Name: e.Key, ResourceClaimTemplateName: &e.Vals[0]},
		})
	}
	w.groups.put(group)
}

func (w *world) deleteGroup(name string) {
	group, _ := w.groups.Get("ns", name)
	now := metav1.Now()
	group.DeletionTimestamp = &now
}

func (w *world) addPod(name, group string) *core.Pod {
	pod := &core.Pod{ObjectMeta: w.meta(name)}
	pod.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &group}
	w.pods.put(pod)
	return pod
}

func (w *world) hide(name string, hidden bool) {
	if hidden {
		w.unseen[name], _ = w.claims.Get("ns", name)
		w.claims.delete(w.unseen[name])
		return
	}
	w.claims.put(w.unseen[name])
	delete(w.unseen, name)
}
