package servertest

import (
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	resource "github.com/allot-dev/allot/api/resource/v1"
)

// TestForeignConsumers is R16 and F13: consumers of kinds that are not watched stay, for the first
// minute even if they do not exist, and do not keep pods from leaving.
func TestForeignConsumers(t *testing.T) {
	ns, ctx := namespace(t), t.Context()
	lease := must(
		set.Leases(ns).Create(
			ctx,
			&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "there"}},
			metav1.CreateOptions{},
		),
	)(t)
	node := must(
		set.Nodes().Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "there-" + ns}}, metav1.CreateOptions{}),
	)(t)
	consumer := func(group, kind, name string, uid types.UID) resourcev1.ResourceClaimConsumerReference {
		return resourcev1.ResourceClaimConsumerReference{APIGroup: group, Resource: kind, Name: name, UID: uid}
	}
	claim := &resource.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "c", Namespace: ns, Finalizers: []string{resourcev1.Finalizer}},
	}
	claim.Spec = template(ns).Spec.Spec
	claim = must(set.ResourceClaims(ns).Create(ctx, claim, metav1.CreateOptions{}))(t)
	allocate(
		t,
		claim,
		consumer("coordination.k8s.io", "leases", lease.Name, lease.UID),
		consumer("", "nodes", node.Name, node.UID),
		consumer("", "nodes", "gone", "1"),
		consumer("coordination.k8s.io", "leases", lease.Name, "another"),
		consumer("example.com", "workloads", "w", "2"),
		consumer("", "pods", "gone", "3"),
	)
	eventually(t, "the pod goes", func() bool {
		claim = must(set.ResourceClaims(ns).Get(ctx, "c", metav1.GetOptions{}))(t)
		return len(claim.Status.ReservedFor) == 5
	})
	left := claim.Status.ReservedFor
	if left[0].UID != lease.UID || left[1].UID != node.UID || left[4].Name != "w" || claim.Status.Allocation == nil {
		t.Errorf("the claim's status is %v", claim.Status)
	}
	claim.Status.ReservedFor = nil
	must(set.ResourceClaims(ns).UpdateStatus(ctx, claim, metav1.UpdateOptions{}))(t)
	eventually(t, "their owners have taken them off, and the claim is free", func() bool {
		claim = must(set.ResourceClaims(ns).Get(ctx, "c", metav1.GetOptions{}))(t)
		return claim.Status.Allocation == nil && len(claim.Finalizers) == 0
	})
}
