package conformance

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// classOffersResource: KEP-5004. A pod that requests the resource of a class gets a device of the
// class, through a claim that the scheduler creates; a gang gets all or none. The claims are
// deleted when the pods have finished.
func classOffersResource(t *testing.T, s *suite) {
	n := s.newSpace(t)
	asks := resourcev1.ResourceDeviceClassPrefix + gpus
	n.makePods(t, 6, pod{Name: "holder", Asks: asks})
	n.waitPods(t, "holder", corev1.PodRunning, 6)
	for i := range 6 {
		n.checkExtendedClaim(t, fmt.Sprintf("holder-%d", i))
	}
	n.makeGroup(t, group{Name: "gang", MinCount: 3})
	n.makePods(t, 3, pod{Name: "member", Group: "gang", Asks: asks, RunFor: "1s"})
	n.waitCondition(t, "gang", "False")
	n.checkNoneBound(t, "member")
	n.checkNoneHoldsDevices(t, "member")
	n.deletePods(t, 1, "holder")
	n.waitPods(t, "member", corev1.PodSucceeded, 3)
	n.eventually(t, func(ctx context.Context) string {
		claims, err := n.clients.ResourceV1().ResourceClaims(n.name).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err.Error()
		}
		return differs("claims are left", len(claims.Items), 5)
	})
}

// checkExtendedClaim: the pod's status has the claim that its scheduler created, and the pod owns it.
func (s space) checkExtendedClaim(t *testing.T, name string) {
	t.Helper()
	p, err := s.clients.CoreV1().Pods(s.name).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	status := p.Status.ExtendedResourceClaimStatus
	if status == nil || len(status.RequestMappings) != 1 || status.RequestMappings[0].ContainerName != "main" {
		t.Fatalf("pod %s has the status %v", name, status)
	}
	claim, err := s.clients.ResourceV1().ResourceClaims(s.name).Get(
		t.Context(),
		status.ResourceClaimName,
		metav1.GetOptions{},
	)
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case claim.Annotations[resourcev1.ExtendedResourceClaimAnnotation] != "true", !metav1.IsControlledBy(claim, p):
		t.Errorf("claim %s of pod %s has the annotations %v and owners %v", claim.Name, name, claim.Annotations,
			claim.OwnerReferences)
	case claim.Status.Allocation == nil, len(claim.Status.ReservedFor) != 1, claim.Status.ReservedFor[0].UID != p.UID:
		t.Errorf("claim %s of pod %s is reserved for %v", claim.Name, name, claim.Status.ReservedFor)
	case claim.Spec.Devices.Requests[0].Name != status.RequestMappings[0].RequestName:
		t.Errorf("pod %s is mapped to %s, the claim has %s", name, status.RequestMappings[0].RequestName,
			claim.Spec.Devices.Requests[0].Name)
	}
}
