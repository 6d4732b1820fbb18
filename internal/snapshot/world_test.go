package snapshot_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/model"
)

// The State of a World is that of a Snapshot of its objects, whatever has changed.
func TestWorldFollowsItsObjects(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		start := take(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}, pod("a", "p0"), pod("b", "p1"))
		w, err := start.World("default-scheduler")
		if err != nil {
			t.Fatal(err)
		}
		byNode := func(p *core.Pod) []string { return []string{p.Spec.NodeName} }
		if err := w.Pods.AddIndex("node", byNode); err != nil {
			t.Fatal(err)
		}
		for range rapid.IntRange(0, 20).Draw(t, "changes") {
			p := pod(rapid.SampledFrom([]string{"a", "b"}).Draw(t, "namespace"),
				fmt.Sprintf("p%d", rapid.IntRange(0, 3).Draw(t, "pod")))
			switch rapid.IntRange(0, 2).Draw(t, "change") {
			case 0:
				w.Pods.Delete(model.Key{Namespace: p.Namespace, Name: p.Name})
			case 1:
				p.Spec.NodeName = "n"
				w.Put(p)
			default:
				w.Put(p)
			}
			if rapid.Bool().Draw(t, "apply") {
				w.Apply()
			}
		}
		w.Apply()
		now := w.Snapshot(start)
		state, err := now.State("default-scheduler")
		if err != nil {
			t.Fatal(err)
		}
		if got, want := w.State.Dump(), state.Dump(); got != want {
			t.Errorf("the State is\n%s\nand that of its objects is\n%s", got, want)
		}
		found := len(w.Pods.ByIndex("node", "n")) + len(w.Pods.ByIndex("node", ""))
		if found != len(now.Objects.Pods) || found != w.Pods.Len() {
			t.Errorf("the index has %d pods of %d", found, len(now.Objects.Pods))
		}
	})
}
