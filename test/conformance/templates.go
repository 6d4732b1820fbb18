package conformance

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

var clusterTemplates = schema.GroupVersionResource{
	Group:    "allot.dev",
	Version:  "v1alpha1",
	Resource: "clusterresourceclaimtemplates",
}

// templateIsEverywhere: R43. A cluster-wide template is copied to the namespaces that it selects,
// follows changes, and is deleted from all of them; a pod uses it like any other.
func templateIsEverywhere(t *testing.T, s *suite) {
	if !s.Synced {
		t.Skip("nobody keeps templates in step here")
	}
	name := s.run + "-wide"
	if err := s.create(t.Context(), "", fmt.Sprintf(clusterTemplateText, name, 1)); err != nil {
		t.Fatal(err)
	}
	spaces := []space{s.newSpace(t), s.newSpace(t)}
	for _, n := range spaces {
		n.labelNamespace(t, name)
		n.waitCopy(t, name, 1)
	}
	n := spaces[0]
	n.makePods(t, 1, pod{Name: "before", Own: name})
	n.waitPods(t, "before", corev1.PodRunning, 1)
	patch := []byte(`[{"op": "replace", "path": "/spec/spec/devices/requests/0/exactly/count", "value": 2}]`)
	wide := s.dynamic.Resource(clusterTemplates)
	if _, err := wide.Patch(t.Context(), name, types.JSONPatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, n := range spaces {
		n.waitCopy(t, name, 2)
	}
	n.makePods(t, 1, pod{Name: "after", Own: name})
	n.waitPods(t, "after", corev1.PodRunning, 1)
	n.waitPods(t, "before", corev1.PodRunning, 1)
	if err := wide.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, n := range spaces {
		n.eventually(t, func(ctx context.Context) string {
			_, err := n.clients.ResourceV1().ResourceClaimTemplates(n.name).Get(ctx, name, metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				return ""
			}
			return fmt.Sprintf("namespace %s still has the template %s (%v)", n.name, name, err)
		})
	}
}

// labelNamespace sets the label for which the template selects the namespace.
func (s space) labelNamespace(t *testing.T, value string) {
	t.Helper()
	patch := fmt.Appendf(nil, `{"metadata": {"labels": {"conformance": %q}}}`, value)
	if _, err := s.clients.CoreV1().Namespaces().Patch(t.Context(), s.name, types.MergePatchType, patch,
		metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

// waitCopy waits until the namespace has the template, with a count of devices, and logs the time.
func (s space) waitCopy(t *testing.T, name string, count int64) {
	t.Helper()
	began := time.Now()
	s.eventually(t, func(ctx context.Context) string {
		copied, err := s.clients.ResourceV1().ResourceClaimTemplates(s.name).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err.Error()
		}
		return differs("the copy's count", int(copied.Spec.Spec.Devices.Requests[0].Exactly.Count), int(count))
	})
	t.Logf("the copy with %d devices was there after %s", count, time.Since(began).Round(time.Millisecond))
}
