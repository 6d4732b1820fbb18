package servertest

import (
	"fmt"
	"testing"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestBurst is F11 on a small scale: PodGroups and pods at once, one claim for each entry.
func TestBurst(t *testing.T) {
	const groups = 100
	ns, ctx := namespace(t), t.Context()
	must(set.ResourceClaimTemplates(ns).Create(ctx, template(ns), metav1.CreateOptions{}))(t)
	var writers errgroup.Group
	writers.SetLimit(8)
	for i := range groups {
		writers.Go(func() error {
			name := fmt.Sprintf("pg-%d", i)
			if _, err := set.Pods(ns).Create(ctx, member(ns, "pod-"+name, name), metav1.CreateOptions{}); err != nil {
				return err
			}
			_, err := set.PodGroups(ns).Create(ctx, group(ns, name), metav1.CreateOptions{})
			return err
		})
	}
	if err := writers.Wait(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "all pods know their claims", func() bool {
		for _, pod := range must(set.Pods(ns).List(ctx, metav1.ListOptions{}))(t).Items {
			if len(claimNames(&pod)) != 2 {
				return false
			}
		}
		return true
	})
	seen := map[string]bool{}
	for _, claim := range must(set.ResourceClaims(ns).List(ctx, metav1.ListOptions{}))(t).Items {
		slot := string(metav1.GetControllerOf(&claim).UID) + claim.Annotations["resource.kubernetes.io/pod-claim-name"]
		if seen[slot] {
			t.Errorf("claim %s is the second for its entry", claim.Name)
		}
		seen[slot] = true
	}
	if len(seen) != 2*groups {
		t.Errorf("%d claims, want %d", len(seen), 2*groups)
	}
}
