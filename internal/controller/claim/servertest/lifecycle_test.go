package servertest

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
	"github.com/allot-dev/allot/internal/claims"
)

func template(ns string) *resource.ResourceClaimTemplate {
	t := &resource.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Name: "one-gpu", Namespace: ns}}
	t.Spec.Labels = map[string]string{"made": "here"}
	t.Spec.Spec.Devices.Requests = []resourcev1.DeviceRequest{
		{Name: "g", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu.example.com"}},
	}
	return t
}

func group(ns, name string) *scheduling.PodGroup {
	g := &scheduling.PodGroup{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: ns}}
	g.Spec.SchedulingPolicy.Basic = &schedulingv1beta1.BasicSchedulingPolicy{}
	entry := scheduling.PodGroupResourceClaim{}
	entry.Name, entry.ResourceClaimTemplateName = "shared", ptr.To("one-gpu")
	g.Spec.ResourceClaims = []scheduling.PodGroupResourceClaim{entry}
	return g
}

// member uses the group's claim, and has one of its own.
func member(ns, name, of string) *core.Pod {
	p := &core.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: ns}}
	p.Spec.Containers = []corev1.Container{{Name: "c", Image: "pause"}}
	p.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &of}
	shared := core.PodResourceClaim{PodGroupResourceClaim: ptr.To("shared")}
	shared.Name = "resource"
	own := core.PodResourceClaim{}
	own.Name, own.ResourceClaimTemplateName = "own", ptr.To("one-gpu")
	p.Spec.ResourceClaims = []core.PodResourceClaim{shared, own}
	return p
}

func claimNames(p *core.Pod) map[string]string {
	out := map[string]string{}
	for _, r := range p.Status.ResourceClaimStatuses {
		out[r.Name] = *r.ResourceClaimName
	}
	return out
}

// TestLifecycle is F08 and F09: pods before their PodGroup, claims of both kinds, and the
// way out: the PodGroup waits for its pods, and its claim is freed when it is gone.
func TestLifecycle(t *testing.T) {
	ns, ctx := namespace(t), t.Context()
	must(set.Pods(ns).Create(ctx, member(ns, "early", "pg"), metav1.CreateOptions{}))(t)
	must(set.PodGroups(ns).Create(ctx, group(ns, "pg"), metav1.CreateOptions{}))(t)
	must(set.ResourceClaimTemplates(ns).Create(ctx, template(ns), metav1.CreateOptions{}))(t)

	var early *core.Pod
	eventually(t, "the pod's status names both claims", func() bool {
		early = must(set.Pods(ns).Get(ctx, "early", metav1.GetOptions{}))(t)
		return len(claimNames(early)) == 2
	})
	shared := claimNames(early)["resource"]
	pg := must(set.PodGroups(ns).Get(ctx, "pg", metav1.GetOptions{}))(t)
	if s := pg.Status.ResourceClaimStatuses; len(s) != 1 || *s[0].ResourceClaimName != shared {
		t.Errorf("the PodGroup's status is %v, want shared=%s", s, shared)
	}
	if !slices.Contains(pg.Finalizers, scheduling.ProtectionFinalizer) {
		t.Errorf("finalizers of the PodGroup: %v", pg.Finalizers)
	}
	claim := must(set.ResourceClaims(ns).Get(ctx, shared, metav1.GetOptions{}))(t)
	if !metav1.IsControlledBy(claim, pg) || claim.Labels["made"] != "here" ||
		!slices.Contains(claim.Finalizers, claims.Finalizer) {
		t.Errorf("the generated claim is %v", claim.ObjectMeta)
	}

	late := must(set.Pods(ns).Create(ctx, member(ns, "late", "pg"), metav1.CreateOptions{}))(t)
	if claimNames(late)["resource"] != shared {
		t.Errorf("at creation the pod's status names %v, want resource=%s", claimNames(late), shared)
	}
	eventually(t, "the late pod's status names both claims", func() bool {
		return len(claimNames(must(set.Pods(ns).Get(ctx, "late", metav1.GetOptions{}))(t))) == 2
	})
	allocate(t, claim, claims.GroupConsumer(pg))
	leave(t, ns, shared)
}

// allocate does what the scheduler does.
func allocate(t *testing.T, claim *resource.ResourceClaim, consumers ...resourcev1.ResourceClaimConsumerReference) {
	t.Helper()
	claim.Status.Allocation = &resource.AllocationResult{}
	claim.Status.Allocation.Devices.Results = []resourcev1.DeviceRequestAllocationResult{
		{Request: "g", Driver: "gpu.example.com", Pool: "n1", Device: "gpu-0"},
	}
	claim.Status.ReservedFor = consumers
	must(set.ResourceClaims(claim.Namespace).UpdateStatus(t.Context(), claim, metav1.UpdateOptions{}))(t)
}

func leave(t *testing.T, ns, shared string) {
	t.Helper()
	ctx := t.Context()
	if err := set.PodGroups(ns).Delete(ctx, "pg", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := set.Pods(ns).Delete(ctx, "early", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	pg := must(set.PodGroups(ns).Get(ctx, "pg", metav1.GetOptions{}))(t)
	if pg.DeletionTimestamp == nil {
		t.Error("the PodGroup is not being deleted")
	}
	pod := must(set.Pods(ns).Get(ctx, "late", metav1.GetOptions{}))(t)
	claim := must(set.ResourceClaims(ns).Get(ctx, shared, metav1.GetOptions{}))(t)
	if claim.Status.Allocation == nil || len(claim.Status.ReservedFor) != 1 {
		t.Errorf("while a pod runs the claim's status is %v", claim.Status)
	}
	own := claimNames(pod)["own"]
	pod.Status.Phase = corev1.PodSucceeded
	must(set.Pods(ns).UpdateStatus(ctx, pod, metav1.UpdateOptions{}))(t)

	eventually(t, "the PodGroup is gone", func() bool {
		_, err := set.PodGroups(ns).Get(ctx, "pg", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	eventually(t, "its claim is gone", func() bool {
		_, err := set.ResourceClaims(ns).Get(ctx, shared, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	eventually(t, "the finished pod's own claim is gone", func() bool {
		_, err := set.ResourceClaims(ns).Get(ctx, own, metav1.GetOptions{})
		return own != "" && apierrors.IsNotFound(err)
	})
}

// TestOldPodGroupGetsFinalizer is R46: a PodGroup whose finalizer was taken off.
func TestOldPodGroupGetsFinalizer(t *testing.T) {
	ns, ctx := namespace(t), t.Context()
	pg := must(set.PodGroups(ns).Create(ctx, group(ns, "old"), metav1.CreateOptions{}))(t)
	must(
		set.PodGroups(ns).Patch(
			ctx,
			pg.Name,
			"application/merge-patch+json",
			[]byte(`{"metadata":{"finalizers":null}}`),
			metav1.PatchOptions{},
		),
	)(t)
	eventually(t, "the finalizer is back", func() bool {
		pg = must(set.PodGroups(ns).Get(ctx, "old", metav1.GetOptions{}))(t)
		return slices.Contains(pg.Finalizers, scheduling.ProtectionFinalizer)
	})
}
