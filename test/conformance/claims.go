package conformance

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// claimIsCreatedOnce: R11. The claim exists before there are pods, is the same one when they run, and
// there is no other.
func claimIsCreatedOnce(t *testing.T, s *suite) {
	n := s.newSpace(t)
	n.makeGroup(t, group{Name: "team", Template: gpus})
	first := n.waitClaim(t, "team", func(c *resourcev1.ResourceClaim) string {
		if c.Status.Allocation != nil {
			return "the claim is allocated before there are pods"
		}
		return ""
	})
	n.makePods(t, 3, pod{Name: "worker", Group: "team", Shares: gpus})
	n.waitPods(t, "worker", corev1.PodRunning, 3)
	claim := n.waitClaim(t, "team", allocated)
	if claim.UID != first.UID {
		t.Errorf("the claim was %s, and is %s", first.UID, claim.UID)
	}
	all, err := n.clients.ResourceV1().ResourceClaims(n.name).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(all.Items) != 1 {
		t.Errorf("there are %d claims, want 1", len(all.Items))
	}
	n.checkGroupStatus(t, "team", claim.Name)
}

// checkGroupStatus: R12. A group's status has the claim of its entry.
func (s space) checkGroupStatus(t *testing.T, name, claim string) {
	t.Helper()
	s.eventually(t, func(ctx context.Context) string {
		obj, err := s.dynamic.Resource(s.suite.groups).Namespace(s.name).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err.Error()
		}
		status, _ := obj.Object["status"].(map[string]any)
		if got, want := fmt.Sprint(status["resourceClaimStatuses"]), fmt.Sprintf("[map[name:shared resourceClaimName:%s]]",
			claim); got != want {
			return fmt.Sprintf("PodGroup %s has status.resourceClaimStatuses %s, want %s", name, got, want)
		}
		return ""
	})
}

// groupIsOneConsumer: R15.
func groupIsOneConsumer(t *testing.T, s *suite) {
	n := s.newSpace(t)
	n.makeGroup(t, group{Name: "team", Template: channels, MinCount: 3})
	n.makePods(t, 5, pod{Name: "worker", Group: "team", Shares: channels})
	n.waitPods(t, "worker", corev1.PodRunning, 5)
	claim := n.waitClaim(t, "team", allocated)
	if wrong := n.wrongConsumers(claim, "team", 5); wrong != "" {
		t.Error(wrong)
	}
}

// wrongConsumers returns what is wrong with a claim's consumers: they must be the group alone, or its
// pods if the cluster has no PodGroups of its own.
func (s space) wrongConsumers(claim *resourcev1.ResourceClaim, group string, pods int) string {
	want, resource := 1, "podgroups"
	if !s.Spelling.shared() {
		want, resource = pods, "pods"
	}
	if len(claim.Status.ReservedFor) != want {
		return fmt.Sprintf("claim %s has the consumers %v, want %d %s", claim.Name, claim.Status.ReservedFor, want, resource)
	}
	for _, c := range claim.Status.ReservedFor {
		if c.Resource != resource || resource == "podgroups" && (c.Name != group || c.APIGroup != "scheduling.k8s.io") {
			return fmt.Sprintf("claim %s has the consumer %v, want %s of %s", claim.Name, c, resource, group)
		}
	}
	return ""
}

// manyPodsShareAClaim: R15, KEP-5729's first goal. If claims are reserved for pods, the limit is
// reported.
func manyPodsShareAClaim(t *testing.T, s *suite) {
	const many = 300
	n := s.newSpace(t)
	if !s.Spelling.shared() {
		n.makeGroup(t, group{Name: "crowd", Template: channels, MinCount: many})
		n.waitEvent(t, "PodGroup", "crowd", "TooManyPodsOnOneClaim")
		return
	}
	n.makeGroup(t, group{Name: "crowd", Template: channels})
	n.makePods(t, many, pod{Name: "worker", Group: "crowd", Shares: channels})
	n.waitPods(t, "worker", corev1.PodRunning, many)
	if wrong := n.wrongConsumers(n.waitClaim(t, "crowd", allocated), "crowd", many); wrong != "" {
		t.Error(wrong)
	}
}

// waitEvent waits for an event about an object.
func (s space) waitEvent(t *testing.T, kind, name, reason string) {
	t.Helper()
	s.eventually(t, func(ctx context.Context) string {
		events, err := s.clients.CoreV1().Events(s.name).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err.Error()
		}
		for i := range events.Items {
			e := &events.Items[i]
			if e.InvolvedObject.Kind == kind && e.InvolvedObject.Name == name && e.Reason == reason {
				return ""
			}
		}
		return fmt.Sprintf("%s %s has no event %s", kind, name, reason)
	})
}

// finishedPodFreesClaim: R16, R17. Two pods share a claim that a user created; it is deallocated
// when both have finished, and can be allocated again.
func finishedPodFreesClaim(t *testing.T, s *suite) {
	n := s.newSpace(t)
	n.createManifest(t, fmt.Sprintf(claimText, "mine", gpus))
	n.makePods(t, 1, pod{Name: "long", Claim: "mine"})
	n.makePods(t, 1, pod{Name: "short", Claim: "mine", RunFor: "100ms"})
	n.waitPods(t, "long", corev1.PodRunning, 1)
	n.waitPods(t, "short", corev1.PodSucceeded, 1)
	n.waitOwnClaim(t, "mine", func(c *resourcev1.ResourceClaim) string {
		if len(c.Status.ReservedFor) != 1 || c.Status.ReservedFor[0].Name != "long-0" || c.Status.Allocation == nil {
			return fmt.Sprintf("claim %s has the consumers %v, want long-0 alone", c.Name, c.Status.ReservedFor)
		}
		return ""
	})
	n.deletePods(t, 1, "long")
	n.waitOwnClaim(t, "mine", func(c *resourcev1.ResourceClaim) string {
		if c.Status.Allocation != nil || len(c.Status.ReservedFor) > 0 {
			return fmt.Sprintf("claim %s is allocated, with the consumers %v, want it free", c.Name, c.Status.ReservedFor)
		}
		return ""
	})
	n.makePods(t, 1, pod{Name: "next", Claim: "mine"})
	n.waitPods(t, "next", corev1.PodRunning, 1)
}

func (s space) waitOwnClaim(t *testing.T, name string, ok func(*resourcev1.ResourceClaim) string) {
	t.Helper()
	s.eventually(t, func(ctx context.Context) string {
		claim, err := s.clients.ResourceV1().ResourceClaims(s.name).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err.Error()
		}
		return ok(claim)
	})
}

// deletedGroupIsFreed: R17, R35.
func deletedGroupIsFreed(t *testing.T, s *suite) {
	n := s.newSpace(t)
	n.createManifest(t, fmt.Sprintf(templateText, "all-channels", channels, 4))
	n.makeGroup(t, group{Name: "first", Template: "all-channels"})
	n.makePods(t, 2, pod{Name: "worker", Group: "first", Shares: "all-channels"})
	n.waitPods(t, "worker", corev1.PodRunning, 2)
	n.makeGroup(t, group{Name: "second", Template: "all-channels"})
	n.makePods(t, 2, pod{Name: "next", Group: "second", Shares: "all-channels"})
	n.deleteGroup(t, "first")
	n.checkNoneBound(t, "next") // the devices are in use
	n.waitClaim(t, "first", allocated)
	n.waitPods(t, "worker", corev1.PodRunning, 2)
	if obj, err := n.dynamic.Resource(n.suite.groups).Namespace(n.name).Get(t.Context(), "first",
		metav1.GetOptions{}); err != nil ||
		obj.GetDeletionTimestamp() == nil {
		t.Errorf("while its pods run, the group that was deleted is %v, %v", obj, err)
	}
	n.deletePods(t, 2, "worker")
	n.waitPods(t, "next", corev1.PodRunning, 2)
	n.eventually(t, func(ctx context.Context) string {
		claims, err := n.claimsOf(ctx, "PodGroup", "first")
		if err != nil {
			return err.Error()
		}
		return differs("claims of the group that is gone", len(claims), 0)
	})
}

// recreatedGroupHasOwnClaims: R11. A group that is deleted and immediately recreated never uses its predecessor's
// claim.
func recreatedGroupHasOwnClaims(t *testing.T, s *suite) {
	n := s.newSpace(t)
	seen := map[string]bool{}
	for round := range 3 {
		n.eventually(t, func(ctx context.Context) string { // the previous one may still be terminating
			return errorText(n.create(ctx, n.name, n.render(groupText, group{Name: "team", Template: gpus})))
		})
		n.makePods(t, 2, pod{Name: fmt.Sprintf("round%d", round), Group: "team", Shares: gpus})
		n.waitPods(t, fmt.Sprintf("round%d", round), corev1.PodRunning, 2)
		claim := n.waitClaim(t, "team", allocated)
		if seen[string(claim.UID)] {
			t.Errorf("round %d has a claim of an earlier round", round)
		}
		seen[string(claim.UID)] = true
		n.deletePods(t, 2, fmt.Sprintf("round%d", round))
		n.deleteGroup(t, "team")
	}
}

func allocated(c *resourcev1.ResourceClaim) string {
	if c.Status.Allocation == nil {
		return "claim " + c.Name + " is not allocated"
	}
	return ""
}
