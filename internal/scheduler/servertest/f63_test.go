package servertest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
)

// F63: pods with one device each come and go, as fast as the server takes it, until devices were
// given out again often enough. At no resource version do two claims have one device, and in the
// end all pods that are left are bound.
func TestF63Churn(t *testing.T) {
	ns := namespace(t)
	addClass(t, "f63.example.com")
	for i := range 20 {
		addNode(t, fmt.Sprint("f63-", i), "f63.example.com", 8)
	}
	tpl := &resource.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "one"}}
	tpl.Spec.Spec = claimSpec("f63.example.com")
	if _, err := set.ResourceClaimTemplates(ns).Create(t.Context(), tpl, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	const enough = 200
	w := watchClaims(t, ns)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var workers sync.WaitGroup
	made := make([]int, 8)
	for i := range made {
		workers.Go(func() { made[i] = churn(ctx, t, ns, fmt.Sprint("w", i)) })
	}
	for start := time.Now(); time.Since(start) < 5*patience; time.Sleep(100 * time.Millisecond) {
		if _, reused := w.seen(); reused >= enough && time.Since(start) > 5*time.Second {
			break
		}
	}
	cancel()
	workers.Wait()
	eventually(t, "all pods that are left are bound", func() bool {
		list, err := set.Pods(ns).List(t.Context(), metav1.ListOptions{})
		return err == nil && len(list.Items) > 0 &&
			!slices.ContainsFunc(list.Items, func(p core.Pod) bool { return p.Spec.NodeName == "" })
	})
	w.testify(t)
	total := 0
	for _, n := range made {
		total += n
	}
	allocs, reused := w.seen()
	t.Logf("%d pods, %d allocations, %d devices again", total, allocs, reused)
	if reused < enough {
		t.Error("no churn")
	}
}

// churn makes pods, and deletes those of its own that have been there for a while: mostly the
// oldest, and some that have just come.
func churn(ctx context.Context, t *testing.T, ns, prefix string) int {
	t.Helper()
	now := metav1.DeleteOptions{GracePeriodSeconds: ptr.To(int64(0))}
	var mine []string
	remove := func() {
		i := 0
		if rand.IntN(4) == 0 {
			i = len(mine) - 1
		}
		if err := set.Pods(ns).Delete(context.WithoutCancel(ctx), mine[i], now); err != nil {
			t.Error(err)
		}
		mine = slices.Delete(mine, i, i+1)
	}
	n := 0
	for ; ctx.Err() == nil; n++ {
		name := fmt.Sprintf("%s-%d", prefix, n)
		if _, err := set.Pods(ns).Create(context.WithoutCancel(ctx),
			pod(ns, name, corev1.DefaultSchedulerName, template("one")), metav1.CreateOptions{}); err != nil {
			t.Error(err)
			return n
		}
		if mine = append(mine, name); len(mine) > 12 {
			remove()
		}
	}
	for len(mine) > 8 {
		remove()
	}
	return n
}
